//! Why a run did not take place, or ended early.

use crate::backend::OpenError;
use pcie_refusal::Refusal;
use thiserror::Error;

/// Why a run did not take place, or ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The suite or an option is wrong, or the store is of another run.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The parameters of a test cannot be written down.
    #[error("parameters of a test: {0}")]
    Parameters(#[from] serde_json::Error),
    /// The store failed or is not the right one.
    #[error(transparent)]
    Store(#[from] pcie_store::Error),
    /// There is nothing to carry the tests out with.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device went away, or could not be brought back.
    #[error("{device} was lost{at}: {reason}; what is finished is kept, and --resume goes on with the rest")]
    Lost {
        /// The device.
        device: String,
        /// In which test, as ` in FAMILY NAME`.
        at: String,
        /// What it said.
        reason: String,
    },
    /// The device did not answer in time and was given up.
    #[error(
        "{device} did not answer for {seconds:.1} s{at}, and was given up: what is finished is kept, and --resume goes on \
         with the rest"
    )]
    Silent {
        /// The device.
        device: String,
        /// In which test, as ` in FAMILY NAME`.
        at: String,
        /// For how long.
        seconds: f64,
    },
    /// Stopped on request.
    #[error("interrupted after {done} of {total} tests; --resume goes on with the rest")]
    Interrupted {
        /// Tests done.
        done: usize,
        /// Tests of the suite.
        total: usize,
    },
}

impl RunError {
    /// What is wrong with the input, or the error as it is where the input is fine.
    ///
    /// # Errors
    /// Doing the work failed, or was stopped.
    pub fn refusal(self) -> Result<Refusal, Self> {
        match self {
            Self::Refused(refusal) | Self::Open(OpenError::Refused(refusal)) => Ok(refusal),
            Self::Store(error) if error.is_input() => Ok(Refusal::new(error)),
            failed => Err(failed),
        }
    }
}
