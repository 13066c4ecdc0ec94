//! The root complex under load: admission, translation, memory, and the order of completions.

use super::completer::{Completer, FetchedRead};
use super::cuts::Cuts;
use super::line_pool::{LinePool, PoolUse};
use super::memory_queue::MemoryQueue;
use super::pending_walks::{PendingWalks, earliest};
use super::times::Times;
use super::walk_regions::WalkRegions;
use super::walks::Walks;
use crate::cache::history::{State, TestKey};
use crate::cache::lines::{Line, Lines};
use crate::profile::{OrderedReads, System};
use crate::root_complex::line_costs::write_lines;
use crate::root_complex::write_gate::WriteGate;
use pcie_time::{DrawSequence, Picoseconds, Stream};
use pcie_wire::Piece;
use pcie_workload::LINE_BYTES;
use std::ops::Range;

/// What becomes of a posted TLP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// When it has passed the root complex.
    pub(crate) passed: Picoseconds,
    /// When its credits are back at the device.
    pub(crate) credits_back: Picoseconds,
}

/// When a read has passed each part of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadSteps {
    pub(crate) looked_up: Picoseconds,
    pub(crate) translated: Picoseconds,
    /// Whether it began a page walk.
    pub(crate) walked: bool,
    pub(crate) admitted: Picoseconds,
    /// Whether a line came from memory, and what the slowest line took.
    pub(crate) memory: bool,
    pub(crate) fetch: Picoseconds,
    pub(crate) data: Picoseconds,
    pub(crate) credit_back: Picoseconds,
}

/// The same of a posted TLP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteSteps {
    pub(crate) admitted: Picoseconds,
    pub(crate) translated: Picoseconds,
    pub(crate) walked: bool,
    /// Whether it waited for memory.
    pub(crate) memory: bool,
    pub(crate) written: Written,
}

/// A read that the root complex has looked at before it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlannedRead {
    line: Line,
    line_count: u32,
    /// Its random bits.
    bits: u64,
    /// From translation to data, if the root complex is busy.
    busy_access: Picoseconds,
}

/// The steps of a read that was admitted.
struct Admission {
    looked_up: Picoseconds,
    translated: Picoseconds,
    admitted: Picoseconds,
    busy: bool,
    data: Picoseconds,
}

/// What a host has done for a device so far, or in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostUse {
    /// Page walks of the IOMMU.
    pub(crate) walks: u64,
    /// For how long its walkers were busy, all together, and how many there are.
    pub(crate) walkers_busy: Picoseconds,
    pub(crate) walkers: u32,
    /// For how long memory was busy with lines of devices.
    pub(crate) memory: Picoseconds,
    /// Use of the pool for writes, and its size.
    pub(crate) write_pool: PoolUse,
    pub(crate) write_pool_lines: u32,
}

impl HostUse {
    /// Use since an earlier look.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            walks: self.walks - earlier.walks,
            walkers_busy: Picoseconds(self.walkers_busy.since(earlier.walkers_busy).0),
            memory: Picoseconds(self.memory.since(earlier.memory).0),
            write_pool: self.write_pool.since(&earlier.write_pool),
            ..*self
        }
    }

    /// Share of a time for which the page walkers were busy.
    pub(crate) fn walkers_share(&self, elapsed_ns: f64) -> f64 {
        self.walkers_busy.as_ns() / (elapsed_ns * f64::from(self.walkers.max(1)))
    }

    /// Average share of the pool's entries in use; 0 without a pool.
    pub(crate) fn pool_share(&self, elapsed_ns: f64) -> f64 {
        self.write_pool.held_ns / (elapsed_ns * f64::from(self.write_pool_lines.max(1)))
    }
}

/// Cache lines that a TLP touches.
fn lines_of(piece: Piece) -> u32 {
    (piece.address % LINE_BYTES + u64::from(piece.length)).div_ceil(LINE_BYTES) as u32
}

#[derive(Debug)]
pub(crate) struct Complex<'a> {
    system: &'a System,
    line_numbers: &'a Lines,
    state: State,
    /// Whether somebody may see the lines that are written.
    notes_lines: bool,
    completer: Completer,
    /// Earliest look-up of the next read's address; it need not wait for translations of earlier writes.
    look_up_gate: Picoseconds,
    request_gate: Picoseconds,
    write_gate: WriteGate,
    /// Entries for the lines of writes and of reads, where the root complex limits them.
    write_pool: Option<LinePool>,
    read_pool: Option<LinePool>,
    /// The memory that writes wait for, where they can saturate it.
    memory: Option<MemoryQueue>,
    /// Whether the device's writes may pass earlier ones.
    relaxed: bool,
    /// Whether reads that wait for a page walk leave the IOMMU in order, and when the last of them has left.
    misses_in_order: bool,
    last_miss: Picoseconds,
    /// When all posted writes so far have passed: reads do not overtake them.
    posted_done: Picoseconds,
    /// When the data of all reads so far are available: until then the root complex is busy.
    busy_until: Picoseconds,
    walkers: Vec<Picoseconds>,
    pending_walks: PendingWalks,
    walk_regions: Option<WalkRegions>,
    access_draws: DrawSequence,
    walks: Walks,
    /// Walks so far, and for how long they occupied walkers.
    walked: (u64, Picoseconds),
    times: Times,
}

impl<'a> Complex<'a> {
    /// The root complex of a system in a state; its draws are numbered from `first_draw` on.
    pub(crate) fn new(
        system: &'a System,
        line_numbers: &'a Lines,
        key: TestKey,
        mut state: State,
        first_draw: u64,
    ) -> Self {
        let host = &system.host;
        state.io_tlb.set_capacity(host.iommu.tlb.entries);
        let order = key.draws(Stream::CompletionOrder);
        let access_draws = DrawSequence::new(key.draws(Stream::Jitter), first_draw);
        let times = Times::new(system, line_numbers, &state.caches);
        let pending_walks = PendingWalks::new(host.iommu.pending_walks, state.io_tlb.page_count());
        let walk_regions = WalkRegions::new(host.iommu.walk_region_bytes, &state.io_tlb);
        Self {
            system,
            line_numbers,
            notes_lines: state.caches.has_lines(),
            state,
            completer: Completer::new(host.root_complex.completion_order, order, first_draw),
            look_up_gate: Picoseconds::ZERO,
            request_gate: Picoseconds::ZERO,
            write_gate: WriteGate::new(&host.root_complex),
            write_pool: host.root_complex.write_pool_lines.map(LinePool::new),
            read_pool: host.root_complex.read_pool_lines.map(LinePool::new),
            memory: MemoryQueue::new(host, key, first_draw),
            relaxed: system.device.dma.relaxed_ordering == Some(true),
            misses_in_order: host.iommu.ordered_reads == Some(OrderedReads::Misses),
            last_miss: Picoseconds::ZERO,
            posted_done: Picoseconds::ZERO,
            busy_until: Picoseconds::ZERO,
            walkers: vec![Picoseconds::ZERO; host.iommu.walkers.max(1) as usize],
            pending_walks,
            walk_regions,
            access_draws,
            walks: Walks::new(host, key, first_draw),
            walked: (0, Picoseconds::ZERO),
            times,
        }
    }

    /// The root complex for a device with one transaction in flight.
    pub(crate) fn one_at_a_time(self) -> Self {
        Self { walks: self.walks.one_at_a_time(), ..self }
    }

    /// Exchanges what devices below one root complex share; gates and orders of a device stay.
    pub(crate) fn swap_host(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.state, &mut other.state);
        std::mem::swap(&mut self.notes_lines, &mut other.notes_lines);
        std::mem::swap(&mut self.write_pool, &mut other.write_pool);
        std::mem::swap(&mut self.read_pool, &mut other.read_pool);
        std::mem::swap(&mut self.memory, &mut other.memory);
        std::mem::swap(&mut self.walkers, &mut other.walkers);
        std::mem::swap(&mut self.pending_walks, &mut other.pending_walks);
        std::mem::swap(&mut self.walk_regions, &mut other.walk_regions);
        std::mem::swap(&mut self.walks, &mut other.walks);
        std::mem::swap(&mut self.walked, &mut other.walked);
    }

    /// Least time from the arrival of a read request until its data are available.
    pub(crate) fn least_read(&self) -> Picoseconds {
        self.times.least_read()
    }

    /// A read request arrives; returns when its credit is back, and when its data are available.
    #[inline(always)]
    pub(crate) fn admit(&mut self, piece: Piece, now: Picoseconds) -> (Picoseconds, Picoseconds) {
        let Admission { admitted, data, .. } = self.admit_in_steps(piece, now);
        (admitted + self.times.credit_return, data)
    }

    /// [`Self::admit`], with the time of each step.
    pub(crate) fn read_steps(&mut self, piece: Piece, now: Picoseconds) -> ReadSteps {
        let walks = self.walked.0;
        let Admission { looked_up, translated, admitted, busy, data } = self.admit_in_steps(piece, now);
        let access = if busy { &self.times.busy } else { &self.times.idle };
        let (fetch, memory) = access.cost(&self.state.caches, Self::lines(self.line_numbers, piece));
        let (walked, credit_back) = (self.walked.0 > walks, admitted + self.times.credit_return);
        ReadSteps { looked_up, translated, walked, admitted, memory, fetch, data, credit_back }
    }

    #[inline(always)]
    fn admit_in_steps(&mut self, piece: Piece, now: Picoseconds) -> Admission {
        let looked_up = now.max(self.look_up_gate);
        self.look_up_gate = looked_up + self.times.request_interval;
        let translated = self.translate_read(self.line_numbers.by_dma(piece.address), looked_up);
        let mut admitted = looked_up.max(self.request_gate).max(self.posted_done);
        if let Some(pool) = &mut self.read_pool {
            admitted = pool.take(lines_of(piece), admitted);
        }
        self.request_gate = admitted + self.times.request_interval;
        let busy = admitted < self.busy_until;
        let data = translated.max(admitted) + self.access(piece, busy);
        self.busy_until = self.busy_until.max(data);
        if let Some(pool) = &mut self.read_pool {
            pool.release_at(lines_of(piece), admitted, data);
        }
        Admission { looked_up, translated, admitted, busy, data }
    }

    /// Looks at the next reads, of `length` bytes each, and of `offsets` in the buffer.
    pub(crate) fn plan_reads(&mut self, offsets: &[u64], length: u32, reads: &mut [PlannedRead]) {
        for (read, address) in reads.iter_mut().zip(offsets) {
            let piece = Piece { address: *address, length };
            let lines = Self::lines(self.line_numbers, piece);
            let bits = self.access_draws.bits();
            let (line, line_count) = (lines.start, lines_of(piece));
            let busy_access = self.times.busy.access(&self.state.caches, lines, &self.times.refreshes, bits);
            *read = PlannedRead { line, line_count, bits, busy_access };
        }
    }

    /// [`Self::admit`] for a planned read, where nothing is written and no pool limits reads: when its data are
    /// available.
    #[inline(always)]
    pub(crate) fn admit_planned(&mut self, read: PlannedRead, now: Picoseconds) -> Picoseconds {
        // One gate: without writes and pools, the look-up and the admission of a read are at the same time.
        let admitted = now.max(self.request_gate);
        self.request_gate = admitted + self.times.request_interval;
        let translated = self.translate_read(read.line, admitted);
        let access = if admitted < self.busy_until {
            read.busy_access
        } else {
            self.access_idle(read.line..read.line + read.line_count, read.bits)
        };
        let data = translated + access;
        self.busy_until = self.busy_until.max(data);
        data
    }

    /// Whether it limits the lines of reads.
    pub(crate) fn limits_reads(&self) -> bool {
        self.read_pool.is_some()
    }

    /// From translation to data: the root complex, its jitter, the slowest line, a refresh.
    #[inline(always)]
    fn access(&mut self, piece: Piece, busy: bool) -> Picoseconds {
        // One draw for all random parts.
        let bits = self.access_draws.bits();
        let lines = Self::lines(self.line_numbers, piece);
        if busy {
            self.times.busy.access(&self.state.caches, lines, &self.times.refreshes, bits)
        } else {
            self.access_idle(lines, bits)
        }
    }

    /// A root complex under load is seldom idle, so a predicted branch is better than a conditional move,
    /// which would make each access depend on the one before.
    #[cold]
    fn access_idle(&self, lines: Range<Line>, bits: u64) -> Picoseconds {
        let access = self.times.idle.access(&self.state.caches, lines, &self.times.refreshes, bits);
        access + self.times.conflict.wait(bits)
    }

    #[inline]
    fn lines(numbers: &Lines, piece: Piece) -> Range<Line> {
        let first = numbers.by_dma(piece.address);
        first..first + lines_of(piece)
    }

    /// The CPU writes some bytes of the buffer.
    pub(crate) fn written_by_host(&mut self, piece: Piece) {
        for line in Self::lines(self.line_numbers, piece) {
            self.state.caches.write_from_host(self.line_numbers, line);
        }
    }

    /// A write TLP arrives.
    #[inline(always)]
    pub(crate) fn write(&mut self, piece: Piece, now: Picoseconds) -> Written {
        if self.write_pool.is_some() || self.memory.is_some() {
            return self.write_to_busy_memory(piece, now, self.relaxed);
        }
        self.write_in_steps(piece, now).2
    }

    /// [`Self::write`], with the time of each step.
    pub(crate) fn write_steps(&mut self, piece: Piece, now: Picoseconds) -> WriteSteps {
        let walks = self.walked.0;
        let memory = self.memory.is_some();
        let (admitted, translated, written) = if self.write_pool.is_some() || memory {
            self.write_to_busy_memory_in_steps(piece, now, self.relaxed)
        } else {
            self.write_in_steps(piece, now)
        };
        WriteSteps { admitted, translated, walked: self.walked.0 > walks, memory, written }
    }

    /// When it is admitted and translated, and what becomes of it.
    #[inline(always)]
    fn write_in_steps(&mut self, piece: Piece, now: Picoseconds) -> (Picoseconds, Picoseconds, Written) {
        let admitted = self.pass_write_gate(piece, now);
        let translated = self.translate(piece, admitted);
        // Posted writes pass in order.
        self.posted_done = self.posted_done.max(translated);
        let (passed, credits_back) = (self.posted_done, self.posted_done + self.times.credit_return);
        (admitted, translated, Written { passed, credits_back })
    }

    /// A write TLP with the relaxed-ordering attribute arrives.
    pub(crate) fn write_relaxed(&mut self, piece: Piece, now: Picoseconds) -> Written {
        if self.write_pool.is_some() || self.memory.is_some() {
            return self.write_to_busy_memory(piece, now, true);
        }
        self.write(piece, now)
    }

    /// When all writes have passed, when the gate is free, and the partial line of the last write: all that
    /// later writes depend on, without translation, pools and a saturated memory.
    pub(crate) fn writes_until(&self) -> (Picoseconds, Picoseconds, Option<(Line, Picoseconds)>) {
        let (gate_free, closed) = self.write_gate.until();
        (self.posted_done, gate_free, closed)
    }

    /// Makes the times of [`Self::writes_until`] later.
    pub(crate) fn shift_writes(&mut self, by: Picoseconds) {
        self.posted_done += by;
        self.write_gate.shift(by);
    }

    /// Admits a write, whose lines are in the caches from now on.
    #[inline(always)]
    fn pass_write_gate(&mut self, piece: Piece, now: Picoseconds) -> Picoseconds {
        let lines = Self::lines(self.line_numbers, piece);
        let admitted = self.write_gate.admit(piece, lines.clone(), now);
        if self.notes_lines {
            for line in lines {
                self.state.caches.write(self.line_numbers, line);
            }
        }
        admitted
    }

    /// A write to a host that limits the lines of writes, or whose memory writes can saturate.
    #[cold]
    fn write_to_busy_memory(&mut self, piece: Piece, now: Picoseconds, relaxed: bool) -> Written {
        self.write_to_busy_memory_in_steps(piece, now, relaxed).2
    }

    #[inline(always)]
    fn write_to_busy_memory_in_steps(
        &mut self,
        piece: Piece,
        now: Picoseconds,
        relaxed: bool,
    ) -> (Picoseconds, Picoseconds, Written) {
        let lines = lines_of(piece);
        let taken = self.write_pool.as_mut().map_or(now, |pool| pool.take(lines, now));
        let admitted = self.pass_write_gate(piece, taken);
        let translated = self.translate(piece, admitted);
        let turn = self.memory.as_mut().map_or(admitted, |memory| memory.accept(lines, admitted));
        let passed = translated.max(turn);
        self.posted_done = self.posted_done.max(passed);
        let passed = if relaxed { passed } else { self.posted_done };
        let Some(pool) = &mut self.write_pool else {
            let credits_back = self.posted_done + self.times.credit_return;
            return (admitted, translated, Written { passed, credits_back });
        };
        pool.release_at(lines, taken, passed + self.times.write_hold);
        (admitted, translated, Written { passed, credits_back: admitted + self.times.credit_return })
    }

    /// What the host has done so far.
    pub(crate) fn host_use(&self) -> HostUse {
        let [write_pool, _] = self.pool_use();
        HostUse {
            walks: self.walked.0,
            walkers_busy: self.walked.1,
            walkers: self.walkers.len() as u32,
            memory: self.memory.as_ref().map_or(Picoseconds::ZERO, MemoryQueue::served),
            write_pool: write_pool.unwrap_or_default(),
            write_pool_lines: self.system.host.root_complex.write_pool_lines.unwrap_or(0),
        }
    }

    /// Use of the pools for writes and for reads so far; `None` without one.
    pub(crate) fn pool_use(&self) -> [Option<PoolUse>; 2] {
        [&self.write_pool, &self.read_pool].map(|pool| pool.as_ref().map(LinePool::use_of))
    }

    /// The same for a write without others in flight: a read after it waits until its lines are written.
    pub(crate) fn write_alone(&mut self, piece: Piece, now: Picoseconds) -> Written {
        let host = &self.system.host;
        let lines = Self::lines(self.line_numbers, piece);
        let admitted = self.write_gate.admit(piece, lines.clone(), now);
        let translated = self.translate(piece, admitted);
        let caches = &mut self.state.caches;
        let written = write_lines(
            &host.memory,
            caches,
            self.line_numbers,
            lines.start,
            piece.address,
            u64::from(piece.length),
        );
        let write = Picoseconds::from_ns(host.root_complex.write_ns);
        self.posted_done = self.posted_done.max(translated + written.cost + write);
        Written { passed: self.posted_done, credits_back: translated + self.times.credit_return }
    }

    /// A posted TLP that is not for memory arrives: it passes behind the writes so far.
    pub(crate) fn pass_message(&mut self, now: Picoseconds) -> Written {
        self.posted_done = self.posted_done.max(now);
        Written { passed: self.posted_done, credits_back: self.posted_done + self.times.credit_return }
    }

    /// When the address of a TLP admitted at `at` is translated.
    #[inline(always)]
    fn translate(&mut self, piece: Piece, at: Picoseconds) -> Picoseconds {
        match self.state.io_tlb.page(self.line_numbers.by_dma(piece.address)) {
            Some(page) => self.translate_page(page, at),
            None => at,
        }
    }

    /// When a read with this first line, admitted at `at`, leaves the IOMMU.
    #[inline(always)]
    fn translate_read(&mut self, line: Line, at: Picoseconds) -> Picoseconds {
        let Some(page) = self.state.io_tlb.page(line) else { return at };
        let translated = self.translate_page(page, at);
        if !self.misses_in_order || translated == at {
            return translated;
        }
        self.last_miss = self.last_miss.max(translated);
        self.last_miss
    }

    fn translate_page(&mut self, page: u32, at: Picoseconds) -> Picoseconds {
        self.pending_walks.pass(at);
        let held = self.state.io_tlb.look_up(page);
        match self.pending_walks.of_page(page) {
            Some(done) => done,
            None if held => at,
            None => self.walk(page, at),
        }
    }

    fn walk(&mut self, page: u32, at: Picoseconds) -> Picoseconds {
        let (slot, at) = self.pending_walks.take_slot(page, at);
        let (walker, free_at) = earliest(&self.walkers);
        let walk = self.walks.next();
        let start = match &mut self.walk_regions {
            Some(regions) => regions.start(page, at.max(free_at), walk.busy),
            None => at.max(free_at),
        };
        self.walkers[walker] = start + walk.busy;
        self.walked = (self.walked.0 + 1, self.walked.1 + walk.busy);
        self.pending_walks.done_at(slot, start + walk.time);
        start + walk.time
    }

    /// The data of a request are available: it can be answered.
    pub(crate) fn data_ready(&mut self, request: u32, piece: Piece) {
        let cuts = Cuts::of(self.system, piece);
        let small = piece.length <= self.system.host.root_complex.small_request_bytes;
        self.completer.add(FetchedRead { request, small, cuts });
    }

    pub(crate) fn next_completion(&mut self, room: bool) -> Option<(u32, Piece, bool)> {
        self.completer.next(room)
    }

    /// Whether the next completion is the first of its request.
    pub(crate) fn is_first_completion(&self) -> bool {
        self.completer.is_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use crate::profile::IommuMode;
    use crate::test_systems::snb;
    use pcie_workload::PAGE_BYTES;

    /// When the data of reads of 64 B are available, ns, given the page and the arrival of each. Page 9 is in the
    /// IO-TLB; a walk takes 300 ns, and the rest of a read 100.
    fn data_ns(order: OrderedReads, reads: &[(u64, u64)]) -> Vec<f64> {
        let mut system = snb().system().clone();
        system.iommu = IommuMode::FourKibPages;
        let (iommu, complex) = (&mut system.host.iommu, &mut system.host.root_complex);
        (iommu.ordered_reads, iommu.walk_region_bytes) = (Some(order), 0);
        (iommu.walk_ns, iommu.walker_busy_ns, iommu.busy_walk_spread, iommu.walkers) = (300.0, 300.0, 0.0, 2);
        (complex.read_ns, complex.busy_read_ns, complex.jitter_ns, complex.busy_jitter_ns) =
            (100.0, 100.0, 0.0, 0.0);
        (complex.conflict_share, complex.request_interval_ns) = (0.0, 1.0);
        (system.host.memory.miss_ns, system.host.memory.busy_miss_ns) = (0.0, 0.0);
        (system.host.memory.untouched_ns, system.host.memory.refresh.share) = (0.0, 0.0);
        system.device.dma.busy_request_interval_ns = 1.0;
        let machine = Machine::new(system).unwrap();
        let mut state = machine.boot();
        state.io_tlb.look_up(9);
        let mut complex =
            Complex::new(machine.system(), machine.lines(), TestKey { seed: 1, test: 0 }, state, 0);
        let read = |(page, at_ns): &(u64, u64)| {
            let piece = Piece { address: page * PAGE_BYTES, length: 64 };
            complex.admit(piece, Picoseconds(at_ns * 1_000)).1.as_ns()
        };
        reads.iter().map(read).collect()
    }

    #[test]
    fn reads_that_wait_for_walks_keep_their_order_and_hits_pass_them() {
        // The third read shares the first one's walk. The fifth waits for a walker until 300.
        let reads = [(1, 0), (2, 10), (1, 20), (9, 30), (3, 40), (2, 50)];
        assert_eq!(data_ns(OrderedReads::None, &reads), [400.0, 410.0, 400.0, 130.0, 700.0, 410.0]);
        assert_eq!(data_ns(OrderedReads::Misses, &reads), [400.0, 410.0, 410.0, 130.0, 700.0, 700.0]);
        // Page 2 is held from 310 on: nothing waits for the walk of page 3.
        let later = [(2, 10), (3, 40), (4, 300), (2, 320)];
        assert_eq!(data_ns(OrderedReads::Misses, &later), [410.0, 440.0, 710.0, 420.0]);
    }
}
