//! Running work of any kind on a back end, and checking what would be run.

use std::path::PathBuf;

use pcie_bench::{Options, Progress, RunError, Samples, run, run_alone as alone};
use pcie_store::Manifest;
use pcie_workload::{MessageSuite, Suite, Test};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::backend::Backend;
use crate::error::Result;
use crate::json::{fitting, parse, text, word};
use crate::progress::Watched;
use crate::stop::Stop;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_suite, module)?)?;
    module.add_function(wrap_pyfunction!(check_test, module)?)?;
    module.add_function(wrap_pyfunction!(check_message_suite, module)?)?;
    module.add_function(wrap_pyfunction!(run_work, module)?)?;
    module.add_function(wrap_pyfunction!(run_alone, module)?)
}

/// Refuses the parameters of a test that no machine could carry out.
#[pyfunction]
fn check_test(parameters: &str) -> Result<()> {
    let test: Test = fitting("test", parameters)?;
    Ok(test.validate()?)
}

/// Refuses a suite with a test that no machine could carry out.
#[pyfunction]
fn check_suite(suite: &str) -> Result<()> {
    let suite: Suite = parse("suite", suite)?;
    Ok(suite.validate()?)
}

/// Refuses a suite of messages with a test that no machine could carry out.
#[pyfunction]
fn check_message_suite(suite: &str) -> Result<()> {
    let suite: MessageSuite = parse("suite", suite)?;
    Ok(suite.validate()?)
}

/// How work is run: `pcielab.RunOptions`, with everything decided that people may leave open.
#[derive(Deserialize)]
struct RunOptions {
    seed: u64,
    samples: Samples,
    #[serde(flatten)]
    whole: Options,
}

/// Runs work, JSON of the kind that the back end takes, into a store. `progress` is called with the tests done, their total,
/// and the family and name of the last one; an exception from it, or a signal, stops the run.
#[pyfunction(name = "run")]
fn run_work(
    py: Python<'_>,
    path: PathBuf,
    backend: Bound<'_, Backend>,
    work: &str,
    options: &str,
    manifest: &str,
    progress: Py<PyAny>,
) -> Result<()> {
    let options: RunOptions = parse("options", options)?;
    let work = backend.get().work(work, options.samples, options.seed)?;
    let manifest = Manifest::from_entries(parse("manifest", manifest)?)?;
    let mut watched = Watched::new();
    let result: std::result::Result<(), RunError> = py.detach(|| {
        let mut report = |state: &Progress| {
            let (family, name) = state.last.clone().unwrap_or_default();
            watched.tell(&progress, (state.done, state.total, family, name))
        };
        run(work, options.whole, &path, manifest, &mut report)
    });
    watched.result(result)
}

/// Runs the only test of some work on a back end, in this thread, and returns its record as JSON; `stop` ends it early.
#[pyfunction]
#[pyo3(signature = (backend, work, *, seed, samples, stop=None))]
fn run_alone(
    py: Python<'_>,
    backend: Bound<'_, Backend>,
    work: &str,
    seed: u64,
    samples: &str,
    stop: Option<Bound<'_, Stop>>,
) -> Result<String> {
    let work = backend.get().work(work, word("samples", samples)?, seed)?;
    let stop = stop.map(|stop| stop.get().inner.clone()).unwrap_or_default();
    text(&py.detach(|| alone(&*work, &stop))?)
}
