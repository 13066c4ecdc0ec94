//! DRAM refresh: the slow second mode of the measured latencies.
//!
//! An access that meets a refresh waits for its end. The wait is uniform up to the length of a refresh: the
//! measured distributions end at the tRFC of the machine's memory. An access in progress when the refresh
//! begins is repeated after it, which makes the small peak beyond that edge.

use crate::profile::Refresh;
use pcie_time::Picoseconds;

/// The refreshes that a single transaction can meet, on its own time line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefreshLine {
    interval_ns: f64,
    /// Between two refreshes that can be met; 0 without any.
    interval: u64,
    duration: u64,
    /// Time before a refresh in which it aborts an access.
    caught: u64,
    again: u64,
}

impl RefreshLine {
    pub(crate) fn new(refresh: &Refresh) -> Self {
        let interval_ns = if refresh.share > 0.0 { refresh.interval_ns / refresh.share } else { 0.0 };
        Self {
            interval_ns,
            interval: Picoseconds::from_ns(interval_ns).0,
            duration: Picoseconds::from_ns(refresh.duration_ns).0,
            caught: Picoseconds::from_ns(refresh.caught_ns).0,
            again: Picoseconds::from_ns(refresh.again_ns).0,
        }
    }

    /// Refreshes met by reads that hit the cache; these are never repeated.
    pub(crate) fn of_hits(refresh: &Refresh) -> Self {
        Self::new(&refresh.met_by_hits())
    }

    /// Wait of an access at time `at` of a transaction that starts at `phase` (`0..1`) between refreshes.
    #[inline]
    pub(crate) fn wait(&self, phase: f64, at: Picoseconds) -> Picoseconds {
        if self.interval == 0 {
            return Picoseconds::ZERO;
        }
        let mut since = Picoseconds::from_ns(phase * self.interval_ns).0 + at.0;
        // Seldom more than one interval later.
        if since >= self.interval {
            since -= self.interval;
            if since >= self.interval {
                since %= self.interval;
            }
        }
        let until = self.interval - since;
        if until <= self.caught {
            return Picoseconds(until + self.duration + self.again);
        }
        Picoseconds(self.duration.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refreshes(share: f64) -> Refresh {
        Refresh {
            interval_ns: 7800.0,
            duration_ns: 160.0,
            share,
            caught_ns: 0.0,
            again_ns: 0.0,
            hit_share: 0.0,
        }
    }

    #[test]
    fn an_access_waits_for_the_end_of_the_refresh_it_meets() {
        let refresh = refreshes(1.0);
        let line = RefreshLine::new(&refresh);
        assert_eq!(line.wait(0.0, Picoseconds::ZERO), Picoseconds(160_000));
        assert_eq!(line.wait(0.0, Picoseconds(100_000)), Picoseconds(60_000));
        assert_eq!(line.wait(0.0, Picoseconds(160_000)), Picoseconds::ZERO);
        assert_eq!(line.wait(0.0, Picoseconds(7_800_000)), Picoseconds(160_000), "the next one");
        assert_eq!(line.wait(0.0, Picoseconds(15_700_000)), Picoseconds(60_000), "the one after that");
        assert_eq!(line.wait(0.5, Picoseconds(4_000_000)), Picoseconds(60_000), "half way to the next one");
    }

    #[test]
    fn share_of_0_switches_refresh_off() {
        assert_eq!(RefreshLine::new(&refreshes(0.0)).wait(0.3, Picoseconds::ZERO), Picoseconds::ZERO);
    }

    #[test]
    fn an_aborted_access_is_repeated_after_the_refresh() {
        let line = RefreshLine::new(&Refresh { caught_ns: 8.0, again_ns: 45.0, ..refreshes(1.0) });
        assert_eq!(line.wait(0.0, Picoseconds(7_795_000)), Picoseconds(5_000 + 160_000 + 45_000));
        assert_eq!(line.wait(0.0, Picoseconds(7_790_000)), Picoseconds::ZERO, "done before the refresh");
    }

    #[test]
    fn hits_meet_refreshes_by_hit_share() {
        let met = |line: RefreshLine| {
            (0..10_000).filter(|phase| line.wait(f64::from(*phase) / 1e4, Picoseconds::ZERO).0 > 0).count()
        };
        let refresh = Refresh { hit_share: 0.25, ..refreshes(1.0) };
        assert_eq!(met(RefreshLine::new(&refresh)), 206);
        assert_eq!(met(RefreshLine::of_hits(&refresh)), 52);
        assert_eq!(met(RefreshLine::of_hits(&refreshes(1.0))), 0);
    }
}
