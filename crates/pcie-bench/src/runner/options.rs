//! Options and progress of a run.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Interval of progress reports, and of checks for stops and deadlines.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Options of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Options {
    /// Tests carried out in parallel.
    pub jobs: usize,
    /// Resume an existing store.
    pub resume: bool,
    /// On resuming, repeat tests whose numbers are damaged.
    pub repeat_damaged: bool,
    /// Replace an existing store.
    pub overwrite: bool,
    /// Positions of the tests to carry out, each with the history of the whole suite; all if absent.
    #[serde(default)]
    pub only: Option<BTreeSet<u64>>,
}

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Tests done, earlier runs included.
    pub done: usize,
    /// Tests of the suite.
    pub total: usize,
    /// The last one that was done, by family and published name.
    pub last: Option<(String, String)>,
}
