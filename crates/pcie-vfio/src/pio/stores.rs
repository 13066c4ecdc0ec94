//! Loops that store a message into a BAR, each with one instruction, chosen by what this processor has.
//!
//! A message goes in stores of the width that is asked for, as far as it reaches; what is left, in smaller ones. Each store is
//! one instruction: none is combined, split or left out by the compiler.

use std::ptr::NonNull;

/// The instruction that stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// As any variable is written.
    Plain,
    /// Past the caches.
    NonTemporal,
    /// 64 bytes in one piece.
    Direct,
}

/// A loop that stores messages.
#[derive(Clone, Copy, Debug)]
pub struct StoreLoop {
    /// The instruction.
    pub instruction: Instruction,
    /// Bytes of each store.
    pub width: u32,
    store: unsafe fn(*mut u8, *const u8, usize),
}

impl StoreLoop {
    /// The loops that this processor has, by width.
    #[must_use]
    pub fn here() -> Vec<Self> {
        let plain = |width, store| Self { instruction: Instruction::Plain, width, store };
        let mut loops = vec![plain(4, plain_4 as unsafe fn(_, _, _)), plain(8, plain_8)];
        #[cfg(target_arch = "x86_64")]
        loops.extend(x86::loops());
        loops
    }

    /// The loop of an instruction and a width, where this processor has it.
    #[must_use]
    pub fn find(instruction: Instruction, width: u32) -> Option<Self> {
        Self::here().into_iter().find(|one| one.instruction == instruction && one.width == width)
    }

    /// Stores a message.
    ///
    /// # Safety
    /// As many bytes as `message` has must be there to be written from `to` on, which is aligned to 64 bytes, as `message` must
    /// be.
    #[inline]
    pub unsafe fn store(&self, to: NonNull<u8>, message: &[u8]) {
        // SAFETY: the caller says so; the loop is one that this processor has.
        unsafe { (self.store)(to.as_ptr(), message.as_ptr(), message.len()) };
    }
}

/// Has all stores before it leave the core before any behind it.
#[inline]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence touches no memory; every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Stores of a type, from `done` bytes on; how many bytes are stored then.
#[inline(always)]
unsafe fn stores<T: Copy>(to: *mut u8, from: *const u8, mut done: usize, bytes: usize) -> usize {
    while done + size_of::<T>() <= bytes {
        // SAFETY: the caller says that both are that long, and aligned; what is left is smaller than before, so alignment holds.
        unsafe { to.add(done).cast::<T>().write_volatile(from.add(done).cast::<T>().read()) };
        done += size_of::<T>();
    }
    done
}

#[inline(always)]
unsafe fn rest(to: *mut u8, from: *const u8, done: usize, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        let done = stores::<u64>(to, from, done, bytes);
        let done = stores::<u32>(to, from, done, bytes);
        stores::<u8>(to, from, done, bytes);
    }
}

unsafe fn plain_4(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe {
        let done = stores::<u32>(to, from, 0, bytes);
        stores::<u8>(to, from, done, bytes);
    }
}

unsafe fn plain_8(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { rest(to, from, 0, bytes) };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Instruction, StoreLoop, rest, stores};
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid_count, __m128i, __m256i, _mm_stream_si32, _mm_stream_si64, _mm_stream_si128,
        _mm256_stream_si256,
    };
    use std::is_x86_feature_detected as has;

    type Store = unsafe fn(*mut u8, *const u8, usize);

    pub(super) fn loops() -> Vec<StoreLoop> {
        use Instruction::{Direct, NonTemporal, Plain};
        // CPUID leaf 7: MOVDIR64B.
        let has_direct = __cpuid_count(7, 0).ecx >> 28 & 1 == 1;
        let loops: [(Instruction, u32, Store, bool); 9] = [
            (Plain, 16, plain_16, true),
            (Plain, 32, plain_32, has!("avx2")),
            (Plain, 64, plain_64, has!("avx512f")),
            (NonTemporal, 4, non_temporal_4, true),
            (NonTemporal, 8, non_temporal_8, true),
            (NonTemporal, 16, non_temporal_16, true),
            (NonTemporal, 32, non_temporal_32, has!("avx2")),
            (NonTemporal, 64, non_temporal_64, has!("avx512f")),
            (Direct, 64, direct_64, has_direct),
        ];
        let present = loops.into_iter().filter(|(_, _, _, present)| *present);
        present.map(|(instruction, width, store, _)| StoreLoop { instruction, width, store }).collect()
    }

    unsafe fn plain_16(to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: as the caller says.
        unsafe { rest(to, from, stores::<__m128i>(to, from, 0, bytes), bytes) };
    }

    #[target_feature(enable = "avx2")]
    unsafe fn plain_32(to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: as the caller says.
        unsafe { rest(to, from, stores::<__m256i>(to, from, 0, bytes), bytes) };
    }

    /// A loop of one non-temporal instruction.
    macro_rules! non_temporal {
        ($name:ident, $type:ty, $store:ident, $($feature:literal)?) => {
            $(#[target_feature(enable = $feature)])?
            unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                let mut done = 0;
                while done + size_of::<$type>() <= bytes {
                    // SAFETY: the caller says that both are that long, and aligned to 64 bytes.
                    unsafe { $store(to.add(done).cast(), from.add(done).cast::<$type>().read()) };
                    done += size_of::<$type>();
                }
                // SAFETY: as the caller says.
                unsafe { rest(to, from, done, bytes) };
            }
        };
    }

    non_temporal!(non_temporal_4, i32, _mm_stream_si32,);
    non_temporal!(non_temporal_8, i64, _mm_stream_si64,);
    non_temporal!(non_temporal_16, __m128i, _mm_stream_si128,);
    non_temporal!(non_temporal_32, __m256i, _mm256_stream_si256, "avx2");

    /// A loop of stores of 64 bytes, by the name of the instructions: older compilers have no functions for these.
    macro_rules! lines {
        ($name:ident, $($instruction:expr),+) => {
            unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                let mut done = 0;
                while done + 64 <= bytes {
                    // SAFETY: the caller says that both are that long, and aligned; the processor has the instructions.
                    unsafe {
                        asm!($($instruction),+, to = in(reg) to.add(done), from = in(reg) from.add(done), out("xmm0") _,
                            options(nostack, preserves_flags));
                    }
                    done += 64;
                }
                // SAFETY: as the caller says.
                unsafe { rest(to, from, done, bytes) };
            }
        };
    }

    /// MOVDIR64B, by where the registers are that hold both addresses.
    macro_rules! direct {
        ($to:literal, $from:literal) => {
            concat!("movdir64b ", $to, ", [", $from, "]")
        };
    }

    lines!(plain_64, "vmovdqa64 zmm0, [{from}]", "vmovdqa64 [{to}], zmm0");
    lines!(non_temporal_64, "vmovdqa64 zmm0, [{from}]", "vmovntdq [{to}], zmm0");
    lines!(direct_64, direct!("{to}", "{from}"));

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Few processors have the instruction, so that elsewhere no test carries it out: what the assembler makes of it is held
        /// against the manual of Intel's processors (MOVDIR64B r64, m512: 66 0F 38 F8 /r).
        #[test]
        fn movdir64b_is_assembled_as_the_manual_has_it() {
            let code: *const [u8; 5];
            // SAFETY: the instruction is jumped over; only its address is taken.
            unsafe {
                asm!("lea {code}, [rip + 2f]", "jmp 3f", "2:", direct!("rdi", "rsi"), "3:", code = out(reg) code,
                    options(nostack, nomem, preserves_flags));
            }
            // SAFETY: the code of this function can be read, and is that long.
            assert_eq!(unsafe { code.read() }, [0x66, 0x0f, 0x38, 0xf8, 0x3e]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that begins at a line.
    #[repr(align(64))]
    #[derive(Clone)]
    struct Lines([u8; 4096]);

    #[test]
    fn every_loop_stores_what_it_is_given_and_nothing_else() {
        let mut message = Lines([0; 4096]);
        message
            .0
            .iter_mut()
            .enumerate()
            .for_each(|(place, byte)| *byte = (place * 7 + place / 256) as u8 | 1);
        let loops = StoreLoop::here();
        assert!(loops.len() >= 2);
        for one in loops {
            for bytes in [1, 3, 4, 7, 8, 15, 16, 31, 33, 63, 64, 65, 127, 128, 1000, 1500, 4032] {
                let mut memory = Lines([0; 4096]);
                let to = NonNull::from(&mut memory.0[0]);
                // SAFETY: the memory is as long as the longest message, and both begin at a line.
                unsafe { one.store(to, &message.0[..bytes]) };
                fence();
                assert_eq!(memory.0[..bytes], message.0[..bytes], "{one:?} of {bytes}");
                assert!(memory.0[bytes..].iter().all(|byte| *byte == 0), "{one:?} of {bytes}");
            }
        }
    }
}
