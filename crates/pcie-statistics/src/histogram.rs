//! Latencies counted by tick of a device's timer: all but their order is kept.

use std::collections::BTreeMap;

use crate::percentile::nearest_rank;

/// Latencies counted by tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by tick, up to the longest of the short ones.
    short: Vec<u64>,
    /// Counts of [`SHORT_TICKS`] and more: stalls, which are few and far apart.
    long: BTreeMap<u32, u64>,
    count: u64,
    sum: u128,
}

const SHORT_TICKS: u32 = 1 << 14;
/// Standard deviation of rounding to whole ticks: that of a uniform distribution, 1 / √12.
const ROUNDING_TICKS: f64 = 0.288_675_134_594_812_9;

impl Histogram {
    /// Counts one latency.
    #[inline]
    pub fn add(&mut self, ticks: u32) {
        match self.short.get_mut(ticks as usize) {
            Some(count) => *count += 1,
            None => self.add_unseen(ticks),
        }
        self.count += 1;
        self.sum += u128::from(ticks);
    }

    #[cold]
    fn add_unseen(&mut self, ticks: u32) {
        if ticks < SHORT_TICKS {
            self.short.resize(ticks as usize + 1, 0);
            self.short[ticks as usize] += 1;
        } else {
            *self.long.entry(ticks).or_insert(0) += 1;
        }
    }

    /// Latencies counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in ticks; NaN if empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Nearest-rank percentile in ticks, of a share from 0 to 1; 0 if empty.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> u32 {
        let rank = nearest_rank(quantile, self.count);
        let mut seen = 0;
        let reached = |(_, count): &(u32, u64)| {
            seen += count;
            seen >= rank
        };
        self.bins().find(reached).map_or(self.extremes().1, |(ticks, _)| ticks)
    }

    /// Standard error of the median in ticks, of independent latencies; NaN if empty.
    ///
    /// The rank of the median is binomial with a standard deviation of half the root of the count. The result
    /// is half the distance between the latencies one standard deviation below and above it, and at least the
    /// error of rounding to ticks.
    #[must_use]
    pub fn median_standard_error(&self) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        let share = 0.5 / (self.count as f64).sqrt();
        let distance = self.quantile((0.5 + share).min(1.0)) - self.quantile(0.5 - share);
        (f64::from(distance) / 2.0).max(ROUNDING_TICKS)
    }

    /// Smallest and largest in ticks; 0 if empty.
    #[must_use]
    pub fn extremes(&self) -> (u32, u32) {
        let least = self.bins().next().map_or(0, |(ticks, _)| ticks);
        (least, self.bins().last().map_or(0, |(ticks, _)| ticks))
    }

    /// Number of latencies above a limit in ticks.
    #[must_use]
    pub fn above(&self, limit: f64) -> u64 {
        self.bins().filter(|(ticks, _)| f64::from(*ticks) > limit).map(|(_, count)| count).sum()
    }

    /// Ticks and counts, in order.
    pub fn bins(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let short = self.short.iter().zip(0..).map(|(count, ticks)| (ticks, *count));
        let long = self.long.iter().map(|(ticks, count)| (*ticks, *count));
        short.filter(|(_, count)| *count > 0).chain(long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut histogram = Histogram::default();
        for ticks in [5, 5, 5, 7, 7, 9, 9, 9, 9, 100] {
            histogram.add(ticks);
        }
        assert_eq!([0.3, 0.31, 0.5, 0.9, 0.95, 1.0].map(|q| histogram.quantile(q)), [5, 7, 7, 9, 100, 100]);
        assert_eq!(histogram.extremes(), (5, 100));
        assert_eq!(histogram.above(27.0), 1);
        assert!((histogram.mean() - 16.5).abs() < 1e-12);
        assert_eq!(Histogram::default().quantile(0.5), 0);
        [SHORT_TICKS, 1 << 30, SHORT_TICKS - 1, 6].into_iter().for_each(|ticks| histogram.add(ticks));
        assert_eq!(histogram.extremes(), (5, 1 << 30));
        assert_eq!(histogram.bins().skip(1).map(|(ticks, _)| ticks).take(2).collect::<Vec<_>>(), [6, 7]);
        assert_eq!([0.8, 0.9].map(|q| histogram.quantile(q)), [SHORT_TICKS - 1, SHORT_TICKS]);
    }

    /// The medians of many draws scatter by the standard error of each draw.
    #[test]
    fn standard_error_is_the_scatter_of_medians() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // The square of a uniform number: a skewed distribution.
            let uniform = (state >> 40) as f64 / (1u64 << 24) as f64;
            (10_000.0 * (1.0 + uniform * uniform)) as u32
        };
        let (mut medians, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            let mut histogram = Histogram::default();
            (0..400).for_each(|_| histogram.add(draw()));
            medians.push(f64::from(histogram.quantile(0.5)));
            errors.push(histogram.median_standard_error());
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let centre = mean(&medians);
        let squares: Vec<f64> = medians.iter().map(|median| (median - centre).powi(2)).collect();
        let ratio = mean(&errors) / mean(&squares).sqrt();
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn standard_error_is_at_least_that_of_rounding() {
        let mut histogram = Histogram::default();
        assert!(histogram.median_standard_error().is_nan());
        for _ in 0..100 {
            histogram.add(7);
            assert!((histogram.median_standard_error() - 1.0 / 12f64.sqrt()).abs() < 1e-12);
        }
    }
}
