//! Results of a simulation: bandwidths, loads, and the times of requests in three phases.

use pcie_time::Picoseconds;

use super::machine::Request;

/// Time of a request in each phase, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Phases {
    /// At the host: in software, until its command was sent.
    pub host_ns: f64,
    /// In the fabric: command, data and status in flight.
    pub fabric_ns: f64,
    /// At the device: in the command queue and in the engine.
    pub device_ns: f64,
}

impl Phases {
    fn of(request: &Request, now: Picoseconds) -> Self {
        let host = request.sent.since(request.submitted);
        let fabric = now.since(request.submitted).since(host).since(request.at_device);
        Self { host_ns: host.as_ns(), fabric_ns: fabric.as_ns(), device_ns: request.at_device.as_ns() }
    }

    /// From submission to completion, ns.
    #[must_use]
    pub fn total_ns(self) -> f64 {
        self.host_ns + self.fabric_ns + self.device_ns
    }
}

/// A request that is done, and its times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// Time of submission, ns.
    pub submitted_ns: f64,
    /// Time at which its command reached the device, ns; NaN for MMIO, which has no command.
    pub reached_ns: f64,
    /// Its time in each phase.
    pub phases: Phases,
}

impl Served {
    /// The record of a request that is done now.
    pub(crate) fn of(request: &Request, now: Picoseconds) -> Self {
        Self {
            submitted_ns: request.submitted.as_ns(),
            reached_ns: request.reached.map_or(f64::NAN, Picoseconds::as_ns),
            phases: Phases::of(request, now),
        }
    }
}

/// The outcome of a flow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowOutcome {
    /// Payload delivered, GB/s.
    pub gbytes_per_s: f64,
    /// The requests done during the counted time, in order. Empty for streams.
    pub requests: Vec<Served>,
    /// Average requests in flight over the counted time; 0 for streams. For a steady flow and a long enough
    /// time this is the rate of requests times their latency (Little's law).
    pub in_flight: f64,
}

/// The outcome of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// The load of each edge, GB/s.
    pub load_gbytes_per_s: Vec<f64>,
    /// TLP hops since the start.
    pub tlp_hops: u64,
    /// Warm-up, ns.
    pub warm_up_ns: f64,
    /// Counted time after it, ns.
    pub counted_ns: f64,
}
