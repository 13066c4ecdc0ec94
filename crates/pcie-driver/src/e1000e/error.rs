//! What can go wrong with a NIC.

use crate::transport::TransportError;
use thiserror::Error;

/// Why a NIC cannot be driven, or a frame went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NicError {
    /// Its registers are not those of a NIC.
    #[error("{0}")]
    NotANic(String),
    /// It does not come out of reset.
    #[error("the NIC did not come out of reset within {limit_ms} ms")]
    Silent {
        /// How long it was waited for, ms.
        limit_ms: u64,
    },
    /// The first frame did not come back.
    #[error(
        "a frame that was sent in MAC loopback did not come back within {limit_ms} ms: this NIC cannot be measured that way"
    )]
    NoLoopback {
        /// How long it was waited for, ms.
        limit_ms: u64,
    },
    /// What came back is not what was sent.
    #[error("a frame of {sent} bytes was sent, and {told} came back")]
    Mangled {
        /// Bytes that were sent.
        sent: u32,
        /// What came back.
        told: String,
    },
    /// The way to it is gone.
    #[error(transparent)]
    Transport(#[from] TransportError),
}
