//! `pcie-page` for Python.

use pcie_refusal::Refusal;
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::BYTES_MOST;
use crate::progress::Signals;

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
