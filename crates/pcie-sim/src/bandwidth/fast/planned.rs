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
    /// The requests of each: a range of those that the shapes know.
    requests: [(u32, u32); BLOCK],
    /// How many of the block were taken.
    taken: usize,
}

const BLOCK: usize = 64;

impl<'a> PlannedReads<'a> {
    pub(super) fn new(shapes: Shapes<'a>, list: &'a AddressList, first: u64) -> Self {
        Self { shapes, list, next: first, offsets: [0; BLOCK], requests: [(0, 0); BLOCK], taken: BLOCK }
    }

    /// Where the next read starts, and its requests: a range of those that the shapes know.
    #[inline(always)]
    pub(super) fn next(&mut self) -> (u64, Range<u32>) {
        if self.taken == BLOCK {
            self.make_block();
        }
        let (first, end) = self.requests[self.taken];
        let offset = self.offsets[self.taken];
        self.taken += 1;
        (offset, first..end)
    }

    #[inline(never)]
    fn make_block(&mut self) {
        self.list.offsets(self.next, &mut self.offsets);
        self.next += BLOCK as u64;
        self.taken = 0;
        for (requests, offset) in self.requests.iter_mut().zip(self.offsets) {
            let Range { start, end } = self.shapes.parts(offset, false);
            *requests = (start, end);
        }
    }
}
