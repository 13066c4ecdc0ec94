//! The request that work ends, for Python.

use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{Result, refused};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stop>()
}

/// The request that a run ends.
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

    /// Asks everything that looks at this to end.
    fn request(&self) {
        self.inner.request();
    }

    /// Whether it was asked for.
    fn is_requested(&self) -> bool {
        self.inner.is_requested()
    }

    /// Waits until it is asked for, or so many seconds; whether it was.
    fn wait(&self, py: Python<'_>, seconds: f64) -> Result<bool> {
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|error| refused(format!("seconds is {seconds}: {error}")))?;
        Ok(py.detach(|| self.inner.wait(limit)))
    }
}
