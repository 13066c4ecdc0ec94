//! How a suite is run, and how far it is.

use serde::Deserialize;
use std::time::Duration;

/// How often progress is told, and stops and deadlines are looked at.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// How a suite is run.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Options {
    /// Tests carried out side by side.
    pub jobs: usize,
    /// Go on with a store that is there.
    pub resume: bool,
    /// When going on with a store, do tests again whose numbers are damaged.
    pub repeat_damaged: bool,
    /// Replace a store that is there.
    pub overwrite: bool,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Tests done, earlier runs included.
    pub done: usize,
    /// Tests of the suite.
    pub total: usize,
    /// The last one that was done, by family and published name.
    pub last: Option<(String, String)>,
}
