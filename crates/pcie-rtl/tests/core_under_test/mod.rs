//! The core, host and tests that all tests of the core start from.

use pcie_sim::Machine;
use pcie_workload::{CacheState, Operation, Test};
use std::path::PathBuf;

/// The program of the core; none, with a note, where it is not built.
pub(crate) fn program() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/pcielab-rtl"));
    if !path.exists() {
        eprintln!("skipped: {} is not there: make rtl", path.display());
        return None;
    }
    Some(path)
}

/// The machine of a fixture.
pub(crate) fn machine(name: &str) -> Machine {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    Machine::new(serde_json::from_str(&text).unwrap()).unwrap()
}

/// A test of 64 bytes in a warm window.
pub(crate) fn test(operation: Operation) -> Test {
    Test { cache: CacheState::HostWarm, ..Test::random_dma(operation, 64, 8192, 20_000) }
}
