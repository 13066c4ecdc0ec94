//! Tests that Python carries out itself, for example simulations of a fabric, through the common runner.

use std::sync::Arc;

use pcie_bench::{Asked, DeviceError, OpenError, Outcome, Pulse, Work, Worker};
use pcie_store::{Distribution, Origin, Scalar, Series, Status};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Result as Returned;
use crate::json::{of_any_length, parse};
use crate::stop::Stop;

/// The tests, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedInPython {
    suite: String,
    tests: Vec<Asked>,
}

/// Carries out tests by a Python function, which gets the position of a test and a stop, and returns its
/// numbers as JSON.
#[derive(Clone)]
pub(crate) struct Experimenter {
    /// Entries of the manifest that identify the hardware, for example `device` and `host`.
    identity: Map<String, Value>,
    function: Arc<Py<PyAny>>,
}

impl Experimenter {
    pub(crate) fn new(identity: Map<String, Value>, function: Py<PyAny>) -> Self {
        Self { identity, function: Arc::new(function) }
    }

    /// Work for the runner from JSON of a `suite` and its `tests` with `family`, `name` and `parameters`.
    pub(crate) fn experiments(&self, asked: &str) -> Returned<impl Work + use<>> {
        let AskedInPython { suite, tests } = parse("work", asked)?;
        Ok(Experiments { suite, tests, experimenter: self.clone() })
    }
}

struct Experiments {
    suite: String,
    tests: Vec<Asked>,
    experimenter: Experimenter,
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
        Ok(Box::new(self.experimenter.clone()))
    }
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
            of_any_length("numbers", &json)
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
