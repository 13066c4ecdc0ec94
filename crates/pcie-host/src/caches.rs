//! Makes caches cold, by writing other memory until it has evicted everything else, or by flushing lines.

use crate::error::HostError;
use crate::kernel;
use crate::topology::{Topology, list};
use pcie_bench::Stop;
use std::collections::BTreeSet;
use std::ptr::NonNull;

/// A cache line, bytes, on every supported machine.
const LINE_BYTES: usize = 64;
/// Bytes written between two checks of the stop request: a few milliseconds.
pub(crate) const STOP_BYTES: usize = 8 << 20;
/// Most memory written to thrash a cache, bytes.
const THRASH_BYTES_MOST: u64 = 1 << 30;
/// Cache size assumed where the kernel does not report one, bytes.
const UNKNOWN_CACHE_BYTES: u64 = 32 << 20;

/// Memory whose writing evicts everything else from the caches of a socket.
///
/// A socket may have several last-level caches, and they need not be inclusive. Each is therefore thrashed
/// from one of its own cores, and the caches of the control program's core last.
#[derive(Debug)]
pub(crate) struct Thrash {
    memory: Vec<u64>,
    /// One allowed processor for each last-level cache of the socket; the program's own is last.
    processors: Vec<u32>,
}

impl Thrash {
    /// Memory for the caches of the socket that `core` is on.
    pub(crate) fn new(topology: &Topology, core: u32) -> Self {
        let socket = topology.socket(core);
        let mut seen: BTreeSet<u32> = sharers(topology, core).into_iter().collect();
        let mut processors = Vec::new();
        for other in kernel::allowed_processors() {
            if topology.socket(other) == socket && !seen.contains(&other) {
                seen.extend(sharers(topology, other));
                processors.push(other);
            }
        }
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

    /// Evicts everything else; returns early when a stop is requested.
    pub(crate) fn run(&mut self, stop: &Stop) -> Result<(), HostError> {
        let Some((own, others)) = self.processors.split_last() else { return Ok(()) };
        for processor in others {
            kernel::pin(*processor)?;
            write_lines(&mut self.memory, stop);
        }
        // The program's own caches last, so that nothing of it is left there either.
        if !others.is_empty() {
            kernel::pin(*own)?;
        }
        write_lines(&mut self.memory, stop);
        Ok(())
    }
}

/// The processors that share a processor's last-level cache.
fn sharers(topology: &Topology, processor: u32) -> Vec<u32> {
    topology.last_level_cache(processor).map_or_else(|| vec![processor], |cache| list(&cache.shared_by))
}

fn write_lines(memory: &mut [u64], stop: &Stop) {
    for piece in memory.chunks_mut(STOP_BYTES / size_of::<u64>()).take_while(|_| !stop.is_requested()) {
        for line in piece.chunks_mut(LINE_BYTES / size_of::<u64>()) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(piece);
    }
}

/// Flushes a range from all caches to memory; fails if the processor cannot flush single lines.
pub(crate) fn flush(start: NonNull<u8>, bytes: usize) -> Result<(), HostError> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_clflush, _mm_mfence};
        for offset in (0..bytes).step_by(LINE_BYTES) {
            // SAFETY: a flush changes no byte; the line is the caller's; every x86-64 processor has it.
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
