//! A NIC on the simulated machine as the runner's work: a test for each size of frames.

use pcie_bench::{Asked, DeviceError, OpenError, Outcome, Pulse, Stop, Work, Worker, described_trace};
use pcie_model::{Ethernet, Interactions, Path};
use pcie_refusal::{Refusal, Unfinished};
use pcie_sim::nic::{Direction, LinkBound, NicOutcome, NicSet, Traffic};
use pcie_sim::profile::{IommuMode, System};
use pcie_sim::{Machine, TestKey};
use pcie_statistics::percentile;
use pcie_store::{Distribution, Origin, Scalar, Status};
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A NIC, its machine, and frames of several sizes.
#[derive(Debug)]
pub struct SimulatedNic {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
struct Shared {
    machine: Machine,
    nic: Interactions,
    tests: Vec<Traffic>,
    seed: u64,
    trace: Option<Picoseconds>,
}

impl SimulatedNic {
    /// Most jobs: the tests are independent of each other.
    pub const JOBS_MOST: usize = 1024;

    /// Checks that the NIC works on the machine with each traffic. `seed` names the run.
    ///
    /// # Errors
    /// Names the wrong value.
    pub fn new(system: System, nic: Interactions, tests: Vec<Traffic>, seed: u64) -> Result<Self, Refusal> {
        let shared = Shared { machine: Machine::new(system)?, nic, tests, seed, trace: None };
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
    fn run(&self, position: usize) -> Result<NicSet<'_>, Refusal> {
        let key = TestKey { seed: self.seed, test: position as u64 };
        NicSet::new(&self.machine, &self.nic, self.tests[position], key)
    }
}

impl Work for SimulatedNic {
    fn suite(&self) -> &str {
        "frames"
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        let asked = |traffic: &Traffic| {
            let Traffic { ethernet, frame_bytes, direction, warm_up_packets, packets, nics } = *traffic;
            let mut parameters = json!({
                "direction": direction,
                "frame_bytes": frame_bytes,
                "gap": ethernet.gap,
                "line_gbps": ethernet.line_gbps,
                "packets": packets,
                "vlan": ethernet.vlan,
                "warm_up_packets": warm_up_packets,
            });
            if nics > 1 {
                parameters["nics"] = nics.into();
            }
            Asked { family: "nic_frames".into(), name: name_of(direction).into(), parameters }
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
        Ok(Box::new(OpenNic { shared: Arc::clone(&self.shared), trace: Vec::new() }))
    }
}

fn name_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "NIC_BOTH",
        Direction::Tx => "NIC_TX",
        Direction::Rx => "NIC_RX",
    }
}

struct OpenNic {
    shared: Arc<Shared>,
    /// The trace of the last test.
    trace: Vec<Segment>,
}

impl Worker for OpenNic {
    fn identity(&self) -> Map<String, Value> {
        Map::from_iter([("device".to_owned(), json!({"name": self.shared.nic.name}))])
    }

    fn carry_out(&mut self, position: usize, stop: &Stop, _pulse: &Pulse) -> Result<Outcome, DeviceError> {
        let failed = |refusal: Refusal| DeviceError::Failed(refusal.to_string());
        self.trace.clear();
        if let Some(span) = self.shared.trace {
            let run = self.shared.run(position).map_err(failed)?;
            self.trace = run.trace(span, &mut || stop.is_requested()).map_err(failed)?;
        }
        let run = self.shared.run(position).map_err(failed)?;
        let found = match run.run(&mut || stop.is_requested()) {
            Ok(found) => found,
            Err(Unfinished::Refused(refusal)) => return Err(failed(refusal)),
            Err(Unfinished::Stopped) => return Ok(Outcome::interrupted(&Unfinished::Stopped.to_string())),
        };
        let traffic = &self.shared.tests[position];
        let bound = LinkBound::of(&self.shared.machine, &self.shared.nic, traffic).map_err(failed)?;
        let mut outcome = reduced(&self.shared.nic, traffic, &found, bound).map_err(failed)?;
        if self.shared.machine.system().iommu != IommuMode::Off {
            let packet_bytes = Ethernet::transferred_bytes(traffic.frame_bytes).map_err(failed)?;
            let misses = found.walks_per_packet * (1u64 << 20) as f64 / packet_bytes as f64;
            outcome.scalars.push(about("", "io_tlb_misses", "1/MiB", misses));
        }
        if traffic.nics > 1 {
            let of_one = outcome.scalars.iter().find(|scalar| scalar.metric == "bandwidth");
            let all = of_one.map_or(0.0, |scalar| scalar.value) * f64::from(traffic.nics);
            outcome.scalars.push(about("", "bandwidth_of_all", "Gb/s", all));
        }
        Ok(outcome)
    }

    fn take_trace(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.trace)
    }
}

fn about(subject: &str, metric: &str, unit: &str, value: f64) -> Scalar {
    Scalar { subject: subject.into(), metric: metric.into(), unit: unit.into(), value }
}

/// The numbers that the store keeps.
fn reduced(
    nic: &Interactions,
    traffic: &Traffic,
    found: &NicOutcome,
    bound: LinkBound,
) -> Result<Outcome, Refusal> {
    let packet_bits = Ethernet::transferred_bytes(traffic.frame_bytes)? as f64 * 8.0;
    let binds = serde_json::to_value(found.bound).unwrap_or_default();
    let mut scalars = vec![
        about("", "rate", "1/s", found.packets_per_s),
        about("", "bandwidth", "Gb/s", found.packets_per_s * packet_bits / 1e9),
        about("", "line_rate", "1/s", found.line_packets_per_s),
        about("", "line_bandwidth", "Gb/s", found.line_packets_per_s * packet_bits / 1e9),
        about("", "link_bandwidth", "Gb/s", bound.packets_per_s() * packet_bits / 1e9),
        about("", "dropped_share", "1", found.dropped_share),
        about("", "upstream_share", "1", found.upstream_share),
        about("", "downstream_share", "1", found.downstream_share),
        about(binds.as_str().unwrap_or_default(), "binds", "1", 1.0),
    ];
    scalars.extend(latencies(&found.latencies_ns));
    for (step, outcome) in nic.steps.iter().zip(&found.steps) {
        let path = if step.path == Path::Tx { "tx" } else { "rx" };
        let subject = format!("{path}: {}", step.what);
        scalars.extend([
            about(&subject, "upstream_bytes", "B", outcome.upstream_bytes),
            about(&subject, "downstream_bytes", "B", outcome.downstream_bytes),
            about(&subject, "average", "ns", outcome.mean_ns),
            about(&subject, "in_flight", "1", outcome.in_flight),
            about(&subject, "rate", "1/s", outcome.accesses_per_s),
        ]);
    }
    let mut bins = BTreeMap::<i64, u64>::new();
    for ns in &found.latencies_ns {
        *bins.entry(ns.round() as i64).or_default() += 1;
    }
    let latency =
        Distribution { metric: "latency".into(), tick: "1".into(), bins: bins.into_iter().collect() };
    let distributions = if latency.bins.is_empty() { vec![] } else { vec![latency] };
    Ok(Outcome { status: Status::Ok, message: None, scalars, distributions, series: vec![] })
}

/// Statistics of the packets' latencies, if there are any.
fn latencies(latencies_ns: &[f64]) -> Vec<Scalar> {
    let mut sorted = latencies_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    let at = |share| percentile(&sorted, share).unwrap_or(f64::NAN);
    let average = sorted.iter().sum::<f64>() / sorted.len() as f64;
    vec![
        about("", "average", "ns", average),
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

    #[test]
    fn packet_percentiles_use_nearest_rank() {
        let found = latencies(&[4.0, 1.0, 3.0, 2.0]);
        let value = |metric: &str| found.iter().find(|one| one.metric == metric).map(|one| one.value);
        assert_eq!(["median", "p99", "p999"].map(value), [Some(2.0), Some(4.0), Some(4.0)]);
        assert!(latencies(&[]).is_empty());
    }

    /// The words of a bound are subjects of the store's table, which cannot depend on this crate.
    #[test]
    fn a_store_has_every_bound_of_a_nic_and_no_other() {
        let schema = serde_json::to_value(schemars::schema_for!(pcie_sim::nic::NicBound)).unwrap();
        let words: Vec<&str> =
            schema["oneOf"].as_array().unwrap().iter().map(|one| one["const"].as_str().unwrap()).collect();
        let found = pcie_store::metrics(pcie_store::Kind::Frames).iter().find(|one| one.names == ["binds"]);
        assert_eq!(found.unwrap().subjects, words);
    }
}
