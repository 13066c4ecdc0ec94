//! Adaptive sampling: when a test may end.

use pcie_statistics::{BatchMeans, Histogram};
use serde::{Deserialize, Serialize};

/// The share of a test's transactions that are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Samples {
    /// All of them.
    Full,
    /// As many as a stable answer needs.
    Adaptive,
}

/// Half width of the interval that an adaptive average latency must reach, relative to the average.
const LATENCY_HALF_WIDTH: f64 = 0.0025;
/// The same for a bandwidth, which should come within 0.25 % of that of all transactions. The 95 % interval
/// must be narrower, because a test that ends as soon as its batches agree often ends when they agree by
/// chance.
const BANDWIDTH_HALF_WIDTH: f64 = 0.0015;
/// Half width in ticks below which an average latency counts as exact.
const LATENCY_HALF_WIDTH_TICKS: f64 = 0.05;
/// Least batches for an interval.
const BATCHES_LEAST: usize = 4;
/// The same for bandwidths that scatter.
const SCATTERED_BATCHES_LEAST: usize = 8;
/// Least width of an interval, below which batches are alike: the transactions in flight at the start and end
/// of a batch differ.
pub(crate) const ALIKE: f64 = 0.0002;
/// Samples from which a stable median is enough: an average that has not settled by then depends on stalls
/// too rare and too long to estimate from a part of the run.
const HEAVY_TAIL_SAMPLES: u64 = 1 << 18;
/// The same for the transactions of a bandwidth test.
const HEAVY_TAIL_TRANSACTIONS: u64 = 1 << 20;
/// Samples that a full distribution needs for a reliable 99.9 % quantile.
const DETAILS_SAMPLES: u64 = 1 << 18;

/// Whether a bandwidth is accurate enough for an adaptive run.
pub(crate) fn bandwidth_is_settled(times: &BatchMeans) -> bool {
    let half_width = times.half_width() / times.mean();
    match times.count() {
        count if count < BATCHES_LEAST => false,
        count if count < SCATTERED_BATCHES_LEAST => half_width <= ALIKE,
        _ => half_width <= BANDWIDTH_HALF_WIDTH,
    }
}

/// Whether a bandwidth test may end.
pub(crate) fn bandwidth_is_stable(times: &BatchMeans, transactions: u64) -> bool {
    bandwidth_is_settled(times) || transactions >= HEAVY_TAIL_TRANSACTIONS
}

/// Whether an average latency is accurate enough for an adaptive run.
pub(crate) fn average_is_settled(averages: &BatchMeans) -> bool {
    let tolerance = (LATENCY_HALF_WIDTH * averages.mean()).max(LATENCY_HALF_WIDTH_TICKS);
    averages.half_width() <= tolerance
}

/// Whether a latency test may end: its average and median are stable.
///
/// A median is stable if its confidence interval is at most a tick wide. A median between two modes never is:
/// that test goes on to its full count, or to the whole batches in it.
pub(crate) fn latency_is_stable(averages: &BatchMeans, histogram: &Histogram, details: bool) -> bool {
    if averages.count() < BATCHES_LEAST || (details && histogram.count() < DETAILS_SAMPLES) {
        return false;
    }
    if !average_is_settled(averages) && histogram.count() < HEAVY_TAIL_SAMPLES {
        return false;
    }
    // Samples within a batch are correlated: eight count as one.
    let independent = (histogram.count() as f64 / 8.0).max(1.0);
    let margin = 3.0 * 0.5 / independent.sqrt();
    let (low, high) =
        (histogram.quantile((0.5 - margin).max(0.0)), histogram.quantile((0.5 + margin).min(1.0)));
    high - low <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bimodal(share: f64) -> (BatchMeans, Histogram) {
        let mut histogram = Histogram::default();
        for index in 0..8192 {
            histogram.add(if f64::from(index) / 8192.0 < share { 30 } else { 50 });
        }
        let mut averages = BatchMeans::default();
        (0..BATCHES_LEAST).for_each(|_| averages.add(40.0));
        (averages, histogram)
    }

    #[test]
    fn a_median_between_two_modes_is_not_stable() {
        let (averages, histogram) = bimodal(0.501);
        assert!(!latency_is_stable(&averages, &histogram, false));
        let (averages, histogram) = bimodal(0.8);
        assert!(latency_is_stable(&averages, &histogram, false));
        assert!(!latency_is_stable(&averages, &histogram, true), "a distribution needs more");
    }

    #[test]
    fn scattered_batches_are_not_stable() {
        let mut times = BatchMeans::default();
        [1.0, 1.1, 0.9, 1.05].iter().cycle().take(BATCHES_LEAST).for_each(|value| times.add(*value));
        assert!(!bandwidth_is_stable(&times, 4));
        assert!(
            bandwidth_is_stable(&times, HEAVY_TAIL_TRANSACTIONS),
            "stalls may keep it from settling for ever"
        );
        let mut times = BatchMeans::default();
        (1..BATCHES_LEAST).for_each(|_| times.add(1.0));
        assert!(!bandwidth_is_stable(&times, 3), "few batches");
        times.add(1.0);
        assert!(bandwidth_is_stable(&times, 4), "all alike");
        [1.001, 0.999, 1.001].into_iter().for_each(|time| times.add(time));
        assert!(!bandwidth_is_stable(&times, 7), "few, and not alike");
        [0.999, 1.0].into_iter().for_each(|time| times.add(time));
        assert!(bandwidth_is_stable(&times, 9));
    }

    #[test]
    fn rare_long_stalls_do_not_keep_a_test_from_ending() {
        let mut histogram = Histogram::default();
        (0..HEAVY_TAIL_SAMPLES).for_each(|_| histogram.add(90));
        let mut averages = BatchMeans::default();
        [90.0, 95.0, 90.0, 240.0].iter().cycle().take(BATCHES_LEAST).for_each(|value| averages.add(*value));
        assert!(!average_is_settled(&averages));
        assert!(latency_is_stable(&averages, &histogram, false));
    }
}
