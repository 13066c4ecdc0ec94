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

/// The walks of a test in order. Each is drawn when the one before it starts, ahead of its use.
#[derive(Debug)]
pub(super) struct Walks {
    walk_ns: f64,
    busy_ns: f64,
    spread: f64,
    refresh: Refresh,
    time_draws: Draws,
    refresh_draws: Draws,
    number: u64,
    next: Walk,
}

impl Walks {
    pub(super) fn new(host: &Host, key: TestKey, number: u64) -> Self {
        let iommu = &host.iommu;
        let none = Walk { busy: Picoseconds::ZERO, time: Picoseconds::ZERO };
        let mut walks = Self {
            walk_ns: iommu.walk_ns * iommu.reads_of_a_walk(),
            busy_ns: iommu.walker_busy_ns * iommu.reads_of_a_walk(),
            spread: iommu.busy_walk_spread,
            refresh: Refresh::new(&host.memory.refresh),
            time_draws: key.draws(Stream::WalkTime),
            refresh_draws: key.draws(Stream::WalkRefresh),
            number,
            next: none,
        };
        walks.next = walks.draw();
        walks
    }

    /// The walks of a test with one at a time: all take the same time.
    pub(super) fn one_at_a_time(mut self) -> Self {
        self.spread = 0.0;
        self.next = self.draw();
        self
    }

    #[inline]
    pub(super) fn next(&mut self) -> Walk {
        self.number += 1;
        let following = self.draw();
        std::mem::replace(&mut self.next, following)
    }

    #[inline]
    fn draw(&self) -> Walk {
        let share = 1.0 - self.spread + self.spread * self.time_draws.exponential(self.number);
        let refresh = self.refresh.wait(self.refresh_draws.word(self.number));
        Walk {
            busy: Picoseconds::from_ns(self.busy_ns * share),
            time: Picoseconds::from_ns(self.walk_ns * share) + refresh,
        }
    }
}
