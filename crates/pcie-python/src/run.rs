//! Runs work of any kind on a back end, and checks tests.

use std::path::PathBuf;

use pcie_bench::{Options, Progress, RunError, Samples, run, run_alone as alone};
use pcie_store::Manifest;
use pcie_time::Picoseconds;
use pcie_workload::Test;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::backend::{Backend, How};
use crate::error::Result;
use crate::json::{fitting, parse, text, word};
use crate::progress::{Signals, Watched};
use crate::stop::Stop;
use crate::suites::Work as Asked;

/// Refuses invalid parameters of a test.
#[pyfunction]
pub(crate) fn check_test(parameters: &str) -> Result<()> {
    let test: Test = fitting("test", parameters)?;
    Ok(test.validate()?)
}

/// `pcielab.RunOptions` with all defaults resolved.
#[derive(Deserialize)]
struct RunOptions {
    seed: u64,
    samples: Samples,
    /// The time of each test whose trace is kept.
    trace_ns: Option<f64>,
    #[serde(flatten)]
    whole: Options,
}

/// Runs work, a suite or JSON of the kind that the back end takes, into a store. Calls `progress` with the tests done,
/// their total, and the family and name of the last one; an exception from it, or a signal, stops the run.
#[pyfunction(name = "run")]
pub(crate) fn run_work(
    py: Python<'_>,
    path: PathBuf,
    backend: Bound<'_, Backend>,
    work: Asked<'_>,
    options: &str,
    manifest: &str,
    progress: Py<PyAny>,
) -> Result<()> {
    let options: RunOptions = parse("options", options)?;
    let RunOptions { samples, seed, trace_ns, .. } = options;
    let trace = trace_ns.map(Picoseconds::from_ns);
    let carried = backend.get().work(&work, How { samples, seed, trace })?;
    drop(work);
    let manifest = Manifest::from_entries(parse("manifest", manifest)?)?;
    let mut watched = Watched::new();
    let result: std::result::Result<(), RunError> = py.detach(|| {
        let mut report = |state: &Progress| {
            let (family, name) = state.last.clone().unwrap_or_default();
            watched.report(&progress, (state.done, state.total, family, name))
        };
        run(carried, options.whole, &path, manifest, &mut report)
    });
    watched.result(result)
}

/// Runs the only test of `work` on a back end, in this thread, and returns its record as JSON; `stop` ends it
/// early or, without one, a signal.
#[pyfunction]
#[pyo3(signature = (backend, work, *, seed, samples, stop=None))]
pub(crate) fn run_alone(
    py: Python<'_>,
    backend: Bound<'_, Backend>,
    work: Asked<'_>,
    seed: u64,
    samples: &str,
    stop: Option<Bound<'_, Stop>>,
) -> Result<String> {
    let work = backend.get().work(&work, How { samples: word("samples", samples)?, seed, trace: None })?;
    let signals = Signals::new();
    let stop = stop.map_or_else(|| signals.stop(), |stop| stop.get().inner.clone());
    text(&signals.result(py.detach(|| alone(&*work, &stop)))?)
}
