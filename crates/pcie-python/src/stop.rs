//! The stop request of a run, for Python.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::{Error, Result, refused};
use crate::progress::Signals;

/// Interval of looks for signals while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

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
        let (signals, started) = (Signals::new(), Instant::now());
        let came = py.detach(|| {
            loop {
                let left = limit.saturating_sub(started.elapsed());
                if self.inner.wait(left.min(LOOK_EVERY)) || signals.came() {
                    return self.inner.is_requested();
                }
                if left <= LOOK_EVERY {
                    return false;
                }
            }
        });
        signals.result(Ok::<_, Error>(came))
    }
}
