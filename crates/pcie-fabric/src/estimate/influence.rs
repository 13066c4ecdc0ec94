//! Influence of flows and edges on each other: bandwidths after one flow stops or one edge doubles.
//!
//! A thousand flows have a million influences: they come one change at a time, and are not kept.

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

/// A change, and its effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Influence {
    /// The change.
    pub change: Change,
    /// The flows whose bandwidth moves, in order; often none.
    pub moved: Vec<Moved>,
}

/// The effect of a change on a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// The flow affected.
    pub flow: usize,
    /// Its bandwidth before the change, GB/s.
    pub before_gbytes_per_s: f64,
    /// Its bandwidth after the change, GB/s.
    pub after_gbytes_per_s: f64,
}

/// Relative difference below which a change is rounding.
const TOLERANCE: f64 = 1e-9;

/// The effects of each doubled edge and each stopped flow, estimated one change at a time. Only edges that limit
/// a flow are doubled; others have no effect.
#[derive(Debug)]
pub struct Influences {
    topology: Topology,
    flows: Flows,
    method: fn(&[f64], &Flows) -> Allocation,
    before: Allocation,
    limiting: Vec<EdgeId>,
    next: usize,
}

impl Influences {
    /// Before the first change.
    #[must_use]
    pub fn new(topology: Topology, flows: Flows, method: fn(&[f64], &Flows) -> Allocation) -> Self {
        let before = method(topology.capacities(), &flows);
        let mut limiting: Vec<EdgeId> = before.limit.iter().flatten().copied().collect();
        limiting.sort_unstable();
        limiting.dedup();
        Self { topology, flows, method, before, limiting, next: 0 }
    }

    /// Number of changes in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.limiting.len() + self.flows.len()
    }

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    fn doubled(&self, edge: EdgeId) -> Vec<Moved> {
        let doubled = self.topology.doubled(edge);
        let after = (self.method)(&doubled, &self.flows.with_capacities(&doubled)).bandwidth;
        self.moved((0..self.flows.len()).zip(after))
    }

    fn stopped(&self, stopped: usize) -> Vec<Moved> {
        let after = (self.method)(self.topology.capacities(), &self.flows.without(stopped)).bandwidth;
        self.moved((0..self.flows.len()).filter(|flow| *flow != stopped).zip(after))
    }

    fn moved(&self, after: impl Iterator<Item = (usize, f64)>) -> Vec<Moved> {
        let moved = after.filter_map(|(flow, after_gbytes_per_s)| {
            let before_gbytes_per_s = self.before.bandwidth[flow];
            let moved = (after_gbytes_per_s - before_gbytes_per_s).abs() > TOLERANCE * before_gbytes_per_s;
            moved.then_some(Moved { flow, before_gbytes_per_s, after_gbytes_per_s })
        });
        moved.collect()
    }
}

impl Iterator for Influences {
    type Item = Influence;

    fn next(&mut self) -> Option<Influence> {
        let number = self.next;
        self.next += 1;
        if let Some(&edge) = self.limiting.get(number) {
            return Some(Influence { change: Change::Double(edge), moved: self.doubled(edge) });
        }
        let flow = number - self.limiting.len();
        (flow < self.flows.len()).then(|| Influence { change: Change::Stop(flow), moved: self.stopped(flow) })
    }
}
