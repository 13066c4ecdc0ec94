//! `pcie-page` for Python.

use pcie_refusal::Refusal;
use pcie_sim::profile::IommuMode;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use crate::describe::written;
use crate::error::Result;
use crate::json::BYTES_MOST;
use crate::progress::Signals;

/// Adds constants: what is published of tests, and the page size of each IOMMU mode, bytes, None without translation.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let published: Json = crate::json::parse("published", &ask_page(py, "published", "{}")?)?;
    module.add("PUBLISHED", written(py, published)?)?;
    let pages = PyDict::new(py);
    for mode in [IommuMode::Off, IommuMode::SuperPages, IommuMode::FourKibPages] {
        let word = serde_json::to_value(mode).unwrap_or_default();
        pages.set_item(word.as_str(), mode.page_bytes())?;
    }
    module.add("IOMMU_PAGE_BYTES", pages)
}

/// Answers a page's request, JSON in and out. A signal ends a simulation.
#[pyfunction]
pub(crate) fn ask_page(py: Python<'_>, name: &str, asked: &str) -> Result<String> {
    if asked.len() > BYTES_MOST {
        return Err(Refusal::of(
            "request",
            format!("of {} bytes", asked.len()),
            format!("give {BYTES_MOST} at most"),
        )
        .into());
    }
    let signals = Signals::new();
    let stop = signals.stop();
    signals.result(py.detach(|| pcie_page::ask_until(name, asked, &stop)))
}
