//! A machine for tests.

use pcie_sim::Machine;
use std::sync::Arc;

/// The JSON of `snb`.
pub(crate) const SNB: &str = include_str!("../../pcie-sim/tests/fixtures/snb.json");

/// The machine `snb`.
pub(crate) fn snb() -> Arc<Machine> {
    Arc::new(Machine::new(serde_json::from_str(SNB).unwrap()).unwrap())
}
