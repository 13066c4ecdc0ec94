//! Latency tests: one transaction at a time, so there is nothing to interleave and each is walked from end to end.
//!
//! A read leaves the card, crosses the link, finds its lines wherever they are, and comes back as completions, which the
//! card's data engine moves on once all of them are there. A write-then-read pair sends the write first; the read cannot
//! pass it.

mod card;
mod chance;

use crate::caches::Found;
use crate::history::{Footprint, State, TestKey};
use crate::idle::{Alone, Sleeper};
use crate::lines::Line;
use crate::machine::Machine;
use crate::port::Port;
use crate::profile::CommandPath;
use crate::refresh::RefreshLine;
use crate::write_gate::WriteGate;
use card::{moving_time, pulling_time};
use chance::Chance;
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_wire::{Piece, TlpKind};
use pcie_workload::{AddressList, LINE_BYTES, Operation, Path, Test};
use std::ops::Range;

/// What one transaction took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From issue to completion.
    pub latency: Picoseconds,
    /// The same as the card's timer shows it.
    pub ticks: u64,
    /// From one issue to the next, the loop included.
    pub period: Picoseconds,
}

/// A latency test going on.
#[derive(Debug)]
pub struct LatencyRun<'a> {
    machine: &'a Machine,
    test: &'a Test,
    list: &'a AddressList,
    state: State,
    next: u64,
    draws: Draws,
    sleeper: Option<Sleeper<'a>>,
    window_at: Option<u64>,
}

/// A transaction that is being walked through the machine.
#[derive(Clone, Copy, Debug)]
struct Passage {
    /// Offset in the buffer of its first byte.
    offset: u64,
    /// Its first line.
    first_line: Line,
    chance: Chance,
    refresh: RefreshLine,
}

impl Passage {
    /// The lines of a piece of the transfer.
    fn lines(&self, piece: Piece) -> Range<Line> {
        let skipped = piece.address / LINE_BYTES - self.offset / LINE_BYTES;
        let count = (piece.address % LINE_BYTES + u64::from(piece.length)).div_ceil(LINE_BYTES);
        let first = self.first_line + skipped as Line;
        first..first + count as Line
    }
}

/// When the last line of a write TLP starts to arrive, which is sent from `head` to `tail`: lines are cut through.
fn start_of_last_line(piece: Piece, head: Picoseconds, tail: Picoseconds) -> Picoseconds {
    let length = u64::from(piece.length);
    let last = (piece.address + length - 1) % LINE_BYTES + 1;
    head + Picoseconds(tail.since(head).0 * length.saturating_sub(last) / length)
}

impl<'a> LatencyRun<'a> {
    /// Starts at transaction `first`, with the machine in the state in which the transactions before it left it.
    #[must_use]
    pub fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        mut state: State,
        first: u64,
    ) -> Self {
        state.io_tlb.set_capacity(machine.system.host.iommu.tlb.entries);
        let window_at = (first > 0).then(|| list.offset(first - 1));
        let sleeper = machine.system.host.idle.as_ref().map(|states| Sleeper::new(states, key));
        let draws = key.draws(Stream::Transaction);
        Self { machine, test, list, state, next: first, draws, sleeper, window_at }
    }

    /// Makes the next transaction.
    pub fn step(&mut self) -> Sample {
        let number = self.next;
        self.next += 1;
        let passage = self.passage(number);
        let alone = match (self.test.path, &self.machine.system.device.command) {
            (Path::Command, Some(command)) => self.by_command(command, passage),
            _ => self.by_dma(passage),
        };
        let latency = self.sleeper.as_ref().map_or(alone.latency, |sleeper| sleeper.latency(number, alone));
        let ticks = self.machine.tick.ticks(latency, passage.chance.timer_phase());
        Sample { latency, ticks, period: latency + alone.loop_time }
    }

    fn passage(&self, number: u64) -> Passage {
        let offset = match self.test.path {
            Path::Dma => self.list.offset(number),
            // The command path drives double-word addresses.
            Path::Command => self.list.offset(number) & !3,
        };
        let chance = Chance::new(self.draws.bits(number));
        let first_line = Footprint::new(&self.machine.lines, self.test, self.list).lines_at(offset).start;
        let refresh = RefreshLine::new(&self.machine.system.host.memory.refresh, chance.refresh_place());
        Passage { offset, first_line, chance, refresh }
    }

    fn by_command(&mut self, command: &CommandPath, passage: Passage) -> Alone {
        let complex = &self.machine.system.host.root_complex;
        let bytes = self.test.size_bytes;
        let split = passage.offset % LINE_BYTES + bytes > LINE_BYTES;
        let mut extra_ns = command.read_overhead_ns + command.read_byte_ns * bytes as f64;
        if split {
            extra_ns += command.read_split_ns;
        }
        let mut sent = Picoseconds::ZERO;
        let mut uplink = self.uplink();
        let mut written = Picoseconds::ZERO;
        let (moved_ns, mut loop_ns) = self.move_window(command, passage.offset);
        if self.test.operation == Operation::LatWrrd {
            extra_ns += command.write_byte_ns * bytes as f64;
            loop_ns += command.write_loop_ns + command.write_loop_byte_ns * bytes as f64;
            if split {
                extra_ns += command.write_split_ns - command.read_split_ns;
            }
            (sent, written) = self.write(&mut uplink, passage, sent);
        }
        let ended = self.read(&mut uplink, passage, sent, written);
        Alone {
            latency: ended + Picoseconds::from_ns(extra_ns + moved_ns),
            on_card: Picoseconds::from_ns(command.read_overhead_ns),
            behind_write: written.since(sent + Picoseconds::from_ns(complex.flight_ns)),
            loop_time: Picoseconds::from_ns(loop_ns),
        }
    }

    /// Extra latency and the loop time, given where the window register points and where it has to.
    fn move_window(&mut self, command: &CommandPath, offset: u64) -> (f64, f64) {
        let Some(window) = &command.bar_window else {
            return (0.0, command.loop_ns);
        };
        let place = offset / window.window_bytes.max(1);
        let before = self.window_at.replace(offset).map(|at| at / window.window_bytes.max(1));
        if before == Some(place) {
            (0.0, command.loop_ns)
        } else {
            (window.moved_ns, command.loop_ns + window.move_ns)
        }
    }

    fn by_dma(&mut self, passage: Passage) -> Alone {
        let path = &self.machine.system.device.dma;
        let bytes = self.test.size_bytes;
        let mut uplink = self.uplink();
        let mut start = Picoseconds::ZERO;
        let mut written = Picoseconds::ZERO;
        if self.test.operation == Operation::LatWrrd {
            let pulled = Picoseconds::from_ns(path.write_overhead_ns)
                + pulling_time(path, self.test.device_offset_bytes, bytes);
            let sent;
            (sent, written) = self.write(&mut uplink, passage, pulled);
            start = (pulled + Picoseconds::from_ns(path.write_to_read_ns))
                .max(sent + Picoseconds::from_ns(path.write_acknowledged_ns));
        }
        let arrived = self.read(&mut uplink, passage, start, written);
        let moving = moving_time(path, passage.offset, self.test.device_offset_bytes, bytes);
        let on_card = Picoseconds::from_ns(path.read_overhead_ns);
        // The read of a pair is enqueued when the write is long done with.
        let behind_write = Picoseconds::ZERO;
        let loop_time = Picoseconds::from_ns(path.loop_ns);
        Alone { latency: arrived + moving + on_card, on_card, behind_write, loop_time }
    }

    fn uplink(&self) -> Port {
        let machine = self.machine;
        let system = &machine.system;
        Port::new(machine.link(), system.device.uplink_quantum_bytes, system.host.root_complex.uplink_stretch)
            .with_gap(system.device.uplink_gap_bytes)
    }

    /// Sends the write of a pair at `start`; returns when its last TLP has left, and when a read behind it may go on.
    fn write(
        &mut self,
        uplink: &mut Port,
        passage: Passage,
        start: Picoseconds,
    ) -> (Picoseconds, Picoseconds) {
        let machine = self.machine;
        let complex = &machine.system.host.root_complex;
        let flight = Picoseconds::from_ns(complex.flight_ns);
        let mut gate = WriteGate::new(complex);
        let (mut sent, mut entered) = (start, start + flight);
        for piece in machine.write_tlps(passage.offset, self.test.size_bytes) {
            let head = uplink.free_at().max(start);
            sent = uplink.send(start, machine.tlp_bytes(TlpKind::MemoryWrite, piece));
            let last_line = start_of_last_line(piece, head, sent);
            entered = gate.admit(piece, passage.lines(piece), last_line + flight);
        }
        let translated = self.translate(passage, entered);
        let bytes = self.test.size_bytes;
        let written = machine.write_lines(&mut self.state.caches, passage.first_line, passage.offset, bytes);
        let waited = if written.from_memory { passage.refresh.wait(translated) } else { Picoseconds::ZERO };
        (sent, translated + written.cost + waited + Picoseconds::from_ns(complex.write_ns))
    }

    /// Sends the read at `start`; returns when its last byte has arrived. `after` is when the write before it is done with.
    fn read(
        &mut self,
        uplink: &mut Port,
        passage: Passage,
        start: Picoseconds,
        after: Picoseconds,
    ) -> Picoseconds {
        let machine = self.machine;
        let complex = &machine.system.host.root_complex;
        let flight = Picoseconds::from_ns(complex.flight_ns);
        let mut downlink =
            Port::new(machine.link(), complex.downlink_quantum_bytes, complex.downlink_stretch);
        let mut last = Picoseconds::ZERO;
        let mut issued = start;
        for request in machine.read_requests(passage.offset, self.test.size_bytes) {
            let sent = uplink.send(issued, machine.tlp_bytes(TlpKind::MemoryRead, request));
            issued += Picoseconds::from_ns(machine.system.device.dma.request_interval_ns);
            let admitted = self.translate(passage, (sent + flight).max(after));
            for (nth, piece) in machine.completions(request).enumerate() {
                let ready = self.access(passage, admitted, request, piece)
                    + Picoseconds::from_ns(nth as f64 * complex.completion_interval_ns);
                last = downlink.send(ready, machine.tlp_bytes(TlpKind::CompletionWithData, piece)) + flight;
            }
        }
        last
    }

    /// When the data of one completion are there: its lines are fetched after those before it, and the slowest counts.
    fn access(&self, passage: Passage, admitted: Picoseconds, request: Piece, piece: Piece) -> Picoseconds {
        let machine = self.machine;
        let complex = &machine.system.host.root_complex;
        let interval_ns = complex.line_interval_ns;
        let before = (piece.address / LINE_BYTES - request.address / LINE_BYTES) as f64;
        let lines = passage.lines(piece);
        let count = lines.end - lines.start;
        let mut cost = Picoseconds::ZERO;
        let mut memory = false;
        for line in lines {
            let found = self.state.caches.find(&machine.lines, line);
            memory |= matches!(found, Found::Memory { .. });
            cost = cost.max(machine.read_cost(found, false));
        }
        let fetched = admitted + Picoseconds::from_ns(before * interval_ns);
        let waited = if memory { passage.refresh.wait(fetched) } else { Picoseconds::ZERO };
        let jitter_ns = complex.jitter_ns * passage.chance.jitter();
        let within_ns = f64::from(count - 1) * interval_ns;
        fetched + cost + waited + Picoseconds::from_ns(complex.read_ns + jitter_ns + within_ns)
    }

    /// When the address of a TLP that arrived at `at` is translated.
    fn translate(&mut self, passage: Passage, at: Picoseconds) -> Picoseconds {
        match self.state.io_tlb.page(passage.first_line) {
            Some(page) if !self.state.io_tlb.look_up(page) => {
                let walk = Picoseconds::from_ns(self.machine.system.host.iommu.walk_ns);
                at + passage.refresh.wait(at) + walk
            }
            _ => at,
        }
    }
}
