//! What goes wrong, as Python sees it: which exception it is, and of an input that is refused its parts.
//!
//! Functions of this crate return [`Result`], so that `?` does for every crate what is said here once.

use std::fmt::Display;

use pcie_bench::{DeviceError, OpenError, RunError as Run};
use pcie_bench_sim::PredictionError;
use pcie_fabric::FabricError;
use pcie_fabric::runtime::RuntimeError;
use pcie_model::ModelError;
use pcie_schema::Unfit;
use pcie_sim::SystemError;
use pcie_sim::nic::NicError;
use pcie_sim::pio::MessageSystemError;
use pcie_wire::ConfigurationError;
use pcie_workload::{MessageSuiteError, SuiteError, TestError};
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
    Refused(Box<Refusal>),
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

/// What is wrong with an input: the message that people read, and its parts where they are known.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    message: String,
    subject: Option<String>,
    key: Option<String>,
    value: Option<String>,
    remedy: Option<String>,
    beside: Option<&'static str>,
}

impl Refusal {
    /// One of which only the message is known.
    pub(crate) fn of(problem: &impl Display) -> Self {
        Self { message: problem.to_string(), ..Self::default() }
    }

    pub(crate) fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    pub(crate) fn value(self, value: &impl Display) -> Self {
        Self { value: Some(value.to_string()), ..self }
    }

    pub(crate) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn beside(self, key: &'static str) -> Self {
        Self { beside: Some(key), ..self }
    }

    /// The parts of `inner` under the message of what it is wrapped in.
    fn within(self, inner: Self) -> Self {
        Self { message: self.message, subject: self.subject.or(inner.subject), ..inner }
    }

    fn exception(self) -> PyErr {
        let Self { message, subject, key, value, remedy, beside } = self;
        let error = InputError::new_err(message);
        let parts = [subject, key, value, remedy, beside.map(str::to_owned)];
        let set = Python::attach(|py| {
            let exception = error.value(py);
            let known = PARTS.iter().zip(parts).filter_map(|(name, part)| Some((*name, part?)));
            known.into_iter().try_for_each(|(name, part)| exception.setattr(name, part))
        });
        // An exception that takes no attributes is raised instead: something is wrong with Python itself.
        set.err().unwrap_or(error)
    }
}

/// Refuses an input in words.
pub(crate) fn refused(message: impl Display) -> Error {
    Error::Refused(Box::new(Refusal::of(&message)))
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => refusal.exception(),
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

impl<T: Into<Refusal>> From<T> for Error {
    fn from(problem: T) -> Self {
        Self::Refused(Box::new(problem.into()))
    }
}

impl From<ConfigurationError> for Refusal {
    fn from(error: ConfigurationError) -> Self {
        use ConfigurationError as Wrong;
        let refusal = Self::of(&error);
        match error {
            Wrong::Generation(value) => refusal.key("generation").value(&value).remedy("give 1 to 7"),
            Wrong::Lanes(value) => refusal.key("lanes").value(&value).remedy("give 1, 2, 4, 8, 12, 16 or 32"),
            Wrong::PayloadSize { key, bytes } => {
                refusal.key(key).value(&bytes).remedy("give 128, 256, 512, 1024, 2048 or 4096")
            }
            Wrong::ReadCompletionBoundary(value) => {
                refusal.key("rcb_bytes").value(&value).remedy("give 64 or 128")
            }
            Wrong::AddressBits(value) => refusal.key("address_bits").value(&value).remedy("give 32 or 64"),
            Wrong::FlitModeRequired(_) => refusal.key("flit_mode").value(&false).remedy("leave it out"),
        }
    }
}

impl From<ModelError> for Refusal {
    fn from(error: ModelError) -> Self {
        let refusal = Self::of(&error);
        match error {
            ModelError::Link(inner) => refusal.within(inner.into()),
            ModelError::OutOfRange { key, value, remedy } => {
                refusal.key(key).value(&value).remedy(format!("give {remedy}"))
            }
            ModelError::Needs { key, needed } => {
                refusal.key(key).beside(needed).remedy(format!("give {needed}, or leave {key} out"))
            }
            ModelError::UnknownToSigcomm18 { key } => {
                refusal.key(key).remedy("leave it out, or use the accounting spec")
            }
            ModelError::NoSteps => refusal.key("step").remedy("give at least one [[step]]"),
            ModelError::PacketStays { path } => refusal.about(format!("the path {path}")).key("step"),
            ModelError::Step { number, what, problem } => refusal
                .about(format!("step {number} ({what})"))
                .key(format!("step.{}", number.saturating_sub(1)))
                .remedy(problem),
        }
    }
}

impl From<SystemError> for Refusal {
    fn from(error: SystemError) -> Self {
        let refusal = Self::of(&error);
        match error {
            SystemError::Link { system, error } => {
                let inner = Self::from(error);
                let key = format!("link.{}", inner.key.as_deref().unwrap_or_default());
                refusal.about(format!("system {system}")).within(inner).key(key)
            }
            SystemError::Value { system, unfit } => {
                refusal.within(unfit.into()).about(format!("system {system}"))
            }
        }
    }
}

impl From<Unfit> for Refusal {
    fn from(broken: Unfit) -> Self {
        Self::of(&broken).key(broken.key).value(&broken.value).remedy(broken.remedy)
    }
}

impl From<TestError> for Refusal {
    fn from(error: TestError) -> Self {
        let refusal = Self::of(&error);
        match error {
            TestError::SizeZero => refusal.key("size_bytes").value(&0),
            TestError::OverPage(_) => refusal.key("size_bytes").beside("host_offset_bytes"),
            TestError::OverDevicePage(_) => refusal.key("size_bytes").beside("device_offset_bytes"),
            TestError::NotWholePages(bytes) => refusal.key("size_bytes").value(&bytes),
            TestError::WindowTooSmall { window, .. } => refusal.key("window_bytes").value(&window),
            TestError::NoTransactions => refusal.key("transactions").value(&0).remedy("give at least 1"),
            TestError::NoneOutstanding => refusal.key("outstanding").value(&0),
            TestError::NoStride => refusal.key("stride_units").value(&0).remedy("give at least 1"),
        }
    }
}

impl From<SuiteError> for Refusal {
    fn from(error: SuiteError) -> Self {
        let subject = format!("suite {}: test {}", error.suite, error.position);
        Self::of(&error).about(subject).within(error.error.into())
    }
}

impl From<MessageSuiteError> for Refusal {
    fn from(error: MessageSuiteError) -> Self {
        let refusal = Self::of(&error).about(format!("suite {}: test {}", error.suite, error.position));
        refusal.key(error.key).value(&error.value).remedy(format!("give {}", error.remedy))
    }
}

impl From<MessageSystemError> for Refusal {
    fn from(error: MessageSystemError) -> Self {
        let refusal = Self::of(&error);
        match error {
            MessageSystemError::Profile { profile, error } => {
                refusal.about(format!("profile {profile}")).within(error.into())
            }
            MessageSystemError::System(inner) => refusal.within(inner.into()),
            MessageSystemError::Buffer { system, bytes, needed } => refusal
                .about(format!("system {system}"))
                .key("chunk_bytes")
                .value(&bytes)
                .remedy(format!("messages need {needed} or more")),
        }
    }
}

impl From<NicError> for Refusal {
    fn from(error: NicError) -> Self {
        let refusal = Self::of(&error);
        match error {
            NicError::Model(inner) => refusal.within(inner.into()),
            NicError::System(inner) => refusal.within(inner.into()),
            NicError::Packet { buffer, needed, .. } => {
                refusal.key("queues.buffer_bytes").value(&buffer).remedy(format!("give {needed} or more"))
            }
            NicError::Ring { ring, needed, .. } => {
                refusal.key("queues.ring_descriptors").value(&ring).remedy(format!("give {needed} or more"))
            }
            NicError::Held { held, needed, .. } => {
                refusal.key("queues.descriptors_held").value(&held).remedy(format!("give {needed} or more"))
            }
            _ => refusal,
        }
    }
}

impl From<FabricError> for Refusal {
    fn from(error: FabricError) -> Self {
        let refusal = Self::of(&error);
        match error {
            FabricError::UnknownEnd { link, key, name, .. } => {
                refusal.about(format!("link {link}")).key(key).value(&name)
            }
            FabricError::NotPositive { item, key, value } => {
                refusal.about(item).key(key).value(&value).remedy("give a number above 0")
            }
            FabricError::Negative { item, key, value } => {
                refusal.about(item).key(key).value(&value).remedy("give 0 or more")
            }
            FabricError::Link { link, source } => refusal.about(format!("link {link}")).within(source.into()),
            FabricError::CompletionBeyondMps { node, completion_bytes, mps_bytes } => refusal
                .about(format!("node {node}"))
                .key("engine.completion_bytes")
                .value(&completion_bytes)
                .remedy(format!("give at most {mps_bytes}, the MPS")),
            FabricError::Alignment { item, alignment_bytes } => {
                refusal.about(item).key("alignment_bytes").value(&alignment_bytes)
            }
            FabricError::UnknownNode { flow, key, name, .. } => {
                refusal.about(format!("flow {flow}")).key(key).value(&name)
            }
            FabricError::Standalone { flow, value } => refusal
                .about(format!("flow {flow}"))
                .key("standalone_gbytes_per_s")
                .value(&value)
                .remedy("give 0 or more, or leave it out"),
            _ => refusal,
        }
    }
}

impl From<RuntimeError> for Refusal {
    fn from(error: RuntimeError) -> Self {
        let refusal = Self::of(&error);
        match error {
            RuntimeError::Fabric(inner) => refusal.within(inner.into()),
            RuntimeError::Unknown { kind, name, .. } => refusal.key(kind).value(&name),
            RuntimeError::NotReady { item, first } => {
                refusal.about(item).remedy(format!("call {first} first"))
            }
            _ => refusal,
        }
    }
}

impl From<PredictionError> for Error {
    fn from(error: PredictionError) -> Self {
        match error {
            PredictionError::Interrupted => Self::Failed(error.to_string()),
            error => refused(error),
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
        match error {
            Run::Store(error) => error.into(),
            Run::Suite(error) => error.into(),
            Run::MessageSuite(error) => error.into(),
            Run::TooManyJobs { asked, most, .. } => {
                let refusal = Refusal::of(&error).key("jobs").value(&asked);
                refusal.remedy(format!("give {most} or fewer")).into()
            }
            Run::OtherRun { ref path, ref key, ref asked, .. } => {
                Refusal::of(&error).about(path).key(key).value(asked).into()
            }
            Run::NotAlone { .. } | Run::Open(OpenError::Unavailable(_)) => refused(error),
            error => Self::Failed(error.to_string()),
        }
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
