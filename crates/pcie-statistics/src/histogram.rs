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
}
