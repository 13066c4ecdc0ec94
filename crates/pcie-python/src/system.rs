//! Simulated systems, which come as JSON.

use pcie_sim::Machine;
use pcie_sim::profile::System;
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::parse;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_system, module)?)
}

pub(crate) fn machine(system: &str) -> Result<Machine> {
    let system: System = parse("system", system)?;
    Ok(Machine::new(system)?)
}

/// Refuses a system that cannot be simulated.
#[pyfunction]
fn check_system(system: &str) -> Result<()> {
    let system: System = parse("system", system)?;
    Ok(Machine::check(&system)?)
}
