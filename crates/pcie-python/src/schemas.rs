//! The JSON Schemas of the types that Python has models of, for the command that writes those models.

use pcie_sim::profile::System;
use pcie_workload::Test;
use pyo3::prelude::*;
use schemars::schema_for;

use crate::error::Result;
use crate::json::text;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(system_schema, module)?)?;
    module.add_function(wrap_pyfunction!(test_schema, module)?)
}

/// The schema of a resolved system, as JSON.
#[pyfunction]
fn system_schema() -> Result<String> {
    text(&schema_for!(System))
}

/// The schema of a test's parameters, as JSON.
#[pyfunction]
fn test_schema() -> Result<String> {
    text(&schema_for!(Test))
}
