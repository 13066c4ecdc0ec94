//! What engines have in common: what they start from, and what they give.

use crate::cache::history::{State, TestKey};
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, PAGE_BYTES, Test};

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

impl Start<'_> {
    /// The number of the first draw of what is drawn for each TLP: there is room for all TLPs of the transactions before it,
    /// so that parts of a test draw apart.
    pub(super) fn first_draw(&self) -> u64 {
        let pages = self.test.size_bytes.div_ceil(PAGE_BYTES);
        self.first << (TLPS_OF_A_PAGE.trailing_zeros() + pages.next_power_of_two().trailing_zeros())
    }
}

const TLPS_OF_A_PAGE: u64 = 256;
