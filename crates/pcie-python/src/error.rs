//! Errors of the crates as Python exceptions, with the parts of refusals as attributes.
//!
//! Functions of this crate return [`Result`], so that `?` converts the errors of every crate.

use std::fmt::Display;

use pcie_bench::{DeviceError, RunError as Run};
use pcie_refusal::{Kind, Parts, Refusal, Unfinished};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(
    _core,
    InputError,
    PyValueError,
    "An input is wrong; the message names it and the remedy. Attributes, None where unknown: `subject` (for example a file \
     or a flow), `key`, `value`, `remedy`, `beside` (another key that the message names), and `kind`, what is wrong: \
     `unknown-key`, `missing`, `wrong-type`, `out-of-range`, `wrong-value`, `conflict`, `not-found`, `too-large`, \
     `malformed`, `unsupported`, `damaged`, `in-use`, `exists` or `not-allowed`."
);
create_exception!(_core, RunError, PyException, "The work failed while running.");
create_exception!(
    _core,
    NotSupportedError,
    PyException,
    "A device does not support a test; the message names the limit."
);
create_exception!(_core, DeviceLostError, PyException, "A device is gone; the run ends and can be resumed.");
create_exception!(
    _core,
    UnavailableError,
    PyException,
    "A device or resource is missing; the message names it and the remedy."
);

/// The attributes of [`InputError`]; None where unknown.
const PARTS: [&str; 6] = ["kind", "subject", "key", "value", "remedy", "beside"];

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let input = py.get_type::<InputError>();
    PARTS.iter().try_for_each(|part| input.setattr(*part, py.None()))?;
    module.add("InputError", input)?;
    module.add("KINDS_OF_REFUSALS", Kind::ALL.map(Kind::word))?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("NotSupportedError", py.get_type::<NotSupportedError>())?;
    module.add("DeviceLostError", py.get_type::<DeviceLostError>())?;
    module.add("UnavailableError", py.get_type::<UnavailableError>())
}

/// The result of a function of this crate.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Debug)]
pub(crate) enum Error {
    /// An input is wrong: an [`InputError`].
    Refused(Refusal),
    /// The work failed: a [`RunError`].
    Failed(String),
    /// A [`NotSupportedError`].
    NotSupported(String),
    /// An [`UnavailableError`].
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a real host lacks something"))]
    Unavailable(String),
    /// An exception from Python, which is raised again.
    Raised(PyErr),
}

/// The exception of a refusal, with its parts as attributes.
fn exception(refusal: Refusal) -> PyErr {
    let error = InputError::new_err(refusal.to_string());
    let Parts { kind, subject, key, value, remedy, beside, .. } = refusal.into_parts();
    let set = Python::attach(|py| {
        let exception = error.value(py);
        let kind = Some(kind.word().to_owned());
        let known = PARTS.iter().zip([kind, subject, key, value, remedy, beside]);
        known
            .filter_map(|(name, part)| Some((name, part?)))
            .try_for_each(|(name, part)| exception.setattr(*name, part))
    });
    // If setting attributes fails, raise that error: Python itself is broken.
    set.err().unwrap_or(error)
}

impl Error {
    /// An error about a wrong input with another input, which named it, in front.
    pub(crate) fn about(self, subject: &str) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.about(subject)),
            Self::Raised(raised) => Self::Raised(Python::attach(|py| about(py, raised, subject))),
            other => other,
        }
    }
}

/// An exception of Python with a subject in front of its message; other exceptions than ours stay.
fn about(py: Python<'_>, raised: PyErr, subject: &str) -> PyErr {
    if !raised.is_instance_of::<InputError>(py) {
        return raised;
    }
    let error = InputError::new_err(format!("{subject}: {}", raised.value(py)));
    let set =
        PARTS.iter().try_for_each(|part| error.value(py).setattr(*part, raised.value(py).getattr(*part)?));
    set.and_then(|()| error.value(py).setattr("subject", subject)).err().unwrap_or(error)
}

/// A refusal with a message.
pub(crate) fn refused(message: impl Display) -> Error {
    Error::Refused(Refusal::new(message))
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => exception(refusal),
            Error::Failed(message) => RunError::new_err(message),
            Error::NotSupported(limit) => NotSupportedError::new_err(limit),
            Error::Unavailable(message) => UnavailableError::new_err(message),
            Error::Raised(exception) => exception,
        }
    }
}

impl From<PyErr> for Error {
    fn from(exception: PyErr) -> Self {
        Self::Raised(exception)
    }
}

/// An input is not JSON, or an answer cannot be written as JSON.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Unfinished> for Error {
    fn from(unfinished: Unfinished) -> Self {
        match unfinished {
            Unfinished::Refused(refusal) => Self::Refused(refusal),
            Unfinished::Stopped => Self::Failed(unfinished.to_string()),
        }
    }
}

impl From<pcie_store::Error> for Error {
    fn from(error: pcie_store::Error) -> Self {
        error.refusal().map_or_else(|failed| Self::Failed(failed.to_string()), Self::Refused)
    }
}

impl From<pcie_output::Error> for Error {
    fn from(error: pcie_output::Error) -> Self {
        pcie_store::Error::from(error).into()
    }
}

impl From<Run> for Error {
    fn from(error: Run) -> Self {
        error.refusal().map_or_else(|failed| Self::Failed(failed.to_string()), Self::Refused)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::NotSupported(limit) => Self::NotSupported(limit),
            error => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(target_os = "linux")]
impl From<pcie_host::HostError> for Error {
    fn from(error: pcie_host::HostError) -> Self {
        Self::Unavailable(error.to_string())
    }
}
