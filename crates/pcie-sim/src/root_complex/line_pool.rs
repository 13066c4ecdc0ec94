//! A pool of entries for cache lines in the root complex, which all devices below it share.
//!
//! Requests take their entries in order of arrival, and give them back in any order.

use pcie_time::Picoseconds;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug)]
pub(super) struct LinePool {
    free: u32,
    /// When held entries are free again, and how many.
    releases: BinaryHeap<Reverse<(Picoseconds, u32)>>,
    /// When the last request had its entries: the next one does not overtake it.
    last: Picoseconds,
    use_of: PoolUse,
}

/// What a pool has served, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolUse {
    /// Lines that had an entry.
    pub lines: u64,
    /// For how long, all lines together, in ns.
    pub held_ns: f64,
}

impl PoolUse {
    /// Average time for which a line has an entry; `None` before the first line.
    #[must_use]
    pub fn latency_ns(&self) -> Option<f64> {
        (self.lines > 0).then(|| self.held_ns / self.lines as f64)
    }

    /// What has been added since an earlier look at the same pool.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { lines: self.lines - earlier.lines, held_ns: self.held_ns - earlier.held_ns }
    }
}

impl LinePool {
    pub(super) fn new(lines: u32) -> Self {
        Self { free: lines, releases: BinaryHeap::new(), last: Picoseconds::ZERO, use_of: PoolUse::default() }
    }

    /// When a request that arrives at `arrival` has its entries, which it takes.
    pub(super) fn take(&mut self, lines: u32, arrival: Picoseconds) -> Picoseconds {
        let mut at = arrival.max(self.last);
        while self.free < lines
            && let Some(Reverse((released, more))) = self.releases.pop()
        {
            self.free += more;
            at = at.max(released);
        }
        debug_assert!(self.free >= lines, "a request of more lines than the pool has");
        self.free = self.free.saturating_sub(lines);
        self.last = at;
        at
    }

    /// Entries taken at `taken` are free again at `released`.
    pub(super) fn release_at(&mut self, lines: u32, taken: Picoseconds, released: Picoseconds) {
        self.releases.push(Reverse((released, lines)));
        self.use_of.lines += u64::from(lines);
        self.use_of.held_ns += released.since(taken).as_ns() * f64::from(lines);
    }

    pub(super) fn use_of(&self) -> PoolUse {
        self.use_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_for_the_earliest_entries_and_does_not_overtake() {
        let mut pool = LinePool::new(8);
        for released in [900, 500] {
            assert_eq!(pool.take(4, Picoseconds(0)), Picoseconds(0));
            pool.release_at(4, Picoseconds(0), Picoseconds(released));
        }
        assert_eq!(pool.take(2, Picoseconds(100)), Picoseconds(500));
        pool.release_at(2, Picoseconds(500), Picoseconds(600));
        assert_eq!(pool.take(2, Picoseconds(120)), Picoseconds(500), "in order of arrival");
        pool.release_at(2, Picoseconds(500), Picoseconds(700));
        assert_eq!(pool.take(6, Picoseconds(550)), Picoseconds(900));
        let used = pool.use_of();
        assert_eq!(
            (used.lines, used.latency_ns()),
            (12, Some((4.0 * 0.9 + 4.0 * 0.5 + 2.0 * 0.1 + 2.0 * 0.2) / 12.0))
        );
    }
}
