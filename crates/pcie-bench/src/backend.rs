//! Back ends, which open a device and its host.

use crate::device::Device;
use crate::host::Host;
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value};
use thiserror::Error;

/// A way to carry out tests: simulated, emulated or on hardware.
///
/// Each job opens its own `B` once, in its own thread: a [`Bench`] for micro-benchmarks, a
/// [`crate::MessageDevice`] for messages.
pub trait Backend<B = Bench>: Send + Sync {
    /// Name for selecting it, for example `sim`.
    fn kind(&self) -> &str;

    /// Origin of its numbers.
    fn origin(&self) -> Origin;

    /// Its own options: part of the manifest and of a run's identity.
    fn options(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Most jobs at once.
    fn jobs_most(&self) -> usize {
        1
    }

    /// Texts to attach to the store, by name.
    fn attachments(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Opens a device for one job.
    fn open(&self) -> Result<B, OpenError>;
}

/// Implements the methods of [`Backend`] that a wrapper passes to its `inner` back end unchanged.
macro_rules! forward_to_backend {
    () => {
        fn kind(&self) -> &str {
            self.inner.kind()
        }

        fn origin(&self) -> Origin {
            self.inner.origin()
        }

        fn jobs_most(&self) -> usize {
            self.inner.jobs_most()
        }

        fn attachments(&self) -> Vec<(String, String)> {
            self.inner.attachments()
        }
    };
}
pub(crate) use forward_to_backend;

/// A device and the host that holds its buffer. Dropping it closes both, the device first.
pub struct Bench {
    /// The device.
    pub device: Box<dyn Device>,
    /// The host.
    pub host: Box<dyn Host>,
}

/// Why a back end did not open.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// Something is missing or not available; the refusal names the fix.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The device is present, and failed.
    #[error("{0}")]
    Failed(String),
}
