//! Max-min fair shares by progressive filling.
//!
//! All flows rise together. A flow stops at its standalone bandwidth, or when an edge of its route is full,
//! and leaves the rest to the others (Bertsekas and Gallager, "Data Networks", section 6.5.2). The algorithm
//! steps from event to event: the least standalone bandwidth not yet reached, or the least level at which an
//! edge fills up. That level only rises as flows stop below it, so heap entries may be outdated: each is
//! recomputed when popped, and pushed back if it has risen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Allocation;
use crate::flows::Flows;
use crate::topology::EdgeId;

/// Relative rise of an edge's level that counts as rounding.
const ROUNDING: f64 = 1e-12;

/// The bandwidth of each flow; `capacities` are those of the edges, GB/s.
#[must_use]
pub fn max_min(capacities: &[f64], flows: &Flows) -> Allocation {
    let order = flows.by_standalone();
    let any_order: Vec<u32> = (0..flows.len() as u32).collect();
    let by_edge = flows.by_edge(capacities.len(), &any_order);
    let mut filling = Filling::new(capacities, flows, |edge| by_edge.of(edge).len());
    let mut wanting = order.iter().peekable();
    loop {
        while wanting.next_if(|flow| filling.stopped(**flow)).is_some() {}
        let Some(&&next) = wanting.peek() else { break };
        let alone = flows.standalone()[next as usize];
        match filling.first_full(alone) {
            Some((edge, level)) => {
                for flow in by_edge.of(edge as usize) {
                    filling.stop(*flow, level, Some(edge));
                }
            }
            None => filling.stop(next, alone, flows.limit_alone(next as usize)),
        }
    }
    filling.allocation.checked(capacities, flows)
}

#[derive(Clone, Copy)]
struct Edge {
    /// Capacity that stopped flows leave.
    rest: f64,
    /// Flows that still rise.
    rising: u32,
}

struct Filling<'a> {
    flows: &'a Flows,
    edges: Vec<Edge>,
    /// (level as sortable bits, edge); the level may be outdated, but never too high.
    heap: BinaryHeap<Reverse<(u64, EdgeId)>>,
    allocation: Allocation,
}

impl<'a> Filling<'a> {
    fn new(capacities: &[f64], flows: &'a Flows, crossing: impl Fn(usize) -> usize) -> Self {
        let edges: Vec<Edge> = capacities
            .iter()
            .enumerate()
            .map(|(edge, capacity)| Edge { rest: *capacity, rising: crossing(edge) as u32 })
            .collect();
        let crossed = (0..).zip(&edges).filter(|(_, edge)| edge.rising > 0);
        let heap =
            crossed.map(|(id, edge)| Reverse(((edge.rest / f64::from(edge.rising)).to_bits(), id))).collect();
        let allocation =
            Allocation { bandwidth: vec![f64::NAN; flows.len()], limit: vec![None; flows.len()] };
        Self { flows, edges, heap, allocation }
    }

    fn stopped(&self, flow: u32) -> bool {
        !self.allocation.bandwidth[flow as usize].is_nan()
    }

    /// The edge that fills up first, with its level, if that is below `limit`.
    fn first_full(&mut self, limit: f64) -> Option<(EdgeId, f64)> {
        while let Some(Reverse((bits, edge))) = self.heap.peek().copied() {
            let noted = f64::from_bits(bits);
            if noted >= limit {
                return None;
            }
            self.heap.pop();
            let Edge { rest, rising } = self.edges[edge as usize];
            if rising == 0 {
                continue;
            }
            let level = (rest / f64::from(rising)).max(noted);
            if level <= noted * (1.0 + ROUNDING) {
                return Some((edge, level));
            }
            self.heap.push(Reverse((level.to_bits(), edge)));
        }
        None
    }

    fn stop(&mut self, flow: u32, bandwidth: f64, limit: Option<EdgeId>) {
        if self.stopped(flow) {
            return;
        }
        self.allocation.bandwidth[flow as usize] = bandwidth;
        self.allocation.limit[flow as usize] = limit;
        for edge in self.flows.route(flow as usize) {
            let edge = &mut self.edges[*edge as usize];
            edge.rest -= bandwidth;
            edge.rising -= 1;
        }
    }
}
