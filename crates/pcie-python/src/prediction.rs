//! Predictions of rows of a suite for many systems at once, as JSON.

use std::sync::{Mutex, PoisonError};

use pcie_bench_sim::Predictor as Inner;
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::{Result, refused};
use crate::json::{parse, text};
use crate::progress::Watched;
use crate::suites::Suite;

/// Predicts rows at some positions of a suite, with their history in it.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Predictor {
    inner: Mutex<Inner>,
}

#[pymethods]
impl Predictor {
    /// `positions` of the rows in the suite must ascend.
    #[new]
    #[pyo3(signature = (suite, positions, *, seed, jobs))]
    fn new(suite: &Suite, positions: Vec<usize>, seed: u64, jobs: usize) -> Result<Self> {
        let inner = Inner::new(suite.transfers()?.clone(), positions, seed, jobs)?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Predicts, for each of the `systems` its rows in `wanted`. Calls `progress` with the rows
    /// done and their total; an exception from it, or a signal, stops the work.
    #[pyo3(signature = (systems, wanted, *, effort, progress))]
    fn predict(
        &self,
        py: Python<'_>,
        systems: Vec<PyRef<'_, System>>,
        wanted: Vec<Vec<usize>>,
        effort: &str,
        progress: Py<PyAny>,
    ) -> Result<String> {
        let systems: Vec<_> = systems.iter().map(|one| one.system().clone()).collect();
        let effort = parse("effort", effort)?;
        if systems.len() != wanted.len() {
            let message = format!("{} systems, {} lists of rows: give as many", systems.len(), wanted.len());
            return Err(refused(message));
        }
        let mut watched = Watched::new();
        let result = py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.predict(systems, &wanted, effort, &mut |done, total| {
                watched.report(&progress, (done, total))
            })
        });
        text(&watched.result(result)?)
    }
}
