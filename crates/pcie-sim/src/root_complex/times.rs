//! The root complex's times in picoseconds, and the distributions of drawn ones.

use crate::cache::last_level::Caches;
use crate::cache::lines::{Line, Lines};
use crate::profile::{self, System};
use crate::root_complex::conflict::Conflict;
use crate::root_complex::line_costs::ReadCosts;
use pcie_time::Picoseconds;
use std::ops::Range;

/// Times of the profile in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) request_interval: Picoseconds,
    pub(super) credit_return: Picoseconds,
    /// From when memory has accepted a write until its entries are free.
    pub(super) write_hold: Picoseconds,
    pub(super) idle: Access,
    pub(super) busy: Access,
    pub(super) refreshes: Refreshes,
    /// Conflicts of reads in an idle root complex.
    pub(super) conflict: Conflict,
}

impl Times {
    pub(super) fn new(system: &System, lines: &Lines, caches: &Caches) -> Self {
        let System { device, host, .. } = system;
        let (complex, memory) = (&host.root_complex, &host.memory);
        // The slower of root complex and device.
        let request_interval_ns = complex.request_interval_ns.max(device.dma.busy_request_interval_ns);
        Self {
            request_interval: Picoseconds::from_ns(request_interval_ns),
            credit_return: Picoseconds::from_ns(complex.credit_return_ns),
            write_hold: Picoseconds::from_ns(complex.write_ns),
            idle: Access {
                spread: Spread::new(complex.read_ns, complex.jitter_ns),
                costs: ReadCosts::new(memory, caches, lines, false),
            },
            busy: Access {
                spread: Spread::new(complex.busy_read_ns, complex.busy_jitter_ns),
                costs: ReadCosts::new(memory, caches, lines, true),
            },
            refreshes: Refreshes::new(&memory.refresh),
            conflict: Conflict::new(complex),
        }
    }

    /// Least time from the arrival of a read request until its data are available.
    pub(super) fn least_read(&self) -> Picoseconds {
        self.idle.spread.least.min(self.busy.spread.least)
    }
}

/// Time of a read from translation to data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    spread: Spread,
    costs: ReadCosts,
}

impl Access {
    /// The part of the caches and of memory in it, and whether a line comes from memory.
    pub(super) fn cost(&self, caches: &Caches, lines: Range<Line>) -> (Picoseconds, bool) {
        self.costs.of_lines(caches, lines)
    }

    #[inline(always)]
    pub(super) fn access(
        &self,
        caches: &Caches,
        lines: Range<Line>,
        refreshes: &Refreshes,
        bits: u64,
    ) -> Picoseconds {
        let (cost, memory) = self.costs.of_lines(caches, lines);
        let refresh = if memory { &refreshes.of_memory } else { &refreshes.of_hits };
        self.spread.at((bits >> 32) as u32) + cost + refresh.wait(bits as u32)
    }
}

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

    #[inline]
    pub(super) fn at(self, draw: u32) -> Picoseconds {
        self.least + Picoseconds((u64::from(draw) * self.width) >> 32)
    }
}

/// The refreshes that reads from memory and from the cache meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refreshes {
    of_memory: Refresh,
    of_hits: Refresh,
}

impl Refreshes {
    fn new(refresh: &profile::Refresh) -> Self {
        Self { of_memory: Refresh::new(refresh), of_hits: Refresh::new(&refresh.met_by_hits()) }
    }
}

/// Refreshes for concurrent accesses, each at a phase of its own between two, in units of 2^-32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refresh {
    /// Phases below this are within a refresh.
    share: u64,
    duration: u64,
    /// Phases from `share` up to this are those of accesses that a refresh aborts.
    met: u64,
    caught: u64,
    again: u64,
}

impl Refresh {
    pub(super) fn new(refresh: &profile::Refresh) -> Self {
        let phases = |length_ns: f64| {
            let share = match refresh.interval_ns > 0.0 {
                true => (refresh.share * length_ns / refresh.interval_ns).clamp(0.0, 1.0),
                false => 0.0,
            };
            (share * (1u64 << 32) as f64).round() as u64
        };
        let share = phases(refresh.duration_ns);
        Self {
            share,
            duration: Picoseconds::from_ns(refresh.duration_ns).0,
            met: share + phases(refresh.caught_ns),
            caught: Picoseconds::from_ns(refresh.caught_ns).0,
            again: Picoseconds::from_ns(refresh.again_ns).0,
        }
    }

    #[inline(always)]
    pub(super) fn wait(&self, phase: u32) -> Picoseconds {
        let phase = u64::from(phase);
        if phase >= self.met { Picoseconds::ZERO } else { self.wait_of_met(phase) }
    }

    /// Seldom, so that its divisions are kept out of the loops of the engines.
    #[cold]
    fn wait_of_met(&self, phase: u64) -> Picoseconds {
        if phase < self.share {
            return Picoseconds(part_of(self.duration, self.share - phase, self.share));
        }
        let until = part_of(self.caught, phase - self.share, self.met - self.share);
        Picoseconds(until + self.duration + self.again)
    }
}

/// `time * part / whole` without overflow.
#[inline]
fn part_of(time: u64, part: u64, whole: u64) -> u64 {
    match time.checked_mul(part) {
        Some(product) => product / whole,
        None => (u128::from(time) * u128::from(part) / u128::from(whole)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_wait_is_that_of_single_accesses() {
        let refresh = profile::Refresh {
            interval_ns: 7800.0,
            duration_ns: 160.0,
            share: 1.5,
            caught_ns: 10.0,
            again_ns: 45.0,
            hit_share: 0.0,
        };
        let many = Refresh::new(&refresh);
        let alone = crate::root_complex::refresh::RefreshLine::new(&refresh);
        let count = 1u32 << 16;
        let mean_ns = |wait: &dyn Fn(u32) -> Picoseconds| {
            (0..count).map(|phase| wait(phase).0).sum::<u64>() as f64 / f64::from(count) / 1e3
        };
        let of_many = mean_ns(&|phase| many.wait(phase << 16));
        let of_one = mean_ns(&|phase| alone.wait(f64::from(phase) / f64::from(count), Picoseconds::ZERO));
        // Half a refresh for each that is met; more than a whole one for each aborted access.
        let expected = 1.5 * (160.0 * 80.0 + 10.0 * (5.0 + 160.0 + 45.0)) / 7800.0;
        assert!((of_many / expected - 1.0).abs() < 0.01, "{of_many} instead of {expected}");
        assert!((of_one / expected - 1.0).abs() < 0.01, "{of_one} instead of {expected}");
    }
}
