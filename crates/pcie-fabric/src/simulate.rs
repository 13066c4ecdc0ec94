//! The fabric, TLP by TLP: what flows get, and how long their requests take in each of three phases.
//!
//! Transfers are cut into TLPs of up to MPS. Every port sends one at a time, to a buffer that granted a credit for it, and
//! chooses among the lanes that have something for it the one that it served least recently. Buffers hold what the
//! credit loop of their link needs and little more, as the paper found no queueing in adapters and switches. What lanes
//! are, [`Discipline`] says: it decides who gets what.
//!
//! Requests without data, such as reads, take a place in every queue but no time on links: capacities are of payload,
//! and the paper sees no influence of one direction on the other.

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
pub(crate) mod traffic;

pub use load::Options;
pub use network::Discipline;
pub use outcome::{FlowOutcome, Outcome, Phases, Served};
pub use traffic::{Arrivals, Primitive, Traffic};

use pcie_refusal::{Refusal, Unfinished};

use crate::topology::Topology;

/// Refuses flows that cannot exist, without simulating anything.
///
/// # Errors
/// The message names the first such flow and what would be right.
pub fn check(topology: &Topology, traffic: &[Traffic]) -> Result<(), Refusal> {
    traffic.iter().try_for_each(|flow| traffic::place(topology, flow).map(drop))
}

/// Simulates flows on a fabric. The same input gives the same outcome.
///
/// # Errors
/// A flow that cannot exist: the message names it and what would be right.
pub fn simulate(topology: &Topology, traffic: &[Traffic], options: Options) -> Result<Outcome, Unfinished> {
    simulate_unless(topology, traffic, options, &mut || false)
}

/// The same, unless it is to stop: `stopped` is asked now and then, many times in a tenth of a second.
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
