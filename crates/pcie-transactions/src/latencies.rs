//! Distributions of latencies in bounded memory: exact until there are very many different values.

use serde::Serialize;
use std::collections::BTreeMap;

/// Latencies with their counts.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: BTreeMap<u64, u64>,
    /// Values are multiples of 2 to this power, ps.
    coarse: u32,
    most: usize,
    total: u64,
    sum: u128,
}

/// A distribution in a few numbers, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub least_ns: f64,
    /// The mean.
    pub average_ns: f64,
    /// One in ten is shorter.
    pub p10_ns: f64,
    /// Half are shorter.
    pub median_ns: f64,
    /// One in twenty is longer.
    pub p95_ns: f64,
    /// One in a hundred is longer.
    pub p99_ns: f64,
    /// The longest.
    pub most_ns: f64,
    /// Values are rounded down to a multiple of this; 0 if they are exact.
    pub step_ns: f64,
}

impl Latencies {
    /// Keeps up to `most` different values as they are.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { counts: BTreeMap::new(), coarse: 0, most, total: 0, sum: 0 }
    }

    /// Adds one, ps.
    pub fn add(&mut self, ps: u64) {
        self.total += 1;
        self.sum += u128::from(ps);
        *self.counts.entry(ps >> self.coarse << self.coarse).or_default() += 1;
        while self.counts.len() > self.most {
            self.coarse += 1;
            let coarse = self.coarse;
            let mut merged = BTreeMap::new();
            for (value, count) in std::mem::take(&mut self.counts) {
                *merged.entry(value >> coarse << coarse).or_default() += count;
            }
            self.counts = merged;
        }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Nearest rank of a share, ps.
    #[must_use]
    pub fn rank(&self, share: f64) -> Option<u64> {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut passed = 0;
        self.counts.iter().find_map(|(value, count)| {
            passed += count;
            (passed >= rank).then_some(*value)
        })
    }

    /// The mean, ps.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// In a few numbers; `None` without any.
    #[must_use]
    pub fn distribution(&self) -> Option<Distribution> {
        let ns = |ps: u64| ps as f64 / 1000.0;
        let rank = |share| self.rank(share).map(ns);
        Some(Distribution {
            count: self.total,
            least_ns: ns(*self.counts.first_key_value()?.0),
            average_ns: self.average()? / 1000.0,
            p10_ns: rank(0.10)?,
            median_ns: rank(0.50)?,
            p95_ns: rank(0.95)?,
            p99_ns: rank(0.99)?,
            most_ns: ns(*self.counts.last_key_value()?.0),
            step_ns: if self.coarse == 0 { 0.0 } else { ns(1 << self.coarse.min(63)) },
        })
    }
}

/// Groups of latencies by a key, a bounded number of them; further keys share one group.
#[derive(Clone, Debug)]
pub struct Grouped<K> {
    groups: BTreeMap<K, Latencies>,
    others: Latencies,
    most: usize,
    values: usize,
}

impl<K: Ord + Copy> Grouped<K> {
    /// Up to `most` groups, each with up to `values` different latencies.
    #[must_use]
    pub fn new(most: usize, values: usize) -> Self {
        Self { groups: BTreeMap::new(), others: Latencies::new(values), most, values }
    }

    /// Adds a latency, ps.
    pub fn add(&mut self, key: K, ps: u64) {
        let full = self.groups.len() >= self.most;
        match self.groups.get_mut(&key) {
            Some(group) => group.add(ps),
            None if full => self.others.add(ps),
            None => self.groups.entry(key).or_insert_with(|| Latencies::new(self.values)).add(ps),
        }
    }

    /// The groups in order.
    pub fn groups(&self) -> impl Iterator<Item = (K, &Latencies)> {
        self.groups.iter().map(|(key, group)| (*key, group))
    }

    /// What has no group of its own.
    #[must_use]
    pub fn others(&self) -> &Latencies {
        &self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_exact_until_there_are_many_values() {
        let mut few = Latencies::new(100);
        (1..=100).for_each(|value| few.add(1000 * value));
        let found = few.distribution().unwrap();
        assert_eq!((found.least_ns, found.median_ns, found.p99_ns, found.most_ns), (1.0, 50.0, 99.0, 100.0));
        assert_eq!((found.average_ns, found.step_ns), (50.5, 0.0));
        let mut many = Latencies::new(100);
        (1..=10_000).for_each(|value| many.add(1000 * value));
        let found = many.distribution().unwrap();
        assert!(many.counts.len() <= 100 && found.step_ns > 0.0);
        assert!((found.median_ns - 5000.0).abs() <= found.step_ns, "{found:?}");
        assert_eq!(found.average_ns, 5000.5);
    }

    #[test]
    fn keys_beyond_the_limit_share_a_group() {
        let mut grouped = Grouped::new(2, 10);
        [5, 6, 7, 5, 8].into_iter().for_each(|key| grouped.add(key, key));
        assert_eq!(
            grouped.groups().map(|(key, one)| (key, one.count())).collect::<Vec<_>>(),
            [(5, 2), (6, 1)]
        );
        assert_eq!(grouped.others().count(), 2);
    }
}
