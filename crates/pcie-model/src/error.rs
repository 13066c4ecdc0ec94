//! What can be wrong with a question. Messages start with the key and end with the remedy.

/// Why the model has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// No such link.
    #[error(transparent)]
    Link(#[from] pcie_wire::ConfigurationError),
    /// A number outside what it can be.
    #[error("{key}: {value} is out of range: give {remedy}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The value given.
        value: f64,
        /// What would be right.
        remedy: &'static str,
    },
    /// A number that means nothing without another.
    #[error("{key}: needs {needed} beside it: give {needed}, or leave {key} out")]
    Needs {
        /// The key given.
        key: &'static str,
        /// The key left out.
        needed: &'static str,
    },
    /// Something that the 2018 accounting does not know.
    #[error("{key}: the accounting sigcomm18 knows no such thing: leave it out, or use the accounting spec")]
    UnknownToSigcomm18 {
        /// The key.
        key: &'static str,
    },
    /// A device that does nothing.
    #[error("step: the device has none: give at least one [[step]]")]
    NoSteps,
    /// A device that takes steps for packets, none of which brings the packet.
    #[error(
        "step: nothing moves the packet on the path {path}: give a step with bytes = \"packet\" that does \
         (tx: dma-read or mmio-write, rx: dma-write or mmio-read)"
    )]
    PacketStays {
        /// `tx` or `rx`.
        path: &'static str,
    },
    /// A step that cannot happen.
    #[error("step {number} ({what}): {problem}")]
    Step {
        /// Which step, counted from 1.
        number: usize,
        /// The step's own description.
        what: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
}

/// Check that a number is above zero, and neither so small nor so large that what is made of it is no number.
pub(crate) fn above_zero(key: &'static str, value: f64) -> Result<(), ModelError> {
    if (1e-9..=1e18).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::OutOfRange { key, value, remedy: "a number above 0, 1e-9 to 1e18" })
    }
}
