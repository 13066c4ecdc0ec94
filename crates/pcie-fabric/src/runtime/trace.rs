//! The profiler: every request in its three phases, and their statistics.

use pcie_statistics::percentile;

use crate::simulate::{Phases, Primitive};
use crate::topology::NodeId;

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traced {
    /// Its number, from 0 in the order of submission.
    pub request: u64,
    /// Its primitive.
    pub primitive: Primitive,
    /// Its queue.
    pub queue: u32,
    /// The host of the queue.
    pub host: NodeId,
    /// The device that carried it out; for MMIO, the one that was read or written.
    pub device: NodeId,
    /// The other device of a transfer between two.
    pub peer: Option<NodeId>,
    /// Its payload, bytes.
    pub size_bytes: u64,
    /// Time of submission, ns.
    pub submitted_ns: f64,
    /// Time at which its command reached the device, ns; NaN for MMIO, which has no command.
    pub reached_ns: f64,
    /// Its time in each phase.
    pub phases: Phases,
}

/// A phase of a request, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Queued at the host, software included.
    Host,
    /// In the fabric: command, data and status in flight.
    Fabric,
    /// At the device: in the command queue and in the engine.
    Device,
    /// From submission to completion.
    Total,
}

/// Statistics of one phase, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Requests.
    pub requests: usize,
    /// Mean.
    pub average_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
    /// Longest.
    pub longest_ns: f64,
}

/// Requests in the order in which they were done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// The requests.
    pub requests: Vec<Traced>,
}

impl Trace {
    /// Payload of all requests over the time from the first submission to the last completion, GB/s; 0
    /// without requests.
    #[must_use]
    pub fn gbytes_per_s(&self) -> f64 {
        let bytes: u64 = self.requests.iter().map(|one| one.size_bytes).sum();
        let start = self.requests.iter().map(|one| one.submitted_ns).fold(f64::INFINITY, f64::min);
        let end =
            self.requests.iter().map(|one| one.submitted_ns + one.phases.total_ns()).fold(0.0, f64::max);
        if self.requests.is_empty() { 0.0 } else { bytes as f64 / (end - start) }
    }

    /// Statistics of a phase; None without requests. Percentiles use nearest rank.
    #[must_use]
    pub fn summary(&self, phase: Phase) -> Option<Summary> {
        let times = self.sorted(phase);
        let longest_ns = *times.last()?;
        let rank = |share| percentile(&times, share).unwrap_or(longest_ns);
        Some(Summary {
            requests: times.len(),
            average_ns: times.iter().sum::<f64>() / times.len() as f64,
            p50_ns: rank(0.5),
            p90_ns: rank(0.9),
            p99_ns: rank(0.99),
            p999_ns: rank(0.999),
            longest_ns,
        })
    }

    /// The cumulative distribution of a phase: times, ns, with the share of requests at or below each.
    #[must_use]
    pub fn cdf(&self, phase: Phase) -> Vec<(f64, f64)> {
        let times = self.sorted(phase);
        let mut steps: Vec<(f64, f64)> = vec![];
        for (number, time) in times.iter().enumerate() {
            let share = (number + 1) as f64 / times.len() as f64;
            match steps.last_mut() {
                Some((last, below)) if last == time => *below = share,
                _ => steps.push((*time, share)),
            }
        }
        steps
    }

    fn sorted(&self, phase: Phase) -> Vec<f64> {
        let time = |phases: &Phases| match phase {
            Phase::Host => phases.host_ns,
            Phase::Fabric => phases.fabric_ns,
            Phase::Device => phases.device_ns,
            Phase::Total => phases.total_ns(),
        };
        let mut times: Vec<f64> = self.requests.iter().map(|one| time(&one.phases)).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    }
}
