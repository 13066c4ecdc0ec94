//! A memory expander as the runner's work: a test for each load of lines.

use pcie_bench::{Asked, DeviceError, OpenError, Outcome, Pulse, Stop, Work, Worker, described_trace};
use pcie_model::Expander;
use pcie_refusal::{Refusal, Unfinished};
use pcie_sim::TestKey;
use pcie_sim::expander::{ExpanderOutcome, ExpanderRun, LineTraffic};
use pcie_statistics::percentile;
use pcie_store::{Distribution, Origin, Scalar, Status};
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bins of a nanosecond in the distribution of latencies.
const BINS_OF_NS: f64 = 10.0;
/// Most load at which the closed form has a latency.
const MOST_MODELLED_LOAD: f64 = 0.99;

/// An expander, and lines at several loads.
#[derive(Debug)]
pub struct SimulatedExpander {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
struct Shared {
    expander: Expander,
    tests: Vec<LineTraffic>,
    seed: u64,
    trace: Option<Picoseconds>,
}

impl SimulatedExpander {
    /// Most jobs: the tests are independent of each other.
    pub const JOBS_MOST: usize = 1024;

    /// Checks the expander and each traffic. `seed` names the run.
    ///
    /// # Errors
    /// Names the wrong value.
    pub fn new(expander: Expander, tests: Vec<LineTraffic>, seed: u64) -> Result<Self, Refusal> {
        let shared = Shared { expander, tests, seed, trace: None };
        for position in 0..shared.tests.len() {
            shared.run(position)?;
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The same with the trace of the first `span` of each test.
    #[must_use]
    pub fn with_trace(self, span: Option<Picoseconds>) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.trace = span;
        Self { shared: Arc::new(shared) }
    }
}

impl Shared {
    fn run(&self, position: usize) -> Result<ExpanderRun, Refusal> {
        let key = TestKey { seed: self.seed, test: position as u64 };
        ExpanderRun::new(&self.expander, &self.tests[position], key)
    }

    /// The numbers that the store keeps.
    fn reduced(&self, traffic: &LineTraffic, found: &ExpanderOutcome) -> Result<Outcome, Refusal> {
        let modelled_at = (traffic.load <= MOST_MODELLED_LOAD).then_some(traffic.load);
        let modelled = self.expander.rates(traffic.read_share, modelled_at.as_slice())?;
        let gbps = |gbytes_per_s: f64| 8.0 * gbytes_per_s;
        let mut scalars = vec![
            about("", "bandwidth", "Gb/s", gbps(found.gbytes_per_s)),
            about("", "peak_bandwidth", "Gb/s", gbps(modelled.peak_gbytes_per_s)),
            about("", "in_flight", "1", found.in_flight),
        ];
        if traffic.load > 0.0 && traffic.load < 1.0 {
            let offered = gbps(traffic.load * modelled.peak_gbytes_per_s);
            scalars.push(about("", "offered_bandwidth", "Gb/s", offered));
        }
        if !found.read_latencies_ns.is_empty() {
            let modelled = modelled.loads.iter().map(|load| load.read_latency_ns);
            scalars.extend(modelled.map(|ns| about("", "modelled_average", "ns", ns)));
        }
        for station in &found.stations {
            let share = station.busy_share.map(|share| about(station.name, "load", "1", share));
            scalars.extend(share);
            if !found.read_latencies_ns.is_empty() {
                scalars.push(about(station.name, "wait", "ns", station.read_wait_ns));
            }
        }
        scalars.extend(latencies(found));
        let mut bins = BTreeMap::<i64, u64>::new();
        for ns in &found.read_latencies_ns {
            *bins.entry((ns * BINS_OF_NS).round() as i64).or_default() += 1;
        }
        let latency =
            Distribution { metric: "latency".into(), tick: "1/10".into(), bins: bins.into_iter().collect() };
        let distributions = if latency.bins.is_empty() { vec![] } else { vec![latency] };
        Ok(Outcome { status: Status::Ok, message: None, scalars, distributions, series: vec![] })
    }
}

impl Work for SimulatedExpander {
    fn suite(&self) -> &str {
        "memory"
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        let asked = |traffic: &LineTraffic| {
            let LineTraffic { read_share, load, cores, lines } = *traffic;
            let parameters = json!({
                "cores": cores.cores,
                "expander": self.shared.expander.name,
                "fill_buffers": cores.fill_buffers,
                "lines": lines,
                "load": load,
                "read_share": read_share,
            });
            Asked { family: "memory".into(), name: "MEM_RD".into(), parameters }
        };
        Ok(self.shared.tests.iter().map(asked).collect())
    }

    fn origin(&self) -> Origin {
        Origin::Simulated
    }

    fn manifest(&self) -> Map<String, Value> {
        described_trace(self.shared.trace).into_iter().collect()
    }

    fn jobs_most(&self) -> usize {
        Self::JOBS_MOST
    }

    fn open(&self) -> Result<Box<dyn Worker>, OpenError> {
        Ok(Box::new(OpenExpander { shared: Arc::clone(&self.shared), trace: Vec::new() }))
    }
}

struct OpenExpander {
    shared: Arc<Shared>,
    /// The trace of the last test.
    trace: Vec<Segment>,
}

impl Worker for OpenExpander {
    fn identity(&self) -> Map<String, Value> {
        Map::from_iter([("device".to_owned(), json!({"name": self.shared.expander.name}))])
    }

    fn carry_out(&mut self, position: usize, stop: &Stop, _pulse: &Pulse) -> Result<Outcome, DeviceError> {
        let failed = |refusal: Refusal| DeviceError::Failed(refusal.to_string());
        self.trace.clear();
        if let Some(span) = self.shared.trace {
            let run = self.shared.run(position).map_err(failed)?;
            self.trace = run.trace(span, &mut || stop.is_requested());
        }
        let run = self.shared.run(position).map_err(failed)?;
        match run.run(&mut || stop.is_requested()) {
            Ok(found) => self.shared.reduced(&self.shared.tests[position], &found).map_err(failed),
            Err(Unfinished::Refused(refusal)) => Err(failed(refusal)),
            Err(Unfinished::Stopped) => Ok(Outcome::interrupted(&Unfinished::Stopped.to_string())),
        }
    }

    fn take_trace(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.trace)
    }
}

fn about(subject: &str, metric: &str, unit: &str, value: f64) -> Scalar {
    Scalar { subject: subject.into(), metric: metric.into(), unit: unit.into(), value }
}

/// Statistics of the reads, if there are any.
fn latencies(found: &ExpanderOutcome) -> Vec<Scalar> {
    let mut sorted = found.read_latencies_ns.clone();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    let at = |share| percentile(&sorted, share).unwrap_or(f64::NAN);
    vec![
        about("", "average", "ns", found.mean_ns()),
        about("", "median", "ns", at(0.5)),
        about("", "minimum", "ns", at(0.0)),
        about("", "maximum", "ns", at(1.0)),
        about("", "p99", "ns", at(0.99)),
        about("", "p999", "ns", at(0.999)),
        about("", "samples", "1", sorted.len() as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_model::Requesters;

    fn work(read_share: f64, loads: &[f64]) -> SimulatedExpander {
        let text = include_str!("../../../profiles/expanders/cxl2-ddr5-5600.toml");
        let mut table: toml::Table = text.parse().unwrap();
        table.retain(|key, _| key != "title" && key != "provenance");
        let cores = Requesters { cores: 16, fill_buffers: 16, host_ns: 0.0 };
        let tests = loads.iter().map(|&load| LineTraffic { read_share, load, cores, lines: 2000 }).collect();
        SimulatedExpander::new(table.try_into().unwrap(), tests, 1).unwrap()
    }

    #[test]
    fn the_store_holds_every_number_of_a_test() {
        let work = work(0.5, &[0.0, 0.5, 1.0]);
        let kept = pcie_store::metrics(pcie_store::Kind::Memory);
        for position in 0..3 {
            let found = work.shared.run(position).unwrap().run(&mut || false).unwrap();
            let outcome = work.shared.reduced(&work.shared.tests[position], &found).unwrap();
            assert_eq!(outcome.scalars.iter().any(|one| one.metric == "modelled_average"), position < 2);
            for scalar in &outcome.scalars {
                let is_kept = kept.iter().any(|row| {
                    row.subjects.contains(&&*scalar.subject)
                        && row.names.contains(&&*scalar.metric)
                        && row.quantity.unit == scalar.unit
                });
                assert!(is_kept, "{scalar:?}");
            }
        }
    }

    #[test]
    fn writes_alone_have_no_latency_of_reads() {
        let work = work(0.0, &[0.5]);
        let found = work.shared.run(0).unwrap().run(&mut || false).unwrap();
        let outcome = work.shared.reduced(&work.shared.tests[0], &found).unwrap();
        assert!(outcome.distributions.is_empty());
        assert!(outcome.scalars.iter().all(|one| one.metric != "average" && one.metric != "wait"));
    }
}
