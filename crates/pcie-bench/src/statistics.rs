//! Statistics over ticks: histogram, quantiles, and confidence from batch means.

use std::collections::BTreeMap;

/// Latencies counted by tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By tick, up to the longest of the short ones.
    short: Vec<u64>,
    /// Those of [`SHORT_TICKS`] and more: stalls, of which there are few but anywhere.
    long: BTreeMap<u32, u64>,
    count: u64,
    sum: u128,
}

const SHORT_TICKS: u32 = 1 << 14;

/// Which of `count` values in order, from 1, is the percentile: the first that at least this share of them does not exceed. It
/// is a value that occurred, never one between two.
pub(crate) fn nearest_rank(share: f64, count: u64) -> u64 {
    (share * count as f64).ceil().max(1.0) as u64
}

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

    /// Average in ticks; NaN of nothing.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// The smallest tick that at least the share `quantile` of the latencies does not exceed; 0 of nothing.
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

    /// Smallest and largest; 0 of nothing.
    #[must_use]
    pub fn extremes(&self) -> (u32, u32) {
        let least = self.bins().next().map_or(0, |(ticks, _)| ticks);
        (least, self.bins().last().map_or(0, |(ticks, _)| ticks))
    }

    /// Latencies above a limit in ticks.
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

/// Averages of batches, and how far their average may be off.
#[derive(Clone, Debug, Default)]
pub struct BatchMeans {
    means: Vec<f64>,
}

impl BatchMeans {
    /// Adds the average of a batch.
    pub fn add(&mut self, mean: f64) {
        self.means.push(mean);
    }

    /// Batches.
    #[must_use]
    pub fn count(&self) -> usize {
        self.means.len()
    }

    /// Average of the batches.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.means.iter().sum::<f64>() / self.means.len() as f64
    }

    /// Half the width of the 95 % confidence interval of the mean, from Student's distribution; infinite for fewer than
    /// two batches.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        let count = self.means.len();
        if count < 2 {
            return f64::INFINITY;
        }
        let mean = self.mean();
        let variance =
            self.means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
        student_975(count - 1) * (variance / count as f64).sqrt()
    }
}

/// The 97.5 % quantile of Student's distribution: tabulated to 9 degrees of freedom, then by the expansion of Abramowitz
/// and Stegun 26.7.5.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    if let Some(value) = TABLE.get(degrees.wrapping_sub(1)) {
        return *value;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
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

    #[test]
    fn student_agrees_with_tables() {
        for (degrees, expected) in [(1, 12.706), (10, 2.228), (20, 2.086), (60, 2.000)] {
            assert!((student_975(degrees) - expected).abs() < 2e-3, "{degrees}");
        }
    }
}
