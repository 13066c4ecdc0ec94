//! What the transactions of a test leave in caches and IO-TLB, one stretch after the other.

use super::history::{Footprint, Next, State};
use super::last_level::Settling;
use super::lines::{Line, Lines};
use pcie_workload::{AddressList, LINE_BYTES, LIST_LENGTH, PAGE_BYTES, Test};
use std::ops::{ControlFlow, Range};

/// Lines that are settled together, about.
const PART: u64 = 64;

/// Advances states of a test. What all stretches of it have in common is computed once, for the first.
#[derive(Debug)]
pub struct Advances<'a> {
    lines: &'a Lines,
    test: &'a Test,
    list: &'a AddressList,
    footprint: Footprint<'a>,
    settling: Option<Settling>,
    /// Pages in the window.
    pages: Option<u64>,
}

impl<'a> Advances<'a> {
    pub(crate) fn new(lines: &'a Lines, test: &'a Test, list: &'a AddressList) -> Self {
        let footprint = Footprint::new(lines, test, list);
        Self { lines, test, list, footprint, settling: None, pages: None }
    }

    /// Advances a state from transaction `done.start` of the test to transaction `done.end`. All states must come
    /// from the same one before the test, those with `done.start > 0` through this.
    pub fn advance(&mut self, state: &mut State, done: Range<u64>) {
        self.advance_for(state, done, Next::Device);
    }

    pub(super) fn advance_for(&mut self, state: &mut State, done: Range<u64>, next: Next) {
        if done.is_empty() {
            return;
        }
        // The list repeats, so entries further back than its length add nothing.
        let looked_at = done.end.saturating_sub(LIST_LENGTH.max(self.list.pass())).max(done.start)..done.end;
        if self.test.operation.writes() {
            match next {
                Next::Device => self.settle_lines(state, done.start == 0, looked_at.clone()),
                Next::HostThrash => state.caches.touch(self.footprint.window()),
            }
        }
        if state.io_tlb.page_count() > 0 {
            let footprint = self.footprint;
            let pages = *self.pages.get_or_insert_with(|| {
                let starts = (0..self.test.window_bytes).step_by(PAGE_BYTES as usize);
                state.io_tlb.pages_of(starts.map(|offset| footprint.line_at(offset)))
            });
            let last_first = looked_at.rev().flat_map(|n| footprint.page_starts(n).rev());
            state.io_tlb.settle(last_first, pages);
        }
    }

    fn settle_lines(&mut self, state: &mut State, from_start: bool, looked_at: Range<u64>) {
        let Self { lines, test, list, footprint, .. } = *self;
        if from_start || self.settling.is_none() {
            state.caches.cover(footprint.window());
        }
        let settling = self.settling.get_or_insert_with(|| state.caches.settling(lines, footprint.window()));
        state
            .caches
            .settle(lines, settling, |note| written_last_first(test, list, footprint, looked_at, note));
    }
}

/// Gives the lines that transactions write, in parts, the last first.
fn written_last_first(
    test: &Test,
    list: &AddressList,
    footprint: Footprint<'_>,
    transactions: Range<u64>,
    note: &mut dyn FnMut(&[Line]) -> ControlFlow<()>,
) {
    let in_part = (PART / test.size_bytes.div_ceil(LINE_BYTES)).max(1);
    let (mut offsets, mut part) = ([0; PART as usize], Vec::with_capacity(2 * PART as usize));
    let mut end = transactions.end;
    while end > transactions.start {
        let first = end.saturating_sub(in_part).max(transactions.start);
        let offsets = &mut offsets[..(end - first) as usize];
        list.offsets(first, offsets);
        part.clear();
        for (transaction, offset) in (first..end).rev().zip(offsets.iter().rev()) {
            if AddressList::writes(test.operation, transaction, test.transactions) {
                part.extend(footprint.lines_at(*offset).rev());
            }
        }
        if note(&part).is_break() {
            return;
        }
        end = first;
    }
}
