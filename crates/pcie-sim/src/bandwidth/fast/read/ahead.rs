//! Reads of a test in which all requests are alike, prepared in blocks: where each goes, and how long the root
//! complex will take for it. Neither depends on time, so a loop over many serves, which the processor's vectors
//! make faster.

use crate::root_complex::under_load::{Complex, PlannedRead};
use pcie_workload::AddressList;

const BLOCK: usize = 64;

/// The next reads, in order.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    list: &'a AddressList,
    /// First transaction of the next block.
    next: u64,
    offsets: [u64; BLOCK],
    reads: [PlannedRead; BLOCK],
    /// Reads of the block already taken.
    taken: usize,
}

impl<'a> Ahead<'a> {
    /// Reads from transaction `first` on.
    pub(super) fn new(list: &'a AddressList, first: u64) -> Self {
        Self { list, next: first, offsets: [0; BLOCK], reads: [PlannedRead::default(); BLOCK], taken: BLOCK }
    }

    /// The next read, of `length` bytes.
    #[inline(always)]
    pub(super) fn next(&mut self, complex: &mut Complex<'_>, length: u32) -> PlannedRead {
        if self.taken >= BLOCK {
            self.make_block(complex, length);
        }
        let read = self.reads[self.taken];
        self.taken += 1;
        read
    }

    #[inline(never)]
    fn make_block(&mut self, complex: &mut Complex<'_>, length: u32) {
        self.list.offsets(self.next, &mut self.offsets);
        complex.plan_reads(&self.offsets, length, &mut self.reads);
        self.next += BLOCK as u64;
        self.taken = 0;
    }
}
