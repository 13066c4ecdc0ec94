//! Predicting rows of a suite for many systems at once. Systems and suites come as JSON, predictions go out as JSON.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use pcie_bench_sim::{PredictionError, Predictor as Inner};
use pyo3::prelude::*;

use crate::error::{InputError, RunError};
use crate::run::parse;

/// Predicts the rows at some places of a suite, with the history that they have in it.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Predictor {
    inner: Mutex<Inner>,
}

#[pymethods]
impl Predictor {
    /// `places` of the rows in the suite must rise.
    #[new]
    #[pyo3(signature = (suite, places, *, seed, jobs))]
    fn new(suite: &str, places: Vec<usize>, seed: u64, jobs: usize) -> PyResult<Self> {
        let inner = Inner::new(parse("suite", suite)?, places, seed, jobs)
            .map_err(|error| InputError::new_err(error.to_string()))?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// For each of the `systems`, a JSON list, predictions of its rows in `wanted`. `progress` is called with the rows
    /// done and their number; an exception from it, or a signal, stops the work.
    #[pyo3(signature = (systems, wanted, *, effort, progress))]
    fn predict(
        &self,
        py: Python<'_>,
        systems: &str,
        wanted: Vec<Vec<usize>>,
        effort: &str,
        progress: Py<PyAny>,
    ) -> PyResult<String> {
        let systems: Vec<_> = parse("systems", systems)?;
        let effort = parse("effort", effort)?;
        if systems.len() != wanted.len() {
            let message = format!("{} systems, {} lists of rows: give as many", systems.len(), wanted.len());
            return Err(InputError::new_err(message));
        }
        let mut raised = None;
        let result = py.detach(|| {
            let mut report = |done: usize, total: usize| {
                let called = Python::attach(|py| {
                    py.check_signals()?;
                    progress.call1(py, (done, total)).map(drop)
                });
                match called {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        raised.get_or_insert(error);
                        ControlFlow::Break(())
                    }
                }
            };
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.predict(systems, &wanted, effort, &mut report)
        });
        match (raised, result) {
            (Some(error), _) => Err(error),
            (None, Ok(found)) => {
                serde_json::to_string(&found).map_err(|error| RunError::new_err(error.to_string()))
            }
            (None, Err(error @ PredictionError::Interrupted)) => Err(RunError::new_err(error.to_string())),
            (None, Err(error)) => Err(InputError::new_err(error.to_string())),
        }
    }
}
