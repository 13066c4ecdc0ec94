//! Arrivals of completions at the device, which a DLLP acknowledges each.

use crate::bandwidth::fast::NEVER;
use crate::bandwidth::fast::layouts::FEW;
use pcie_time::Picoseconds;
use std::hint::select_unpredictable;

/// Acknowledged arrivals to keep until they are dropped.
const GONE_MOST: usize = 256;

/// The arrivals in order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// At least [`FEW`] more than arrived; those mean nothing.
    times: Vec<Picoseconds>,
    arrived: usize,
    acknowledged: usize,
}

impl Arrivals {
    /// Makes room for the completions of `requests` requests, with up to [`FEW`] each.
    #[inline]
    pub(super) fn make_room(&mut self, requests: usize) {
        let needed = self.arrived + (requests + 1) * FEW;
        if self.times.len() < needed {
            self.times.resize(needed, NEVER);
        }
    }

    /// The first `count` of some completions arrive.
    #[inline(always)]
    pub(super) fn add_few(&mut self, times: [Picoseconds; FEW], count: usize) {
        self.times[self.arrived..self.arrived + FEW].copy_from_slice(&times);
        self.arrived += count;
    }

    /// A completion arrives.
    pub(super) fn add(&mut self, time: Picoseconds) {
        self.make_room(1);
        self.times[self.arrived] = time;
        self.arrived += 1;
    }

    /// The first arrival that is not acknowledged; [`NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn next(&self) -> Picoseconds {
        let time = self.times.get(self.acknowledged).copied().unwrap_or(NEVER);
        select_unpredictable(self.acknowledged < self.arrived, time, NEVER)
    }

    /// Acknowledges the first one, or none.
    #[inline(always)]
    pub(super) fn acknowledge_if(&mut self, condition: bool) {
        self.acknowledged += usize::from(condition);
    }

    /// Drops acknowledged arrivals, once they are many.
    pub(super) fn forget(&mut self) {
        if self.acknowledged > GONE_MOST {
            self.times.copy_within(self.acknowledged..self.arrived, 0);
            self.arrived -= self.acknowledged;
            self.acknowledged = 0;
        }
    }
}
