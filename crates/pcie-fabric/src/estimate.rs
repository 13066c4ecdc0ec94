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

impl Allocation {
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
