//! What bounds the tests of a system. The system and the tests come as JSON, the answers go out as JSON.

use pcie_workload::Test;
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::{parse, text};
use crate::system::machine;

/// Of each test, every bound that it meets on a system, and how long a read request holds its tag; null for a test that
/// has no bound.
#[pyfunction]
fn test_bounds(system: &str, tests: &str) -> Result<String> {
    let machine = machine(system)?;
    let tests: Vec<Test> = parse("tests", tests)?;
    let bounds: std::result::Result<Vec<_>, _> = tests.iter().map(|test| machine.bounds(test)).collect();
    text(&bounds.map_err(|refusal| refusal.about("system"))?)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(test_bounds, module)?)
}
