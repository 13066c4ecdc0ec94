//! The host's part in a transaction without others in flight: translation, lines, refreshes, and completions.

use super::chance::Chance;
use super::plan::{Completion, Plan, ReadTimes, Request, Write};
use super::watch::Watch;
use crate::cache::history::State;
use crate::cache::lines::Line;
use crate::link::port::Port;
use crate::machine::Machine;
use crate::root_complex::conflict::Conflict;
use crate::root_complex::line_costs::{ReadCosts, write_lines};
use crate::root_complex::refresh::RefreshLine;
use pcie_time::Picoseconds;

/// A transaction on its way through the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) offset: u64,
    pub(super) first_line: Line,
    pub(super) chance: Chance,
}

#[derive(Debug)]
pub(super) struct Host<'a> {
    machine: &'a Machine,
    state: State,
    uplink: Port,
    downlink: Port,
    costs: ReadCosts,
    refresh: RefreshLine,
    refresh_of_hits: RefreshLine,
    conflict: Conflict,
    walk: Picoseconds,
    write: Picoseconds,
    flight: Picoseconds,
    /// Least time between two read requests.
    request_interval: Picoseconds,
}

impl<'a> Host<'a> {
    pub(super) fn new(machine: &'a Machine, mut state: State, (uplink, downlink): (Port, Port)) -> Self {
        let host = &machine.system.host;
        state.io_tlb.set_capacity(host.iommu.tlb.entries);
        Self {
            machine,
            costs: ReadCosts::new(&host.memory, &state.caches, machine.lines(), false),
            state,
            uplink,
            downlink,
            refresh: RefreshLine::new(&host.memory.refresh),
            refresh_of_hits: RefreshLine::of_hits(&host.memory.refresh),
            conflict: Conflict::new(&host.root_complex),
            walk: Picoseconds::from_ns(host.iommu.walk_ns),
            write: Picoseconds::from_ns(host.root_complex.write_ns),
            flight: machine.flight(),
            request_interval: Picoseconds::from_ns(machine.system.device.dma.request_interval_ns),
        }
    }

    /// Makes both ports idle, when their flits have been under way for `phases` of 2^32 parts. What they send next has
    /// the number `first` among what can be damaged.
    pub(super) fn start_flits(&mut self, phases: (u32, u32), first: u64) {
        self.uplink.start_flits(phases.0, first);
        self.downlink.start_flits(phases.1, first);
    }

    pub(super) fn into_state(self) -> State {
        self.state
    }

    /// Admits a write; returns when a read behind it may proceed.
    pub(super) fn write(
        &mut self,
        passage: Passage,
        write: &Write,
        bytes: u64,
        watch: &mut impl Watch,
    ) -> Picoseconds {
        let mut translated = write.last;
        for (first_line, entered) in &write.pages {
            let done = self.translate(passage, *first_line, *entered);
            watch.walk(*entered, done);
            translated = translated.max(done);
        }
        let caches = &mut self.state.caches;
        let memory = &self.machine.system.host.memory;
        let lines = self.machine.lines();
        let written = write_lines(memory, caches, lines, passage.first_line, passage.offset, bytes);
        let waited = if written.from_memory { self.wait(passage, translated) } else { Picoseconds::ZERO };
        watch.written(translated, written.cost + waited, self.write);
        translated + written.cost + waited + self.write
    }

    /// Answers the requests of a read, none before `after`. Returns when the last byte is at the device; for
    /// a read longer than a page, when the device's engine has moved it.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        passage: Passage,
        plan: &Plan,
        times: &[ReadTimes],
        after: Picoseconds,
        watch: &mut impl Watch,
    ) -> Picoseconds {
        let conflict = self.conflict.wait(passage.chance.bits());
        let requests = plan.requests.as_slice();
        if let [request] = requests
            && let [completion] = request.completions[..]
            && self.downlink.is_plain()
        {
            let arrival = request.arrival.max(after);
            let translated = self.translate(passage, 0, arrival);
            watch.request((request.arrival, arrival), translated, conflict);
            let ready = self.access(passage, translated + conflict, &completion, times, watch);
            watch.completion(ready, ready, ready + completion.downlink_time);
            return ready + completion.downlink_time + self.flight;
        }
        if requests.last().is_some_and(|last| last.behind > 0) || plan.moves.is_some() {
            return self.read_in_part(passage, plan, times, after, watch);
        }
        let mut downlink = self.downlink.clone();
        let mut last = Picoseconds::ZERO;
        for request in requests {
            let arrival = request.arrival.max(after);
            let translated = self.translate(passage, request.first_line, arrival);
            watch.request((request.arrival, arrival), translated, conflict);
            last = self.answer(passage, request, translated + conflict, (times, &mut downlink), watch);
        }
        last
    }

    /// Sends the completions of a request; returns when the last one is at the device.
    #[inline(always)]
    fn answer(
        &self,
        passage: Passage,
        request: &Request,
        admitted: Picoseconds,
        (times, downlink): (&[ReadTimes], &mut Port),
        watch: &mut impl Watch,
    ) -> Picoseconds {
        let mut last = Picoseconds::ZERO;
        for completion in &request.completions {
            let ready = self.access(passage, admitted, completion, times, watch) + completion.held_up;
            let start = downlink.free_at().max(ready);
            let left = downlink.send_units(ready, completion.downlink_bytes);
            watch.completion(ready, start.min(left), left);
            last = left + self.flight;
        }
        last
    }

    /// Answers a read whose later requests wait for the data of earlier ones.
    #[cold]
    fn read_in_part(
        &mut self,
        passage: Passage,
        plan: &Plan,
        times: &[ReadTimes],
        after: Picoseconds,
        watch: &mut impl Watch,
    ) -> Picoseconds {
        let conflict = self.conflict.wait(passage.chance.bits());
        let mut downlink = self.downlink.clone();
        let mut answered: Vec<Picoseconds> = Vec::with_capacity(plan.requests.len());
        let (mut arrival, mut moved) = (Picoseconds::ZERO, Picoseconds::ZERO);
        for request in &plan.requests {
            arrival = match request.behind.checked_sub(1) {
                None => request.arrival.max(after),
                Some(before) => {
                    (arrival + self.request_interval).max(self.arrival(answered[before], request))
                }
            };
            let translated = self.translate(passage, request.first_line, arrival);
            watch.request((arrival, arrival), translated, conflict);
            let last = self.answer(passage, request, translated + conflict, (times, &mut downlink), watch);
            answered.push(last);
            moved = moved.max(last) + plan.moves.unwrap_or(Picoseconds::ZERO);
        }
        moved
    }

    /// When a request arrives that the device sends at `ready` on an idle uplink.
    fn arrival(&self, ready: Picoseconds, request: &Request) -> Picoseconds {
        if !self.uplink.is_plain() {
            return self.uplink.clone().send(ready, request.bytes) + self.flight;
        }
        ready + request.way
    }

    /// When the data of a completion are available: lines are fetched in order, and the slowest counts.
    #[inline(always)]
    fn access(
        &self,
        passage: Passage,
        admitted: Picoseconds,
        completion: &Completion,
        times: &[ReadTimes],
        watch: &mut impl Watch,
    ) -> Picoseconds {
        let first = passage.first_line + completion.first_line;
        let (cost, memory) = self.costs.of_lines(&self.state.caches, first..first + completion.lines);
        let fetched = admitted + completion.fetched;
        let refresh = if memory { self.refresh } else { self.refresh_of_hits };
        let waited = refresh.wait(passage.chance.refresh_phase(), fetched);
        let ready = fetched + cost + waited + times[completion.reads].of(passage.chance);
        watch.access(admitted, cost + waited, memory, ready);
        ready
    }

    /// When the address of a TLP that arrives at `at` is translated, for a line of the transaction.
    #[inline(always)]
    fn translate(&mut self, passage: Passage, line: u32, at: Picoseconds) -> Picoseconds {
        match self.state.io_tlb.page(passage.first_line + line) {
            Some(page) if !self.state.io_tlb.look_up(page) => at + self.wait(passage, at) + self.walk,
            _ => at,
        }
    }

    #[inline]
    fn wait(&self, passage: Passage, at: Picoseconds) -> Picoseconds {
        self.refresh.wait(passage.chance.refresh_phase(), at)
    }
}
