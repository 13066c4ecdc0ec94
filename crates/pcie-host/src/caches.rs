//! Caches made cold, by writing other memory until nothing else is left in them or by flushing lines; and made warm.

use crate::error::HostError;
use crate::kernel;
use crate::topology::{Topology, list};
use pcie_bench::Stop;
use std::collections::BTreeSet;
use std::ptr::NonNull;

/// A line on every machine that this runs on.
const LINE_BYTES: usize = 64;
/// Bytes that are written between two looks at whether to stop: a few milliseconds.
pub(crate) const STOP_BYTES: usize = 8 << 20;
/// No cache is thrashed with more than this.
const THRASH_BYTES_MOST: u64 = 1 << 30;
/// What a cache that the kernel does not describe is thrashed with.
const UNKNOWN_CACHE_BYTES: u64 = 32 << 20;

/// Memory that is written to drive everything else out of the caches of a socket.
///
/// A socket may have several last-level caches, and they need not hold what the caches above them hold: so each of them is
/// gone through, from a core of its own, and the core of the control program last.
#[derive(Debug)]
pub(crate) struct Thrash {
    memory: Vec<u64>,
    /// A processor behind each last-level cache of the socket that this program may run on; the program's own last.
    processors: Vec<u32>,
}

impl Thrash {
    /// Memory for the caches of the socket that `core` is on.
    pub(crate) fn new(topology: &Topology, core: u32) -> Self {
        let socket = topology.socket(core);
        let mut seen: BTreeSet<u32> = behind(topology, core).into_iter().collect();
        let mut processors = Vec::new();
        for other in kernel::allowed_processors() {
            if topology.socket(other) == socket && !seen.contains(&other) {
                seen.extend(behind(topology, other));
                processors.push(other);
            }
        }
        // The program's own last, so that what it left in the caches of its core is gone too.
        processors.push(core);
        let largest = processors
            .iter()
            .map(|processor| topology.caches(*processor).iter().map(|cache| cache.bytes).sum())
            .max()
            .filter(|bytes| *bytes > 0)
            .unwrap_or(UNKNOWN_CACHE_BYTES);
        let bytes = (2 * largest).min(THRASH_BYTES_MOST);
        Self { memory: vec![0; bytes as usize / size_of::<u64>()], processors }
    }

    /// Drives everything else out; ends early where nobody waits for it.
    pub(crate) fn run(&mut self, stop: &Stop) -> Result<(), HostError> {
        let Some((own, others)) = self.processors.split_last() else { return Ok(()) };
        for processor in others {
            kernel::pin(*processor)?;
            write_lines(&mut self.memory, stop);
        }
        if !others.is_empty() {
            kernel::pin(*own)?;
        }
        write_lines(&mut self.memory, stop);
        Ok(())
    }
}

/// The processors behind the last-level cache of one of them.
fn behind(topology: &Topology, processor: u32) -> Vec<u32> {
    topology.last_level_cache(processor).map_or_else(|| vec![processor], |cache| list(&cache.shared_by))
}

fn write_lines(memory: &mut [u64], stop: &Stop) {
    for piece in memory.chunks_mut(STOP_BYTES / size_of::<u64>()) {
        if stop.is_requested() {
            return;
        }
        for line in piece.chunks_mut(LINE_BYTES / size_of::<u64>()) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(piece);
    }
}

/// Flushes every line of some memory from all caches, back to memory.
///
/// # Errors
/// The processor has no instruction for it.
pub(crate) fn flush(start: NonNull<u8>, bytes: usize) -> Result<(), HostError> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_clflush, _mm_mfence};
        for offset in (0..bytes).step_by(LINE_BYTES) {
            // SAFETY: flushing reads and changes no byte, whoever writes the line; it is part of the caller's mapping. Every
            // x86-64 processor has it.
            unsafe { _mm_clflush(start.as_ptr().wrapping_add(offset)) };
        }
        // SAFETY: a fence touches no memory.
        unsafe { _mm_mfence() };
        Ok(())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (start, bytes);
        Err(HostError::NoFlush)
    }
}
