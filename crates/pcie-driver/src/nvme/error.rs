//! Why a drive did not do what it was asked for.

use crate::transport::TransportError;
use thiserror::Error;

/// What can go wrong with a drive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NvmeError {
    /// What is there does not answer as NVMe controllers do.
    #[error("{0}")]
    NotADrive(String),
    /// It did not become ready, or did not answer a command of the administrator.
    #[error("the drive did not {what} within {limit_ms} ms")]
    Silent {
        /// What it was to do.
        what: &'static str,
        /// What it was given.
        limit_ms: u64,
    },
    /// It says that it cannot go on.
    #[error("the drive reports a fatal status: reset it, or take its power away")]
    Fatal,
    /// A command ended with an error.
    #[error("the drive was asked to {what}, and ended it with status {status:#05x}{}", meaning(*.status))]
    Status {
        /// What it was asked for.
        what: &'static str,
        /// Type and code.
        status: u16,
    },
    /// It cannot do that.
    #[error("{0}")]
    Unsupported(String),
    /// The way to it is gone.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// What the statuses that a test can meet say (base specification 1.4, section 4.6.1.2).
fn meaning(status: u16) -> &'static str {
    match status {
        0x002 => ": a field of the command that it does not take",
        0x004 => ": a data transfer failed",
        0x006 => ": an internal error",
        0x013 => ": an address that it cannot reach",
        0x080 => ": blocks that it does not have",
        0x281 => ": blocks that it cannot read",
        0x285 => ": what was compared differs",
        0x286 => ": no access to these blocks",
        _ => "",
    }
}
