//! The root complex under load: admission, translation, memory, and the order of completions.

use super::completer::{Completer, Ready};
use super::times::Times;
use super::walks::Walks;
use crate::caches::Found;
use crate::history::{State, TestKey};
use crate::lines::Line;
use crate::machine::Machine;
use crate::write_gate::WriteGate;
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_wire::Piece;
use pcie_workload::LINE_BYTES;

/// The root complex.
#[derive(Debug)]
pub(crate) struct Complex<'a> {
    machine: &'a Machine,
    state: State,
    completer: Completer,
    request_gate: Picoseconds,
    write_gate: WriteGate,
    /// When the last of the posted writes so far has gone through: reads do not pass them.
    posted_done: Picoseconds,
    /// When the data of all reads so far are there: while they are not, the root complex is busy.
    busy_until: Picoseconds,
    walkers: Vec<Picoseconds>,
    pending_walks: Vec<(u32, Picoseconds)>,
    /// Until when nothing is translated.
    translation_gate: Picoseconds,
    /// The page of the TLP before: one that follows to the same page is translated with it.
    last_page: Option<u32>,
    admitted: u64,
    access_draws: Draws,
    accesses: u64,
    /// The draw of the next access, made ahead.
    drawn_ahead: u64,
    walks: Walks,
    times: Times,
}

impl<'a> Complex<'a> {
    pub(crate) fn new(machine: &'a Machine, key: TestKey, mut state: State, first: u64) -> Self {
        let host = &machine.system.host;
        state.io_tlb.set_capacity(host.iommu.tlb.entries);
        // Draws are numbered from the transaction that the run starts at, with room for the TLPs of each.
        let numbered_from = first << 8;
        let order = key.draws(Stream::CompletionOrder);
        let access_draws = key.draws(Stream::Jitter);
        Self {
            machine,
            state,
            completer: Completer::new(host.root_complex.completion_order, order, numbered_from),
            request_gate: Picoseconds::ZERO,
            write_gate: WriteGate::new(&host.root_complex),
            posted_done: Picoseconds::ZERO,
            busy_until: Picoseconds::ZERO,
            walkers: vec![Picoseconds::ZERO; host.iommu.walkers.max(1) as usize],
            pending_walks: Vec::new(),
            translation_gate: Picoseconds::ZERO,
            last_page: None,
            admitted: numbered_from,
            access_draws,
            accesses: numbered_from,
            drawn_ahead: access_draws.bits(numbered_from),
            walks: Walks::new(machine, key, numbered_from),
            times: Times::new(machine),
        }
    }

    /// A read request arrives; returns when its credit is back at the card, and when its data are there.
    #[inline(always)]
    pub(crate) fn admit(&mut self, piece: Piece, now: Picoseconds) -> (Picoseconds, Picoseconds) {
        let admitted = now.max(self.request_gate).max(self.posted_done);
        self.request_gate = admitted + self.times.request_interval;
        self.admitted += 1;
        let translated = self.translate(piece, admitted);
        let busy = admitted < self.busy_until;
        let data = translated + self.access(piece, busy);
        self.busy_until = self.busy_until.max(data);
        (admitted + self.times.credit_return, data)
    }

    /// From translation to data: the root complex, its jitter, the slowest line, a refresh.
    #[inline(always)]
    fn access(&mut self, piece: Piece, busy: bool) -> Picoseconds {
        let machine = self.machine;
        let (spread, costs) = match busy {
            true => (self.times.busy, &self.times.busy_costs),
            false => (self.times.idle, &self.times.idle_costs),
        };
        let mut cost = Picoseconds::ZERO;
        let mut memory = false;
        for line in Self::lines(machine, piece) {
            let found = self.state.caches.find(&machine.lines, line);
            memory |= matches!(found, Found::Memory { .. });
            cost = cost.max(costs.of(found));
        }
        // One draw serves both.
        let bits = self.drawn_ahead;
        self.accesses += 1;
        self.drawn_ahead = self.access_draws.bits(self.accesses);
        let refresh = if memory { self.times.refresh.wait(bits as u32) } else { Picoseconds::ZERO };
        spread.at((bits >> 32) as u32) + cost + refresh
    }

    #[inline]
    fn lines(machine: &Machine, piece: Piece) -> std::ops::Range<Line> {
        let first = machine.lines.by_dma(piece.address);
        first..first + (piece.address % LINE_BYTES + u64::from(piece.length)).div_ceil(LINE_BYTES) as Line
    }

    /// A write TLP arrives; returns when it has gone through and its credits are back at the card.
    #[inline]
    pub(crate) fn write(&mut self, piece: Piece, now: Picoseconds) -> Picoseconds {
        let lines = Self::lines(self.machine, piece);
        let admitted = self.write_gate.admit(piece, lines.clone(), now);
        self.admitted += 1;
        let translated = self.translate(piece, admitted);
        for line in lines {
            self.state.caches.write(&self.machine.lines, line);
        }
        // Posted writes go through in order.
        self.posted_done = self.posted_done.max(translated);
        self.posted_done + self.times.credit_return
    }

    /// When the address of a TLP that was admitted at `at` is translated.
    #[inline]
    fn translate(&mut self, piece: Piece, at: Picoseconds) -> Picoseconds {
        let Some(page) = self.state.io_tlb.page(self.machine.lines.by_dma(piece.address)) else {
            return at;
        };
        let at = self.in_turn(at.max(self.translation_gate));
        let follows = self.last_page.replace(page) == Some(page);
        let held = self.state.io_tlb.look_up(page);
        let pending = self.pending_walks.iter().find(|(walked, _)| *walked == page).map(|(_, done)| *done);
        match pending {
            Some(done) if follows || self.times.same_page_stall == Picoseconds::ZERO => done,
            Some(_) => {
                self.translation_gate = at + self.times.same_page_stall;
                self.translation_gate
            }
            None if held => at,
            None => self.walk(page, at),
        }
    }

    /// When a TLP is translated that could be at a time. Where a request to a page that is being walked stalls translation,
    /// that goes in order: a TLP that waits for room for another walk holds up those behind it, hits or not.
    #[inline]
    fn in_turn(&mut self, at: Picoseconds) -> Picoseconds {
        self.pending_walks.retain(|(_, done)| *done > at);
        if self.times.same_page_stall > Picoseconds::ZERO {
            self.translation_gate = self.room_for_walk(at);
            return self.translation_gate;
        }
        at
    }

    /// When there is room for another walk.
    fn room_for_walk(&mut self, at: Picoseconds) -> Picoseconds {
        let most = self.machine.system.host.iommu.pending_walks.max(1) as usize;
        if self.pending_walks.len() < most {
            return at;
        }
        let room = self.pending_walks.iter().map(|(_, done)| *done).min().unwrap_or(at);
        self.pending_walks.retain(|(_, done)| *done > room);
        room
    }

    fn walk(&mut self, page: u32, at: Picoseconds) -> Picoseconds {
        let at = self.room_for_walk(at);
        let Some(walker) = self.walkers.iter_mut().min() else { return at };
        let start = at.max(*walker);
        let walk = self.walks.next();
        *walker = start + walk.busy;
        let done = start + walk.time;
        self.pending_walks.push((page, done));
        done
    }

    /// The data of a request are there: it can be answered.
    pub(crate) fn data_ready(&mut self, request: u32, piece: Piece) {
        let cuts = self.machine.completions(piece);
        let small = piece.length <= self.machine.system.host.root_complex.small_request_bytes;
        self.completer.add(Ready { request, small, cuts });
    }

    /// The next completion to send, the request that it answers, and whether it is the last of that; None if nothing is
    /// ready, or the card has no `room` for another request's data.
    pub(crate) fn next_completion(&mut self, room: bool) -> Option<(u32, Piece, bool)> {
        self.completer.next(room)
    }

    /// Whether the next completion is the first of its request.
    pub(crate) fn is_first_completion(&self) -> bool {
        self.completer.is_first()
    }
}
