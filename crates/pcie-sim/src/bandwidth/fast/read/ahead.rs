//! Reads of a test in which all requests are alike, prepared in blocks: where each goes, and how long the root
//! complex will take for it. Neither depends on time.

use crate::root_complex::under_load::{Complex, PlannedRead};
use pcie_time::{BLOCK, Blocks};
use pcie_workload::AddressList;

/// The next reads, in order.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    list: &'a AddressList,
    blocks: Blocks<PlannedRead>,
}

impl<'a> Ahead<'a> {
    /// Reads from transaction `first` on.
    pub(super) fn new(list: &'a AddressList, first: u64) -> Self {
        Self { list, blocks: Blocks::new(first) }
    }

    /// The next read, of `length` bytes.
    #[inline(always)]
    pub(super) fn next(&mut self, complex: &mut Complex<'_>, length: u32) -> PlannedRead {
        let list = self.list;
        self.blocks.next(|first, reads| {
            let mut offsets = [0; BLOCK];
            list.offsets(first, &mut offsets);
            complex.plan_reads(&offsets, length, reads);
        })
    }
}
