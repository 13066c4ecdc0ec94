//! `pcie-page` for Python.

use pyo3::prelude::*;

use crate::error::Result;

/// Answers a page's request, JSON in and out.
#[pyfunction]
pub(crate) fn ask_page(py: Python<'_>, name: &str, asked: &str) -> Result<String> {
    Ok(py.detach(|| pcie_page::ask(name, asked))?)
}
