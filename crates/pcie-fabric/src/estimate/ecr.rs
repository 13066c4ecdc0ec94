//! Edge constraints relaxing in closed form.
//!
//! The paper's Algorithms 1 and 2 (section 6), with three corrections that make them end: the capacity left
//! is updated after the loop over flows, each round starts without the constraints of the last, and
//! comparisons have a tolerance. Each flow then gets the least of its standalone bandwidth and, over its
//! edges, the level to which that edge alone would cut the flows' *standalone* demands. [`super::ecr_rounds`]
//! shows the same round by round.

use super::Allocation;
use crate::flows::Flows;

/// The bandwidth of each flow; `capacities` are those of the edges, GB/s.
#[must_use]
pub fn ecr(capacities: &[f64], flows: &Flows) -> Allocation {
    let by_edge = flows.by_edge(capacities.len(), &flows.by_standalone());
    let levels: Vec<f64> = capacities
        .iter()
        .enumerate()
        .map(|(edge, capacity)| {
            level(*capacity, by_edge.of(edge).iter().map(|flow| flows.standalone()[*flow as usize]))
        })
        .collect();
    let (mut bandwidth, mut limit) = (Vec::with_capacity(flows.len()), Vec::with_capacity(flows.len()));
    for (flow, alone) in flows.standalone().iter().enumerate() {
        let mut least = *alone;
        let mut by = flows.limit_alone(flow);
        for edge in flows.route(flow) {
            if levels[*edge as usize] < least {
                (least, by) = (levels[*edge as usize], Some(*edge));
            }
        }
        bandwidth.push(least);
        limit.push(by);
    }
    Allocation { bandwidth, limit }.checked(capacities, flows)
}

/// The paper's Algorithm 1: the level to which an edge cuts larger demands; infinite where all fit. `demands`
/// must ascend.
pub(super) fn level(capacity: f64, demands: impl ExactSizeIterator<Item = f64>) -> f64 {
    let (mut rest, mut flows) = (capacity, demands.len());
    for demand in demands {
        let share = rest / flows as f64;
        if demand > share {
            return share;
        }
        rest -= demand;
        flows -= 1;
    }
    f64::INFINITY
}
