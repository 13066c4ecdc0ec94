//! Loops that load from a BAR, each with one of this processor's load instructions.

use std::hint::black_box;
use std::ptr::NonNull;

/// A loop that loads whole lines, or what is left of one in whole loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadLoop {
    width: u32,
    load: unsafe fn(*const u8, usize),
}

impl LoadLoop {
    /// The loop of a width, if this processor has it; streaming loads may read ahead in write-combining memory.
    pub(super) fn find(streams: bool, width: u32) -> Option<Self> {
        let load: unsafe fn(*const u8, usize) = match (streams, width) {
            (false, 4) => loads::<u32>,
            (false, 8) => loads::<u64>,
            #[cfg(target_arch = "x86_64")]
            (false, 16) => loads::<std::arch::x86_64::__m128i>,
            #[cfg(target_arch = "x86_64")]
            (false, 32) if std::is_x86_feature_detected!("avx2") => x86::loads_32,
            #[cfg(target_arch = "x86_64")]
            (true, 16) if std::is_x86_feature_detected!("sse4.1") => x86::streaming_16,
            _ => return None,
        };
        Some(Self { width, load })
    }

    /// Loads `bytes` bytes, rounded up to whole loads.
    ///
    /// # Safety
    /// `from` must be readable up to the end of its last line of 64 bytes, and aligned to a line.
    #[inline]
    pub(super) unsafe fn load(&self, from: NonNull<u8>, bytes: usize) {
        // SAFETY: guaranteed by the caller; the processor has the loop's instruction.
        unsafe { (self.load)(from.as_ptr(), bytes) };
    }

    /// Loads each word of 4 or 8 bytes again and stores it with its lowest bit changed.
    ///
    /// # Safety
    /// As [`LoadLoop::load`], and the bytes must be writable.
    #[inline]
    pub(super) unsafe fn modify(&self, at: NonNull<u8>, bytes: usize) {
        let width = if self.width == 4 { 4 } else { 8 };
        for offset in (0..bytes).step_by(width) {
            // SAFETY: guaranteed by the caller; words of a line are aligned.
            unsafe {
                let word = at.as_ptr().add(offset);
                if width == 4 {
                    let word = word.cast::<u32>();
                    word.write_volatile(word.read_volatile() ^ 1);
                } else {
                    let word = word.cast::<u64>();
                    word.write_volatile(word.read_volatile() ^ 1);
                }
            }
        }
    }
}

unsafe fn loads<T: Copy>(from: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(size_of::<T>()) {
        // SAFETY: the caller guarantees length and alignment.
        black_box(unsafe { from.add(offset).cast::<T>().read_volatile() });
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, _mm_stream_load_si128};
    use std::hint::black_box;

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn loads_32(from: *const u8, bytes: usize) {
        for offset in (0..bytes).step_by(32) {
            // SAFETY: the caller guarantees length and alignment.
            black_box(unsafe { from.add(offset).cast::<__m256i>().read_volatile() });
        }
    }

    #[target_feature(enable = "sse4.1")]
    pub(super) unsafe fn streaming_16(from: *const u8, bytes: usize) {
        for offset in (0..bytes).step_by(16) {
            // SAFETY: the caller guarantees length and alignment.
            black_box(unsafe { _mm_stream_load_si128(from.add(offset).cast()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Lines([u8; 256]);

    #[test]
    fn loops_load_whole_lines_and_modify_changes_each_word_once() {
        let mut lines = Lines(std::array::from_fn(|byte| byte as u8));
        let start = NonNull::new(lines.0.as_mut_ptr()).unwrap();
        let found = [(false, 4), (false, 8), (false, 16), (false, 32), (true, 16)]
            .map(|(streams, width)| LoadLoop::find(streams, width));
        assert!(found[0].is_some() && found[1].is_some());
        for loads in found.into_iter().flatten() {
            // SAFETY: the lines are readable, writable and aligned.
            unsafe { loads.load(start, 200) };
        }
        assert!(LoadLoop::find(true, 4).is_none() && LoadLoop::find(false, 128).is_none());
        let words = LoadLoop::find(false, 8).unwrap();
        // SAFETY: as before.
        unsafe { words.modify(start, 20) };
        assert_eq!((lines.0[0], lines.0[8], lines.0[16], lines.0[24]), (1, 9, 17, 24));
    }
}
