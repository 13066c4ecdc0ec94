//! Closed-form estimates of the bandwidth of flows that run at once.
//!
//! [`max_min`] is the max-min fair share: no flow can gain without a loss to one that has no more. [`ecr`] is
//! the paper's edge constraints relaxing, which gives at most that, and less where a flow that is limited
//! elsewhere leaves bandwidth free. A fabric follows one or the other depending on the queues of its ports.

mod bottleneck;
mod ecr;
mod equal;
mod influence;
mod max_min;
mod rounds;

pub use bottleneck::bottlenecks;
pub use ecr::ecr;
pub use equal::equal_rate;
pub use influence::{Change, Influence, Influences, Moved};
pub use max_min::max_min;
pub use rounds::{Constraint, EdgeEntry, Round, Rounds, ecr_rounds};

use crate::flows::Flows;
use crate::topology::EdgeId;

/// The bandwidth of each flow, and its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// GB/s.
    pub bandwidth: Vec<f64>,
    /// The edge that limits the flow; None where its standalone bandwidth does.
    pub limit: Vec<Option<EdgeId>>,
}

/// Relative error of a sum of a million shares.
const ROUNDING: f64 = 1e-6;

impl Allocation {
    /// Checks that each flow has at most its standalone bandwidth, and each edge at most its capacity.
    fn checked(self, capacities: &[f64], flows: &Flows) -> Self {
        debug_assert_eq!(self.bandwidth.len(), flows.len(), "one bandwidth for each flow");
        debug_assert!(
            self.bandwidth
                .iter()
                .zip(flows.standalone())
                .all(|(share, alone)| (0.0..=*alone).contains(share)),
            "each flow has at most its standalone bandwidth"
        );
        debug_assert!(
            self.load(flows, capacities.len())
                .iter()
                .zip(capacities)
                .all(|(load, capacity)| *load <= capacity * (1.0 + ROUNDING)),
            "each edge carries at most its capacity"
        );
        self
    }

    /// The load of each edge, GB/s.
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
