//! What the threads of a run tell the one that looks after it.

use crate::backend::OpenError;
use pcie_store::Status;

/// Something that happened.
pub(super) enum Event {
    /// A test is in the store.
    Stored { position: usize, status: Status },
    /// The store failed; nothing more is written.
    NotStored(pcie_store::Error),
    /// A job found nothing to carry tests out with.
    NotOpened(OpenError),
    /// A worker is gone.
    Lost { position: Option<usize>, reason: String },
    /// A job has ended, and closed what it had opened.
    JobEnded,
    /// The store is closed.
    RecorderEnded(Result<(), pcie_store::Error>),
}
