//! The times of concurrent page walks.

use super::times::Refresh;
use crate::cache::history::TestKey;
use crate::profile::Host;
use pcie_time::{BLOCK, Blocks, Draws, Picoseconds, Stream};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk {
    /// Time for which it occupies its walker.
    pub(super) busy: Picoseconds,
    /// Time until the translation is available.
    pub(super) time: Picoseconds,
}

/// The walks of a test in order, drawn in blocks.
#[derive(Debug)]
pub(super) struct Walks {
    law: Law,
    blocks: Blocks<Walk>,
}

/// What a walk takes, given its number.
#[derive(Debug)]
struct Law {
    walk_ns: f64,
    busy_ns: f64,
    spread: f64,
    refresh: Refresh,
    time_draws: Draws,
    refresh_draws: Draws,
}

impl Walks {
    pub(super) fn new(host: &Host, key: TestKey, number: u64) -> Self {
        let iommu = &host.iommu;
        let law = Law {
            walk_ns: iommu.walk_ns * iommu.reads_of_a_walk(),
            busy_ns: iommu.walker_busy_ns * iommu.reads_of_a_walk(),
            spread: iommu.busy_walk_spread,
            refresh: Refresh::new(&host.memory.refresh),
            time_draws: key.draws(Stream::WalkTime),
            refresh_draws: key.draws(Stream::WalkRefresh),
        };
        Self { law, blocks: Blocks::new(number) }
    }

    /// The walks of a test with one at a time: all take the same time.
    pub(super) fn one_at_a_time(mut self) -> Self {
        self.law.spread = 0.0;
        self
    }

    #[inline]
    pub(super) fn next(&mut self) -> Walk {
        self.blocks.next(|number, walks| self.law.draw(number, walks))
    }
}

impl Law {
    fn draw(&self, number: u64, walks: &mut [Walk; BLOCK]) {
        let mut times = [0.0; BLOCK];
        self.time_draws.exponentials(number, &mut times);
        let mut phases = std::array::from_fn::<u64, BLOCK, _>(|nth| number + nth as u64);
        self.refresh_draws.bits_of(&mut phases);
        for ((walk, time), phase) in walks.iter_mut().zip(times).zip(phases) {
            let share = 1.0 - self.spread + self.spread * time;
            *walk = Walk {
                busy: Picoseconds::from_ns(self.busy_ns * share),
                time: Picoseconds::from_ns(self.walk_ns * share) + self.refresh.wait((phase >> 32) as u32),
            };
        }
    }
}
