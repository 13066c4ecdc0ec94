//! What a run of lines measures.

/// The numbers of a run, over its counted lines.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpanderOutcome {
    /// Data of both directions together, GB/s.
    pub gbytes_per_s: f64,
    /// Time of each read beyond the host, ns, in the order in which they return.
    pub read_latencies_ns: Vec<f64>,
    /// Mean number of lines in flight, by Little's law over the counted lines.
    pub in_flight: f64,
    /// What lines pass, in their order.
    pub stations: Vec<StationOutcome>,
}

impl ExpanderOutcome {
    /// Mean time of a read, ns; NaN without reads.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.read_latencies_ns.iter().sum::<f64>() / self.read_latencies_ns.len() as f64
    }
}

/// A part of the way of lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationOutcome {
    /// Its name, as the bounds of the closed form: `slots-to-memory`, `memory-banks`, `memory-bus`,
    /// `slots-from-memory`; and `refresh`.
    pub name: &'static str,
    /// Share of its time in which it moves something; `None` for refreshes.
    pub busy_share: Option<f64>,
    /// Mean wait of a read for it, ns.
    pub read_wait_ns: f64,
}
