//! The outcome of a test, reduced to the numbers of the store.

use crate::device::{BandwidthSlice, DeviceError, LatencySlice};
use crate::facts::{Condition, Remarks, TimerFacts};
use crate::sampling::{
    ALIKE, Samples, average_is_settled, bandwidth_is_settled, bandwidth_is_stable, latency_is_stable,
};
use crate::work::Asked;
use pcie_statistics::{BatchMeans, Histogram};
use pcie_store::{Distribution, Scalar, Series, Status, TestRecord};
use pcie_trace::Segment;
use pcie_workload::{Operation, Test};
use std::ops::ControlFlow;

/// Largest number of latencies of a test that are all kept in order.
const WHOLE_SERIES_MAX: u64 = 1 << 20;
/// Latencies kept in order of a longer test.
const SERIES_LENGTH: usize = 1024;

/// Message for a test that ended before its average settled: known to `relative_half_width` of its value,
/// from `done` transactions of `asked`.
fn unsettled(relative_half_width: f64, done: u64, asked: u64) -> String {
    format!(
        "not settled: known to {:.2} % from {done} of {asked} transactions; --samples full simulates all of them",
        100.0 * relative_half_width
    )
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether it was done.
    pub status: Status,
    /// Why not.
    pub message: Option<String>,
    /// Numbers.
    pub scalars: Vec<Scalar>,
    /// Histograms.
    pub distributions: Vec<Distribution>,
    /// Numbers in order.
    pub series: Vec<Series>,
}

impl From<DeviceError> for Outcome {
    fn from(error: DeviceError) -> Self {
        let status = match error {
            DeviceError::NotSupported(_) => Status::NotSupported,
            DeviceError::Failed(_) => Status::Failed,
            DeviceError::Lost(_) => Status::Interrupted,
        };
        Self::without_numbers(status, error.to_string())
    }
}

impl Outcome {
    /// An unfinished test, which a resumed run repeats.
    #[must_use]
    pub fn interrupted(message: &str) -> Self {
        Self::without_numbers(Status::Interrupted, message.to_owned())
    }

    /// The record of the test at a position.
    pub(crate) fn record(self, position: usize, test: &Asked, trace: Vec<Segment>) -> TestRecord {
        TestRecord {
            id: position as u64,
            family: test.family.clone(),
            name: test.name.clone(),
            parameters: test.parameters.to_string(),
            status: self.status,
            message: self.message,
            scalars: self.scalars,
            distributions: self.distributions,
            series: self.series,
            trace,
        }
    }

    /// Adds a device's remarks.
    pub(crate) fn with_remarks(mut self, remarks: Remarks) -> Self {
        self.scalars.extend(remarks.parts);
        self.series.extend(remarks.series);
        let messages: Vec<String> = self.message.take().into_iter().chain(remarks.message).collect();
        self.message = (!messages.is_empty()).then(|| messages.join("; "));
        self
    }

    fn without_numbers(status: Status, message: String) -> Self {
        Self { status, message: Some(message), scalars: vec![], distributions: vec![], series: vec![] }
    }

    /// Adds the known conditions of a test.
    pub(crate) fn add_conditions(&mut self, conditions: &[Condition]) {
        self.scalars.extend(conditions.iter().filter_map(|condition| {
            let (metric, unit) = (condition.metric.clone(), condition.unit.clone());
            Some(Scalar { subject: "condition".into(), metric, unit, value: condition.value? })
        }));
    }
}

/// The failure of a device that returned something impossible.
fn refused(what: &str) -> DeviceError {
    DeviceError::Failed(format!("the device returned {what}"))
}

fn scalar(metric: &str, unit: &str, value: f64) -> Scalar {
    Scalar { subject: String::new(), metric: metric.into(), unit: unit.into(), value }
}

/// Gathers a latency test.
#[derive(Debug)]
pub(crate) struct LatencyGatherer {
    samples: Samples,
    asked: u64,
    details: bool,
    histogram: Histogram,
    averages: BatchMeans,
    elapsed_ns: f64,
    first: Vec<u32>,
    /// Whether an adaptive run ended the test early.
    ended: bool,
}

impl LatencyGatherer {
    pub(crate) fn new(test: &Test, samples: Samples) -> Self {
        Self {
            samples,
            asked: test.transactions,
            details: test.details,
            histogram: Histogram::default(),
            averages: BatchMeans::default(),
            elapsed_ns: 0.0,
            first: Vec::new(),
            ended: false,
        }
    }

    pub(crate) fn take(&mut self, slice: &LatencySlice) -> ControlFlow<()> {
        let mut sum = 0u64;
        for &ticks in &slice.ticks {
            self.histogram.add(ticks);
            sum += u64::from(ticks);
        }
        self.averages.add(sum as f64 / slice.ticks.len().max(1) as f64);
        self.elapsed_ns += slice.elapsed_ns;
        let most = if self.asked <= WHOLE_SERIES_MAX { self.asked as usize } else { SERIES_LENGTH };
        let room = most.saturating_sub(self.first.len());
        if self.details {
            self.first.extend(slice.ticks.iter().take(room));
        }
        match self.samples {
            Samples::Adaptive if latency_is_stable(&self.averages, &self.histogram, self.details) => {
                self.ended = true;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    pub(crate) fn outcome(self, timer: TimerFacts) -> Result<Outcome, DeviceError> {
        if self.histogram.count() == 0 {
            return Err(refused("no latency"));
        }
        if self.histogram.count() > self.asked {
            return Err(refused("more latencies than were asked for"));
        }
        if !self.elapsed_ns.is_finite() || self.elapsed_ns < 0.0 {
            return Err(refused("an impossible time"));
        }
        let tick = timer.tick();
        let in_ns = |ticks: f64| tick.in_ns(ticks);
        let quantile = |q| in_ns(f64::from(self.histogram.quantile(q)));
        let (least, most) = self.histogram.extremes();
        let count = self.histogram.count();
        let cycle_ns = in_ns(1.0) / timer.cycles as f64;
        // The control program divides whole cycles by the number of samples and drops the rest.
        let total_cycles = (self.elapsed_ns / count.max(1) as f64 / cycle_ns + 1e-9).floor();
        let outlier_limit = 3.0 * f64::from(self.histogram.quantile(0.95));
        let scalars = vec![
            scalar("average_total", "ns", total_cycles * cycle_ns),
            scalar("average", "ns", in_ns(self.histogram.mean())),
            scalar("median", "ns", quantile(0.5)),
            scalar("minimum", "ns", in_ns(f64::from(least))),
            scalar("maximum", "ns", in_ns(f64::from(most))),
            scalar("p95", "ns", quantile(0.95)),
            scalar("p99", "ns", quantile(0.99)),
            scalar("p999", "ns", quantile(0.999)),
            scalar("outliers", "1", self.histogram.above(outlier_limit) as f64),
            scalar("samples", "1", count as f64),
        ];
        let bins = self.histogram.bins().map(|(ticks, count)| (i64::from(ticks), count)).collect();
        let distribution = Distribution { metric: "latency".into(), tick: timer.as_fraction(), bins };
        let series = Series {
            metric: "latency_ticks".into(),
            values: self.first.iter().copied().map(f64::from).collect(),
        };
        let early = self.ended && count < self.asked && !average_is_settled(&self.averages);
        let uncertainty = self.averages.half_width() / self.averages.mean();
        Ok(Outcome {
            status: Status::Ok,
            message: early.then(|| unsettled(uncertainty, count, self.asked)),
            scalars,
            distributions: vec![distribution],
            series: if self.details { vec![series] } else { vec![] },
        })
    }
}

/// Gathers a bandwidth test.
#[derive(Debug)]
pub(crate) struct BandwidthGatherer {
    samples: Samples,
    transactions: u64,
    elapsed_ns: f64,
    times: BatchMeans,
    /// Whether an adaptive run ended the test early.
    ended: bool,
}

impl BandwidthGatherer {
    pub(crate) fn new(samples: Samples) -> Self {
        Self { samples, transactions: 0, elapsed_ns: 0.0, times: BatchMeans::default(), ended: false }
    }

    pub(crate) fn take(&mut self, slice: BandwidthSlice) -> ControlFlow<()> {
        if slice.anew {
            *self = Self::new(self.samples);
        }
        self.transactions += slice.transactions;
        self.elapsed_ns += slice.elapsed_ns;
        self.times.add(slice.elapsed_ns / slice.transactions.max(1) as f64);
        match self.samples {
            Samples::Adaptive if bandwidth_is_stable(&self.times, self.transactions) => {
                self.ended = true;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// The numbers of the test; `between_runs` are the factors of [`Remarks::between_runs`].
    pub(crate) fn outcome(
        self,
        test: &Test,
        between_runs: Option<(f64, f64)>,
    ) -> Result<Outcome, DeviceError> {
        if self.transactions == 0 || self.transactions > test.transactions {
            return Err(refused(&format!("{} transactions of {}", self.transactions, test.transactions)));
        }
        if !self.elapsed_ns.is_finite() || self.elapsed_ns <= 0.0 {
            return Err(refused("an impossible time"));
        }
        // A read-write test counts one direction, as in the published suite.
        let counted =
            if test.operation == Operation::BwRdwr { self.transactions / 2 } else { self.transactions };
        let bytes = counted as f64 * test.size_bytes as f64;
        let bandwidth = |elapsed_ns: f64| bytes * 8.0 / elapsed_ns;
        let mut scalars = vec![
            scalar("time", "ns", self.elapsed_ns),
            scalar("bytes", "B", bytes),
            scalar("transactions", "1", counted as f64),
            scalar("bandwidth", "Gb/s", bandwidth(self.elapsed_ns)),
            scalar("rate", "1/s", counted as f64 * 1e9 / self.elapsed_ns),
        ];
        let uncertainty = (self.times.half_width() / self.times.mean()).max(ALIKE);
        // Slices of a real device may scatter by more than their mean: then there is no interval.
        if uncertainty < 1.0 {
            let (sooner, later) = between_runs.unwrap_or((1.0, 1.0));
            let (longest, shortest) = ((1.0 + uncertainty) * later, (1.0 - uncertainty) * sooner);
            scalars.push(scalar("bandwidth_low", "Gb/s", bandwidth(self.elapsed_ns * longest)));
            scalars.push(scalar("bandwidth_high", "Gb/s", bandwidth(self.elapsed_ns * shortest)));
        }
        let early = self.ended && self.transactions < test.transactions && !bandwidth_is_settled(&self.times);
        let message = early.then(|| unsettled(uncertainty, self.transactions, test.transactions));
        Ok(Outcome { status: Status::Ok, message, scalars, distributions: vec![], series: vec![] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOSECONDS: TimerFacts = TimerFacts { numerator_ns: 1, denominator: 1, cycles: 1 };

    #[test]
    fn slices_that_scatter_by_more_than_their_mean_give_no_interval() {
        let test = Test::random_dma(Operation::BwRd, 64, 8192, 2_000);
        let mut gatherer = BandwidthGatherer::new(Samples::Full);
        for elapsed_ns in [1e3, 1e9] {
            let _ = gatherer.take(BandwidthSlice { transactions: 1_000, elapsed_ns, anew: false });
        }
        let scalars = gatherer.outcome(&test, None).map(|outcome| outcome.scalars).unwrap_or_default();
        assert_eq!(scalars.len(), 5);
        assert!(scalars.iter().all(|scalar| scalar.value.is_finite() && !scalar.metric.ends_with("_high")));
    }

    #[test]
    fn interval_includes_the_spread_between_runs() {
        let test = Test::random_dma(Operation::BwRd, 64, 8192, 4_000);
        let interval = |between_runs| {
            let mut gatherer = BandwidthGatherer::new(Samples::Full);
            for _ in 0..4 {
                let _ = gatherer.take(BandwidthSlice { transactions: 1_000, elapsed_ns: 1e6, anew: false });
            }
            let outcome = gatherer.outcome(&test, between_runs).unwrap();
            let value = |name| outcome.scalars.iter().find(|scalar| scalar.metric == name).unwrap().value;
            ["bandwidth_low", "bandwidth_high"].map(|name| value(name) / value("bandwidth"))
        };
        let [low, high] = interval(None);
        assert!((1.0 - low - ALIKE).abs() < 1e-6 && (high - 1.0 - ALIKE).abs() < 1e-6, "{low} {high}");
        let [low, high] = interval(Some((0.5, 4.0)));
        assert!((low * 4.0 - 1.0).abs() < 0.001 && (high / 2.0 - 1.0).abs() < 0.001, "{low} {high}");
    }

    #[test]
    fn latencies_are_kept_in_order() {
        for (asked, kept) in [(5_000, 5_000), (WHOLE_SERIES_MAX + 1, SERIES_LENGTH)] {
            let test = Test { details: true, ..Test::random_dma(Operation::LatRd, 64, 8192, asked) };
            let mut gatherer = LatencyGatherer::new(&test, Samples::Full);
            for first in [0u32, 2_500] {
                let ticks = (first..first + 2_500).collect();
                let _ = gatherer.take(&LatencySlice { ticks, elapsed_ns: 1e6 });
            }
            let outcome = gatherer.outcome(NANOSECONDS).unwrap();
            let expected: Vec<f64> = (0..kept as u32).map(f64::from).collect();
            assert_eq!(outcome.series[0].values, expected);
        }
    }

    #[test]
    fn outcome_contains_the_remarks_of_the_device() {
        let test = Test::random_dma(Operation::LatRd, 64, 8192, 3);
        let mut gatherer = LatencyGatherer::new(&test, Samples::Full);
        let _ = gatherer.take(&LatencySlice { ticks: vec![5, 6, 7], elapsed_ns: 18.0 });
        let part = scalar("median", "ns", 2.0);
        let parts = vec![Scalar { subject: "command".into(), ..part }];
        let outcome = gatherer.outcome(NANOSECONDS).map(|outcome| {
            outcome.with_remarks(Remarks { parts, message: Some("said".into()), ..Remarks::default() })
        });
        let outcome = outcome.unwrap_or_else(Outcome::from);
        assert_eq!((outcome.status, outcome.message.as_deref()), (Status::Ok, Some("said")));
        let found: Vec<f64> = ["", "command"]
            .iter()
            .flat_map(|subject| {
                outcome.scalars.iter().find(|one| one.subject == *subject && one.metric == "median")
            })
            .map(|one| one.value)
            .collect();
        assert_eq!(found, [6.0, 2.0]);
    }

    #[test]
    fn impossible_results_are_failures() {
        let test = Test::random_dma(Operation::BwRd, 64, 8192, 1_000);
        for (transactions, elapsed_ns) in [(0, 1.0), (1_001, 1.0), (10, 0.0), (10, f64::NAN), (10, -1.0)] {
            let mut gatherer = BandwidthGatherer::new(Samples::Full);
            let _ = gatherer.take(BandwidthSlice { transactions, elapsed_ns, anew: false });
            assert!(gatherer.outcome(&test, None).is_err(), "{transactions} in {elapsed_ns}");
        }
        let gatherer = LatencyGatherer::new(&test, Samples::Full);
        assert!(gatherer.outcome(NANOSECONDS).is_err(), "no latency at all");
    }
}
