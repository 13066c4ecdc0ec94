//! Back ends: what opens a device and its host, or says why it cannot.

use crate::device::Device;
use crate::host::Host;
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value};
use thiserror::Error;

/// A way to carry out tests: simulated, emulated, or with something real.
///
/// Every job opens a bench of its own, in its own thread, once. `B` is what is opened: a [`Bench`] for the
/// micro-benchmarks, a [`crate::MessageDevice`] for messages.
pub trait Backend<B = Bench>: Send + Sync {
    /// The word that it is chosen by, such as `sim`.
    fn kind(&self) -> &str;

    /// Where its numbers come from.
    fn origin(&self) -> Origin;

    /// How it was asked to work, by its own options: part of what a run is, and of the manifest.
    fn options(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Jobs that can have a bench at the same time.
    fn jobs_most(&self) -> usize {
        1
    }

    /// Texts that a reader of the store should have, by name.
    fn attachments(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Opens what carries the tests out.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open(&self) -> Result<B, OpenError>;
}

/// A device and the host that holds its buffer. Dropping it closes both, the device first.
pub struct Bench {
    /// The device.
    pub device: Box<dyn Device>,
    /// The host.
    pub host: Box<dyn Host>,
}

/// Why there is nothing to carry tests out with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// Something is missing, or was asked for that there is not; says what mends it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It is there, and failed.
    #[error("{0}")]
    Failed(String),
}
