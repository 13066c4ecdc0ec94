//! How the state of the machine carries over: what a preparation and a run of a test leave behind.
//!
//! The state before a test is a function of the system, the suite, the seed and the test's place. It is computed from the
//! lists of addresses at the counts that the tests ask for, never from how much of them was simulated: so sampling,
//! parallel runs and resumed ones see the same machine. A run of a million writes is not replayed; only its last writes
//! to each cache set, and its last uses of each page, can be seen afterwards, and those are looked up from its end.

use crate::cache::io_tlb::IoTlb;
use crate::cache::last_level::Caches;
use crate::cache::lines::{Line, Lines};
use crate::profile::System;
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, LINE_BYTES, LIST_LENGTH, PAGE_BYTES, Path, Test};
use std::ops::Range;

/// Caches and IO-TLB.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) caches: Caches,
    pub(crate) io_tlb: IoTlb,
}

/// Which test of which run: what all its draws depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestKey {
    /// Seed of the run.
    pub seed: u64,
    /// Place of the test in its suite.
    pub test: u64,
}

impl TestKey {
    /// The sequence of draws for one purpose.
    #[must_use]
    pub fn draws(self, stream: Stream) -> Draws {
        Draws::new(self.seed, self.test, stream)
    }
}

impl State {
    /// The machine after boot.
    #[must_use]
    pub fn boot(system: &System, lines: &Lines) -> Self {
        Self { caches: Caches::new(system, lines), io_tlb: IoTlb::new(system, lines.count()) }
    }

    /// The control program thrashes the caches of its socket.
    pub fn thrash_from_host(&mut self) {
        self.caches.thrash_from_host();
    }

    /// The CPU writes the first `window_bytes` of the buffer, in whole pages.
    pub(crate) fn warm_from_host(&mut self, system: &System, lines: &Lines, window_bytes: u64, key: TestKey) {
        let window = window_bytes.next_multiple_of(PAGE_BYTES);
        self.caches.warm_from_host(lines, system, window, key.draws(Stream::HostLines));
    }

    /// The card writes random lines over the whole buffer, 128 MiB of them.
    pub(crate) fn thrash_from_device(&mut self, system: &System, lines: &Lines, key: TestKey) {
        const WRITTEN_BYTES: u64 = 2 * (64 << 20);
        let buffer_lines = u64::from(lines.buffer_lines());
        let draws = key.draws(Stream::Thrash);
        let place = Self::preparing_path(system, lines);
        let last_first =
            (0..WRITTEN_BYTES / LINE_BYTES).rev().map(|n| place(draws.below(n, buffer_lines) * LINE_BYTES));
        self.written_by_card(lines, last_first, 0..buffer_lines, &place);
    }

    /// The card writes the lines of the window, one after the other, twice.
    pub(crate) fn warm_from_device(&mut self, system: &System, lines: &Lines, window_bytes: u64) {
        let window_lines = window_bytes.div_ceil(LINE_BYTES).min(u64::from(lines.buffer_lines()));
        let place = Self::preparing_path(system, lines);
        let last_first = (0..2 * window_lines).rev().map(|n| place(n % window_lines * LINE_BYTES));
        self.written_by_card(lines, last_first, 0..window_lines, &place);
    }

    /// Preparations go through the command path, where the card has one.
    fn preparing_path<'a>(system: &System, lines: &'a Lines) -> impl Fn(u64) -> Line + use<'a> {
        let by_command = system.device.command.is_some();
        move |offset| if by_command { lines.by_command(offset) } else { lines.by_dma(offset) }
    }

    /// The card wrote single lines: `last_first`, from the `window` of the buffer given in lines.
    fn written_by_card(
        &mut self,
        lines: &Lines,
        last_first: impl Iterator<Item = Line> + Clone,
        window: Range<u64>,
        place: impl Fn(u64) -> Line,
    ) {
        let reachable = window.clone().map(|line| place(line * LINE_BYTES));
        self.caches.settle(lines, last_first.clone(), reachable);
        let io_tlb = &self.io_tlb;
        if io_tlb.page_count() > 0 {
            let pages = Self::pages_of(io_tlb, window.start * LINE_BYTES..window.end * LINE_BYTES, place);
            let used: Vec<u32> = Self::recent_pages(io_tlb, last_first, pages);
            self.io_tlb.settle(used.into_iter(), pages);
        }
    }

    /// How many pages of the IO-TLB some bytes of the buffer lie in.
    fn pages_of(io_tlb: &IoTlb, bytes: Range<u64>, place: impl Fn(u64) -> Line) -> u64 {
        let mut seen = vec![false; io_tlb.page_count() as usize];
        bytes
            .step_by(PAGE_BYTES as usize)
            .filter_map(|offset| io_tlb.page(place(offset)))
            .filter(|page| !std::mem::replace(&mut seen[*page as usize], true))
            .count() as u64
    }

    fn recent_pages(io_tlb: &IoTlb, last_first: impl Iterator<Item = Line>, pages: u64) -> Vec<u32> {
        let enough = u64::from(io_tlb.capacity()).min(pages) as usize;
        let mut seen = vec![false; io_tlb.page_count() as usize];
        last_first
            .filter_map(|line| io_tlb.page(line))
            .filter(|page| !std::mem::replace(&mut seen[*page as usize], true))
            .take(enough)
            .collect()
    }

    /// Brings the state from after transaction `done.start` to after transaction `done.end` of a test.
    pub fn advance(&mut self, lines: &Lines, test: &Test, list: &AddressList, done: Range<u64>) {
        if done.is_empty() {
            return;
        }
        let footprint = Footprint::new(lines, test, list);
        // The list is replayed, so what lies further back than its length was seen already.
        let looked_at = done.end.saturating_sub(LIST_LENGTH.max(list.pass())).max(done.start)..done.end;
        if test.operation.writes() {
            let last_first = looked_at
                .clone()
                .rev()
                .filter(|&n| AddressList::writes(test.operation, n, test.transactions))
                .flat_map(|n| footprint.lines(n).rev());
            self.caches.settle(lines, last_first, footprint.window());
        }
        if self.io_tlb.page_count() > 0 {
            let pages = Self::pages_of(&self.io_tlb, 0..test.window_bytes, |offset| footprint.place(offset));
            let last_first = looked_at.rev().flat_map(|n| footprint.page_starts(n).rev());
            let used = Self::recent_pages(&self.io_tlb, last_first, pages);
            self.io_tlb.settle(used.into_iter(), pages);
        }
    }
}

/// The lines that the transactions of a test touch.
#[derive(Clone, Copy, Debug)]
pub struct Footprint<'a> {
    lines: &'a Lines,
    list: &'a AddressList,
    path: Path,
    size_bytes: u64,
}

impl<'a> Footprint<'a> {
    /// The footprint of a valid test.
    #[must_use]
    pub fn new(lines: &'a Lines, test: &Test, list: &'a AddressList) -> Self {
        Self { lines, list, path: test.path, size_bytes: test.size_bytes }
    }

    fn place(&self, offset: u64) -> Line {
        match self.path {
            Path::Dma => self.lines.by_dma(offset),
            Path::Command => self.lines.by_command(offset),
        }
    }

    /// The first line that a transaction touches of each of its pages: of several only if it is longer than one.
    fn page_starts(&self, transaction: u64) -> impl DoubleEndedIterator<Item = Line> + Clone + use<'a> {
        self.lines(transaction).step_by((PAGE_BYTES / LINE_BYTES) as usize)
    }

    /// The lines of one transaction: consecutive, because chunks of the buffer are numbered one after the other.
    #[inline]
    #[must_use]
    pub fn lines(&self, transaction: u64) -> Range<Line> {
        self.lines_at(self.list.offset(transaction))
    }

    /// The lines of a transaction that starts at an offset of the buffer.
    #[inline]
    #[must_use]
    pub fn lines_at(&self, offset: u64) -> Range<Line> {
        let first = self.place(offset);
        first..first + ((offset % LINE_BYTES + self.size_bytes).div_ceil(LINE_BYTES)) as Line
    }

    /// All lines that some transaction may touch, in no particular order.
    fn window(&self) -> impl Iterator<Item = Line> + '_ {
        let units = self.list.units();
        (0..units.usable_count()).flat_map(|nth| self.lines_at(units.address(units.nth_usable(nth))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::test_systems::{ib_011_iommu, ib_011_nosp, snb};
    use pcie_workload::Operation;

    /// The state after every transaction was really made, one by one.
    fn replayed(machine: &Machine, mut state: State, test: &Test, list: &AddressList) -> State {
        let footprint = Footprint::new(machine.lines(), test, list);
        for transaction in 0..test.transactions {
            let lines = footprint.lines(transaction);
            for page in lines.clone().filter_map(|line| state.io_tlb.page(line)).collect::<Vec<_>>() {
                state.io_tlb.look_up(page);
            }
            if AddressList::writes(test.operation, transaction, test.transactions) {
                for line in lines {
                    state.caches.write(machine.lines(), line);
                }
            }
        }
        state
    }

    fn assert_same(machine: &Machine, one: &mut State, other: &mut State, context: &str) {
        for line in 0..machine.lines().buffer_lines() {
            let (first, second) =
                (one.caches.find(machine.lines(), line), other.caches.find(machine.lines(), line));
            assert_eq!(first, second, "{context}: line {line}");
        }
        if one.io_tlb.page_count() > 0 {
            // Each look-up drops the least recently used page, so equal answers all the way mean equal orders of use.
            for page in (0..one.io_tlb.page_count()).rev() {
                assert_eq!(one.io_tlb.look_up(page), other.io_tlb.look_up(page), "{context}: page {page}");
            }
        }
    }

    #[test]
    fn closed_form_and_replay_leave_the_same_machine() {
        for (machine, name) in
            [(snb(), "snb"), (ib_011_nosp(), "ib-011-nosp"), (ib_011_iommu(), "ib-011-iommu")]
        {
            for (operation, size, window, transactions) in [
                (Operation::BwWr, 64, 8192, 5_000),
                (Operation::BwWr, 64, 4 << 20, 1_200_000),
                (Operation::BwWr, 769, 1 << 20, 100_000),
                (Operation::BwRdwr, 512, 2 << 20, 300_001),
                (Operation::LatWrrd, 2048, 256 << 10, 40_000),
                (Operation::BwRd, 64, 16 << 20, 100_000),
                (Operation::BwRdwr, 16 << 10, 16 << 20, 3_000),
                (Operation::BwRd, 1 << 20, 64 << 20, 100),
            ] {
                let test = Test::random_dma(operation, size, window, transactions);
                let key = TestKey { seed: 7, test: 3 };
                let list = AddressList::new(&test, key.draws(Stream::Addresses));
                let mut before = machine.boot();
                machine.thrash_from_device(&mut before, TestKey { seed: 7, test: 2 });
                let mut expected = replayed(&machine, before.clone(), &test, &list);
                let mut settled = before;
                // In two parts, because sampling goes through a test in parts.
                settled.advance(machine.lines(), &test, &list, 0..transactions / 3);
                settled.advance(machine.lines(), &test, &list, transactions / 3..transactions);
                assert_same(
                    &machine,
                    &mut settled,
                    &mut expected,
                    &format!("{name} {operation:?} {size} {window}"),
                );
            }
        }
    }

    #[test]
    fn host_warm_lines_are_lost_to_a_thrash_of_the_programs_socket_only() {
        let (local, remote) = (snb(), ib_011_nosp());
        for (machine, device_lines_survive) in [(&local, false), (&remote, true)] {
            let mut state = machine.boot();
            let write = Test::random_dma(Operation::BwWr, 64, 8192, 100_000);
            let key = TestKey { seed: 1, test: 0 };
            machine.advance(
                &mut state,
                &write,
                &AddressList::new(&write, key.draws(Stream::Addresses)),
                0..write.transactions,
            );
            state.thrash_from_host();
            let found = state.caches.find(machine.lines(), 5);
            assert_eq!(found == crate::cache::last_level::Found::DeviceLine, device_lines_survive);
        }
    }
}
