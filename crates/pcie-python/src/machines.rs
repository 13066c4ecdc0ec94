//! Machines in files, for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::describe::{table, written};
use crate::error::Result;

/// The machine of a file with `kind = "machine"`, as tables with every key; `path` names the file in messages, and may
/// be empty.
#[pyfunction]
pub(crate) fn described_machine<'py>(
    py: Python<'py>,
    content: &Bound<'py, PyDict>,
    path: &str,
) -> Result<Bound<'py, PyAny>> {
    let machine = pcie_describe::read_machine(table(content)?, path)?;
    Ok(written(py, serde_json::to_value(machine)?)?)
}

/// The names of a text: `gpu0`, `gpu0..3`, `gpu0..1,gpu4`.
#[pyfunction]
pub(crate) fn expanded_names(text: &str) -> Result<Vec<String>> {
    Ok(pcie_describe::expanded_names(text)?)
}
