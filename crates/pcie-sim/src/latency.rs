//! Latency tests: one transaction at a time, so there is nothing to interleave and each is walked from end to end.
//!
//! A read leaves the card, crosses the link, finds its lines wherever they are, comes back as completions, and is moved
//! into the card's memory piece by piece. A write-then-read pair sends the write first; the read cannot pass it.

use crate::caches::Found;
use crate::history::{Footprint, State, TestKey};
use crate::machine::Machine;
use crate::port::Port;
use crate::profile::{CommandPath, DmaPath};
use crate::refresh::refresh;
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_wire::{Piece, TlpKind};
use pcie_workload::{AddressList, LINE_BYTES, Operation, Path, Test};

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
    streams: Streams,
    window_at: Option<u64>,
}

#[derive(Debug)]
struct Streams {
    jitter: Draws,
    refresh: Draws,
    walk_refresh: Draws,
    phase: Draws,
    idle: Draws,
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
        let streams = Streams {
            jitter: key.draws(Stream::Jitter),
            refresh: key.draws(Stream::Refresh),
            walk_refresh: key.draws(Stream::WalkRefresh),
            phase: key.draws(Stream::TimerPhase),
            idle: key.draws(Stream::Idle),
        };
        let window_at = (first > 0).then(|| list.offset(first - 1));
        Self { machine, test, list, state, next: first, streams, window_at }
    }

    /// Makes the next transaction.
    pub fn step(&mut self) -> Sample {
        let number = self.next;
        self.next += 1;
        let offset = self.list.offset(number);
        let (fast, loop_time) = match (self.test.path, &self.machine.system.device.command) {
            (Path::Command, Some(command)) => self.by_command(command, number, offset),
            _ => self.by_dma(number, offset),
        };
        let latency = self.after_idling(number, fast, loop_time);
        let ticks = self.machine.tick.ticks(latency, self.streams.phase.word(number));
        Sample { latency, ticks, period: latency + loop_time }
    }

    fn by_command(&mut self, command: &CommandPath, number: u64, offset: u64) -> (Picoseconds, Picoseconds) {
        // The path drives double-word addresses.
        let offset = offset & !3;
        let bytes = self.test.size_bytes;
        let split = offset % LINE_BYTES + bytes > LINE_BYTES;
        let mut extra_ns = command.read_overhead_ns + command.read_byte_ns * bytes as f64;
        if split {
            extra_ns += command.read_split_ns;
        }
        let mut sent = Picoseconds::ZERO;
        let mut uplink = self.uplink();
        let mut written = Picoseconds::ZERO;
        if self.test.operation == Operation::LatWrrd {
            extra_ns += command.write_ns + command.write_byte_ns * bytes as f64;
            if split {
                extra_ns += command.write_split_ns - command.read_split_ns;
            }
            (sent, written) = self.write(&mut uplink, number, offset, sent);
        }
        let ended = self.read(&mut uplink, number, offset, sent, written, None);
        let (moved, loop_ns) = self.move_window(command, offset);
        (ended + Picoseconds::from_ns(extra_ns + moved), Picoseconds::from_ns(loop_ns))
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

    fn by_dma(&mut self, number: u64, offset: u64) -> (Picoseconds, Picoseconds) {
        let path = &self.machine.system.device.dma;
        let bytes = self.test.size_bytes;
        let mut uplink = self.uplink();
        let mut extra_ns = path.read_overhead_ns;
        let mut sent = Picoseconds::ZERO;
        let mut written = Picoseconds::ZERO;
        if self.test.operation == Operation::LatWrrd {
            let start = Picoseconds::from_ns(path.write_overhead_ns + path.write_byte_ns * bytes as f64);
            (sent, written) = self.write(&mut uplink, number, offset, start);
            sent += Picoseconds::from_ns(path.write_to_read_ns);
        }
        extra_ns += unaligned_ns(path, offset, self.test.device_offset_bytes, bytes);
        let ended = self.read(&mut uplink, number, offset, sent, written, Some(path));
        (ended + Picoseconds::from_ns(extra_ns), Picoseconds::from_ns(path.loop_ns))
    }

    fn uplink(&self) -> Port {
        let machine = self.machine;
        let system = &machine.system;
        Port::new(machine.link(), system.device.uplink_quantum_bytes, system.host.root_complex.uplink_stretch)
    }

    /// Sends the write of a pair at `start`; returns when its last TLP has left, and when the root complex is done with it.
    fn write(
        &mut self,
        uplink: &mut Port,
        number: u64,
        offset: u64,
        start: Picoseconds,
    ) -> (Picoseconds, Picoseconds) {
        let machine = self.machine;
        let flight = Picoseconds::from_ns(machine.system.host.root_complex.flight_ns);
        let mut sent = start;
        for piece in machine.write_tlps(offset, self.test.size_bytes) {
            sent = uplink.send(start, machine.tlp_bytes(TlpKind::MemoryWrite, piece));
        }
        let first = Footprint::new(&machine.lines, self.test, self.list).lines_at(offset).start;
        let walk = self.translate(number, first);
        let cost = machine.write_lines(&mut self.state.caches, first, offset, self.test.size_bytes);
        (sent, sent + flight + walk + cost)
    }

    /// Sends the read at `start`; returns when its last byte is where it belongs. `after` is when the write before it is
    /// done with. Data are moved on through `path`, if they are.
    fn read(
        &mut self,
        uplink: &mut Port,
        number: u64,
        offset: u64,
        start: Picoseconds,
        after: Picoseconds,
        path: Option<&DmaPath>,
    ) -> Picoseconds {
        let machine = self.machine;
        let complex = &machine.system.host.root_complex;
        let flight = Picoseconds::from_ns(complex.flight_ns);
        let mut downlink =
            Port::new(machine.link(), complex.downlink_quantum_bytes, complex.downlink_stretch);
        let first = Footprint::new(&machine.lines, self.test, self.list).lines_at(offset).start;
        let walk = self.translate(number, first);
        let mut moved = Picoseconds::ZERO;
        for (nth, request) in machine.read_requests(offset, self.test.size_bytes).enumerate() {
            let arrived = uplink.send(start, machine.tlp_bytes(TlpKind::MemoryRead, request)) + flight;
            let ready = arrived.max(after) + walk + self.access(number, nth as u64, first, offset, request);
            for piece in machine.completions(request) {
                let received =
                    downlink.send(ready, machine.tlp_bytes(TlpKind::CompletionWithData, piece)) + flight;
                moved = received.max(moved);
                if let Some(path) = path {
                    let pieces = piece.length.div_ceil(path.read_piece_bytes.max(1));
                    moved += Picoseconds::from_ns(f64::from(pieces) * path.read_piece_ns);
                }
            }
            if let Some(path) = path.filter(|_| nth > 0) {
                moved += Picoseconds::from_ns(path.next_request_ns);
            }
        }
        moved
    }

    /// From the arrival of a request to its data: the root complex, its jitter, the slowest line, a refresh.
    fn access(&self, number: u64, nth: u64, first: u32, offset: u64, request: Piece) -> Picoseconds {
        let machine = self.machine;
        let complex = &machine.system.host.root_complex;
        let skipped = (request.address / LINE_BYTES - offset / LINE_BYTES) as u32;
        let count = (request.address % LINE_BYTES + u64::from(request.length)).div_ceil(LINE_BYTES) as u32;
        let mut cost = Picoseconds::ZERO;
        let mut memory = false;
        for line in first + skipped..first + skipped + count {
            let found = self.state.caches.find(&machine.lines, line);
            memory |= matches!(found, Found::Memory { .. });
            cost = cost.max(machine.read_cost(found, false));
        }
        let draw = number * 64 + nth;
        let jitter_ns = complex.jitter_ns * (2.0 * self.streams.jitter.fraction(draw) - 1.0);
        let refresh = if memory { refresh(machine, self.streams.refresh, draw) } else { Picoseconds::ZERO };
        Picoseconds::from_ns(complex.read_ns + jitter_ns) + cost + refresh
    }

    fn translate(&mut self, number: u64, line: u32) -> Picoseconds {
        match self.state.io_tlb.page(line) {
            Some(page) if !self.state.io_tlb.look_up(page) => {
                Picoseconds::from_ns(self.machine.system.host.iommu.walk_ns)
                    + refresh(self.machine, self.streams.walk_refresh, number)
            }
            _ => Picoseconds::ZERO,
        }
    }

    /// Stretches a transaction on a machine that goes to sleep between them.
    fn after_idling(&self, number: u64, fast: Picoseconds, gap: Picoseconds) -> Picoseconds {
        let Some(idle) = &self.machine.system.host.idle else {
            return fast;
        };
        // A DMA waits on the card before its first TLP: the link is idle for that long too.
        let on_card_ns = match self.test.path {
            Path::Dma => self.machine.system.device.dma.read_overhead_ns / 2.0,
            Path::Command => 0.0,
        };
        let long = gap.as_ns() + on_card_ns > idle.gap_ns;
        let fast_share = if long { idle.fast_share_long_gap } else { idle.fast_share_short_gap };
        if self.streams.idle.fraction(3 * number) < fast_share {
            return fast;
        }
        let mut place = self.streams.idle.fraction(3 * number + 1);
        for cluster in &idle.clusters {
            if place < cluster.share {
                let within = self.streams.idle.fraction(3 * number + 2);
                return Picoseconds::from_ns(cluster.low_ns + within * (cluster.high_ns - cluster.low_ns));
            }
            place -= cluster.share;
        }
        (fast + Picoseconds::from_ns(idle.wake_ns)).max(Picoseconds::from_ns(idle.wake_floor_ns))
    }
}

fn unaligned_ns(path: &DmaPath, host_offset: u64, device_offset: u64, bytes: u64) -> f64 {
    let word = u64::from(path.engine.word_bytes);
    let start = if !host_offset.is_multiple_of(word) || !device_offset.is_multiple_of(word) {
        path.unaligned_start_ns
    } else {
        0.0
    };
    let tail = if !(device_offset + bytes).is_multiple_of(word) { path.partial_tail_ns } else { 0.0 };
    start + tail
}
