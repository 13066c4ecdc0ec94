//! Suites for Python: handles.

use pcie_describe::{Provenance, Suite as Inner, SuiteKind};
use pcie_refusal::{Kind, Refusal};
use pcie_workload::{MessageSuite, Suite as TransferSuite};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::describe::{ascii, written};
use crate::error::{Error, Result, refused};
use crate::json::{parse, text};

fn kind_of(word: &str) -> Result<SuiteKind> {
    SuiteKind::of_word(word).ok_or_else(|| refused(format!("{word}: not a kind of suite")))
}

/// Tests in run order, checked.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Suite {
    inner: Inner,
    /// Its sources; None if it was not read from a file.
    provenance: Option<Provenance>,
}

impl Suite {
    /// The tests of transfers.
    pub(crate) fn transfers(&self) -> Result<&TransferSuite> {
        if let Inner::Transfers(suite) = &self.inner { Ok(suite) } else { Err(self.other("transfers")) }
    }

    /// The tests of messages, with the defaults that only a simulated core has.
    pub(crate) fn messages(&self) -> Result<MessageSuite> {
        match self.inner.simulated() {
            Inner::Messages(suite) => Ok(suite),
            _ => Err(self.other("messages")),
        }
    }

    fn other(&self, wanted: &str) -> Error {
        let refusal = Refusal::new(format!("is no suite of {wanted}")).kind(Kind::Unsupported);
        refusal.remedy(format!("give one of {wanted}")).about(format!("suite {}", self.inner.name())).into()
    }
}

/// Work as Python gives it: a suite, or JSON of the kind that a back end takes, as text or from `to_json`.
#[derive(FromPyObject)]
pub(crate) enum Work<'py> {
    Suite(PyRef<'py, Suite>),
    Json(PyBackedStr),
    /// Only this keeps the text: that of many flows would fill memory as long as they are simulated.
    Made(#[pyo3(from_py_with = made_json)] PyBackedStr),
}

fn made_json(work: &Bound<'_, PyAny>) -> PyResult<PyBackedStr> {
    work.call_method0("to_json")?.extract()
}

impl Work<'_> {
    /// JSON of what has no suite.
    pub(crate) fn json(&self) -> Result<&str> {
        match self {
            Self::Suite(suite) => Err(suite.other("what the back end takes")),
            Self::Json(json) | Self::Made(json) => Ok(json),
        }
    }
}

#[pymethods]
impl Suite {
    /// Reads a suite of a kind from the text of a file; `path` names it in messages.
    #[staticmethod]
    fn read(py: Python<'_>, kind: &str, content: &str, path: &str) -> Result<Self> {
        let kind = kind_of(kind)?;
        let (inner, provenance) = py.detach(|| kind.read(content, path))?;
        Ok(Self { inner, provenance: Some(provenance) })
    }

    /// A suite of JSON with `name`, `title` and `tests`.
    #[staticmethod]
    fn of_json(kind: &str, json: &str) -> Result<Self> {
        let inner = match kind_of(kind)? {
            SuiteKind::Transfers => {
                let suite: TransferSuite = parse("suite", json)?;
                suite.validate()?;
                Inner::Transfers(suite)
            }
            SuiteKind::Messages => {
                let suite: MessageSuite = parse("suite", json)?;
                suite.validate()?;
                Inner::Messages(suite)
            }
            SuiteKind::Fabric => return Err(refused("fabric: a suite of experiments is read from its file")),
        };
        Ok(Self { inner, provenance: None })
    }

    /// The JSON Schema of the files of a kind.
    #[staticmethod]
    fn schema(kind: &str) -> Result<String> {
        text(&kind_of(kind)?.schema())
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn title(&self) -> &str {
        self.inner.title()
    }

    /// The fabric of a suite of experiments.
    #[getter]
    fn fabric(&self) -> Option<&str> {
        self.inner.fabric()
    }

    /// The family of each test.
    fn families(&self) -> Vec<&str> {
        self.inner.families()
    }

    /// The tests of some families, as a suite of another name.
    fn only(&self, families: Vec<String>, name: &str) -> Self {
        Self { inner: self.inner.only(&families, name), provenance: self.provenance.clone() }
    }

    /// The tests as a simulator takes them.
    fn tests<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(written(py, self.inner.simulated().tests()?)?)
    }

    /// Canonical JSON: keys sorted, no spaces, ASCII only; `simulated` fills in what only a simulator has.
    #[pyo3(signature = (*, simulated = true))]
    fn json(&self, simulated: bool) -> Result<String> {
        let json = if simulated { self.inner.simulated().json() } else { self.inner.json() };
        Ok(ascii(&json?))
    }

    /// The sources of its file; None if it was not read from one.
    fn provenance<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(written(py, serde_json::to_value(&self.provenance)?)?)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}
