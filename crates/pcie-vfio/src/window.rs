//! A mapped part of a BAR, accessed by words, each access once and in order.

use crate::kernel::{map_file, unmap_file};
use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// Mapped bytes of a device.
#[derive(Debug)]
pub struct Window {
    start: NonNull<u8>,
    bytes: usize,
}

impl Window {
    /// Maps `bytes` bytes at `offset` of a device's file, both whole pages; fails if the kernel refuses.
    pub fn map(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(map_file(file, offset, bytes)?.cast());
        start.map(|start| Self { start, bytes }).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Address of its first byte in this process.
    pub(crate) fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Length, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Pointer to a word of `bytes` bytes, if it is within the mapping and aligned.
    fn aligned(&self, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
        self.part(offset, bytes).filter(|_| offset.is_multiple_of(bytes as u64))
    }

    /// Pointer to `bytes` bytes at `offset`, if all of them are within the mapping.
    #[must_use]
    pub fn part(&self, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
        let offset = usize::try_from(offset).ok()?;
        // SAFETY: the offset is within the mapping.
        offset.checked_add(bytes).filter(|end| *end <= self.bytes).map(|_| unsafe { self.start.add(offset) })
    }

    /// Reads 32 bits in one access; none outside or unaligned.
    #[inline]
    #[must_use]
    pub fn read(&self, offset: u64) -> Option<u32> {
        // SAFETY: the word is within the mapping and aligned; it is read once, as the device may change it.
        self.aligned(offset, 4).map(|at| u32::from_le(unsafe { at.cast::<u32>().read_volatile() }))
    }

    /// Writes 32 bits in one access; false outside or unaligned.
    #[inline]
    pub fn write(&self, offset: u64, value: u32) -> bool {
        let Some(at) = self.aligned(offset, 4) else { return false };
        // SAFETY: the word is within the mapping and aligned; it is written once.
        unsafe { at.cast::<u32>().write_volatile(value.to_le()) };
        true
    }

    /// Reads 64 bits in one access; none outside or unaligned.
    #[inline]
    #[must_use]
    pub fn read_long(&self, offset: u64) -> Option<u64> {
        // SAFETY: as for 32 bits.
        self.aligned(offset, 8).map(|at| u64::from_le(unsafe { at.cast::<u64>().read_volatile() }))
    }

    /// Writes 64 bits in one access; false outside or unaligned.
    #[inline]
    pub fn write_long(&self, offset: u64, value: u64) -> bool {
        let Some(at) = self.aligned(offset, 8) else { return false };
        // SAFETY: as for 32 bits.
        unsafe { at.cast::<u64>().write_volatile(value.to_le()) };
        true
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is this window's own, and no pointer into it is used after a call.
        unsafe { unmap_file(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_outside_or_unaligned_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let window = Window::map(&file, 0, 4096).unwrap();
        assert!(window.write(4092, 0x1234_5678) && window.write_long(8, 7));
        assert_eq!(
            (window.read(4092), window.read_long(8), window.read(8)),
            (Some(0x1234_5678), Some(7), Some(7))
        );
        assert!(!window.write(4096, 1) && !window.write(4094, 1) && !window.write(u64::MAX - 1, 1));
        assert_eq!((window.read(2), window.read_long(4092), window.read(1 << 40)), (None, None, None));
        assert!(window.part(4000, 96).is_some() && window.part(4000, 97).is_none());
    }
}
