//! What goes wrong, as Python sees it: which exception it is, and of an input that is refused its parts.
//!
//! Functions of this crate return [`Result`], so that `?` does for every crate what is said here once.

use std::fmt::Display;

use pcie_bench::{DeviceError, RunError as Run};
use pcie_refusal::{Parts, Refusal, Unfinished};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(
    _core,
    InputError,
    PyValueError,
    "An input is wrong: the message names it and says what would be right. Where they are known, the attributes have its \
     parts: `subject` (what it is about, such as a file or a flow), `key`, `value`, `remedy`, and `beside`, another key \
     that the message names."
);
create_exception!(_core, RunError, PyException, "Something failed while running: the message says what.");
create_exception!(
    _core,
    NotSupportedError,
    PyException,
    "A device lacks what a test needs: the message names the limit."
);
create_exception!(
    _core,
    DeviceLostError,
    PyException,
    "A device is gone: the run ends, and can be gone on with."
);
create_exception!(
    _core,
    UnavailableError,
    PyException,
    "There is nothing to open: the message says what is missing and what brings it."
);

/// The attributes of [`InputError`]; one that is not known is None.
const PARTS: [&str; 5] = ["subject", "key", "value", "remedy", "beside"];

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let input = py.get_type::<InputError>();
    PARTS.iter().try_for_each(|part| input.setattr(*part, py.None()))?;
    module.add("InputError", input)?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("NotSupportedError", py.get_type::<NotSupportedError>())?;
    module.add("DeviceLostError", py.get_type::<DeviceLostError>())?;
    module.add("UnavailableError", py.get_type::<UnavailableError>())
}

/// What a function of this crate returns.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why a function of this crate returns nothing.
#[derive(Debug)]
pub(crate) enum Error {
    /// An input is wrong: an [`InputError`].
    Refused(Refusal),
    /// Doing the work failed: a [`RunError`].
    Failed(String),
    /// A [`NotSupportedError`].
    NotSupported(String),
    /// An [`UnavailableError`].
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a real host lacks something"))]
    Unavailable(String),
    /// Python raised it, and gets it back.
    Raised(PyErr),
}

/// The exception of a refusal, with its parts as attributes.
fn exception(refusal: Refusal) -> PyErr {
    let error = InputError::new_err(refusal.to_string());
    let Parts { subject, key, value, remedy, beside, .. } = refusal.into_parts();
    let set = Python::attach(|py| {
        let exception = error.value(py);
        let known = PARTS.iter().zip([subject, key, value, remedy, beside]);
        known
            .filter_map(|(name, part)| Some((name, part?)))
            .try_for_each(|(name, part)| exception.setattr(*name, part))
    });
    // An exception that takes no attributes is raised instead: something is wrong with Python itself.
    set.err().unwrap_or(error)
}

/// Refuses an input in words.
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

/// Something that should be JSON is not, or an answer cannot be written as JSON.
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
        if error.is_input() { refused(error) } else { Self::Failed(error.to_string()) }
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
