//! Loops that store a message into a BAR, each with one of this processor's store instructions.
//!
//! A loop uses stores of its width, and smaller ones for the rest. Each store is one instruction, which the
//! compiler neither combines, splits nor removes.

use std::ptr::NonNull;

/// A kind of store instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Ordinary store.
    Plain,
    /// Non-temporal store, past the caches.
    NonTemporal,
    /// MOVDIR64B: 64 bytes in one piece.
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

    /// The loop of an instruction and a width, if this processor has it.
    #[must_use]
    pub fn find(instruction: Instruction, width: u32) -> Option<Self> {
        Self::here().into_iter().find(|one| one.instruction == instruction && one.width == width)
    }

    /// Stores a message.
    ///
    /// # Safety
    /// `to` must be writable for the length of `message`; both must be aligned to 64 bytes.
    #[inline]
    pub unsafe fn store(&self, to: NonNull<u8>, message: &[u8]) {
        // SAFETY: guaranteed by the caller; this processor has the loop's instruction.
        unsafe { (self.store)(to.as_ptr(), message.as_ptr(), message.len()) };
    }
}

/// Makes earlier stores leave the core before any later one.
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

/// Stores values of a type from byte `done` on; returns the bytes stored in all.
#[inline(always)]
unsafe fn stores<T: Copy>(to: *mut u8, from: *const u8, mut done: usize, bytes: usize) -> usize {
    while done + size_of::<T>() <= bytes {
        // SAFETY: the caller guarantees length and alignment; widths only decrease, so alignment holds.
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
                    // SAFETY: the caller guarantees length and alignment to 64 bytes.
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

    /// A loop of 64-byte stores in assembly, because older compilers lack the intrinsics.
    macro_rules! lines {
        ($name:ident, $($instruction:expr),+) => {
            unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                let mut done = 0;
                while done + 64 <= bytes {
                    // SAFETY: the caller guarantees length and alignment; the processor has the instructions.
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

    /// MOVDIR64B, given the registers of both addresses.
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

        /// Intel's manual has MOVDIR64B r64, m512: 66 0F 38 F8 /r. Few processors can run it.
        #[test]
        fn movdir64b_has_the_encoding_of_the_manual() {
            let code: *const [u8; 5];
            // SAFETY: the code jumps over the instruction; only its address is taken.
            unsafe {
                asm!("lea {code}, [rip + 2f]", "jmp 3f", "2:", direct!("rdi", "rsi"), "3:", code = out(reg) code,
                    options(nostack, nomem, preserves_flags));
            }
            // SAFETY: the code is readable and that long.
            assert_eq!(unsafe { code.read() }, [0x66, 0x0f, 0x38, 0xf8, 0x3e]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory aligned to a cache line.
    #[repr(align(64))]
    #[derive(Clone)]
    struct Lines([u8; 4096]);

    #[test]
    fn every_loop_stores_the_message_and_nothing_else() {
        let mut message = Lines([0; 4096]);
        for (offset, byte) in message.0.iter_mut().enumerate() {
            *byte = (offset * 7 + offset / 256) as u8 | 1;
        }
        let loops = StoreLoop::here();
        assert!(loops.len() >= 2);
        for one in loops {
            for bytes in [1, 3, 4, 7, 8, 15, 16, 31, 33, 63, 64, 65, 127, 128, 1000, 1500, 4032] {
                let mut memory = Lines([0; 4096]);
                let to = NonNull::from(&mut memory.0[0]);
                // SAFETY: the memory is as long as the longest message, and both are aligned to a line.
                unsafe { one.store(to, &message.0[..bytes]) };
                fence();
                assert_eq!(memory.0[..bytes], message.0[..bytes], "{one:?} of {bytes}");
                assert!(memory.0[bytes..].iter().all(|byte| *byte == 0), "{one:?} of {bytes}");
            }
        }
    }
}
