//! DMAs ahead of their time: addresses depend on nothing but the number of the transaction, so they are made in blocks.

use super::shapes::Shapes;
use pcie_workload::AddressList;
use std::ops::Range;

/// The reads of a test, one after the other.
#[derive(Debug)]
pub(super) struct PlannedReads<'a> {
    pub(super) shapes: Shapes<'a>,
    list: &'a AddressList,
    /// The transaction that the next block starts with.
    next: u64,
    offsets: [u64; BLOCK],
    /// How many of the block were taken.
    taken: usize,
}

const BLOCK: usize = 64;

impl<'a> PlannedReads<'a> {
    pub(super) fn new(shapes: Shapes<'a>, list: &'a AddressList, first: u64) -> Self {
        Self { shapes, list, next: first, offsets: [0; BLOCK], taken: BLOCK }
    }

    /// Where the next read starts, and its requests: a range of those that the shapes know.
    #[inline]
    pub(super) fn next(&mut self) -> (u64, Range<u32>) {
        if self.taken == BLOCK {
            self.list.offsets(self.next, &mut self.offsets);
            self.next += BLOCK as u64;
            self.taken = 0;
        }
        let offset = self.offsets[self.taken];
        self.taken += 1;
        (offset, self.shapes.parts(offset, false))
    }
}
