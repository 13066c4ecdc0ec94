//! DRAM refresh: the slow second mode of the measured latencies.
//!
//! An access that meets a refresh waits for its end. The extra time is uniform up to the length of a refresh, as the
//! measured distributions show, which break off where the tRFC of the machine's memory says.

use crate::machine::Machine;
use crate::profile::Refresh;
use pcie_time::{Draws, Picoseconds};

/// How long an access to memory waits for a refresh, if it meets one: one of many accesses in flight, whose places between
/// two refreshes are taken to be independent.
pub(crate) fn refresh(machine: &Machine, draws: Draws, index: u64) -> Picoseconds {
    let refresh = &machine.system.host.memory.refresh;
    RefreshLine::new(refresh, draws.fraction(index)).wait(Picoseconds::ZERO)
}

/// The refreshes that a single transaction can meet, on its own time line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefreshLine {
    /// From one refresh that can be met to the next; 0 without any.
    interval: u64,
    duration: u64,
    /// Time since the last refresh started, when the transaction starts.
    since: u64,
}

impl RefreshLine {
    /// The time line of a transaction that starts at a `place` in `0..1` between two refreshes.
    #[inline]
    pub(crate) fn new(refresh: &Refresh, place: f64) -> Self {
        let interval_ns = if refresh.share > 0.0 { refresh.interval_ns / refresh.share } else { 0.0 };
        Self {
            interval: Picoseconds::from_ns(interval_ns).0,
            duration: Picoseconds::from_ns(refresh.duration_ns).0,
            since: Picoseconds::from_ns(place * interval_ns).0,
        }
    }

    /// How long an access at a time of the transaction waits for the end of a refresh.
    #[inline]
    pub(crate) fn wait(&self, at: Picoseconds) -> Picoseconds {
        if self.interval == 0 {
            return Picoseconds::ZERO;
        }
        Picoseconds(self.duration.saturating_sub((self.since + at.0) % self.interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_waits_for_the_end_of_the_refresh_it_meets() {
        let refresh = Refresh { interval_ns: 7800.0, duration_ns: 160.0, share: 1.0 };
        let line = RefreshLine::new(&refresh, 0.0);
        assert_eq!(line.wait(Picoseconds::ZERO), Picoseconds(160_000));
        assert_eq!(line.wait(Picoseconds(100_000)), Picoseconds(60_000));
        assert_eq!(line.wait(Picoseconds(160_000)), Picoseconds::ZERO);
        assert_eq!(line.wait(Picoseconds(7_800_000)), Picoseconds(160_000), "the next one");
    }

    #[test]
    fn without_a_share_there_are_none() {
        let refresh = Refresh { interval_ns: 7800.0, duration_ns: 160.0, share: 0.0 };
        assert_eq!(RefreshLine::new(&refresh, 0.0).wait(Picoseconds::ZERO), Picoseconds::ZERO);
    }
}
