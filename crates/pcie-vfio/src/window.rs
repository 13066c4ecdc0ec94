//! A mapped part of a BAR: read and written word by word, each access once and in order.

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
    /// Maps `bytes` bytes from `offset` on of a file that leads to a device, both whole pages.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn map(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(map_file(file, offset, bytes)?.cast());
        start.map(|start| Self { start, bytes }).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// How long it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where `bytes` bytes from a place on lie, if they are within it; aligned to `bytes`.
    fn within(&self, place: u64, bytes: usize) -> Option<NonNull<u8>> {
        let place = usize::try_from(place).ok()?;
        let fits = place.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        // SAFETY: the place is within the mapping.
        (fits && place.is_multiple_of(bytes)).then(|| unsafe { self.start.add(place) })
    }

    /// The part from a place on, to be stored into, if all of it is there.
    #[must_use]
    pub fn part(&self, place: u64, bytes: usize) -> Option<NonNull<u8>> {
        let place = usize::try_from(place).ok()?;
        // SAFETY: the place is within the mapping.
        place.checked_add(bytes).filter(|end| *end <= self.bytes).map(|_| unsafe { self.start.add(place) })
    }

    /// Reads 32 bits; none outside.
    #[inline]
    #[must_use]
    pub fn read(&self, place: u64) -> Option<u32> {
        // SAFETY: the place is within the mapping and aligned; the device may change it at any time, so it is read once.
        self.within(place, 4).map(|at| u32::from_le(unsafe { at.cast::<u32>().read_volatile() }))
    }

    /// Writes 32 bits; false outside.
    #[inline]
    pub fn write(&self, place: u64, value: u32) -> bool {
        let Some(at) = self.within(place, 4) else { return false };
        // SAFETY: the place is within the mapping and aligned; it is written once.
        unsafe { at.cast::<u32>().write_volatile(value.to_le()) };
        true
    }

    /// Reads 64 bits in one access; none outside.
    #[inline]
    #[must_use]
    pub fn read_long(&self, place: u64) -> Option<u64> {
        // SAFETY: as for 32 bits.
        self.within(place, 8).map(|at| u64::from_le(unsafe { at.cast::<u64>().read_volatile() }))
    }

    /// Writes 64 bits in one access; false outside.
    #[inline]
    pub fn write_long(&self, place: u64, value: u64) -> bool {
        let Some(at) = self.within(place, 8) else { return false };
        // SAFETY: as for 32 bits.
        unsafe { at.cast::<u64>().write_volatile(value.to_le()) };
        true
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: it is the mapping that was made for this, and nothing of it is given away for longer than a call.
        unsafe { unmap_file(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;

    #[test]
    fn nothing_outside_and_nothing_askew_is_touched() {
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
