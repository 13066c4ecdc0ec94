//! Messages from the threads of a run to its supervisor.

use crate::backend::OpenError;
use pcie_store::Status;

/// An event of a run.
pub(super) enum Event {
    /// A test is in the store.
    Stored { position: usize, status: Status },
    /// The store failed; nothing more is written.
    NotStored(pcie_store::Error),
    /// The device of a job did not open.
    NotOpened(OpenError),
    /// A worker is gone.
    Lost { position: Option<usize>, reason: String },
    /// A job has ended, and closed its device.
    JobEnded,
    /// The store is closed.
    RecorderEnded(Result<(), pcie_store::Error>),
}
