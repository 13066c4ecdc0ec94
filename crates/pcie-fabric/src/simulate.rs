//! Simulation of the fabric TLP by TLP: bandwidths of flows, and times of requests in three phases.
//!
//! Transfers are cut into TLPs of up to MPS. A port sends one TLP at a time, to a buffer that granted a
//! credit for it. It serves the least recently served of its lanes, which [`Discipline`] defines. Buffers are
//! little larger than the credit loop of their link, because the paper found no queueing in adapters and
//! switches.
//!
//! Requests without data take slots in queues but no time on links: capacities are of payload, and the paper
//! found no influence of one direction on the other.

mod engine;
mod event;
mod flow;
mod load;
pub(crate) mod machine;
mod network;
mod outcome;
mod rate;
mod slots;
mod span;
mod stepped;
pub(crate) mod traffic;

pub use load::Options;
pub use network::Discipline;
pub use outcome::{FlowOutcome, Outcome, Phases, Served};
pub use stepped::{Class, Memory, Step, Stepped};
pub use traffic::{Arrivals, Primitive, Traffic};

use pcie_refusal::{Refusal, Unfinished};

use crate::topology::Topology;

/// Checks flows without simulating them.
///
/// # Errors
/// Names the first impossible flow and the fix.
pub fn check(topology: &Topology, traffic: &[Traffic]) -> Result<(), Refusal> {
    traffic.iter().try_for_each(|flow| traffic::resolve(topology, flow).map(drop))
}

/// Simulates flows on a fabric. The same input gives the same outcome.
///
/// # Errors
/// Names an impossible flow and the fix.
pub fn simulate(topology: &Topology, traffic: &[Traffic], options: Options) -> Result<Outcome, Unfinished> {
    simulate_unless(topology, traffic, options, &mut || false)
}

/// The same until `stopped` returns true; it is called many times in a tenth of a second.
///
/// # Errors
/// [`Unfinished::Stopped`], and those of [`simulate`].
pub fn simulate_unless(
    topology: &Topology,
    traffic: &[Traffic],
    options: Options,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Outcome, Unfinished> {
    load::run(topology, traffic, options, stopped)
}

#[cfg(test)]
mod tests;
