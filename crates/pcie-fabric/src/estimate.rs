//! What each flow gets when all of them run at once, without simulating anything.
//!
//! [`max_min`] is the max-min fair share: nobody can get more without taking from one who gets no more. [`ecr`] is the
//! paper's edge constraints relaxing, which never gives more than that, and less where a flow that is limited
//! elsewhere leaves bandwidth free. Which of them a fabric follows depends on how its ports queue.

mod ecr;
mod influence;
mod max_min;
mod rounds;

pub use ecr::ecr;
pub use influence::{Change, Influence, influence};
pub use max_min::max_min;
pub use rounds::{Constraint, EdgeEntry, Round, ecr_rounds};

use crate::flows::Flows;
use crate::topology::EdgeId;

/// What each flow gets, and what limits it.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// GB/s.
    pub bandwidth: Vec<f64>,
    /// The edge that limits the flow; None where only the flow's own standalone bandwidth does.
    pub limit: Vec<Option<EdgeId>>,
}

/// Sums of a million shares are this far off, as a share of themselves.
const ROUNDING: f64 = 1e-6;

impl Allocation {
    /// The same, which no estimator may give otherwise: each flow has a share, none of them more than it could use alone,
    /// and no edge carries more than it can.
    fn possible(self, capacities: &[f64], flows: &Flows) -> Self {
        debug_assert_eq!(self.bandwidth.len(), flows.len(), "every flow has a share");
        debug_assert!(
            self.bandwidth
                .iter()
                .zip(flows.standalone())
                .all(|(share, alone)| (0.0..=*alone).contains(share)),
            "no flow has more than it could use alone, or nothing that is a number"
        );
        debug_assert!(
            self.load(flows, capacities.len())
                .iter()
                .zip(capacities)
                .all(|(load, capacity)| *load <= capacity * (1.0 + ROUNDING)),
            "no edge carries more than it can"
        );
        self
    }

    /// What each edge carries, GB/s.
    #[must_use]
    pub fn load(&self, flows: &Flows, edge_count: usize) -> Vec<f64> {
        let mut load = vec![0.0; edge_count];
        for (flow, bandwidth) in self.bandwidth.iter().enumerate() {
            for edge in flows.route(flow) {
                load[*edge as usize] += bandwidth;
            }
        }
        load
    }
}

#[cfg(test)]
mod tests;
