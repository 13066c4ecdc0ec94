//! What engines have in common: what they start from, and what they give.

use crate::cache::history::{State, TestKey};
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Test};

/// A transaction that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finished {
    /// Its number in the test.
    pub transaction: u64,
    /// When it was complete, counted from the start of the run.
    pub time: Picoseconds,
}

/// What an engine starts from: see [`BandwidthRun::new`](super::BandwidthRun::new).
#[derive(Debug)]
pub(super) struct Start<'a> {
    pub(super) machine: &'a Machine,
    pub(super) test: &'a Test,
    pub(super) list: &'a AddressList,
    pub(super) key: TestKey,
    pub(super) state: State,
    pub(super) first: u64,
}
