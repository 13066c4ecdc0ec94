//! What bounds the tests of a system. The system and the tests come as JSON, the answers go out as JSON.

use pcie_workload::Test;
use pyo3::prelude::*;

use crate::error::{InputError, RunError};
use crate::run::{machine, parse};

/// Of each test, every bound that it meets on a system, and how long a read request holds its tag; null for a test that
/// has no bound.
#[pyfunction]
fn test_bounds(system: &str, tests: &str) -> PyResult<String> {
    let machine = machine(system)?;
    let tests: Vec<Test> = parse("tests", tests)?;
    let bounds: Vec<_> = tests
        .iter()
        .map(|test| machine.bounds(test))
        .collect::<Result<_, _>>()
        .map_err(|error| InputError::new_err(format!("system: {error}")))?;
    serde_json::to_string(&bounds).map_err(|error| RunError::new_err(error.to_string()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(test_bounds, module)?)
}
