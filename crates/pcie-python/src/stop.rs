//! The stop request of a run, for Python.

use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{Result, refused};

/// The stop request of a run.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Stop {
    pub(crate) inner: pcie_bench::Stop,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self { inner: pcie_bench::Stop::default() }
    }

    /// Requests the stop.
    fn request(&self) {
        self.inner.request();
    }

    /// Whether the stop was requested.
    fn is_requested(&self) -> bool {
        self.inner.is_requested()
    }

    /// Waits for the request, at most for `seconds`; returns whether it came.
    fn wait(&self, py: Python<'_>, seconds: f64) -> Result<bool> {
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|error| refused(format!("seconds is {seconds}: {error}")))?;
        Ok(py.detach(|| self.inner.wait(limit)))
    }
}
