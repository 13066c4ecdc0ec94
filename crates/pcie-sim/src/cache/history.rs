//! The state of the machine, and the effect of preparations and tests on it.
//!
//! The state before a test is a function of the system, the suite, the seed and the test's index. It is
//! computed from the address lists for the specified number of transactions, however few of them were
//! simulated, so that sampled, parallel and resumed runs see the same machine. Transactions are not replayed:
//! only the last writes to each cache set and the last uses of each page matter, and they are found by
//! walking the list from its end.

use crate::cache::io_tlb::IoTlb;
use crate::cache::last_level::Caches;
use crate::cache::lines::{Line, Lines};
use crate::profile::System;
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, LINE_BYTES, PAGE_BYTES, Path, Test};
use std::ops::Range;

/// Lines that are settled together.
const PART: usize = 64;

/// Caches and IO-TLB.
#[derive(Debug)]
pub struct State {
    pub(crate) caches: Caches,
    pub(crate) io_tlb: IoTlb,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self { caches: self.caches.clone(), io_tlb: self.io_tlb.clone() }
    }

    /// Uses the memory of `self`.
    fn clone_from(&mut self, source: &Self) {
        self.caches.clone_from(&source.caches);
        self.io_tlb.clone_from(&source.io_tlb);
    }
}

/// Identifies a test of a run: all draws depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestKey {
    /// Seed of the run.
    pub seed: u64,
    /// Index of the test in its suite.
    pub test: u64,
}

/// Who sees a state next: after the host's thrash, lines in the caches need not have been computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Device,
    HostThrash,
}

impl TestKey {
    /// The draws of one stream.
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

    /// Bytes of the state, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.caches.bytes() + self.io_tlb.bytes()
    }

    /// The state without the lines beyond those that a test touches.
    pub(crate) fn visible_to(&self, lines: &Lines, test: &Test, list: &AddressList) -> Self {
        let end = Footprint::new(lines, test, list).end();
        Self { caches: self.caches.up_to(end), io_tlb: self.io_tlb.clone() }
    }

    /// The state without any lines, for tests that do not see them.
    pub(crate) fn without_lines(&self) -> Self {
        Self { caches: self.caches.without_lines(), io_tlb: self.io_tlb.clone() }
    }

    /// The control program thrashes the caches of its socket.
    pub(crate) fn thrash_from_host(&mut self) {
        self.caches.thrash_from_host();
    }

    /// The CPU writes the first `window_bytes` of the buffer, in whole pages.
    pub(crate) fn warm_from_host(
        &mut self,
        system: &System,
        lines: &Lines,
        window_bytes: u64,
        key: TestKey,
        next: Next,
    ) {
        let window = window_bytes.next_multiple_of(PAGE_BYTES);
        let count = window.div_ceil(LINE_BYTES).min(u64::from(lines.buffer_lines())) as Line;
        match next {
            Next::Device => {
                self.caches.warm_from_host(lines, system, count, key.draws(Stream::HostLines));
            }
            Next::HostThrash => self.caches.touch(std::iter::once(0..count)),
        }
    }

    /// The device writes random lines over the whole buffer, 128 MiB of them.
    pub(crate) fn thrash_from_device(&mut self, system: &System, lines: &Lines, key: TestKey, next: Next) {
        const WRITTEN_BYTES: u64 = 2 * (64 << 20);
        let buffer_lines = u64::from(lines.buffer_lines());
        let draws = key.draws(Stream::Thrash);
        let line_at = Self::preparing_path(system, lines);
        let last_first =
            (0..WRITTEN_BYTES / LINE_BYTES).rev().map(|n| line_at(draws.below(n, buffer_lines) * LINE_BYTES));
        let reachable = Self::reached_by_preparations(system, lines, lines.buffer_lines());
        self.settle_lines(lines, last_first.clone(), reachable, next);
        self.settle_pages(last_first, 0..buffer_lines * LINE_BYTES, &line_at);
    }

    /// The device writes the lines of the window in order, twice.
    pub(crate) fn warm_from_device(&mut self, system: &System, lines: &Lines, window_bytes: u64, next: Next) {
        let window_lines = window_bytes.div_ceil(LINE_BYTES).min(u64::from(lines.buffer_lines()));
        let line_at = Self::preparing_path(system, lines);
        let last_first = (0..2 * window_lines).rev().map(|n| line_at(n % window_lines * LINE_BYTES));
        let reachable = Self::reached_by_preparations(system, lines, window_lines as Line);
        self.settle_lines(lines, last_first.clone(), reachable, next);
        self.settle_pages(last_first, 0..window_lines * LINE_BYTES, &line_at);
    }

    /// The line at an offset, as preparations reach it: through the command path, if the device has one.
    fn preparing_path<'a>(system: &System, lines: &'a Lines) -> impl Fn(u64) -> Line + use<'a> {
        let by_command = system.device.command.is_some();
        move |offset| if by_command { lines.by_command(offset) } else { lines.by_dma(offset) }
    }

    /// The lines that preparations reach for the first `count` lines of the buffer.
    fn reached_by_preparations<'a>(
        system: &System,
        lines: &'a Lines,
        count: Line,
    ) -> impl Iterator<Item = Range<Line>> + Clone + use<'a> {
        let by_command = system.device.command.is_some();
        let (direct, commanded) = if by_command { (0, count) } else { (count, 0) };
        std::iter::once(0..direct).chain(lines.ranges_by_command(0..commanded))
    }

    /// The device wrote the lines `last_first`, which are some of `reachable`.
    fn settle_lines(
        &mut self,
        lines: &Lines,
        mut last_first: impl Iterator<Item = Line>,
        reachable: impl Iterator<Item = Range<Line>> + Clone,
        next: Next,
    ) {
        if next == Next::HostThrash {
            return self.caches.touch(reachable);
        }
        self.caches.cover(reachable.clone());
        let mut settling = self.caches.settling(lines, reachable);
        self.caches.settle(lines, &mut settling, |note| {
            let mut part = Vec::with_capacity(PART);
            loop {
                part.clear();
                part.extend(last_first.by_ref().take(PART));
                if part.is_empty() || note(&part).is_break() {
                    return;
                }
            }
        });
    }

    /// The device used the pages of the lines `last_first`, which are in some bytes of the buffer.
    fn settle_pages(
        &mut self,
        last_first: impl Iterator<Item = Line>,
        bytes: Range<u64>,
        line_at: impl Fn(u64) -> Line,
    ) {
        if self.io_tlb.page_count() > 0 {
            let pages = self.io_tlb.pages_of(bytes.step_by(PAGE_BYTES as usize).map(line_at));
            self.io_tlb.settle(last_first, pages);
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
    #[must_use]
    pub fn new(lines: &'a Lines, test: &Test, list: &'a AddressList) -> Self {
        Self { lines, list, path: test.path, size_bytes: test.size_bytes }
    }

    /// The line at an offset of the buffer.
    pub(super) fn line_at(&self, offset: u64) -> Line {
        match self.path {
            Path::Dma => self.lines.by_dma(offset),
            Path::Command => self.lines.by_command(offset),
        }
    }

    /// The first line of a transaction in each of its pages; several only if it is longer than a page.
    pub(super) fn page_starts(
        &self,
        transaction: u64,
    ) -> impl DoubleEndedIterator<Item = Line> + Clone + use<'a> {
        self.lines(transaction).step_by((PAGE_BYTES / LINE_BYTES) as usize)
    }

    /// The lines of a transaction: consecutive, because chunks of the buffer are numbered in order.
    #[inline]
    #[must_use]
    pub fn lines(&self, transaction: u64) -> Range<Line> {
        self.lines_at(self.list.offset(transaction))
    }

    /// The lines of a transaction that starts at an offset of the buffer.
    #[inline]
    #[must_use]
    pub fn lines_at(&self, offset: u64) -> Range<Line> {
        let first = self.line_at(offset);
        first..first + ((offset % LINE_BYTES + self.size_bytes).div_ceil(LINE_BYTES)) as Line
    }

    /// The end of the lines that some transaction may touch, or a later line.
    fn end(&self) -> Line {
        let units = self.list.units();
        let last = units.address(units.nth_usable(units.usable_count().saturating_sub(1)));
        match self.path {
            Path::Dma => self.lines_at(last).end,
            Path::Command => self.lines.count(),
        }
    }

    /// All lines that some transaction may touch, in ranges in no particular order.
    pub(super) fn window(&self) -> impl Iterator<Item = Range<Line>> + '_ {
        let units = self.list.units();
        let count = units.usable_count();
        let first = units.address(0);
        // Units without gaps are one range, on the command path one for each chunk of the buffer.
        let gapless =
            units.all_usable() && self.lines_at(first).len() as u64 * LINE_BYTES == units.unit_bytes();
        let whole = if gapless { (count * units.unit_bytes() / LINE_BYTES) as Line } else { 0 };
        let (direct, commanded) = if self.path == Path::Dma { (whole, 0) } else { (0, whole) };
        let one_by_one = if gapless { 0 } else { count };
        std::iter::once(0..direct)
            .chain(self.lines.ranges_by_command(0..commanded))
            .chain((0..one_by_one).map(|nth| self.lines_at(units.address(units.nth_usable(nth)))))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::test_systems::{ib_011_iommu, ib_011_nosp, snb};
    use pcie_workload::Operation;

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

    pub(crate) fn assert_same(machine: &Machine, one: &mut State, other: &mut State, context: &str) {
        for line in 0..machine.lines().buffer_lines() {
            let (first, second) =
                (one.caches.find(machine.lines(), line), other.caches.find(machine.lines(), line));
            assert_eq!(first, second, "{context}: line {line}");
        }
        if one.io_tlb.page_count() > 0 {
            // Each look-up evicts the LRU page, so equal hits throughout mean equal orders of use.
            for page in (0..one.io_tlb.page_count()).rev() {
                assert_eq!(one.io_tlb.look_up(page), other.io_tlb.look_up(page), "{context}: page {page}");
            }
        }
    }

    #[test]
    fn settled_state_matches_replay() {
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
                let expected = replayed(&machine, before.clone(), &test, &list);
                let mut advances = machine.advances(&test, &list);
                // In two parts each time, as in the rounds of sampling.
                for part in [transactions / 3, transactions / 5] {
                    let mut settled = before.clone();
                    advances.advance(&mut settled, 0..part);
                    advances.advance(&mut settled, part..transactions);
                    assert_same(
                        &machine,
                        &mut settled,
                        &mut expected.clone(),
                        &format!("{name} {operation:?} {size} {window}"),
                    );
                }
            }
        }
    }

    #[test]
    fn host_thrash_evicts_device_lines_only_on_the_programs_socket() {
        let (local, remote) = (snb(), ib_011_nosp());
        for (machine, device_lines_survive) in [(&local, false), (&remote, true)] {
            let mut state = machine.boot();
            let write = Test::random_dma(Operation::BwWr, 64, 8192, 100_000);
            let key = TestKey { seed: 1, test: 0 };
            let list = AddressList::new(&write, key.draws(Stream::Addresses));
            machine.advances(&write, &list).advance(&mut state, 0..write.transactions);
            state.thrash_from_host();
            let found = state.caches.find(machine.lines(), 5);
            assert_eq!(found == crate::cache::last_level::Found::DeviceLine, device_lines_survive);
        }
    }
}
