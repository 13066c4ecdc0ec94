//! The part of a latency test's transactions that depends neither on chance nor on caches.
//!
//! Alone in flight, a transaction's TLP times depend only on its alignment class: one plan for each class.

use super::card::{moving_time, pulling_time};
use super::chance::{Chance, JITTERS, jitters};
use crate::cache::lines::Line;
use crate::link::alignment::{AlignmentClass, AlignmentClasses};
use crate::link::port::Port;
use crate::machine::Machine;
use crate::profile::{CommandPath, DmaPath, RootComplex};
use crate::root_complex::write_gate::WriteGate;
use pcie_time::Picoseconds;
use pcie_wire::{Piece, TlpKind};
use pcie_workload::{LINE_BYTES, Operation, PAGE_BYTES, Path, Test};

/// The TLPs of a transaction, and their times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) written: Option<Write>,
    pub(super) requests: Vec<Request>,
    /// The device's time after the last byte has arrived.
    pub(super) on_card: Picoseconds,
    /// The same if it moves its window register first.
    pub(super) on_card_moved: Picoseconds,
    /// For a transfer longer than a page, the engine's time for the data of a request, while others arrive.
    pub(super) moves: Option<Picoseconds>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    /// The first line of each page, counted from that of the transaction, and when the page's first TLP is
    /// admitted to the root complex, which then starts the translation.
    pub(super) pages: Vec<(u32, Picoseconds)>,
    /// When its last TLP is admitted.
    pub(super) last: Picoseconds,
    pub(super) arrived: Picoseconds,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    /// When it arrives at the root complex, if it need not wait.
    pub(super) arrival: Picoseconds,
    /// Requests before it that must be answered first, for its tag and its space for completions.
    pub(super) behind: usize,
    /// Its bytes on the link.
    pub(super) bytes: u32,
    /// Its time to the root complex on an idle uplink without flits.
    pub(super) way: Picoseconds,
    /// Its first line, counted from that of the transaction.
    pub(super) first_line: u32,
    pub(super) completions: Vec<Completion>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Completion {
    /// Its first line, counted from that of the transaction.
    pub(super) first_line: u32,
    pub(super) lines: u32,
    /// From the admission of the request until its first line is fetched, behind the lines before it.
    pub(super) fetched: Picoseconds,
    /// Index of the table of times from then until it is ready, without the costs of caches.
    pub(super) reads: usize,
    /// Delay behind the completions before it.
    pub(super) held_up: Picoseconds,
    /// Its bytes and time on an idle downlink.
    pub(super) downlink_bytes: u64,
    pub(super) downlink_time: Picoseconds,
}

#[derive(Debug)]
pub(super) struct Plans<'a> {
    machine: &'a Machine,
    test: &'a Test,
    uplink: Port,
    downlink: Port,
    classes: AlignmentClasses,
    plans: Vec<Plan>,
    reads: Vec<ReadTimes>,
}

/// Times of reads in the root complex, by jitter.
#[derive(Debug)]
pub(super) struct ReadTimes {
    /// From the first line of a completion to its last.
    within_ns: f64,
    times: Box<[Picoseconds; JITTERS]>,
}

impl ReadTimes {
    fn new(root: &RootComplex, within_ns: f64) -> Self {
        let mut times = Box::new([Picoseconds::ZERO; JITTERS]);
        for (time, jitter) in times.iter_mut().zip(jitters()) {
            *time = Picoseconds::from_ns(root.read_ns + root.jitter_ns * jitter + within_ns);
        }
        Self { within_ns, times }
    }

    #[inline]
    pub(super) fn of(&self, chance: Chance) -> Picoseconds {
        self.times[chance.jitter()]
    }
}

impl<'a> Plans<'a> {
    pub(super) fn new(machine: &'a Machine, test: &'a Test, (uplink, downlink): (Port, Port)) -> Self {
        Self {
            machine,
            test,
            uplink,
            downlink,
            classes: AlignmentClasses::new(&machine.system, test.size_bytes),
            plans: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// The plan of a transaction at an offset of the buffer, and the tables that plans refer to.
    #[inline(always)]
    pub(super) fn at(&mut self, offset: u64) -> (&Plan, &[ReadTimes]) {
        if !self.uplink.is_plain() {
            return self.afresh(offset);
        }
        let class = self.classes.of(offset);
        let number = match self.classes.number(class) {
            Some(number) => number,
            None => self.compute(offset, class),
        };
        (&self.plans[number], &self.reads)
    }

    /// Makes both ports idle, when their flits have been under way for `phases` of 2^32 parts. What they send next has
    /// the number `first` among what can be damaged.
    pub(super) fn start_flits(&mut self, phases: (u32, u32), first: u64) {
        self.uplink.start_flits(phases.0, first);
        self.downlink.start_flits(phases.1, first);
    }

    /// The plan of a transaction whose times depend on the flits that it meets, or on what is sent again.
    #[cold]
    fn afresh(&mut self, offset: u64) -> (&Plan, &[ReadTimes]) {
        let plan = self.plan(offset);
        self.plans.clear();
        self.plans.push(plan);
        (&self.plans[0], &self.reads)
    }

    fn plan(&mut self, offset: u64) -> Plan {
        match (self.test.path, &self.machine.system.device.command) {
            (Path::Command, Some(command)) => self.by_command(command, offset),
            _ => self.by_dma(offset),
        }
    }

    #[cold]
    fn compute(&mut self, offset: u64, class: AlignmentClass) -> usize {
        let plan = self.plan(offset);
        // Most classes have equal plans.
        let known = self.plans.iter().position(|known| *known == plan);
        let number = known.unwrap_or_else(|| {
            self.plans.push(plan);
            self.plans.len() - 1
        });
        self.classes.set_number(class, number);
        number
    }

    fn by_command(&mut self, command: &CommandPath, offset: u64) -> Plan {
        let bytes = self.test.size_bytes;
        let split = offset % LINE_BYTES + bytes > LINE_BYTES;
        let mut extra_ns = command.read_overhead_ns + command.read_byte_ns * bytes as f64;
        if split {
            extra_ns += command.read_split_ns;
        }
        let mut uplink = self.uplink.clone();
        let (mut sent, mut written) = (Picoseconds::ZERO, None);
        if self.test.operation == Operation::LatWrrd {
            extra_ns += command.write_byte_ns * bytes as f64;
            if split {
                extra_ns += command.write_split_ns - command.read_split_ns;
            }
            let write;
            (sent, write) = self.write(&mut uplink, offset, sent);
            written = Some(write);
        }
        let moved_ns = command.bar_window.as_ref().map_or(0.0, |window| window.moved_ns);
        Plan {
            written,
            requests: self.requests(&mut uplink, offset, sent),
            on_card: Picoseconds::from_ns(extra_ns),
            on_card_moved: Picoseconds::from_ns(extra_ns + moved_ns),
            moves: None,
        }
    }

    fn by_dma(&mut self, offset: u64) -> Plan {
        let path = &self.machine.system.device.dma;
        let bytes = self.test.size_bytes;
        let mut uplink = self.uplink.clone();
        let (mut start, mut written) = (Picoseconds::ZERO, None);
        if self.test.operation == Operation::LatWrrd {
            let pulled = self.pulled();
            let (sent, write) = self.write(&mut uplink, offset, pulled);
            start = (pulled + Picoseconds::from_ns(path.write_to_read_ns))
                .max(sent + Picoseconds::from_ns(path.write_acknowledged_ns));
            written = Some(write);
        }
        let requests = self.requests(&mut uplink, offset, start);
        let overhead = Picoseconds::from_ns(path.read_overhead_ns);
        let (on_card, moves) = if bytes > PAGE_BYTES {
            let moved_ns = path.engine.segment_ns / f64::from(path.engine.segment_bytes)
                * before_passing_on(path, u64::from(self.machine.system.link.mrrs_bytes)) as f64;
            (overhead + Picoseconds::from_ns(path.engine.read_fixed_ns), Some(Picoseconds::from_ns(moved_ns)))
        } else {
            let stored = before_passing_on(path, bytes);
            (overhead + moving_time(path, offset, self.test.device_offset_bytes, stored), None)
        };
        Plan { written, requests, on_card, on_card_moved: on_card, moves }
    }

    /// Sends the write of a pair at `start`; returns when its last TLP has left, and its plan.
    fn write(&self, uplink: &mut Port, offset: u64, start: Picoseconds) -> (Picoseconds, Write) {
        self.write_noted(uplink, offset, start, &mut |_, _| ())
    }

    /// The TLPs of the write of a pair, from when to when each is sent; none without a write.
    pub(super) fn write_tlps(&self, offset: u64) -> Vec<(Piece, (Picoseconds, Picoseconds))> {
        let mut sent = Vec::new();
        if self.test.operation == Operation::LatWrrd {
            let start = match self.test.path {
                Path::Dma => self.pulled(),
                Path::Command => Picoseconds::ZERO,
            };
            self.write_noted(&mut self.uplink.clone(), offset, start, &mut |piece, span| {
                sent.push((piece, span));
            });
        }
        sent
    }

    /// When the device has read the first TLP of a write from its memory.
    fn pulled(&self) -> Picoseconds {
        let path = &self.machine.system.device.dma;
        let bytes = self.test.size_bytes;
        // In a transfer longer than a page, a page leaves while the next is pulled.
        let whole_tlp_bytes = bytes.min(u64::from(self.machine.system.link.mps_bytes));
        Picoseconds::from_ns(path.write_overhead_ns)
            + Picoseconds::from_ns(path.write_byte_ns * whole_tlp_bytes as f64)
            + pulling_time(
                path,
                self.test.device_offset_bytes,
                before_passing_on(path, bytes.min(PAGE_BYTES)),
            )
    }

    fn write_noted(
        &self,
        uplink: &mut Port,
        offset: u64,
        start: Picoseconds,
        note: &mut impl FnMut(Piece, (Picoseconds, Picoseconds)),
    ) -> (Picoseconds, Write) {
        let machine = self.machine;
        let mut gate = WriteGate::new(&machine.system.host.root_complex);
        let path = &machine.system.device.dma;
        let page_pull = pulling_time(path, 0, before_passing_on(path, PAGE_BYTES));
        let (mut sent, mut last, mut pages) = (start, start, Vec::<(u32, Picoseconds)>::new());
        for piece in machine.write_tlps(offset, self.test.size_bytes) {
            let page = piece.address / PAGE_BYTES - offset / PAGE_BYTES;
            let ready = start + Picoseconds(page_pull.0 * page);
            let free_at = uplink.free_at().max(ready);
            sent = uplink.send(ready, machine.tlp_bytes(TlpKind::MemoryWrite, piece));
            note(piece, (free_at.min(sent), sent));
            // A flit arrives as a whole.
            let head = if uplink.has_flits() { sent } else { free_at };
            let first = (piece.address / LINE_BYTES) as Line;
            let lines = first..first + line_count(piece);
            last = gate.admit(piece, lines, start_of_last_line(piece, head, sent) + self.flight());
            if pages.len() as u64 == page {
                pages.push(((piece.address / LINE_BYTES - offset / LINE_BYTES) as u32, last));
            }
        }
        (sent, Write { pages, last, arrived: sent + self.flight() })
    }

    fn requests(&mut self, uplink: &mut Port, offset: u64, start: Picoseconds) -> Vec<Request> {
        let machine = self.machine;
        let interval = Picoseconds::from_ns(machine.system.device.dma.request_interval_ns);
        let mut issued = start;
        let requests: Vec<Piece> = machine.read_requests(offset, self.test.size_bytes).collect();
        let behind = answered_before(machine, &requests);
        let request = |(piece, behind): (Piece, usize)| {
            let bytes = machine.tlp_bytes(TlpKind::MemoryRead, piece);
            let sent = uplink.send(issued, bytes);
            issued += interval;
            let completions = machine.completions(piece).enumerate();
            Request {
                arrival: sent + self.flight(),
                behind,
                bytes,
                way: self.uplink.clone().send(Picoseconds::ZERO, bytes) + self.flight(),
                first_line: (piece.address / LINE_BYTES - offset / LINE_BYTES) as u32,
                completions: completions
                    .map(|(nth, completion)| self.completion(offset, piece, nth, completion))
                    .collect(),
            }
        };
        requests.into_iter().zip(behind).map(request).collect()
    }

    fn completion(&mut self, offset: u64, request: Piece, nth: usize, piece: Piece) -> Completion {
        let complex = &self.machine.system.host.root_complex;
        let line = |address| address / LINE_BYTES;
        let before = (line(piece.address) - line(request.address)) as f64;
        let lines = line_count(piece);
        let downlink_bytes =
            self.downlink.in_units(self.machine.tlp_bytes(TlpKind::CompletionWithData, piece));
        Completion {
            first_line: (line(piece.address) - line(offset)) as u32,
            lines,
            fetched: Picoseconds::from_ns(before * complex.line_interval_ns),
            reads: self.read_times(f64::from(lines - 1) * complex.line_interval_ns),
            held_up: Picoseconds::from_ns(nth as f64 * complex.completion_interval_ns),
            downlink_bytes,
            downlink_time: self.downlink.clone().send_units(Picoseconds::ZERO, downlink_bytes),
        }
    }

    /// Index of the table for completions that take `within_ns` from the first line to the last.
    fn read_times(&mut self, within_ns: f64) -> usize {
        let known = self.reads.iter().position(|times| times.within_ns == within_ns);
        known.unwrap_or_else(|| {
            self.reads.push(ReadTimes::new(&self.machine.system.host.root_complex, within_ns));
            self.reads.len() - 1
        })
    }

    fn flight(&self) -> Picoseconds {
        self.machine.flight()
    }
}

/// For each request of a read, how many requests before it must be answered first.
fn answered_before(machine: &Machine, requests: &[Piece]) -> Vec<usize> {
    let space = |request: &Piece| machine.completion_space(*request);
    let (mut free, mut answered) = (machine.completion_buffer(), 0);
    let behind = requests.iter().enumerate().map(|(number, request)| {
        let by_tags = (number + 1).saturating_sub(machine.tags() as usize);
        if let Some(free) = &mut free {
            while answered < number && (answered < by_tags || !free.holds(space(request))) {
                free.give_back(space(&requests[answered]));
                answered += 1;
            }
            free.take(space(request));
        }
        answered.max(by_tags)
    });
    behind.collect()
}

/// Bytes of a transfer whose time in the device's engine is not hidden: with cut-through only a word.
fn before_passing_on(path: &DmaPath, bytes: u64) -> u64 {
    if path.cut_through { bytes.min(u64::from(path.engine.word_bytes)) } else { bytes }
}

fn line_count(piece: Piece) -> u32 {
    (piece.address % LINE_BYTES + u64::from(piece.length)).div_ceil(LINE_BYTES) as u32
}

/// When the last line of a write TLP that is sent from `head` to `tail` starts to arrive.
fn start_of_last_line(piece: Piece, head: Picoseconds, tail: Picoseconds) -> Picoseconds {
    let length = u64::from(piece.length);
    let last = (piece.address + length - 1) % LINE_BYTES + 1;
    head + Picoseconds(tail.since(head).0 * length.saturating_sub(last) / length)
}
