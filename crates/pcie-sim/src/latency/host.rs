//! The host's part in a transaction that is alone: translation, lines, refreshes, and the way back.

use super::chance::Chance;
use super::plan::{Completion, Request};
use crate::caches::Found;
use crate::history::State;
use crate::lines::Line;
use crate::machine::{Machine, ReadCosts};
use crate::port::Port;
use crate::refresh::RefreshLine;
use pcie_time::Picoseconds;

/// A transaction that is being walked through the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Offset in the buffer of its first byte.
    pub(super) offset: u64,
    /// Its first line.
    pub(super) first_line: Line,
    pub(super) chance: Chance,
}

/// The host.
#[derive(Debug)]
pub(super) struct Host<'a> {
    machine: &'a Machine,
    state: State,
    /// An idle one.
    downlink: Port,
    costs: ReadCosts,
    refresh: RefreshLine,
    jitter_ns: f64,
    walk: Picoseconds,
    write: Picoseconds,
    flight: Picoseconds,
}

impl<'a> Host<'a> {
    pub(super) fn new(machine: &'a Machine, mut state: State, downlink: Port) -> Self {
        let host = &machine.system.host;
        state.io_tlb.set_capacity(host.iommu.tlb.entries);
        Self {
            machine,
            state,
            downlink,
            costs: machine.read_costs(false),
            refresh: RefreshLine::new(&host.memory.refresh),
            jitter_ns: host.root_complex.jitter_ns,
            walk: Picoseconds::from_ns(host.iommu.walk_ns),
            write: Picoseconds::from_ns(host.root_complex.write_ns),
            flight: Picoseconds::from_ns(host.root_complex.flight_ns),
        }
    }

    /// A write arrives; returns when a read behind it may go on.
    pub(super) fn write(&mut self, passage: Passage, arrived: Picoseconds, bytes: u64) -> Picoseconds {
        let translated = self.translate(passage, arrived);
        let caches = &mut self.state.caches;
        let written = self.machine.write_lines(caches, passage.first_line, passage.offset, bytes);
        let waited = if written.from_memory { self.wait(passage, translated) } else { Picoseconds::ZERO };
        translated + written.cost + waited + self.write
    }

    /// Answers the requests of a read, none before `after`; returns when the last byte is back at the card.
    #[inline]
    pub(super) fn read(&mut self, passage: Passage, requests: &[Request], after: Picoseconds) -> Picoseconds {
        let mut downlink = self.downlink.clone();
        let mut last = Picoseconds::ZERO;
        for request in requests {
            let admitted = self.translate(passage, request.arrival.max(after));
            for completion in &request.completions {
                let ready = self.access(passage, admitted, completion) + completion.held_up;
                last = downlink.send_units(ready, completion.downlink_bytes) + self.flight;
            }
        }
        last
    }

    /// When the data of one completion are there: its lines are fetched one after the other, and the slowest counts.
    #[inline]
    fn access(&self, passage: Passage, admitted: Picoseconds, completion: &Completion) -> Picoseconds {
        let mut cost = Picoseconds::ZERO;
        let mut memory = false;
        let first = passage.first_line + completion.first_line;
        for line in first..first + completion.lines {
            let found = self.state.caches.find(&self.machine.lines, line);
            memory |= matches!(found, Found::Memory { .. });
            cost = cost.max(self.costs.of(found));
        }
        let fetched = admitted + completion.fetched;
        let waited = if memory { self.wait(passage, fetched) } else { Picoseconds::ZERO };
        let jitter_ns = self.jitter_ns * passage.chance.jitter();
        let read = Picoseconds::from_ns(completion.read_ns + jitter_ns + completion.within_ns);
        fetched + cost + waited + read
    }

    /// When the address of a TLP that arrived at `at` is translated.
    #[inline]
    fn translate(&mut self, passage: Passage, at: Picoseconds) -> Picoseconds {
        match self.state.io_tlb.page(passage.first_line) {
            Some(page) if !self.state.io_tlb.look_up(page) => at + self.wait(passage, at) + self.walk,
            _ => at,
        }
    }

    #[inline]
    fn wait(&self, passage: Passage, at: Picoseconds) -> Picoseconds {
        self.refresh.wait(passage.chance.refresh_place(), at)
    }
}
