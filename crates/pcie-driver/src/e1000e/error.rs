//! Errors of the NIC driver.

use crate::transport::TransportError;
use thiserror::Error;

/// Why a NIC cannot be driven, or a frame went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NicError {
    /// The registers are not those of an 82574.
    #[error("{0}")]
    NotANic(String),
    /// The NIC did not come out of reset within this limit, ms.
    #[error("the NIC did not come out of reset within {0} ms")]
    Silent(u64),
    /// The first frame did not come back within this limit, ms.
    #[error("no frame came back in MAC loopback within {0} ms: this NIC cannot be measured that way")]
    NoLoopback(u64),
    /// The frame that came back differs from the one that was sent.
    #[error("a frame of {sent} bytes was sent, and {received} came back")]
    Mangled {
        /// Bytes that were sent.
        sent: u32,
        /// Description of the frame that came back.
        received: String,
    },
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}
