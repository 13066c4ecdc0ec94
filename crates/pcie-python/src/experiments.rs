//! Tests that Python carries out itself, for example simulations of a fabric, through the common runner.

use std::sync::Arc;

use pcie_bench::{Asked, DeviceError, OpenError, Outcome, Pulse, Work, Worker};
use pcie_store::{Distribution, Origin, Scalar, Series, Status};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Result as Returned;
use crate::json::of_any_length;
use crate::stop::Stop;

/// The tests, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedInPython {
    suite: String,
    tests: Vec<Asked>,
}

/// Carries out tests by a Python function, which gets the position of a test and a stop, and gives its numbers
/// piece by piece, each as JSON: those of many flows would fill memory as one text.
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
        let AskedInPython { suite, tests } = of_any_length("work", asked)?;
        Ok(Experiments { suite, tests: tests.into(), experimenter: self.clone() })
    }
}

struct Experiments {
    suite: String,
    tests: Arc<[Asked]>,
    experimenter: Experimenter,
}

impl Work for Experiments {
    fn suite(&self) -> &str {
        &self.suite
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        Ok(Arc::clone(&self.tests))
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

/// The numbers of a test, or a piece of them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Numbers {
    scalars: Vec<Scalar>,
    distributions: Vec<Distribution>,
    series: Vec<Series>,
}

impl Numbers {
    fn and(mut self, piece: Self) -> Self {
        self.scalars.extend(piece.scalars);
        self.distributions.extend(piece.distributions);
        self.series.extend(piece.series);
        self
    }
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
            let pieces = self.function.bind(py).call1((position, stop))?;
            pieces.try_iter()?.try_fold(Numbers::default(), |numbers, piece| {
                let json: String = piece?.extract()?;
                Ok(numbers.and(of_any_length("numbers", &json)?))
            })
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
