//! Why a run did not start, or ended early.

use crate::backend::OpenError;
use pcie_refusal::Refusal;
use thiserror::Error;

/// Why a run did not start, or ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The suite or an option is wrong, or the store is of another run.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The parameters of a test cannot be written as JSON.
    #[error("parameters of a test: {0}")]
    Parameters(#[from] serde_json::Error),
    /// The store failed or is not the right one.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Store(#[from] pcie_store::Error),
    /// The device did not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device went away, or did not recover.
    #[error("{device} was lost{at}: {reason}; finished tests are kept: continue with --resume")]
    Lost {
        /// The device.
        device: String,
        /// The test, as ` in FAMILY NAME of suite SUITE`.
        at: String,
        /// Its message.
        reason: String,
    },
    /// The device did not answer in time and was given up.
    #[error(
        "{device} did not answer for {seconds:.1} s{at}; finished tests are kept: continue with --resume"
    )]
    Silent {
        /// The device.
        device: String,
        /// The test, as ` in FAMILY NAME of suite SUITE`.
        at: String,
        /// Length of the silence.
        seconds: f64,
    },
    /// Stopped on request.
    #[error("interrupted after {done} of {total} tests: continue with --resume")]
    Interrupted {
        /// Tests done.
        done: usize,
        /// Tests of the suite.
        total: usize,
    },
}

impl RunError {
    /// The refusal of wrong input; other errors unchanged.
    ///
    /// # Errors
    /// The work failed, or was stopped.
    pub fn refusal(self) -> Result<Refusal, Self> {
        match self {
            Self::Refused(refusal) | Self::Open(OpenError::Refused(refusal)) => Ok(refusal),
            #[cfg(not(target_family = "wasm"))]
            Self::Store(error) => error.refusal().map_err(Self::Store),
            failed => Err(failed),
        }
    }
}
