//! Input and output of both engines.

use crate::cache::history::{State, TestKey};
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_wire::Piece;
use pcie_workload::{AddressList, PAGE_BYTES, Test};

/// A completed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finished {
    /// Its number in the test.
    pub transaction: u64,
    /// When it was complete, counted from the start of the run.
    pub time: Picoseconds,
}

/// A TLP that a device sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTlp {
    /// When the device has it, a tag for it and credits for it.
    pub at: Picoseconds,
    /// Whether it writes.
    pub write: bool,
    /// Its bytes, by their offset in the host buffer.
    pub piece: Piece,
}

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
    /// Number of the first draw of a stream with one draw for each TLP. It leaves a range for all TLPs of
    /// earlier transactions, so that parts of a test use disjoint draws.
    pub(super) fn first_draw(&self) -> u64 {
        let pages = self.test.size_bytes.div_ceil(PAGE_BYTES);
        self.first << (TLPS_OF_A_PAGE.trailing_zeros() + pages.next_power_of_two().trailing_zeros())
    }
}

const TLPS_OF_A_PAGE: u64 = 256;
