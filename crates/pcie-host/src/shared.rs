//! Memory that a device may read and write at any moment: reached by pointers, and each access made once and as it stands.
//!
//! No reference to it is ever made, as one promises that nobody else writes. What is copied out may be torn where the device
//! writes meanwhile; it is never undefined.

use std::ptr::NonNull;

/// Bytes of a word, which is what is moved at once where the place allows it.
const WORD_BYTES: usize = size_of::<u64>();

/// So many bytes from a place on. It owns nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    start: NonNull<u8>,
    length: usize,
}

impl Shared {
    /// Memory of a mapping.
    ///
    /// # Safety
    /// The bytes are there, initialised, for as long as this is used, and no reference to any of them is held meanwhile.
    pub(crate) unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }

    /// Where `bytes` bytes from a place on begin, if all of them are within it.
    fn at(self, place: u64, bytes: usize) -> Option<*mut u8> {
        let place = usize::try_from(place).ok()?;
        let end = place.checked_add(bytes)?;
        // SAFETY: the place is within the memory, or right behind it.
        (end <= self.length).then(|| unsafe { self.start.as_ptr().add(place) })
    }

    /// The word of 4 bytes at a place that is a multiple of 4, read once; none outside.
    #[inline]
    pub(crate) fn word(self, place: u64) -> Option<u32> {
        let at = self.at(place, 4).filter(|at| at.cast::<u32>().is_aligned())?;
        // SAFETY: the word is within the memory and aligned.
        Some(u32::from_le(unsafe { at.cast::<u32>().read_volatile() }))
    }

    /// Writes words of 4 bytes from a place on that is a multiple of 4, each once; false, and nothing, outside.
    #[inline]
    pub(crate) fn put_words(self, place: u64, words: &[u32]) -> bool {
        let bytes = words.len().checked_mul(4);
        let at = bytes.and_then(|bytes| self.at(place, bytes)).filter(|at| at.cast::<u32>().is_aligned());
        let Some(at) = at else { return false };
        for (number, word) in words.iter().enumerate() {
            // SAFETY: all of the words are within the memory and aligned.
            unsafe { at.cast::<u32>().add(number).write_volatile(word.to_le()) };
        }
        true
    }

    /// Copies bytes from a place on out of it; false, and nothing, outside.
    pub(crate) fn copy_out(self, place: u64, to: &mut [u8]) -> bool {
        let Some(at) = self.at(place, to.len()) else { return false };
        let (head, words) = parts(at, to.len());
        let (first, rest) = to.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(words * WORD_BYTES);
        for (offset, byte) in (0..).zip(first) {
            // SAFETY: the byte is within the memory.
            *byte = unsafe { at.add(offset).read_volatile() };
        }
        for (number, word) in middle.as_chunks_mut::<WORD_BYTES>().0.iter_mut().enumerate() {
            // SAFETY: the word is within the memory, and aligned as the head is as long as that takes.
            let value = unsafe { at.add(head).cast::<u64>().add(number).read_volatile() };
            *word = value.to_ne_bytes();
        }
        for (offset, byte) in (head + words * WORD_BYTES..).zip(last) {
            // SAFETY: the byte is within the memory.
            *byte = unsafe { at.add(offset).read_volatile() };
        }
        true
    }

    /// Copies bytes into it from a place on; false, and nothing, outside.
    pub(crate) fn copy_in(self, place: u64, from: &[u8]) -> bool {
        let Some(at) = self.at(place, from.len()) else { return false };
        let (head, words) = parts(at, from.len());
        let (first, rest) = from.split_at(head);
        let (middle, last) = rest.split_at(words * WORD_BYTES);
        for (offset, byte) in (0..).zip(first) {
            // SAFETY: the byte is within the memory.
            unsafe { at.add(offset).write_volatile(*byte) };
        }
        for (number, word) in middle.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            // SAFETY: the word is within the memory, and aligned as the head is as long as that takes.
            unsafe { at.add(head).cast::<u64>().add(number).write_volatile(u64::from_ne_bytes(*word)) };
        }
        for (offset, byte) in (head + words * WORD_BYTES..).zip(last) {
            // SAFETY: the byte is within the memory.
            unsafe { at.add(offset).write_volatile(*byte) };
        }
        true
    }

    /// Writes one byte all over some of it, from a place on; false, and nothing, outside.
    pub(crate) fn fill(self, place: u64, bytes: usize, byte: u8) -> bool {
        let Some(at) = self.at(place, bytes) else { return false };
        let (head, words) = parts(at, bytes);
        let word = u64::from_ne_bytes([byte; WORD_BYTES]);
        for offset in (0..head).chain(head + words * WORD_BYTES..bytes) {
            // SAFETY: the byte is within the memory.
            unsafe { at.add(offset).write_volatile(byte) };
        }
        for number in 0..words {
            // SAFETY: the word is within the memory, and aligned as the head is as long as that takes.
            unsafe { at.add(head).cast::<u64>().add(number).write_volatile(word) };
        }
        true
    }
}

/// Bytes before the first aligned word, and whole words behind them.
fn parts(at: *mut u8, bytes: usize) -> (usize, usize) {
    let head = at.align_offset(WORD_BYTES).min(bytes);
    (head, (bytes - head) / WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    /// Memory of an allocation, as a mapping would be: Miri knows what of it may be reached.
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
            // SAFETY: the memory is there as long as `self`, which each test keeps until it ends.
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
    fn what_is_copied_in_comes_out_at_every_place_and_length() {
        let memory = Memory::new(96);
        let shared = memory.shared();
        for place in 0..20 {
            for length in [0, 1, 3, 7, 8, 9, 15, 16, 17, 40] {
                assert!(shared.fill(0, 96, 0xee));
                let from: Vec<u8> = (0..length).map(|number| number as u8 + 1).collect();
                assert!(shared.copy_in(place, &from));
                let mut all = [0; 96];
                assert!(shared.copy_out(0, &mut all));
                let start = place as usize;
                assert_eq!(all[start..start + length], from);
                assert!(all[..start].iter().chain(&all[start + length..]).all(|byte| *byte == 0xee));
                let mut out = vec![0; length];
                assert!(shared.copy_out(place, &mut out) && out == from);
            }
        }
    }

    #[test]
    fn nothing_outside_of_it_is_reached() {
        let memory = Memory::new(64);
        let shared = memory.shared();
        let mut byte = [7];
        for place in [64, 65, u64::MAX, u64::MAX - 3] {
            assert!(!shared.copy_out(place, &mut byte) && !shared.copy_in(place, &byte));
            assert!(!shared.fill(place, 1, 1) && !shared.put_words(place, &[1]));
            assert_eq!(shared.word(place), None);
        }
        assert!(shared.copy_out(64, &mut []) && !shared.copy_in(60, &[0; 5]) && !shared.fill(1, 64, 1));
        assert!(!shared.put_words(60, &[1, 2]) && !shared.put_words(2, &[1]) && shared.word(2).is_none());
        assert_eq!(byte, [7]);
        assert!(shared.put_words(60, &[0x0102_0304]) && shared.word(60) == Some(0x0102_0304));
        assert!(shared.copy_out(60, &mut byte) && byte == [4], "the first byte of a word is its lowest");
    }

    /// Somebody else writes while this reads, as a device does.
    #[test]
    #[cfg(not(miri))]
    fn it_may_be_written_meanwhile() {
        // What this does on purpose is what the thread sanitizer looks for.
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
