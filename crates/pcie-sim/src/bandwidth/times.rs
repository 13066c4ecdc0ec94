//! The root complex's times, made ready: picoseconds instead of the profile's nanoseconds, and what is drawn.

use crate::caches::Caches;
use crate::lines::Line;
use crate::machine::{Machine, ReadCosts};
use crate::profile;
use pcie_time::Picoseconds;
use std::ops::Range;

/// Times of the profile in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) request_interval: Picoseconds,
    pub(super) credit_return: Picoseconds,
    pub(super) same_page_stall: Picoseconds,
    pub(super) idle: Access,
    pub(super) busy: Access,
    pub(super) refresh: Refresh,
}

impl Times {
    pub(super) fn new(machine: &Machine, caches: &Caches) -> Self {
        let complex = &machine.system.host.root_complex;
        Self {
            request_interval: Picoseconds::from_ns(machine.read_request_interval_ns()),
            credit_return: Picoseconds::from_ns(complex.credit_return_ns),
            same_page_stall: Picoseconds::from_ns(machine.system.host.iommu.same_page_stall_ns),
            idle: Access {
                spread: Spread::new(complex.read_ns, complex.jitter_ns),
                costs: machine.read_costs(caches, false),
            },
            busy: Access {
                spread: Spread::new(complex.busy_read_ns, complex.busy_jitter_ns),
                costs: machine.read_costs(caches, true),
            },
            refresh: Refresh::new(&machine.system.host.memory.refresh),
        }
    }

    /// The least time from a read request's arrival until its data are there.
    pub(super) fn least_read(&self) -> Picoseconds {
        self.idle.spread.least.min(self.busy.spread.least)
    }
}

/// What a read takes from translation to data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    spread: Spread,
    costs: ReadCosts,
}

impl Access {
    /// The time of one, of which a draw decides.
    #[inline(always)]
    pub(super) fn access(
        &self,
        caches: &Caches,
        lines: Range<Line>,
        refresh: &Refresh,
        bits: u64,
    ) -> Picoseconds {
        let (cost, memory) = self.costs.of_lines(caches, lines);
        let refresh = if memory { refresh.wait(bits as u32) } else { Picoseconds::ZERO };
        self.spread.at((bits >> 32) as u32) + cost + refresh
    }
}

/// A time that is uniform between two bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    least: Picoseconds,
    width: u64,
}

impl Spread {
    fn new(middle_ns: f64, half_width_ns: f64) -> Self {
        let least = Picoseconds::from_ns(middle_ns - half_width_ns);
        let most = Picoseconds::from_ns(middle_ns + half_width_ns);
        Self { least, width: most.since(least).0 + 1 }
    }

    /// The time at a place between the bounds, in units of 2^-32.
    #[inline]
    pub(super) fn at(self, place: u32) -> Picoseconds {
        self.least + Picoseconds((u64::from(place) * self.width) >> 32)
    }
}

/// Refreshes as many accesses at a time meet them: each at a place of its own between two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refresh {
    /// Places in units of 2^-32 of the time between two: those below lie in a refresh.
    share: u64,
    duration: u64,
}

impl Refresh {
    pub(super) fn new(refresh: &profile::Refresh) -> Self {
        let share = match refresh.interval_ns > 0.0 {
            true => (refresh.share * refresh.duration_ns / refresh.interval_ns).clamp(0.0, 1.0),
            false => 0.0,
        };
        let share = (share * (1u64 << 32) as f64).round() as u64;
        Self { share, duration: Picoseconds::from_ns(refresh.duration_ns).0 }
    }

    /// How long an access at a place waits for the end of the refresh that it meets there.
    #[inline]
    pub(super) fn wait(self, place: u32) -> Picoseconds {
        match self.share.checked_sub(u64::from(place)) {
            None | Some(0) => Picoseconds::ZERO,
            Some(left) => match self.duration.checked_mul(left) {
                Some(product) => Picoseconds(product / self.share),
                None => Picoseconds(
                    (u128::from(self.duration) * u128::from(left) / u128::from(self.share)) as u64,
                ),
            },
        }
    }
}
