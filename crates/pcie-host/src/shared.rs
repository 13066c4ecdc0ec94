//! Memory that a device may read and write at any moment: each access is volatile and made once.
//!
//! No reference to it is ever made, because a reference promises that nobody else writes. A copy may be torn
//! while the device writes, but it is never undefined.

use std::ptr::NonNull;

/// Bytes of a word: the unit of copies, where alignment allows it.
const WORD_BYTES: usize = size_of::<u64>();

/// A range of memory. It owns nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    start: NonNull<u8>,
    length: usize,
}

impl Shared {
    /// `length` bytes of a mapping.
    ///
    /// # Safety
    /// While this is used, the bytes stay mapped and initialised, and no reference to any of them exists.
    pub(crate) unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }

    /// Pointer to `bytes` bytes at `offset`, if all of them are within the memory.
    fn at(self, offset: u64, bytes: usize) -> Option<*mut u8> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        // SAFETY: the offset is within the memory, or right behind it.
        (end <= self.length).then(|| unsafe { self.start.as_ptr().add(offset) })
    }

    /// Reads the aligned 32-bit word at `offset` once; none outside or unaligned.
    #[inline]
    pub(crate) fn word(self, offset: u64) -> Option<u32> {
        let at = self.at(offset, 4).filter(|at| at.cast::<u32>().is_aligned())?;
        // SAFETY: the word is within the memory and aligned.
        Some(u32::from_le(unsafe { at.cast::<u32>().read_volatile() }))
    }

    /// Writes the byte at `offset` with its own value; nothing outside.
    #[inline]
    pub(crate) fn rewrite(self, offset: u64) {
        if let Some(at) = self.at(offset, 1) {
            // SAFETY: the byte is within the memory.
            unsafe { at.write_volatile(at.read_volatile()) };
        }
    }

    /// Writes aligned 32-bit words, each once; false, writing nothing, if any is outside or unaligned.
    #[inline]
    pub(crate) fn put_words(self, offset: u64, words: &[u32]) -> bool {
        let bytes = words.len().checked_mul(4);
        let at = bytes.and_then(|bytes| self.at(offset, bytes)).filter(|at| at.cast::<u32>().is_aligned());
        let Some(at) = at else { return false };
        for (number, word) in words.iter().enumerate() {
            // SAFETY: all of the words are within the memory and aligned.
            unsafe { at.cast::<u32>().add(number).write_volatile(word.to_le()) };
        }
        true
    }

    /// Copies bytes out from `offset`; false, copying nothing, if any is outside.
    pub(crate) fn copy_out(self, offset: u64, to: &mut [u8]) -> bool {
        let Some(at) = self.at(offset, to.len()) else { return false };
        let (head, tail) = whole_words(at, to.len());
        for number in (0..head).chain(tail..to.len()) {
            // SAFETY: the byte is within the memory.
            to[number] = unsafe { at.add(number).read_volatile() };
        }
        for (number, word) in to[head..tail].as_chunks_mut::<WORD_BYTES>().0.iter_mut().enumerate() {
            // SAFETY: the word is within the memory and aligned.
            *word = unsafe { at.add(head).cast::<u64>().add(number).read_volatile() }.to_ne_bytes();
        }
        true
    }

    /// Copies bytes in from `offset`; false, copying nothing, if any is outside.
    pub(crate) fn copy_in(self, offset: u64, from: &[u8]) -> bool {
        let Some(at) = self.at(offset, from.len()) else { return false };
        let (head, tail) = whole_words(at, from.len());
        for number in (0..head).chain(tail..from.len()) {
            // SAFETY: the byte is within the memory.
            unsafe { at.add(number).write_volatile(from[number]) };
        }
        for (number, word) in from[head..tail].as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            // SAFETY: the word is within the memory and aligned.
            unsafe { at.add(head).cast::<u64>().add(number).write_volatile(u64::from_ne_bytes(*word)) };
        }
        true
    }

    /// Sets `bytes` bytes from `offset` to `byte`; false, writing nothing, if any is outside.
    pub(crate) fn fill(self, offset: u64, bytes: usize, byte: u8) -> bool {
        let Some(at) = self.at(offset, bytes) else { return false };
        let (head, tail) = whole_words(at, bytes);
        let word = u64::from_ne_bytes([byte; WORD_BYTES]);
        for number in (0..head).chain(tail..bytes) {
            // SAFETY: the byte is within the memory.
            unsafe { at.add(number).write_volatile(byte) };
        }
        for start in (head..tail).step_by(WORD_BYTES) {
            // SAFETY: the word is within the memory and aligned.
            unsafe { at.add(start).cast::<u64>().write_volatile(word) };
        }
        true
    }
}

/// Start and end of the whole aligned words in `bytes` bytes at a pointer, relative to it.
fn whole_words(at: *mut u8, bytes: usize) -> (usize, usize) {
    let head = at.align_offset(WORD_BYTES).min(bytes);
    (head, head + (bytes - head) / WORD_BYTES * WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    /// An allocation that stands for a mapping, so that Miri checks every access.
    struct Memory {
        start: NonNull<u8>,
        layout: Layout,
    }

    impl Memory {
        fn new(bytes: usize) -> Self {
            let layout = Layout::from_size_align(bytes, 64).unwrap();
            // SAFETY: the layout has a size.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
            Self { start, layout }
        }

        fn shared(&self) -> Shared {
            // SAFETY: the memory lives as long as `self`, which each test keeps until it ends.
            unsafe { Shared::new(self.start, self.layout.size()) }
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }

    #[test]
    fn copies_round_trip_at_every_offset_and_length() {
        let memory = Memory::new(96);
        let shared = memory.shared();
        for offset in 0..20 {
            for length in [0, 1, 3, 7, 8, 9, 15, 16, 17, 40] {
                assert!(shared.fill(0, 96, 0xee));
                let from: Vec<u8> = (0..length).map(|number| number as u8 + 1).collect();
                assert!(shared.copy_in(offset, &from));
                let mut all = [0; 96];
                assert!(shared.copy_out(0, &mut all));
                let start = offset as usize;
                assert_eq!(all[start..start + length], from);
                assert!(all[..start].iter().chain(&all[start + length..]).all(|byte| *byte == 0xee));
                let mut out = vec![0; length];
                assert!(shared.copy_out(offset, &mut out) && out == from);
            }
        }
    }

    #[test]
    fn access_outside_or_unaligned_is_refused() {
        let memory = Memory::new(64);
        let shared = memory.shared();
        let mut byte = [7];
        for offset in [64, 65, u64::MAX, u64::MAX - 3] {
            assert!(!shared.copy_out(offset, &mut byte) && !shared.copy_in(offset, &byte));
            assert!(!shared.fill(offset, 1, 1) && !shared.put_words(offset, &[1]));
            assert_eq!(shared.word(offset), None);
        }
        assert!(shared.copy_out(64, &mut []) && !shared.copy_in(60, &[0; 5]) && !shared.fill(1, 64, 1));
        assert!(!shared.put_words(60, &[1, 2]) && !shared.put_words(2, &[1]) && shared.word(2).is_none());
        assert_eq!(byte, [7]);
        assert!(shared.put_words(60, &[0x0102_0304]) && shared.word(60) == Some(0x0102_0304));
        assert!(shared.copy_out(60, &mut byte) && byte == [4], "the first byte of a word is its lowest");
    }

    #[test]
    #[cfg(not(miri))]
    fn reads_during_writes_of_another_thread() {
        // The race is deliberate; the thread sanitizer would report it.
        if std::env::var_os("TSAN_OPTIONS").is_some() {
            return;
        }
        let memory = Memory::new(4096);
        let shared = memory.shared();
        let address = memory.start.as_ptr() as usize;
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let start = NonNull::new(address as *mut u8).unwrap();
                // SAFETY: the memory outlives the scope, and nobody holds a reference to it.
                let theirs = unsafe { Shared::new(start, 4096) };
                for number in 0..2000 {
                    theirs.fill(0, 4096, number as u8);
                }
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            let mut seen = [0; 4096];
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(shared.copy_out(0, &mut seen));
            }
        });
        let mut seen = [0; 4096];
        assert!(shared.copy_out(0, &mut seen) && seen == [1999_u32 as u8; 4096]);
    }
}
