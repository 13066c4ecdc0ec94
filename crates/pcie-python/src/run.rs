//! Running suites, and checking what would be run. Systems and suites come as JSON.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcie_bench::{
    Benchmarks, Messages, OpenError, Options, Progress, RunError as Failure, Work, run, run_alone as alone,
};
use pcie_bench_sim::{SimulatedMessages, SimulatedNic};
use pcie_sim::Machine;
use pcie_sim::profile::System;
use pcie_store::Manifest;
use pcie_workload::{MessageSuite, Suite};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::backend::{Backend, Stop};
use crate::error::{InputError, RunError};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_system, module)?)?;
    module.add_function(wrap_pyfunction!(check_suite, module)?)?;
    module.add_function(wrap_pyfunction!(check_message_suite, module)?)?;
    module.add_function(wrap_pyfunction!(run_suite, module)?)?;
    module.add_function(wrap_pyfunction!(run_alone, module)?)?;
    module.add_function(wrap_pyfunction!(run_messages, module)?)?;
    module.add_function(wrap_pyfunction!(run_nic, module)?)
}

pub(crate) fn parse<T: DeserializeOwned>(what: &str, json: &str) -> PyResult<T> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| InputError::new_err(format!("{what}: {}: {}", error.path(), error.inner())))
}

pub(crate) fn machine(system: &str) -> PyResult<Machine> {
    let system: System = parse("system", system)?;
    Machine::new(system).map_err(|error| InputError::new_err(error.to_string()))
}

/// Refuses a system that cannot be simulated.
#[pyfunction]
fn check_system(system: &str) -> PyResult<()> {
    let system: System = parse("system", system)?;
    Machine::check(&system).map_err(|error| InputError::new_err(error.to_string()))
}

/// Refuses a suite with a test that no machine could carry out.
#[pyfunction]
fn check_suite(suite: &str) -> PyResult<()> {
    let suite: Suite = parse("suite", suite)?;
    suite.validate().map_err(|error| InputError::new_err(error.to_string()))
}

/// A word for one of several choices.
pub(crate) fn word<T: DeserializeOwned>(what: &str, word: &str) -> PyResult<T> {
    parse(what, &format!("\"{word}\""))
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
) -> PyResult<()> {
    let suite: Suite = parse("suite", suite)?;
    let backend = Arc::clone(&backend.get().inner);
    let work = Benchmarks::new(suite, word("samples", samples)?, seed, backend);
    let work = work.map_err(|error| raised(error.into()))?;
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
) -> PyResult<String> {
    let suite: Suite = parse("suite", suite)?;
    let backend = Arc::clone(&backend.get().inner);
    let work = Benchmarks::new(suite, word("samples", samples)?, seed, backend);
    let work = work.map_err(|error| raised(error.into()))?;
    let stop = stop.map(|stop| stop.get().inner.clone()).unwrap_or_default();
    let record = py.detach(|| alone(&work, &stop)).map_err(raised)?;
    serde_json::to_string(&record).map_err(|error| RunError::new_err(error.to_string()))
}

/// Carries out work from Python: signals and exceptions of `progress` stop it.
pub(crate) fn carry_out(
    py: Python<'_>,
    work: Arc<dyn Work>,
    options: Options,
    path: &Path,
    manifest: &str,
    progress: &Py<PyAny>,
) -> PyResult<()> {
    let manifest = Manifest::from_entries(parse("manifest", manifest)?).map_err(crate::store::raised)?;
    let mut exception = None;
    let result = py.detach(|| {
        let mut report = |state: &Progress| match Python::attach(|py| call(py, progress, state)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                exception.get_or_insert(error);
                ControlFlow::Break(())
            }
        };
        run(work, options, path, manifest, &mut report)
    });
    exception.map_or_else(|| result.map_err(raised), Err)
}

/// What went wrong, as the user's input or as a failure.
pub(crate) fn raised(error: Failure) -> PyErr {
    match error {
        Failure::Store(error) => crate::store::raised(error),
        Failure::Suite(_)
        | Failure::MessageSuite(_)
        | Failure::OtherRun { .. }
        | Failure::TooManyJobs { .. }
        | Failure::NotAlone { .. }
        | Failure::Open(OpenError::Unavailable(_)) => InputError::new_err(error.to_string()),
        error => RunError::new_err(error.to_string()),
    }
}

/// Refuses a suite of messages with a test that no machine could carry out.
#[pyfunction]
fn check_message_suite(suite: &str) -> PyResult<()> {
    let suite: MessageSuite = parse("suite", suite)?;
    suite.validate().map_err(|error| InputError::new_err(error.to_string()))
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
) -> PyResult<()> {
    let suite: MessageSuite = parse("suite", suite)?;
    let backend = SimulatedMessages::new(parse("system", system)?, parse("profile", profile)?, seed)
        .map_err(|error| InputError::new_err(error.to_string()))?;
    let work = Messages::new(suite, Arc::new(backend)).map_err(|error| raised(error.into()))?;
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
) -> PyResult<()> {
    let work = SimulatedNic::new(parse("system", system)?, parse("nic", nic)?, parse("tests", tests)?, seed)
        .map_err(|error| InputError::new_err(error.to_string()))?;
    let options = Options { jobs, resume, repeat_damaged, overwrite };
    carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}

fn call(py: Python<'_>, progress: &Py<PyAny>, state: &Progress) -> PyResult<()> {
    py.check_signals()?;
    let (family, name) = state.last.clone().unwrap_or_default();
    progress.call1(py, (state.done, state.total, family, name)).map(drop)
}
