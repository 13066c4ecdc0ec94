//! The clock that times single accesses.
//!
//! It is the time stamp counter where that runs at a constant rate, read between fences so that earlier work
//! has finished; otherwise the system's monotonic clock. The counter's rate is measured against the system's
//! clock. Resolution and overhead are measured and reported; nothing is subtracted.

use crate::topology::Topology;
use pcie_bench::{Condition, TimerFacts};
use std::time::{Duration, Instant};

/// How long the counter is compared with the system's clock.
const COMPARED: Duration = Duration::from_millis(20);
/// Pairs of readings of both clocks of which the closest is taken: a thread may lose its processor between two readings.
const PAIRS: usize = 16;
/// Readings that determine the resolution.
const READINGS: usize = 20_000;
/// Possible ticks, ns: numerator and denominator. Few, so that two measurements of one clock agree.
const TICKS: [(u64, u64); 10] =
    [(1, 4), (1, 2), (1, 1), (2, 1), (5, 1), (10, 1), (20, 1), (50, 1), (100, 1), (1000, 1)];

/// A clock with its measured rate, resolution and overhead.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
    ns_per_count: f64,
    /// Least step between two readings, ns.
    pub resolution_ns: f64,
    /// Median step between two readings in a row, ns.
    pub overhead_ns: f64,
    timer: TimerFacts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    TimeStampCounter,
    System(Instant),
}

/// Readings of both clocks, at most `apart` from each other.
#[derive(Clone, Copy, Debug)]
struct Pair {
    at: Instant,
    counts: u64,
    apart: Duration,
}

impl Clock {
    /// Chooses this machine's clock and measures it.
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

    /// A reading, in counts: earlier instructions have finished, later ones have not begun.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> u64 {
        self.source.now()
    }

    /// Counts in ns.
    #[must_use]
    pub fn ns(&self, counts: u64) -> f64 {
        counts as f64 * self.ns_per_count
    }

    /// The tick of latencies: the resolution, rounded up.
    #[must_use]
    pub fn timer(&self) -> TimerFacts {
        self.timer
    }

    /// Resolution and overhead.
    #[must_use]
    pub fn conditions(&self) -> [Condition; 2] {
        [
            Condition::new("timer_resolution", "ns", Some(self.resolution_ns)),
            Condition::new("timer_overhead", "ns", Some(self.overhead_ns)),
        ]
    }

    /// Counts in ticks, rounded.
    #[inline]
    #[must_use]
    pub fn ticks(&self, counts: u64) -> u32 {
        let tick_ns = self.timer.numerator_ns as f64 / self.timer.denominator as f64;
        (self.ns(counts) / tick_ns).round().min(f64::from(u32::MAX)) as u32
    }
}

/// The least nonzero step, or difference of steps, from sorted steps.
fn least_difference(sorted: &[u64]) -> u64 {
    let pairs = sorted.windows(2).map(|pair| pair[1] - pair[0]);
    pairs.chain(sorted.first().copied()).filter(|step| *step > 0).min().unwrap_or(1)
}

/// The least tick of at least 0.9 of the resolution: the tolerance keeps a clock near a limit at one tick.
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
                // SAFETY: every x86-64 processor has both instructions; they touch no memory.
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
                let first = self.paired();
                while first.at.elapsed() < COMPARED {
                    std::hint::spin_loop();
                }
                let last = self.paired();
                let elapsed_ns = last.at.duration_since(first.at).as_nanos() as f64;
                elapsed_ns / last.counts.saturating_sub(first.counts).max(1) as f64
            }
            Self::System(_) => 1.0,
        }
    }

    /// A reading of this clock and the moment before it, the closest of [`PAIRS`].
    fn paired(self) -> Pair {
        let pair = |_| {
            let (at, counts) = (Instant::now(), self.now());
            Pair { at, counts, apart: at.elapsed() }
        };
        let first = pair(0);
        (1..PAIRS).map(pair).fold(first, |best, pair| if pair.apart < best.apart { pair } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_agrees_with_the_system_clock() {
        let clock = Clock::measured(&Topology::here());
        let first = clock.source.paired();
        std::thread::sleep(Duration::from_millis(50));
        let last = clock.source.paired();
        let shown_ns = clock.ns(last.counts - first.counts);
        let elapsed_ns = last.at.duration_since(first.at).as_nanos() as f64;
        let apart_ns = (first.apart + last.apart).as_nanos() as f64;
        assert!(
            (shown_ns - elapsed_ns).abs() < 0.02 * elapsed_ns + apart_ns,
            "{shown_ns} against {elapsed_ns}"
        );
        assert!(clock.resolution_ns > 0.0 && clock.overhead_ns >= 0.0);
    }

    #[test]
    fn tick_is_not_finer_than_the_resolution() {
        for (resolution, tick) in [(0.41, (1, 2)), (0.5, (1, 2)), (9.8, (10, 1)), (1e6, (1000, 1))] {
            let timer = timer(resolution);
            assert_eq!((timer.numerator_ns, timer.denominator), tick);
        }
        assert_eq!(least_difference(&[24, 24, 26, 30]), 2);
        assert_eq!(least_difference(&[0, 0]), 1);
    }
}
