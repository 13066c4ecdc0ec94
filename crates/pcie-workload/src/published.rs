//! The published suite's names of tests, and how many transactions it runs.

use crate::{Operation, Path};

/// Operation and path of each micro-benchmark, by its published name.
///
/// The pointer chase and the bandwidths on the command path were not published. They are for devices whose
/// processors issue their own loads and stores.
pub const PUBLISHED: [(&str, Operation, Path); 11] = [
    ("LAT_CMD_RD", Operation::LatRd, Path::Command),
    ("LAT_CMD_WRRD", Operation::LatWrrd, Path::Command),
    ("LAT_CMD_CHASE", Operation::LatChase, Path::Command),
    ("LAT_DMA_RD", Operation::LatRd, Path::Dma),
    ("LAT_DMA_WRRD", Operation::LatWrrd, Path::Dma),
    ("BW_CMD_RD", Operation::BwRd, Path::Command),
    ("BW_CMD_WR", Operation::BwWr, Path::Command),
    ("BW_CMD_RW", Operation::BwRdwr, Path::Command),
    ("BW_DMA_RD", Operation::BwRd, Path::Dma),
    ("BW_DMA_WR", Operation::BwWr, Path::Dma),
    ("BW_DMA_RW", Operation::BwRdwr, Path::Dma),
];

const LATENCY_SAMPLES: u64 = 2_097_152;
const DETAILS_SAMPLES: u64 = 16_777_216;
const BANDWIDTH_TRANSACTIONS: u64 = 8_388_608;

/// The published name of an operation on a path; none for a combination that no device has.
#[must_use]
pub fn published_name(operation: Operation, path: Path) -> Option<&'static str> {
    let found = PUBLISHED.iter().find(|(_, known, on)| (*known, *on) == (operation, path));
    found.map(|(name, ..)| *name)
}

/// Transactions of a test in the published suite.
#[must_use]
pub fn published_transactions(operation: Operation, details: bool) -> u64 {
    match (operation.is_latency(), details) {
        (false, _) => BANDWIDTH_TRANSACTIONS,
        (true, true) => DETAILS_SAMPLES,
        (true, false) => LATENCY_SAMPLES,
    }
}
