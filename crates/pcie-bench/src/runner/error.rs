//! Why a run did not take place, or ended early.

use crate::backend::OpenError;
use pcie_workload::{MessageSuiteError, SuiteError};
use thiserror::Error;

/// Why a run did not take place, or ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The suite is wrong.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The suite of messages is wrong.
    #[error(transparent)]
    MessageSuite(#[from] MessageSuiteError),
    /// The parameters of a test cannot be written down.
    #[error("parameters of a test: {0}")]
    Parameters(#[from] serde_json::Error),
    /// The store failed or is not the right one.
    #[error(transparent)]
    Store(#[from] pcie_store::Error),
    /// There is nothing to carry the tests out with.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// More jobs than there can be benches.
    #[error("jobs = {asked}: {kind} carries out {most} at a time: give {most} or fewer")]
    TooManyJobs {
        /// Jobs asked for.
        asked: usize,
        /// Jobs that there can be.
        most: usize,
        /// What carries them out.
        kind: String,
    },
    /// A test that was to be carried out by itself is not one test.
    #[error("{tests} tests: give a suite of one: this is about a test by itself")]
    NotAlone {
        /// Tests of the suite.
        tests: usize,
    },
    /// The store that was to be gone on with is of another run.
    #[error(
        "{path}: --resume: {key} is {stored} in the store, but {asked} in this run: give the same, or another output"
    )]
    OtherRun {
        /// Path of the store.
        path: String,
        /// Manifest key that differs.
        key: String,
        /// What the store says.
        stored: String,
        /// What was asked for.
        asked: String,
    },
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
