//! Tests that Python carries out itself, such as simulations of a fabric, through the runner of all others.

use std::path::PathBuf;
use std::sync::Arc;

use pcie_bench::{Asked, DeviceError, OpenError, Options, Outcome, Pulse, Work, Worker};
use pcie_store::{Distribution, Origin, Scalar, Series, Status};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Result as Returned;
use crate::json::parse;
use crate::run::carry_out;
use crate::stop::Stop;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_experiments, module)?)
}

/// Carries out tests, a JSON list of `family`, `name` and `parameters`, by calling `carry_out` with the place of each and a
/// stop; it returns its numbers as JSON. `identity` is what they are carried out on: entries of the manifest, such as `device` and
/// `host`.
#[pyfunction]
#[pyo3(signature = (path, suite, tests, identity, manifest, carry_out, *, resume, overwrite, progress, repeat_damaged = false))]
#[pyo3(name = "run_experiments")]
#[expect(clippy::too_many_arguments, reason = "the arguments are keywords in Python")]
fn run_experiments(
    py: Python<'_>,
    path: PathBuf,
    suite: String,
    tests: &str,
    identity: &str,
    manifest: &str,
    carry_out: Py<PyAny>,
    resume: bool,
    overwrite: bool,
    progress: Py<PyAny>,
    repeat_damaged: bool,
) -> Returned<()> {
    let tests: Vec<AskedInPython> = parse("tests", tests)?;
    let tests = tests.into_iter().map(|test| Asked {
        family: test.family,
        name: test.name,
        parameters: test.parameters,
    });
    let identity = parse("identity", identity)?;
    let work = Experiments { suite, tests: tests.collect(), identity, function: Arc::new(carry_out) };
    let options = Options { jobs: 1, resume, repeat_damaged, overwrite };
    self::carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedInPython {
    family: String,
    name: String,
    parameters: Value,
}

struct Experiments {
    suite: String,
    tests: Vec<Asked>,
    identity: Map<String, Value>,
    function: Arc<Py<PyAny>>,
}

impl Work for Experiments {
    fn suite(&self) -> &str {
        &self.suite
    }

    fn tests(&self) -> Result<Vec<Asked>, serde_json::Error> {
        Ok(self.tests.clone())
    }

    fn origin(&self) -> Origin {
        Origin::Simulated
    }

    fn manifest(&self) -> Map<String, Value> {
        Map::new()
    }

    fn jobs_most(&self) -> usize {
        1
    }

    fn open(&self) -> Result<Box<dyn Worker>, OpenError> {
        Ok(Box::new(Experimenter { identity: self.identity.clone(), function: Arc::clone(&self.function) }))
    }
}

struct Experimenter {
    identity: Map<String, Value>,
    function: Arc<Py<PyAny>>,
}

/// The numbers of a test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    scalars: Vec<Scalar>,
    distributions: Vec<Distribution>,
    series: Vec<Series>,
}

impl Worker for Experimenter {
    fn identity(&self) -> Map<String, Value> {
        self.identity.clone()
    }

    fn carry_out(
        &mut self,
        position: usize,
        stop: &pcie_bench::Stop,
        _pulse: &Pulse,
    ) -> Result<Outcome, DeviceError> {
        let found: Returned<Numbers> = Python::attach(|py| {
            let stop = Py::new(py, Stop { inner: stop.clone() })?;
            let json: String = self.function.call1(py, (position, stop))?.extract(py)?;
            parse("numbers", &json)
        });
        match found {
            Ok(Numbers { scalars, distributions, series }) => {
                Ok(Outcome { status: Status::Ok, message: None, scalars, distributions, series })
            }
            Err(_) if stop.is_requested() => Ok(Outcome::interrupted("stopped before it was complete")),
            Err(error) => Err(DeviceError::Failed(PyErr::from(error).to_string())),
        }
    }
}
