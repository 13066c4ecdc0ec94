//! The root complex's pools over a bandwidth test: lines in use and their latency, slice by slice.
//!
//! These are what occupancy counters of a real root complex show.

use pcie_sim::PoolUse;
use pcie_store::{Scalar, Series};

/// Names of the pools, in the order of [`pcie_sim::BandwidthRun::pool_use`].
const NAMES: [&str; 2] = ["write_pool", "read_pool"];

/// What the slices of a test used of both pools.
#[derive(Debug, Default)]
pub(crate) struct PoolSlices {
    /// By pool, for each slice its time in ns and the use.
    slices: [Vec<(f64, PoolUse)>; 2],
}

impl PoolSlices {
    /// Adds a slice that took `elapsed_ns`, from the use of the pools before and after it.
    pub(crate) fn add(&mut self, elapsed_ns: f64, before: [Option<PoolUse>; 2], after: [Option<PoolUse>; 2]) {
        for (slices, (before, after)) in self.slices.iter_mut().zip(before.into_iter().zip(after)) {
            if let (Some(before), Some(after)) = (before, after) {
                slices.push((elapsed_ns, after.since(&before)));
            }
        }
    }

    /// The averages of each pool that served lines.
    pub(crate) fn averages(&self) -> Vec<Scalar> {
        let of_pool = |(name, slices): (&str, &Vec<(f64, PoolUse)>)| {
            let lines: u64 = slices.iter().map(|(_, used)| used.lines).sum();
            let held_ns: f64 = slices.iter().map(|(_, used)| used.held_ns).sum();
            let elapsed_ns: f64 = slices.iter().map(|(elapsed_ns, _)| elapsed_ns).sum();
            if lines == 0 || elapsed_ns <= 0.0 {
                return Vec::new();
            }
            let about = |metric: &str, unit: &str, value| Scalar {
                subject: name.into(),
                metric: metric.into(),
                unit: unit.into(),
                value,
            };
            vec![
                about("occupancy", "1", held_ns / elapsed_ns),
                about("average", "ns", held_ns / lines as f64),
            ]
        };
        NAMES.into_iter().zip(&self.slices).flat_map(of_pool).collect()
    }

    /// The same, slice by slice.
    pub(crate) fn series(&self) -> Vec<Series> {
        let of_pool = |(name, slices): (&str, &Vec<(f64, PoolUse)>)| {
            let served: Vec<_> = slices.iter().filter(|(elapsed_ns, _)| *elapsed_ns > 0.0).collect();
            let used = served.iter().any(|(_, used)| used.lines > 0);
            let series = |metric: &str, value: fn(&(f64, PoolUse)) -> f64| Series {
                metric: format!("{name}_{metric}"),
                values: served.iter().map(|slice| value(slice)).collect(),
            };
            let both = || {
                [
                    series("lines", |(elapsed_ns, used)| used.held_ns / elapsed_ns),
                    series("latency_ns", |(_, used)| used.latency_ns().unwrap_or(0.0)),
                ]
            };
            used.then(both).into_iter().flatten()
        };
        NAMES.into_iter().zip(&self.slices).flat_map(of_pool).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_serves_has_averages_and_series() {
        let mut slices = PoolSlices::default();
        let used = |lines, held_ns| [Some(PoolUse { lines, held_ns }), None];
        slices.add(100.0, used(0, 0.0), used(50, 2_000.0));
        slices.add(100.0, used(50, 2_000.0), used(100, 6_000.0));
        let averages: Vec<f64> = slices.averages().iter().map(|scalar| scalar.value).collect();
        assert_eq!(averages, [30.0, 60.0]);
        let series = slices.series();
        assert_eq!((series[0].metric.as_str(), &series[0].values), ("write_pool_lines", &vec![20.0, 40.0]));
        assert_eq!(
            (series[1].metric.as_str(), &series[1].values),
            ("write_pool_latency_ns", &vec![40.0, 80.0])
        );
        assert_eq!(series.len(), 2);
    }
}
