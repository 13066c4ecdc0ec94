//! The cost of reading and writing a line: in the cache or in memory, on this socket or on another.

use crate::cache::last_level::{Caches, Found, KNOWN};
use crate::cache::lines::{Line, Lines};
use crate::profile::Memory;
use pcie_time::Picoseconds;
use pcie_workload::LINE_BYTES;
use std::ops::Range;

/// Costs of reading a line over a cached one of the device: by whether it is in the buffer, and by flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCosts {
    costs: [[ReadCost; KNOWN]; 2],
    buffer_lines: Line,
}

#[derive(Clone, Copy, Debug, Default)]
struct ReadCost {
    time: Picoseconds,
    /// Whether it comes from memory, and so may meet a refresh.
    memory: bool,
}

impl ReadCosts {
    pub(crate) fn new(memory: &Memory, caches: &Caches, lines: &Lines, busy: bool) -> Self {
        let mut costs = [[ReadCost::default(); KNOWN]; 2];
        for (in_buffer, costs) in [false, true].into_iter().zip(&mut costs) {
            for (known, cost) in (0..).zip(costs) {
                let found = caches.found(known, in_buffer);
                let from_memory = matches!(found, Found::Memory { .. });
                *cost = ReadCost { time: read_cost(memory, found, busy), memory: from_memory };
            }
        }
        Self { costs, buffer_lines: lines.buffer_lines() }
    }

    /// The cost of the slowest line, and whether any comes from memory.
    #[inline(always)]
    pub(crate) fn of_lines(&self, caches: &Caches, lines: Range<Line>) -> (Picoseconds, bool) {
        let costs = &self.costs[usize::from(lines.start < self.buffer_lines)];
        let cost = match caches.all_known(lines.clone()) {
            Some(known) => costs[usize::from(known)],
            None => lines.fold(ReadCost::default(), |slowest, line| {
                let cost = costs[usize::from(caches.known(line))];
                ReadCost { time: slowest.time.max(cost.time), memory: slowest.memory | cost.memory }
            }),
        };
        (cost.time, cost.memory)
    }
}

/// Cost of reading a line, over one that the device wrote and that is in the cache.
pub(crate) fn read_cost(memory: &Memory, found: Found, busy: bool) -> Picoseconds {
    let (miss, remote, remote_dirty) = if busy { memory.busy_times() } else { memory.idle_times() };
    Picoseconds::from_ns(match found {
        Found::DeviceLine => 0.0,
        Found::HostLine => memory.host_line_ns,
        Found::RemoteHostLine => miss + remote_dirty,
        Found::Memory { remote: elsewhere, untouched } => {
            let far = if elsewhere { remote } else { 0.0 };
            let first = if untouched { memory.untouched_ns } else { 0.0 };
            miss + far + first
        }
    })
}

/// Cost of a write's lines before a read behind it may proceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The greatest cost of a line.
    pub(crate) cost: Picoseconds,
    /// Whether a partial line was merged with memory.
    pub(crate) from_memory: bool,
}

/// Writes the lines of a transfer of `bytes` at offset `start`, which is in line `first`.
pub(crate) fn write_lines(
    memory: &Memory,
    caches: &mut Caches,
    lines: &Lines,
    first: Line,
    start: u64,
    bytes: u64,
) -> Written {
    let lead = start % LINE_BYTES;
    let count = (lead + bytes).div_ceil(LINE_BYTES);
    let mut written = Written { cost: Picoseconds::ZERO, from_memory: false };
    for nth in 0..count {
        let from = (nth * LINE_BYTES).max(lead);
        let to = ((nth + 1) * LINE_BYTES).min(lead + bytes);
        let found = caches.write(lines, first + nth as Line);
        let whole_line = to - from == LINE_BYTES;
        written.cost = written.cost.max(write_cost(memory, found, whole_line));
        written.from_memory |= matches!(found, Found::Memory { .. }) && !whole_line;
    }
    written
}

/// Cost of writing a line before a read behind it may proceed.
#[inline]
fn write_cost(memory: &Memory, found: Found, whole_line: bool) -> Picoseconds {
    Picoseconds::from_ns(match (found, whole_line) {
        (Found::DeviceLine | Found::HostLine, _) => 0.0,
        (Found::Memory { remote: false, .. }, true) => memory.ownership_ns,
        (Found::Memory { remote: true, .. } | Found::RemoteHostLine, true) => memory.remote_ownership_ns,
        (Found::Memory { remote, .. }, false) => memory.miss_ns + if remote { memory.remote_ns } else { 0.0 },
        (Found::RemoteHostLine, false) => memory.miss_ns + memory.remote_dirty_ns,
    })
}
