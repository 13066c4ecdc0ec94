//! The share of flows that all move as much, as a collective does: the slowest decides.

use crate::flows::Flows;
use crate::topology::EdgeId;

/// The rate of each flow, GB/s, and the edge that limits it, the one of most flows among equals; None without edges.
#[must_use]
pub fn equal_rate(capacities: &[f64], flows: &Flows) -> Option<(f64, EdgeId)> {
    let mut passing = vec![0_u32; capacities.len()];
    for edge in (0..flows.len()).flat_map(|flow| flows.route(flow)) {
        passing[*edge as usize] += 1;
    }
    let passed = (0..).zip(capacities.iter().zip(&passing)).filter(|(_, (_, flows))| **flows > 0);
    let rates = passed.map(|(edge, (capacity, flows))| (capacity / f64::from(*flows), *flows, edge));
    let least = rates.min_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    least.map(|(rate, _, edge)| (rate, edge))
}
