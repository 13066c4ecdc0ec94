//! The root complex's times, made ready: picoseconds instead of the profile's nanoseconds, and what is drawn.

use crate::machine::{Machine, ReadCosts};
use crate::profile;
use pcie_time::Picoseconds;

/// Times of the profile in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) request_interval: Picoseconds,
    pub(super) credit_return: Picoseconds,
    pub(super) same_page_stall: Picoseconds,
    pub(super) idle: Spread,
    pub(super) busy: Spread,
    pub(super) idle_costs: ReadCosts,
    pub(super) busy_costs: ReadCosts,
    pub(super) refresh: Refresh,
}

impl Times {
    pub(super) fn new(machine: &Machine) -> Self {
        let complex = &machine.system.host.root_complex;
        Self {
            request_interval: Picoseconds::from_ns(complex.request_interval_ns),
            credit_return: Picoseconds::from_ns(complex.credit_return_ns),
            same_page_stall: Picoseconds::from_ns(machine.system.host.iommu.same_page_stall_ns),
            idle: Spread::new(complex.read_ns, complex.jitter_ns),
            busy: Spread::new(complex.busy_read_ns, complex.busy_jitter_ns),
            idle_costs: machine.read_costs(false),
            busy_costs: machine.read_costs(true),
            refresh: Refresh::new(&machine.system.host.memory.refresh),
        }
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
            Some(left) => {
                Picoseconds((u128::from(self.duration) * u128::from(left) / u128::from(self.share)) as u64)
            }
        }
    }
}
