//! The root complex under load: admission, translation, memory, and the order of completions.

use super::completer::{Completer, Ready};
use crate::caches::Found;
use crate::history::{State, TestKey};
use crate::lines::Line;
use crate::machine::{Machine, ReadCosts};
use crate::profile;
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
    write_gate: Picoseconds,
    /// When the last of the posted writes so far has gone through: reads do not pass them.
    posted_done: Picoseconds,
    /// When the data of all reads so far are there: while they are not, the root complex is busy.
    busy_until: Picoseconds,
    walkers: Vec<Picoseconds>,
    pending_walks: Vec<(u32, Picoseconds)>,
    admitted: u64,
    access_draws: Draws,
    walk_draws: Draws,
    times: Times,
}

/// Times of the profile in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    request_interval: Picoseconds,
    write_interval: Picoseconds,
    credit_return: Picoseconds,
    idle: Spread,
    busy: Spread,
    idle_costs: ReadCosts,
    busy_costs: ReadCosts,
    refresh: Refresh,
}

impl Times {
    fn new(machine: &Machine) -> Self {
        let complex = &machine.system.host.root_complex;
        Self {
            request_interval: Picoseconds::from_ns(complex.request_interval_ns),
            write_interval: Picoseconds::from_ns(complex.write_interval_ns),
            credit_return: Picoseconds::from_ns(complex.credit_return_ns),
            idle: Spread::new(complex.read_ns, complex.jitter_ns),
            busy: Spread::new(complex.busy_read_ns, complex.busy_jitter_ns),
            idle_costs: machine.read_costs(false),
            busy_costs: machine.read_costs(true),
            refresh: Refresh::new(&machine.system.host.memory.refresh),
        }
    }
}

/// A time that is uniform between two bounds.
#[derive(Clone, Copy, Debug)]
struct Spread {
    least: Picoseconds,
    width: u64,
}

impl Spread {
    fn new(middle_ns: f64, half_width_ns: f64) -> Self {
        let least = Picoseconds::from_ns(middle_ns - half_width_ns);
        let most = Picoseconds::from_ns(middle_ns + half_width_ns);
        Self { least, width: most.since(least).0 + 1 }
    }

    /// The time at a place between the bounds, in units of 2^-32.
    #[inline]
    fn at(self, place: u32) -> Picoseconds {
        self.least + Picoseconds((u64::from(place) * self.width) >> 32)
    }
}

/// Refreshes as many accesses at a time meet them: each at a place of its own between two.
#[derive(Clone, Copy, Debug)]
struct Refresh {
    /// Places in units of 2^-32 of the time between two: those below lie in a refresh.
    share: u64,
    duration: u64,
}

impl Refresh {
    fn new(refresh: &profile::Refresh) -> Self {
        let share = match refresh.interval_ns > 0.0 {
            true => (refresh.share * refresh.duration_ns / refresh.interval_ns).clamp(0.0, 1.0),
            false => 0.0,
        };
        let share = (share * (1u64 << 32) as f64).round() as u64;
        Self { share, duration: Picoseconds::from_ns(refresh.duration_ns).0 }
    }

    /// How long an access at a place waits for the end of the refresh that it meets there.
    #[inline]
    fn wait(self, place: u32) -> Picoseconds {
        match self.share.checked_sub(u64::from(place)) {
            None | Some(0) => Picoseconds::ZERO,
            Some(left) => {
                Picoseconds((u128::from(self.duration) * u128::from(left) / u128::from(self.share)) as u64)
            }
        }
    }
}

impl<'a> Complex<'a> {
    pub(crate) fn new(machine: &'a Machine, key: TestKey, mut state: State, first: u64) -> Self {
        let host = &machine.system.host;
        state.io_tlb.set_capacity(host.iommu.tlb.busy_entries);
        // Draws are numbered from the transaction that the run starts at, with room for the TLPs of each.
        let numbered_from = first << 8;
        let order = key.draws(Stream::CompletionOrder);
        Self {
            machine,
            state,
            completer: Completer::new(host.root_complex.completion_order, order, numbered_from),
            request_gate: Picoseconds::ZERO,
            write_gate: Picoseconds::ZERO,
            posted_done: Picoseconds::ZERO,
            busy_until: Picoseconds::ZERO,
            walkers: vec![Picoseconds::ZERO; host.iommu.walkers.max(1) as usize],
            pending_walks: Vec::new(),
            admitted: numbered_from,
            access_draws: key.draws(Stream::Jitter),
            walk_draws: key.draws(Stream::WalkRefresh),
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
    fn access(&self, piece: Piece, busy: bool) -> Picoseconds {
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
        let bits = self.access_draws.bits(self.admitted);
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
        let gate = now.max(self.write_gate);
        self.write_gate = gate + self.times.write_interval;
        self.admitted += 1;
        let translated = self.translate(piece, gate);
        for line in Self::lines(self.machine, piece) {
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
        let iommu = &self.machine.system.host.iommu;
        self.pending_walks.retain(|(_, done)| *done > at);
        let held = self.state.io_tlb.look_up(page);
        let pending = self.pending_walks.iter().find(|(walked, _)| *walked == page).map(|(_, done)| *done);
        match pending {
            Some(done) if !iommu.same_page_walks_again => done,
            None if held => at,
            _ => self.walk(page, at),
        }
    }

    fn walk(&mut self, page: u32, at: Picoseconds) -> Picoseconds {
        let iommu = &self.machine.system.host.iommu;
        let Some(walker) = self.walkers.iter_mut().min() else { return at };
        let start = at.max(*walker);
        *walker = start + Picoseconds::from_ns(iommu.walker_busy_ns);
        let done = start
            + Picoseconds::from_ns(iommu.walk_ns)
            + self.times.refresh.wait(self.walk_draws.word(self.admitted));
        self.pending_walks.push((page, done));
        done
    }

    /// The data of a request are there: it can be answered.
    pub(crate) fn data_ready(&mut self, request: u32, piece: Piece) {
        let cuts = self.machine.completions(piece);
        let small = piece.length <= self.machine.system.link.mps_bytes;
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
