//! What the runner runs: tests in order, and what carries them out. Suites of micro-benchmarks are one kind of it
//! ([`crate::Benchmarks`]), suites of messages another ([`crate::Messages`]).

use crate::backend::OpenError;
use crate::device::DeviceError;
use crate::facts::Condition;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use pcie_store::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Tests in order, and how to open what carries them out.
pub trait Work: Send + Sync {
    /// Name of the suite.
    fn suite(&self) -> &str;

    /// Its tests, in order.
    ///
    /// # Errors
    /// Their parameters cannot be written as JSON.
    fn tests(&self) -> Result<Vec<Asked>, serde_json::Error>;

    /// Where the numbers come from.
    fn origin(&self) -> Origin;

    /// Entries of the manifest that say how it was asked to work. They are part of what a run is.
    fn manifest(&self) -> Map<String, Value>;

    /// Jobs that can be at work at the same time.
    fn jobs_most(&self) -> usize;

    /// Texts that a reader of the store should have, by name.
    fn attachments(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Opens what a job needs, in the thread of the job.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open(&self) -> Result<Box<dyn Worker>, OpenError>;
}

/// A test as the store knows it.
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

/// What carries tests out in one job. Closed when dropped.
pub trait Worker {
    /// Entries of the manifest that say what carries the tests out, such as `device` and `host`: a run is gone on with only
    /// where they are the same.
    fn identity(&self) -> Map<String, Value>;

    /// What changes while it runs, read now.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// It is given up when it has shown no life for so long; none for what only computes.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Carries out the test at a place of the suite. `pulse` is to be called, through [`Pulse::beat`], whenever something
    /// came out of it.
    ///
    /// # Errors
    /// It cannot, or failed.
    fn carry_out(&mut self, position: usize, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError>;

    /// Whether tests done elsewhere leave traces that have to be followed.
    fn is_stateful(&self) -> bool {
        false
    }

    /// Takes on the state in which a test that was done elsewhere leaves things.
    fn replay_state(&mut self, _position: usize, _stop: &Stop) {}

    /// Comes back after a failure, so that the next test can work.
    ///
    /// # Errors
    /// It cannot.
    fn recover(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
