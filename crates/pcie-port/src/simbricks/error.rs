//! Why a brick ends with an error.

use crate::tlp::TlpError;
use pcie_refusal::Refusal;
use std::path::Path;
use thiserror::Error;

/// Why a brick ends with an error.
#[derive(Debug, Error)]
pub enum BrickError {
    /// A socket, an option or the system is wrong.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The other side breaks the interface.
    #[error("{peer}: {problem}")]
    Peer {
        /// Its socket.
        peer: String,
        /// What it does, and what it should do.
        problem: String,
    },
    /// The host refuses a transfer.
    #[error("{peer}: {error}")]
    Transfer {
        /// The device's socket.
        peer: String,
        /// Why.
        error: TlpError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl BrickError {
    pub(super) fn of(peer: &Path, problem: impl std::fmt::Display) -> Self {
        Self::Peer { peer: peer.display().to_string(), problem: problem.to_string() }
    }
}
