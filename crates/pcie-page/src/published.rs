//! Names and numbers that pages and Python share.

use pcie_workload::{Operation, PUBLISHED, Path, published_transactions};
use serde::Serialize;

use crate::plan::{SIZES, WINDOWS};

/// Sizes and windows of curves, and the published tests.
#[derive(Debug, Serialize)]
pub(crate) struct Published {
    sizes: [u64; SIZES.len()],
    windows: [u64; WINDOWS.len()],
    /// Published name, operation and path of each test.
    tests: [(&'static str, Operation, Path); PUBLISHED.len()],
    /// Transactions of a bandwidth test.
    bandwidth_transactions: u64,
    /// Transactions of a latency test.
    latency_samples: u64,
    /// Transactions of a latency test with its full distribution.
    details_samples: u64,
}

/// What is published.
pub(crate) fn published() -> Published {
    Published {
        sizes: SIZES,
        windows: WINDOWS,
        tests: PUBLISHED,
        bandwidth_transactions: published_transactions(Operation::BwRd, false),
        latency_samples: published_transactions(Operation::LatRd, false),
        details_samples: published_transactions(Operation::LatRd, true),
    }
}
