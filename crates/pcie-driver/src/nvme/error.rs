//! Errors of the NVMe driver.

use crate::transport::TransportError;
use thiserror::Error;

/// Why an operation of a drive failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NvmeError {
    /// The device does not behave as an NVMe controller.
    #[error("{0}")]
    NotADrive(String),
    /// The drive did not become ready, or did not answer an admin command.
    #[error("the drive did not {action} within {limit_ms} ms")]
    Silent {
        /// The action that it did not complete.
        action: &'static str,
        /// Time limit, ms.
        limit_ms: u64,
    },
    /// The drive reports a fatal status.
    #[error("the drive reports a fatal status: reset it or power-cycle it")]
    Fatal,
    /// A command ended with an error.
    #[error("the drive failed to {action}: status {status:#05x}{}", meaning(*.status))]
    Status {
        /// The action that failed.
        action: &'static str,
        /// Status type and code.
        status: u16,
    },
    /// The drive does not support the test.
    #[error("{0}")]
    Unsupported(String),
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Meaning of the statuses that tests meet (base specification 1.4, section 4.6.1.2).
fn meaning(status: u16) -> &'static str {
    match status {
        0x002 => ": invalid field in the command",
        0x004 => ": data transfer error",
        0x006 => ": internal error",
        0x013 => ": unreachable address",
        0x080 => ": blocks out of range",
        0x281 => ": unrecovered read error",
        0x285 => ": compare failure",
        0x286 => ": access to the blocks denied",
        _ => "",
    }
}
