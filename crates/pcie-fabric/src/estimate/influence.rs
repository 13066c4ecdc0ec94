//! Influence of flows and edges on each other: bandwidths after one flow stops or one edge doubles.

use super::Allocation;
use crate::flows::Flows;
use crate::topology::{EdgeId, Topology};

/// A change of the fabric or its flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This flow stops.
    Stop(usize),
    /// The capacity of this edge's link doubles.
    Double(EdgeId),
}

/// The effect of a change on a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Influence {
    /// The change.
    pub change: Change,
    /// The flow affected.
    pub flow: usize,
    /// Its bandwidth before the change, GB/s.
    pub before_gbytes_per_s: f64,
    /// Its bandwidth after the change, GB/s.
    pub after_gbytes_per_s: f64,
}

/// Relative difference below which a change is rounding.
const TOLERANCE: f64 = 1e-9;

/// The effects of each stopped flow and each doubled edge. Only edges that limit a flow are doubled; others
/// have no effect.
#[must_use]
pub fn influence(
    topology: &Topology,
    flows: &Flows,
    method: fn(&[f64], &Flows) -> Allocation,
) -> Vec<Influence> {
    let capacities = topology.capacities();
    let before = method(capacities, flows);
    let mut found = Vec::new();
    let mut limiting: Vec<EdgeId> = before.limit.iter().flatten().copied().collect();
    limiting.sort_unstable();
    limiting.dedup();
    for edge in limiting {
        let doubled = topology.doubled(edge);
        let after = method(&doubled, &flows.with_capacities(&doubled)).bandwidth;
        found.extend(changed(Change::Double(edge), &before, (0..flows.len()).zip(after)));
    }
    for stopped in 0..flows.len() {
        let after = method(capacities, &flows.without(stopped)).bandwidth;
        let others = (0..flows.len()).filter(|flow| *flow != stopped);
        found.extend(changed(Change::Stop(stopped), &before, others.zip(after)));
    }
    found
}

fn changed(
    change: Change,
    before: &Allocation,
    after: impl Iterator<Item = (usize, f64)>,
) -> impl Iterator<Item = Influence> {
    after.filter_map(move |(flow, after_gbytes_per_s)| {
        let before_gbytes_per_s = before.bandwidth[flow];
        let moved = (after_gbytes_per_s - before_gbytes_per_s).abs() > TOLERANCE * before_gbytes_per_s;
        moved.then_some(Influence { change, flow, before_gbytes_per_s, after_gbytes_per_s })
    })
}
