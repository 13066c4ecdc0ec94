//! What a simulation found: bandwidths, loads, and the latencies of requests in three phases.

use pcie_time::Picoseconds;

use super::machine::Request;

/// How long one request spent where, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Phases {
    /// At the host: in software, until its command was sent.
    pub host_ns: f64,
    /// In the fabric: command, data and completion on their way.
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

/// A request that is done: when, and where its time went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// When it was submitted, ns.
    pub submitted_ns: f64,
    /// When its command reached the device, ns; NaN for MMIO, which has none.
    pub reached_ns: f64,
    /// Where its time went.
    pub phases: Phases,
}

impl Served {
    /// Of a request that is done now.
    pub(crate) fn of(request: &Request, now: Picoseconds) -> Self {
        Self {
            submitted_ns: request.submitted.as_ns(),
            reached_ns: request.reached.map_or(f64::NAN, Picoseconds::as_ns),
            phases: Phases::of(request, now),
        }
    }
}

/// What became of a flow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowOutcome {
    /// Payload delivered, GB/s.
    pub gbytes_per_s: f64,
    /// The requests that were done while it was counted, in order. None for streams.
    pub requests: Vec<Served>,
    /// Requests in flight, on average over the time that was counted. 0 for streams. By Little's law it is the rate of
    /// requests times their latency, unless the flow is not steady yet or too little was counted.
    pub in_flight: f64,
}

/// What became of everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// What each edge carried, GB/s.
    pub load_gbytes_per_s: Vec<f64>,
    /// TLPs times links crossed, from the start.
    pub tlp_hops: u64,
    /// What was not counted at the beginning, ns.
    pub warm_up_ns: f64,
    /// What was counted after that, ns.
    pub counted_ns: f64,
}
