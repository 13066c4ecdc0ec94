//! The work of the runner: tests in order, and workers that carry them out. [`crate::Benchmarks`] and
//! [`crate::Messages`] implement it.

use crate::backend::OpenError;
use crate::device::DeviceError;
use crate::facts::Condition;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use pcie_store::Origin;
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Tests in order, and how to open their workers.
pub trait Work: Send + Sync {
    /// Name of the suite.
    fn suite(&self) -> &str;

    /// Its tests, in order.
    ///
    /// # Errors
    /// Their parameters cannot be written as JSON.
    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error>;

    /// Origin of the numbers.
    fn origin(&self) -> Origin;

    /// Entries of the manifest with its options. They are part of the run's identity.
    fn manifest(&self) -> Map<String, Value>;

    /// Most jobs at once.
    fn jobs_most(&self) -> usize;

    /// Texts to attach to the store, by name.
    fn attachments(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Opens a worker, in the thread of its job.
    fn open(&self) -> Result<Box<dyn Worker>, OpenError>;
}

/// The entry of the manifest for the time of each test whose trace is kept.
#[must_use]
pub fn described_trace(span: Option<Picoseconds>) -> Option<(String, Value)> {
    span.map(|span| ("trace_ns".to_owned(), Value::from(span.as_ns())))
}

/// A test in the form of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The family of the suite.
    pub family: String,
    /// The published name.
    pub name: String,
    /// The parameters: an object with its keys in canonical order.
    pub parameters: Value,
}

/// Carries out the tests of one job. Closed when dropped.
pub trait Worker {
    /// Entries of the manifest that identify the hardware, for example `device` and `host`: a run resumes
    /// only if they are the same.
    fn identity(&self) -> Map<String, Value>;

    /// Changing values, read now.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Longest silence before it is given up; none for simulations.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Carries out the test at a position of the suite. It must call [`Pulse::beat`] whenever it gets
    /// results.
    ///
    /// # Errors
    /// The device does not support the test, or failed.
    fn carry_out(&mut self, position: usize, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError>;

    /// The trace of the last test, if the work asks for traces and the test was carried out.
    fn take_trace(&mut self) -> Vec<Segment> {
        Vec::new()
    }

    /// Whether tests done elsewhere change state that must be replayed.
    fn is_stateful(&self) -> bool {
        false
    }

    /// Takes on the state that a test leaves which was done elsewhere.
    fn replay_state(&mut self, _position: usize, _stop: &Stop) {}

    /// Recovers from a failure, so that the next test can work.
    ///
    /// # Errors
    /// The device is lost.
    fn recover(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
