//! The edge that people call the bottleneck of a flow, where several are full at once.

use super::Allocation;
use crate::flows::Flows;
use crate::topology::EdgeId;

/// Relative difference of rates that counts as rounding.
const ROUNDING: f64 = 1e-9;

/// Of each flow with a max-min share, the full edge on which no flow gets more; among several, the one that most flows
/// share. None if none is full.
#[must_use]
pub fn bottlenecks(capacities: &[f64], flows: &Flows, shares: &Allocation) -> Vec<Option<EdgeId>> {
    let load = shares.load(flows, capacities.len());
    let (mut most, mut passing) = (vec![0.0_f64; capacities.len()], vec![0_u32; capacities.len()]);
    for (flow, share) in shares.bandwidth.iter().enumerate() {
        for edge in flows.route(flow) {
            most[*edge as usize] = most[*edge as usize].max(*share);
        }
    }
    for (flow, share) in shares.bandwidth.iter().enumerate() {
        for edge in flows.route(flow).iter().map(|edge| *edge as usize) {
            passing[edge] += u32::from(*share >= most[edge] * (1.0 - ROUNDING));
        }
    }
    let of = |(flow, share): (usize, &f64)| {
        let is_full = |edge: &&EdgeId| {
            let edge = **edge as usize;
            load[edge] >= capacities[edge] * (1.0 - ROUNDING) && *share >= most[edge] * (1.0 - ROUNDING)
        };
        let full = flows.route(flow).iter().filter(is_full);
        full.rev().max_by_key(|edge| passing[**edge as usize]).copied()
    };
    shares.bandwidth.iter().enumerate().map(of).collect()
}
