//! The times of concurrent page walks.

use super::times::Refresh;
use crate::cache::history::TestKey;
use crate::profile::Host;
use pcie_time::{Draws, Picoseconds, Stream};

#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Time for which it occupies its walker.
    pub(super) busy: Picoseconds,
    /// Time until the translation is available.
    pub(super) time: Picoseconds,
}

const BLOCK: usize = 64;

/// The walks of a test in order, drawn in blocks.
#[derive(Debug)]
pub(super) struct Walks {
    walk_ns: f64,
    busy_ns: f64,
    spread: f64,
    refresh: Refresh,
    time_draws: Draws,
    refresh_draws: Draws,
    /// Number of the next block's first walk.
    number: u64,
    block: [Walk; BLOCK],
    /// Walks of the block already taken.
    taken: usize,
}

impl Walks {
    pub(super) fn new(host: &Host, key: TestKey, number: u64) -> Self {
        let iommu = &host.iommu;
        let none = Walk { busy: Picoseconds::ZERO, time: Picoseconds::ZERO };
        Self {
            walk_ns: iommu.walk_ns * iommu.reads_of_a_walk(),
            busy_ns: iommu.walker_busy_ns * iommu.reads_of_a_walk(),
            spread: iommu.busy_walk_spread,
            refresh: Refresh::new(&host.memory.refresh),
            time_draws: key.draws(Stream::WalkTime),
            refresh_draws: key.draws(Stream::WalkRefresh),
            number,
            block: [none; BLOCK],
            taken: BLOCK,
        }
    }

    /// The walks of a test with one at a time: all take the same time.
    pub(super) fn one_at_a_time(mut self) -> Self {
        self.spread = 0.0;
        self
    }

    #[inline]
    pub(super) fn next(&mut self) -> Walk {
        if self.taken == BLOCK {
            self.draw_block();
        }
        let walk = self.block[self.taken];
        self.taken += 1;
        walk
    }

    #[inline(never)]
    fn draw_block(&mut self) {
        let mut times = [0.0; BLOCK];
        self.time_draws.exponentials(self.number, &mut times);
        let mut phases = std::array::from_fn::<u64, BLOCK, _>(|nth| self.number + nth as u64);
        self.refresh_draws.bits_of(&mut phases);
        for ((walk, time), phase) in self.block.iter_mut().zip(times).zip(phases) {
            let share = 1.0 - self.spread + self.spread * time;
            *walk = Walk {
                busy: Picoseconds::from_ns(self.busy_ns * share),
                time: Picoseconds::from_ns(self.walk_ns * share) + self.refresh.wait((phase >> 32) as u32),
            };
        }
        self.number += BLOCK as u64;
        self.taken = 0;
    }
}
