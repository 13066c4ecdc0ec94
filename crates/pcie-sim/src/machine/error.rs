//! Why a test on a system is refused.

use thiserror::Error;

/// Why a test does not run on a system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsupported {
    /// The device has no command path.
    #[error("{0} has no command path")]
    NoCommandPath(String),
    /// The transfer is too long for the path.
    #[error("the {path} path of {card} transfers at most {most} bytes")]
    TooLong {
        /// Name of the device.
        card: String,
        /// `command` or `DMA`.
        path: &'static str,
        /// Its limit.
        most: u32,
    },
    /// The transfer is longer than any that is simulated.
    #[error("transfers of {0} bytes are not simulated: give at most 16777216")]
    NotSimulated(u64),
    /// The device transfers only multiples of some bytes.
    #[error("{card} transfers multiples of {multiple} bytes")]
    NoMultiple {
        /// Name of the device.
        card: String,
        /// Bytes.
        multiple: u32,
    },
    /// A test that reads and writes needs one of each.
    #[error("{0} makes a single transaction, and a test that reads and writes needs one of each")]
    NoPair(String),
    /// The window is larger than the host buffer.
    #[error("the host buffer has {0} bytes")]
    WindowOverBuffer(u64),
    /// Only DMA has bandwidth tests.
    #[error("bandwidth tests use the DMA path")]
    CommandBandwidth,
    /// No simulated device reads its next address from the data.
    #[error("lat-chase is not simulated: it needs a core, --device cpu")]
    Chase,
}
