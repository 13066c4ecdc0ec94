//! A machine that sleeps unless reads keep it awake: the wake-up times of single transactions, and stalls of
//! milliseconds that slow everything down. Models only the effects on a device, not the power states.

use crate::cache::history::TestKey;
use crate::profile::{IdleStates, Stalls};
use pcie_time::{Draws, Picoseconds, Stream};

/// The times of a transaction without others in flight, on a machine that is awake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone {
    pub(crate) latency: Picoseconds,
    /// The device's part of it, for any size.
    pub(crate) on_card: Picoseconds,
    /// The part in which a read waits for the write before it.
    pub(crate) behind_write: Picoseconds,
    /// From its completion to the next issue.
    pub(crate) loop_time: Picoseconds,
}

/// The idle states, for transactions that come one at a time.
#[derive(Debug)]
pub(crate) struct Sleeper<'a> {
    states: &'a IdleStates,
    draws: Draws,
    /// Phase of the first transaction between two stalls, in units of 2^-64.
    phase: u64,
}

/// 2^64 over the golden ratio: its multiples are evenly distributed modulo 2^64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl<'a> Sleeper<'a> {
    pub(crate) fn new(states: &'a IdleStates, key: TestKey) -> Self {
        Self { states, draws: key.draws(Stream::Idle), phase: key.draws(Stream::Stalls).bits(0) }
    }

    pub(crate) fn latency(&self, number: u64, alone: Alone) -> Picoseconds {
        let latency = self.woken(number, alone);
        if self.stalls(number, latency + alone.loop_time) {
            latency + Picoseconds::from_ns(self.states.stalls.duration_ns)
        } else {
            latency
        }
    }

    /// Whether the machine stalls within the time `served` of a transaction.
    ///
    /// Stalls are spread evenly over the transactions, so that part of a test shows the share of the whole.
    /// They come at the median rate of all tests, because a latency test yields an average and no range.
    fn stalls(&self, number: u64, served: Picoseconds) -> bool {
        let phase = self.phase.wrapping_add(number.wrapping_mul(GOLDEN));
        (phase >> 11) as f64 / (1u64 << 53) as f64 * self.states.stalls.interval_ns < served.as_ns()
    }

    fn woken(&self, number: u64, alone: Alone) -> Picoseconds {
        let states = self.states;
        let quiet = alone.loop_time + alone.on_card;
        let long = quiet > Picoseconds::from_ns(states.gap_ns);
        let fast_share = if long { states.fast_share_long_gap } else { states.fast_share_short_gap };
        if self.draws.fraction(3 * number) < fast_share {
            return alone.latency;
        }
        let plain = (alone.latency + Picoseconds::from_ns(states.wake_ns))
            .max(alone.on_card + alone.behind_write + Picoseconds::from_ns(states.wake_floor_ns));
        let mut choice = self.draws.fraction(3 * number + 1);
        for cluster in &states.clusters {
            if choice < cluster.share {
                let within = self.draws.fraction(3 * number + 2);
                let more_ns = cluster.low_ns + within * (cluster.high_ns - cluster.low_ns);
                return plain + Picoseconds::from_ns(more_ns);
            }
            choice -= cluster.share;
        }
        plain
    }
}

/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_964;

/// The stalls of a bandwidth test. Their rate differs from test to test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallsOfTest {
    /// Time in stalls over time of service.
    stalled: f64,
    /// Standard deviation of its logarithm, from test to test.
    spread: f64,
}

impl StallsOfTest {
    pub(crate) fn new(stalls: &Stalls, key: TestKey) -> Self {
        let off = stalls.interval_spread * key.draws(Stream::Stalls).normal(0);
        Self {
            stalled: stalls.duration_ns / (stalls.interval_ns * libm::exp(off)),
            spread: stalls.interval_spread,
        }
    }

    /// Factors between which the test's time varies from run to run, at 95 %.
    pub(crate) fn between_runs(self) -> (f64, f64) {
        let factor = |deviations: f64| {
            (1.0 + self.stalled * libm::exp(deviations * self.spread)) / (1.0 + self.stalled)
        };
        (factor(-NORMAL_975), factor(NORMAL_975))
    }

    /// Time of a part of a test with service time `served`: the hundreds of stalls are distributed evenly.
    pub(crate) fn with_stalls(self, served: Picoseconds) -> Picoseconds {
        served + Picoseconds((served.0 as f64 * self.stalled).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::WakeCluster;

    const STALLS: Stalls = Stalls { interval_ns: 1e6, interval_spread: 0.8, duration_ns: 2e6 };

    fn states() -> IdleStates {
        IdleStates {
            gap_ns: 250.0,
            fast_share_short_gap: 1.0,
            fast_share_long_gap: 0.0,
            wake_ns: 650.0,
            wake_floor_ns: 1000.0,
            clusters: Vec::new(),
            stalls: Stalls { interval_ns: 1e15, ..STALLS },
        }
    }

    fn alone(latency_ns: f64, loop_ns: f64) -> Alone {
        let of = Picoseconds::from_ns;
        let behind_write = Picoseconds::ZERO;
        Alone { latency: of(latency_ns), on_card: of(100.0), behind_write, loop_time: of(loop_ns) }
    }

    fn key(test: u64) -> TestKey {
        TestKey { seed: 1, test }
    }

    #[test]
    fn machine_sleeps_after_a_long_gap_and_wakes_no_sooner_than_the_floor() {
        let states = states();
        let latency = |latency_ns, loop_ns| {
            Sleeper::new(&states, key(1)).latency(7, alone(latency_ns, loop_ns)).as_ns()
        };
        assert_eq!(latency(400.0, 149.0), 400.0);
        assert_eq!(latency(400.0, 151.0), 1100.0, "floor plus the device's time");
        assert_eq!(latency(600.0, 151.0), 1250.0, "the wake-up");
    }

    #[test]
    fn slow_wake_ups_have_their_share() {
        let clusters = vec![WakeCluster { share: 0.25, low_ns: 500.0, high_ns: 600.0 }];
        let states = IdleStates { clusters, ..states() };
        let sleeper = Sleeper::new(&states, key(1));
        let slow = (0..10_000).map(|number| sleeper.latency(number, alone(400.0, 200.0)).as_ns());
        let slow: Vec<f64> = slow.filter(|latency| *latency > 1100.0).collect();
        assert!((slow.len() as f64 / 1e4 - 0.25).abs() < 0.02);
        assert!(slow.iter().all(|latency| (1600.0..1700.0).contains(latency)));
    }

    #[test]
    fn part_of_a_test_meets_its_share_of_stalls() {
        let states = IdleStates { stalls: STALLS, ..states() };
        let sleeper = Sleeper::new(&states, key(3));
        let met = (0..4000).filter(|number| sleeper.stalls(*number, Picoseconds::from_ns(2000.0))).count();
        assert!((7..=9).contains(&met), "{met} stalls of a millisecond apart in 8 ms");
    }

    #[test]
    fn stalls_stretch_a_test_and_differ_from_test_to_test() {
        let stretch = |test| {
            let stalls = StallsOfTest::new(&STALLS, key(test));
            stalls.with_stalls(Picoseconds::from_ns(1000.0)).as_ns() / 1000.0 - 1.0
        };
        let mut logarithms: Vec<f64> = (0..2000).map(|test| libm::log(stretch(test))).collect();
        logarithms.sort_by(f64::total_cmp);
        let median = libm::exp(logarithms[1000]);
        assert!((median / 2.0 - 1.0).abs() < 0.1, "{median}");
        let width = (logarithms[1683] - logarithms[317]) / 2.0;
        assert!((width - 0.8).abs() < 0.06, "{width}");
    }
}
