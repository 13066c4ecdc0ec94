//! The clock that single accesses are timed with, and what it can resolve.
//!
//! Where the processor has a time stamp counter that runs evenly, that is read, between fences, so that nothing is timed that
//! was not waited for; elsewhere it is the system's monotonic clock. How fast the counter runs is measured against the
//! system's clock; how finely it counts, and how long reading it takes, is measured too, and told: nothing is subtracted.

use crate::topology::Topology;
use pcie_bench::{Condition, TimerFacts};
use std::time::{Duration, Instant};

/// How long the counter is compared with the system's clock.
const COMPARED: Duration = Duration::from_millis(20);
/// Readings that the resolution is found with.
const READINGS: usize = 20_000;
/// Lengths that a tick may have, ns: numerator and denominator. Few of them, so that two measurements of one clock agree.
const TICKS: [(u64, u64); 10] =
    [(1, 4), (1, 2), (1, 1), (2, 1), (5, 1), (10, 1), (20, 1), (50, 1), (100, 1), (1000, 1)];

/// A clock that counts.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
    ns_per_count: f64,
    /// Least step between two readings, ns.
    pub resolution_ns: f64,
    /// What reading it twice in a row shows, ns.
    pub overhead_ns: f64,
    timer: TimerFacts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    TimeStampCounter,
    System(Instant),
}

impl Clock {
    /// Chooses the clock and measures it.
    #[must_use]
    pub fn measured(topology: &Topology) -> Self {
        let source = Source::best(topology);
        let ns_per_count = source.ns_per_count();
        let mut steps: Vec<u64> = Vec::with_capacity(READINGS);
        let mut last = source.now();
        for _ in 0..READINGS {
            let now = source.now();
            steps.push(now.saturating_sub(last));
            last = now;
        }
        steps.sort_unstable();
        let overhead_ns = steps[READINGS / 2] as f64 * ns_per_count;
        let resolution_ns = least_difference(&steps) as f64 * ns_per_count;
        Self { source, ns_per_count, resolution_ns, overhead_ns, timer: timer(resolution_ns) }
    }

    /// A reading: nothing before it is still going on, and nothing after it has begun.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> u64 {
        self.source.now()
    }

    /// Time between two readings.
    #[must_use]
    pub fn ns(&self, counts: u64) -> f64 {
        counts as f64 * self.ns_per_count
    }

    /// The tick that latencies are told in: the resolution, rounded up.
    #[must_use]
    pub fn timer(&self) -> TimerFacts {
        self.timer
    }

    /// What it can resolve, and what reading it takes.
    #[must_use]
    pub fn conditions(&self) -> [Condition; 2] {
        [
            Condition::new("timer_resolution", "ns", Some(self.resolution_ns)),
            Condition::new("timer_overhead", "ns", Some(self.overhead_ns)),
        ]
    }

    /// Ticks in the time between two readings.
    #[inline]
    #[must_use]
    pub fn ticks(&self, counts: u64) -> u32 {
        let tick_ns = self.timer.numerator_ns as f64 / self.timer.denominator as f64;
        (self.ns(counts) / tick_ns).round().min(f64::from(u32::MAX)) as u32
    }
}

/// The least step that two different readings differ by.
fn least_difference(sorted: &[u64]) -> u64 {
    let pairs = sorted.windows(2).map(|pair| pair[1] - pair[0]);
    pairs.chain(sorted.first().copied()).filter(|step| *step > 0).min().unwrap_or(1)
}

/// The tick for a resolution. A little less than it will do, so that a clock near a limit is not now here, now there.
fn timer(resolution_ns: f64) -> TimerFacts {
    let long_enough =
        |&(numerator, denominator): &(u64, u64)| numerator as f64 / denominator as f64 >= 0.9 * resolution_ns;
    let (numerator_ns, denominator) = TICKS.into_iter().find(long_enough).unwrap_or((1000, 1));
    TimerFacts { numerator_ns, denominator, cycles: 1 }
}

impl Source {
    fn best(topology: &Topology) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let flags = topology.processor_flags();
            if ["tsc", "constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(*flag)) {
                return Self::TimeStampCounter;
            }
        }
        let _ = topology;
        Self::System(Instant::now())
    }

    #[inline(always)]
    fn now(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::TimeStampCounter => {
                use std::arch::x86_64::{_mm_lfence, _rdtsc};
                // SAFETY: both instructions are there on every x86-64 processor and touch no memory.
                unsafe {
                    _mm_lfence();
                    let count = _rdtsc();
                    _mm_lfence();
                    count
                }
            }
            Self::System(origin) => u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn ns_per_count(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::TimeStampCounter => {
                let (started, first) = (Instant::now(), self.now());
                while started.elapsed() < COMPARED {
                    std::hint::spin_loop();
                }
                let (elapsed, last) = (started.elapsed(), self.now());
                elapsed.as_nanos() as f64 / last.saturating_sub(first).max(1) as f64
            }
            Self::System(_) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_the_systems() {
        let clock = Clock::measured(&Topology::here());
        let (started, first) = (Instant::now(), clock.now());
        std::thread::sleep(Duration::from_millis(50));
        let (shown, elapsed) = (clock.ns(clock.now() - first), started.elapsed().as_nanos() as f64);
        assert!((shown / elapsed - 1.0).abs() < 0.02, "{shown} against {elapsed}");
        assert!(clock.resolution_ns > 0.0 && clock.overhead_ns >= 0.0);
    }

    #[test]
    fn a_tick_is_no_finer_than_the_clock() {
        let length = |resolution| {
            let timer = timer(resolution);
            (timer.numerator_ns, timer.denominator)
        };
        assert_eq!(
            [length(0.41), length(0.5), length(9.8), length(1e6)],
            [(1, 2), (1, 2), (10, 1), (1000, 1)]
        );
        assert_eq!(least_difference(&[24, 24, 26, 30]), 2);
        assert_eq!(least_difference(&[0, 0]), 1);
    }
}
