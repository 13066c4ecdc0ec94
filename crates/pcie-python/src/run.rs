//! Running suites, and checking what would be run. Systems and suites come as JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcie_bench::{Benchmarks, Messages, Options, Progress, RunError, Work, run, run_alone as alone};
use pcie_bench_sim::{SimulatedMessages, SimulatedNic};
use pcie_store::Manifest;
use pcie_workload::{MessageSuite, Suite, Test};
use pyo3::prelude::*;

use crate::backend::Backend;
use crate::error::Result;
use crate::json::{parse, text, word};
use crate::progress::Watched;
use crate::stop::Stop;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_suite, module)?)?;
    module.add_function(wrap_pyfunction!(check_test, module)?)?;
    module.add_function(wrap_pyfunction!(check_message_suite, module)?)?;
    module.add_function(wrap_pyfunction!(run_suite, module)?)?;
    module.add_function(wrap_pyfunction!(run_alone, module)?)?;
    module.add_function(wrap_pyfunction!(run_messages, module)?)?;
    module.add_function(wrap_pyfunction!(run_nic, module)?)
}

/// Refuses the parameters of a test that no machine could carry out.
#[pyfunction]
fn check_test(parameters: &str) -> Result<()> {
    let test: Test = parse("test", parameters)?;
    Ok(test.validate()?)
}

/// Refuses a suite with a test that no machine could carry out.
#[pyfunction]
fn check_suite(suite: &str) -> Result<()> {
    let suite: Suite = parse("suite", suite)?;
    Ok(suite.validate()?)
}

/// Runs a suite on a back end into a store. `progress` is called with the tests done, their total, and the family and name of
/// the last one; an exception from it, or a signal, stops the run.
#[pyfunction]
#[pyo3(signature = (path, backend, suite, manifest, *, seed, samples, jobs, resume, overwrite, progress, repeat_damaged = false))]
#[expect(clippy::too_many_arguments, reason = "the arguments are keywords in Python")]
fn run_suite(
    py: Python<'_>,
    path: PathBuf,
    backend: Bound<'_, Backend>,
    suite: &str,
    manifest: &str,
    seed: u64,
    samples: &str,
    jobs: usize,
    resume: bool,
    overwrite: bool,
    progress: Py<PyAny>,
    repeat_damaged: bool,
) -> Result<()> {
    let suite: Suite = parse("suite", suite)?;
    let backend = Arc::clone(&backend.get().inner);
    let work = Benchmarks::new(suite, word("samples", samples)?, seed, backend)?;
    let options = Options { jobs, resume, repeat_damaged, overwrite };
    carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}

/// Runs the only test of a suite on a back end, in this thread, and returns its record as JSON; `stop` ends it early.
#[pyfunction]
#[pyo3(signature = (backend, suite, *, seed, samples, stop=None))]
fn run_alone(
    py: Python<'_>,
    backend: Bound<'_, Backend>,
    suite: &str,
    seed: u64,
    samples: &str,
    stop: Option<Bound<'_, Stop>>,
) -> Result<String> {
    let suite: Suite = parse("suite", suite)?;
    let backend = Arc::clone(&backend.get().inner);
    let work = Benchmarks::new(suite, word("samples", samples)?, seed, backend)?;
    let stop = stop.map(|stop| stop.get().inner.clone()).unwrap_or_default();
    text(&py.detach(|| alone(&work, &stop))?)
}

/// Carries out work from Python: signals and exceptions of `progress` stop it.
pub(crate) fn carry_out(
    py: Python<'_>,
    work: Arc<dyn Work>,
    options: Options,
    path: &Path,
    manifest: &str,
    progress: &Py<PyAny>,
) -> Result<()> {
    let manifest = Manifest::from_entries(parse("manifest", manifest)?)?;
    let mut watched = Watched::new();
    let result: std::result::Result<(), RunError> = py.detach(|| {
        let mut report = |state: &Progress| {
            let (family, name) = state.last.clone().unwrap_or_default();
            watched.tell(progress, (state.done, state.total, family, name))
        };
        run(work, options, path, manifest, &mut report)
    });
    watched.result(result)
}

/// Refuses a suite of messages with a test that no machine could carry out.
#[pyfunction]
fn check_message_suite(suite: &str) -> Result<()> {
    let suite: MessageSuite = parse("suite", suite)?;
    Ok(suite.validate()?)
}

/// Runs a suite of messages on a simulated system into a store; see `run_suite`.
#[pyfunction]
#[pyo3(signature = (path, system, profile, suite, manifest, *, seed, resume, overwrite, progress, repeat_damaged = false))]
#[expect(clippy::too_many_arguments, reason = "the arguments are keywords in Python")]
fn run_messages(
    py: Python<'_>,
    path: PathBuf,
    system: &str,
    profile: &str,
    suite: &str,
    manifest: &str,
    seed: u64,
    resume: bool,
    overwrite: bool,
    progress: Py<PyAny>,
    repeat_damaged: bool,
) -> Result<()> {
    let suite: MessageSuite = parse("suite", suite)?;
    let backend = SimulatedMessages::new(parse("system", system)?, parse("profile", profile)?, seed)?;
    let work = Messages::new(suite, Arc::new(backend))?;
    let options = Options { jobs: 1, resume, repeat_damaged, overwrite };
    carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}

/// Runs a NIC on a simulated system into a store, a test for each of `tests`; see `run_suite`.
#[pyfunction]
#[pyo3(signature = (path, system, nic, tests, manifest, *, seed, jobs, resume, repeat_damaged, overwrite, progress))]
#[expect(clippy::too_many_arguments, reason = "the arguments are keywords in Python")]
fn run_nic(
    py: Python<'_>,
    path: PathBuf,
    system: &str,
    nic: &str,
    tests: &str,
    manifest: &str,
    seed: u64,
    jobs: usize,
    resume: bool,
    repeat_damaged: bool,
    overwrite: bool,
    progress: Py<PyAny>,
) -> Result<()> {
    let work = SimulatedNic::new(parse("system", system)?, parse("nic", nic)?, parse("tests", tests)?, seed)?;
    let options = Options { jobs, resume, repeat_damaged, overwrite };
    carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}
