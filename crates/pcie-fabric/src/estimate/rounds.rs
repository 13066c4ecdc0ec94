//! Edge constraints relaxing round by round, with the two tables of the paper's figure 16: for teaching, and
//! to check the closed form.

use super::ecr::level;
use crate::flows::{Flows, FlowsByEdge};
use crate::topology::EdgeId;

/// Relative excess over a capacity that counts as rounding.
const TOLERANCE: f64 = 1e-9;

/// An edge that is oversubscribed at the start of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeEntry {
    /// The edge.
    pub edge: EdgeId,
    /// Total demand of its flows, GB/s.
    pub demand_gbytes_per_s: f64,
    /// Its flows, with the demand of each, GB/s.
    pub flows: Vec<(usize, f64)>,
}

/// The share of a flow that an oversubscribed edge cuts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraint {
    /// The flow.
    pub flow: usize,
    /// The edge.
    pub edge: EdgeId,
    /// GB/s.
    pub gbytes_per_s: f64,
}

/// One round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The table of oversubscribed edges.
    pub edges: Vec<EdgeEntry>,
    /// The table of constraints; a flow that is not cut has no entry.
    pub constraints: Vec<Constraint>,
    /// Bandwidth of each flow after the round, GB/s: the most that any oversubscribed edge on its route
    /// leaves to it.
    pub bandwidth: Vec<f64>,
}

/// The rounds until no edge is oversubscribed, one at a time: those of many flows are more than a machine can hold.
#[derive(Debug)]
pub struct Rounds<'a> {
    capacities: &'a [f64],
    by_edge: FlowsByEdge,
    bandwidth: Vec<f64>,
}

/// All rounds until no edge is oversubscribed.
#[must_use]
pub fn ecr_rounds<'a>(capacities: &'a [f64], flows: &Flows) -> Rounds<'a> {
    let all: Vec<u32> = (0..flows.len() as u32).collect();
    let by_edge = flows.by_edge(capacities.len(), &all);
    Rounds { capacities, by_edge, bandwidth: flows.standalone().to_vec() }
}

impl Iterator for Rounds<'_> {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let edges: Vec<EdgeEntry> = (0..)
            .zip(self.capacities)
            .map(|(edge, capacity)| (entry(edge, self.by_edge.of(edge as usize), &self.bandwidth), capacity))
            .filter(|(entry, capacity)| entry.demand_gbytes_per_s > **capacity * (1.0 + TOLERANCE))
            .map(|(entry, _)| entry)
            .collect();
        if edges.is_empty() {
            return None;
        }
        let mut constraints = Vec::new();
        let mut next = vec![None; self.bandwidth.len()];
        for entry in &edges {
            let share = share(self.capacities[entry.edge as usize], entry);
            for (flow, wanted) in &entry.flows {
                let left = wanted.min(share);
                next[*flow] = Some(next[*flow].map_or(left, |most: f64| most.max(left)));
                if left < *wanted {
                    constraints.push(Constraint { flow: *flow, edge: entry.edge, gbytes_per_s: left });
                }
            }
        }
        for (bandwidth, next) in self.bandwidth.iter_mut().zip(next) {
            *bandwidth = next.unwrap_or(*bandwidth);
        }
        Some(Round { edges, constraints, bandwidth: self.bandwidth.clone() })
    }
}

fn entry(edge: EdgeId, flows: &[u32], bandwidth: &[f64]) -> EdgeEntry {
    let flows: Vec<(usize, f64)> =
        flows.iter().map(|flow| (*flow as usize, bandwidth[*flow as usize])).collect();
    EdgeEntry { edge, demand_gbytes_per_s: flows.iter().map(|(_, wanted)| wanted).sum(), flows }
}

/// The share of a flow that the edge cuts.
fn share(capacity: f64, entry: &EdgeEntry) -> f64 {
    let mut wanted: Vec<f64> = entry.flows.iter().map(|(_, wanted)| *wanted).collect();
    wanted.sort_by(f64::total_cmp);
    level(capacity, wanted.into_iter())
}
