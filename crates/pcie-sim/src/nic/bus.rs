//! The link between a NIC and its host, with the root complex: carries out accesses, TLP by TLP.
//!
//! The NIC's port sends answers to register reads first, then read requests (descriptors before packets) and
//! writes in alternation, as tags and credits allow. The root port sends register accesses first.

use super::event::{Access, NicEvent, Timer};
use super::path::Shape;
use crate::cache::history::TestKey;
use crate::link::completion_buffer::FreeSpace;
use crate::link::credits::Credits;
use crate::link::port::Port;
use crate::link::slots::Slots;
use crate::machine::Machine;
use crate::record::Record;
use crate::root_complex::under_load::{Complex, HostUse};
use pcie_model::Kind;
use pcie_time::{EventQueue, Picoseconds};
use pcie_trace::lane;
use pcie_wire::{CompletionSpace, Piece, TlpKind};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The NIC's port looks for a TLP to send.
    Uplink,
    /// The root port looks for a TLP to send.
    Downlink,
    Request(u32),
    /// A read request was admitted: its credit is free.
    Admitted,
    Data(u32),
    /// A completion has arrived at the NIC.
    Arrival {
        request: u32,
        last: bool,
    },
    /// The tag of an answered request, and its space for completions, are free.
    Returned(CompletionSpace),
    /// The last TLP of a write has left.
    Sent(Access),
    Write {
        access: Access,
        piece: Piece,
    },
    /// A write TLP has passed the root complex.
    Through(Access),
    /// The credits of a write TLP of this many bytes are back.
    Credits(u32),
    /// An access of the host arrives at a register.
    Register(Access),
    /// The answer to a register read arrives at the host.
    Read(Access),
    Timer(Timer),
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    kind: Kind,
    step: usize,
    /// Its TLPs that have not left.
    unsent: u32,
    /// Its TLPs that are not finished.
    open: u32,
    sent_at: Option<Picoseconds>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    access: Access,
    piece: Piece,
}

/// Bytes that crossed the link for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Crossed {
    pub(super) upstream_bytes: u64,
    pub(super) downstream_bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// By step.
    pub(super) crossed: Vec<Crossed>,
    /// Time for which the ports sent.
    pub(super) uplink_busy: Picoseconds,
    pub(super) downlink_busy: Picoseconds,
    /// Time for which a read waited for a tag, for space for its completions or for a credit, and a write for credits, at
    /// the head of its queue.
    pub(super) tags_waited: Picoseconds,
    pub(super) completion_buffer_waited: Picoseconds,
    pub(super) non_posted_waited: Picoseconds,
    pub(super) credits_waited: Picoseconds,
    /// Use of the IOMMU, the root complex's pools and memory.
    pub(super) host: HostUse,
}

/// What a read at the head of its queue waits for.
#[derive(Clone, Copy, Debug)]
enum ReadWait {
    Tag,
    CompletionBuffer,
    Credit,
}

impl Counted {
    fn waited_for(&mut self, wait: ReadWait) -> &mut Picoseconds {
        match wait {
            ReadWait::Tag => &mut self.tags_waited,
            ReadWait::CompletionBuffer => &mut self.completion_buffer_waited,
            ReadWait::Credit => &mut self.non_posted_waited,
        }
    }
}

#[derive(Debug)]
pub(super) struct Bus<'a> {
    machine: &'a Machine,
    complex: Complex<'a>,
    events: EventQueue<Event>,
    now: Picoseconds,
    uplink: Port,
    downlink: Port,
    flight: Picoseconds,
    uplink_planned: bool,
    downlink_planned: bool,
    accesses: Slots<InFlight>,
    requests: Slots<Request>,
    tags: u32,
    /// Space for completions, if it is limited.
    completion_buffer: Option<FreeSpace>,
    credits: Credits,
    answers: VecDeque<Access>,
    descriptor_reads: VecDeque<Request>,
    packet_reads: VecDeque<Request>,
    writes: VecDeque<Request>,
    registers: VecDeque<Access>,
    writes_next: bool,
    /// What the first read waits for, and since when.
    read_waits: Option<(ReadWait, Picoseconds)>,
    without_credits_since: Option<Picoseconds>,
    counted: Counted,
    /// The trace, if one is asked for.
    record: Option<Box<Record<'a>>>,
}

impl<'a> Bus<'a> {
    /// An idle link to a host whose caches hold the first `written_bytes` of the buffer, after set-up.
    pub(super) fn new(machine: &'a Machine, key: TestKey, steps: usize, written_bytes: u64) -> Self {
        let (uplink, downlink) = machine.ports_in(key, 0);
        let mut state = machine.boot();
        machine.warm_from_host(&mut state, written_bytes, key);
        Self {
            machine,
            complex: Complex::new(machine.system(), machine.lines(), key, state, 0),
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            uplink,
            downlink,
            flight: machine.flight(),
            uplink_planned: false,
            downlink_planned: false,
            accesses: Slots::default(),
            requests: Slots::default(),
            tags: machine.tags(),
            completion_buffer: machine.completion_buffer(),
            credits: Credits::new(&machine.system),
            answers: VecDeque::new(),
            descriptor_reads: VecDeque::new(),
            packet_reads: VecDeque::new(),
            writes: VecDeque::new(),
            registers: VecDeque::new(),
            writes_next: false,
            read_waits: None,
            without_credits_since: None,
            counted: Counted { crossed: vec![Crossed::default(); steps], ..Counted::default() },
            record: None,
        }
    }

    pub(super) fn machine(&self) -> &'a Machine {
        self.machine
    }

    /// Records a trace from now on.
    pub(super) fn record(&mut self, record: Record<'a>) {
        self.record = Some(Box::new(record));
    }

    /// Whether no trace is recorded, or it is complete.
    pub(super) fn is_recorded(&self) -> bool {
        self.record.as_ref().is_none_or(|record| record.is_done(self.now))
    }

    pub(super) fn take_record(&mut self) -> Option<Record<'a>> {
        self.record.take().map(|record| *record)
    }

    /// Changes a counter of the trace.
    pub(super) fn count(&mut self, counter: &'static str, by: i64) {
        if let Some(record) = &mut self.record {
            record.recorder().change(counter, self.now, by);
        }
    }

    /// When the next event is.
    pub(super) fn next_time(&self) -> Option<Picoseconds> {
        self.events.next_time()
    }

    /// Exchanges the host with another bus; links, tags and credits stay.
    pub(super) fn swap_host(&mut self, other: &mut Self) {
        self.complex.swap_host(&mut other.complex);
    }

    pub(super) fn now(&self) -> Picoseconds {
        self.now
    }

    pub(super) fn counted(&self) -> Counted {
        Counted { host: self.complex.host_use(), ..self.counted.clone() }
    }

    pub(super) fn wake_at(&mut self, at: Picoseconds, timer: Timer) {
        self.events.push(at, Event::Timer(timer));
    }

    pub(super) fn written_by_host(&mut self, piece: Piece) {
        self.complex.written_by_host(piece);
    }

    /// Begins an access to pieces of the buffer, or to a register.
    pub(super) fn begin(&mut self, shape: Shape, pieces: &[Piece]) -> Access {
        let Shape { kind, step, .. } = shape;
        let access = self.accesses.put(InFlight { kind, step, unsent: 0, open: 0, sent_at: None });
        if let Some(record) = &mut self.record {
            record.access_begun(access, self.now);
        }
        let machine = self.machine;
        let (queue, tlps): (_, Vec<Piece>) = match kind {
            Kind::MmioRead | Kind::MmioWrite => {
                self.accesses.get_mut(access).open = 1;
                self.registers.push_back(access);
                self.plan_downlink(self.now);
                return access;
            }
            Kind::DmaRead => {
                let queue =
                    if shape.moves_packet { &mut self.packet_reads } else { &mut self.descriptor_reads };
                let of = |piece: &Piece| machine.read_requests(piece.address, u64::from(piece.length));
                (queue, pieces.iter().flat_map(of).collect())
            }
            Kind::DmaWrite | Kind::Msi => {
                let of = |piece: &Piece| machine.write_tlps(piece.address, u64::from(piece.length));
                (&mut self.writes, pieces.iter().flat_map(of).collect())
            }
        };
        let in_flight = self.accesses.get_mut(access);
        (in_flight.unsent, in_flight.open) = (tlps.len() as u32, tlps.len() as u32);
        if let Some(record) = &mut self.record
            && kind != Kind::DmaRead
        {
            tlps.iter().for_each(|_| record.write_issued((self.now, self.now)));
        }
        queue.extend(tlps.into_iter().map(|piece| Request { access, piece }));
        self.plan_uplink(self.now);
        access
    }

    /// Simulates up to the next event that the NIC or its driver sees; `None` if nothing is in flight.
    pub(super) fn next(&mut self) -> Option<NicEvent> {
        loop {
            let (now, event) = self.events.pop()?;
            self.now = now;
            if let Some(seen) = self.handle(event) {
                return Some(seen);
            }
        }
    }

    fn handle(&mut self, event: Event) -> Option<NicEvent> {
        match event {
            Event::Uplink => {
                self.uplink_planned = false;
                self.send_upstream();
            }
            Event::Downlink => {
                self.downlink_planned = false;
                self.send_downstream();
            }
            Event::Request(request) => {
                let piece = self.requests.get(request).piece;
                let (admitted, data) = match &mut self.record {
                    None => self.complex.admit(piece, self.now),
                    Some(record) => {
                        let steps = self.complex.read_steps(piece, self.now);
                        record.read_arrived(request, self.now, &steps);
                        (steps.credit_back, steps.data)
                    }
                };
                self.events.push(admitted, Event::Admitted);
                self.events.push(data, Event::Data(request));
            }
            Event::Admitted => {
                self.credits.give_back_non_posted();
                if let Some(record) = &mut self.record {
                    record.read_credited(self.now);
                }
                self.plan_uplink(self.now);
            }
            Event::Data(request) => {
                if let Some(record) = &mut self.record {
                    record.data_ready(request, self.now);
                }
                self.complex.data_ready(request, self.requests.get(request).piece);
                self.plan_downlink(self.now);
            }
            Event::Arrival { request, last } => return self.completion_arrives(request, last),
            Event::Returned(space) => self.returned(space),
            Event::Sent(access) => return Some(NicEvent::Sent(access)),
            Event::Write { access, piece } => self.write_arrives(access, piece),
            Event::Through(access) | Event::Read(access) => return self.close(access),
            Event::Credits(bytes) => {
                self.credits.give_back_posted(bytes);
                self.plan_uplink(self.now);
            }
            Event::Register(access) => return self.register_reached(access),
            Event::Timer(timer) => return Some(NicEvent::Timer(timer)),
        }
        None
    }

    fn completion_arrives(&mut self, request: u32, last: bool) -> Option<NicEvent> {
        self.counted.uplink_busy += dllps(&mut self.uplink, self.now, self.machine.uplink_dllp_bytes());
        if !last {
            return None;
        }
        let Request { access, piece } = *self.requests.get(request);
        self.requests.free(request);
        if let Some(record) = &mut self.record {
            record.answered(request, "read", self.now, (self.now, self.now));
        }
        let (space, tag_return) = (self.machine.completion_space(piece), self.machine.tag_return());
        if tag_return == Picoseconds::ZERO {
            self.returned(space);
        } else {
            self.events.push(self.now + tag_return, Event::Returned(space));
        }
        self.close(access)
    }

    fn returned(&mut self, space: CompletionSpace) {
        if let Some(free) = &mut self.completion_buffer {
            free.give_back(space);
        }
        debug_assert!(self.tags < self.machine.tags(), "an unused tag is freed");
        self.tags += 1;
        if let Some(record) = &mut self.record {
            record.tag_returned(self.now);
        }
        self.plan_uplink(self.now);
    }

    fn write_arrives(&mut self, access: Access, piece: Piece) {
        self.counted.downlink_busy += dllps(&mut self.downlink, self.now, self.machine.downlink_dllp_bytes());
        let written = match &mut self.record {
            None => self.complex.write(piece, self.now),
            Some(record) => {
                let steps = self.complex.write_steps(piece, self.now);
                record.write_arrived(piece, self.now, &steps);
                steps.written
            }
        };
        self.events.push(written.passed, Event::Through(access));
        self.events.push(written.credits_back, Event::Credits(piece.length));
    }

    fn register_reached(&mut self, access: Access) -> Option<NicEvent> {
        if self.accesses.get(access).kind == Kind::MmioRead {
            self.answers.push_back(access);
            self.plan_uplink(self.now);
            return None;
        }
        self.close(access)
    }

    /// A TLP of an access is finished.
    fn close(&mut self, access: Access) -> Option<NicEvent> {
        let in_flight = self.accesses.get_mut(access);
        debug_assert!(in_flight.open > 0, "access {access} has no open TLPs");
        in_flight.open -= 1;
        if in_flight.open > 0 {
            return None;
        }
        let reads = in_flight.kind == Kind::DmaRead;
        debug_assert!(reads || in_flight.unsent == 0, "access {access} ends with unsent TLPs");
        let sent_at = in_flight.sent_at.unwrap_or(self.now);
        if let Some(record) = &mut self.record {
            record.access_done(access, in_flight.step, self.now);
        }
        self.accesses.free(access);
        Some(NicEvent::Done { access, sent_at })
    }

    fn plan_uplink(&mut self, at: Picoseconds) {
        if !self.uplink_planned {
            self.uplink_planned = true;
            self.events.push_ranked(at.max(self.uplink.free_at()), 1, Event::Uplink);
        }
    }

    fn plan_downlink(&mut self, at: Picoseconds) {
        if !self.downlink_planned {
            self.downlink_planned = true;
            self.events.push_ranked(at.max(self.downlink.free_at()), 1, Event::Downlink);
        }
    }

    fn send_upstream(&mut self) {
        if self.uplink.free_at() > self.now {
            return self.plan_uplink(self.now);
        }
        let sent = match (self.answers.pop_front(), self.writes_next) {
            (Some(access), _) => self.send_answer(access),
            (None, true) => self.send_write() || self.send_request(),
            (None, false) => self.send_request() || self.send_write(),
        };
        if sent {
            self.counted.uplink_busy += self.uplink.free_at().since(self.now);
            self.plan_uplink(self.now);
        }
    }

    /// Records that a TLP of an access is sent; returns its step.
    fn sends(&mut self, access: Access) -> usize {
        let in_flight = self.accesses.get_mut(access);
        in_flight.sent_at.get_or_insert(self.now);
        in_flight.step
    }

    fn send_answer(&mut self, access: Access) -> bool {
        let bytes = self.machine.register_tlp_bytes(TlpKind::CompletionWithData);
        let left = self.uplink.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.register(access, (lane::UP, "CplD"), (self.now, left));
        }
        self.counted.crossed[self.accesses.get(access).step].upstream_bytes += u64::from(bytes);
        self.events.push(left + self.flight, Event::Read(access));
        true
    }

    fn send_request(&mut self) -> bool {
        let reads = match self.descriptor_reads.is_empty() {
            true => &mut self.packet_reads,
            false => &mut self.descriptor_reads,
        };
        let Some(request) = reads.front().copied() else { return false };
        let space = self.machine.completion_space(request.piece);
        let has_space = self.completion_buffer.is_none_or(|free| free.holds(space));
        let waits = match () {
            () if self.tags == 0 => Some(ReadWait::Tag),
            () if !has_space => Some(ReadWait::CompletionBuffer),
            () if !self.credits.take_non_posted() => Some(ReadWait::Credit),
            () => None,
        };
        if let Some(wait) = waits {
            self.read_waits.get_or_insert((wait, self.now));
            return false;
        }
        reads.pop_front();
        if let Some((wait, since)) = self.read_waits.take() {
            *self.counted.waited_for(wait) += self.now.since(since);
        }
        self.tags -= 1;
        if let Some(free) = &mut self.completion_buffer {
            free.take(space);
        }
        self.writes_next = true;
        let units = self.machine.request_units(&self.uplink, request.piece);
        let left = self.uplink.send_units(self.now, units);
        let step = self.sends(request.access);
        self.counted.crossed[step].upstream_bytes += units;
        let number = self.requests.put(request);
        if let Some(record) = &mut self.record {
            record.read_issued(number, request.piece, number, self.now);
            record.read_sent(number, request.piece, self.now, (self.now, left));
        }
        self.events.push(left + self.flight, Event::Request(number));
        true
    }

    fn send_write(&mut self) -> bool {
        let Some(Request { access, piece }) = self.writes.front().copied() else { return false };
        if !self.credits.take_posted(piece.length) {
            self.without_credits_since.get_or_insert(self.now);
            return false;
        }
        self.writes.pop_front();
        if let Some(since) = self.without_credits_since.take() {
            self.counted.credits_waited += self.now.since(since);
        }
        self.writes_next = false;
        let bytes = self.machine.tlp_bytes(TlpKind::MemoryWrite, piece);
        let left = self.uplink.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.write_sent(piece, self.now, (self.now, left));
        }
        self.events.push(left + self.flight, Event::Write { access, piece });
        let step = self.sends(access);
        let in_flight = self.accesses.get_mut(access);
        in_flight.unsent -= 1;
        let unsent = in_flight.unsent;
        self.counted.crossed[step].upstream_bytes += self.uplink.in_units(bytes);
        if unsent == 0 {
            self.events.push(left, Event::Sent(access));
        }
        true
    }

    fn send_downstream(&mut self) {
        if self.downlink.free_at() > self.now {
            return self.plan_downlink(self.now);
        }
        let sent = match self.registers.pop_front() {
            Some(access) => self.send_to_register(access),
            None => self.send_completion(),
        };
        if sent {
            self.counted.downlink_busy += self.downlink.free_at().since(self.now);
            self.plan_downlink(self.now);
        }
    }

    fn send_to_register(&mut self, access: Access) -> bool {
        let step = self.sends(access);
        let kind = self.accesses.get(access).kind;
        let read = kind == Kind::MmioRead;
        let bytes =
            self.machine.register_tlp_bytes(if read { TlpKind::MemoryRead } else { TlpKind::MemoryWrite });
        let left = self.downlink.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.register(access, (lane::DOWN, if read { "MRd" } else { "MWr" }), (self.now, left));
        }
        self.counted.crossed[step].downstream_bytes += self.downlink.in_units(bytes);
        self.events.push(left + self.flight, Event::Register(access));
        true
    }

    fn send_completion(&mut self) -> bool {
        let Some((number, piece, last)) = self.complex.next_completion(true) else { return false };
        let Request { access, piece: asked } = *self.requests.get(number);
        let units = self.machine.completion_units(&self.downlink, asked, piece, last);
        let left = self.downlink.send_units(self.now, units);
        if let Some(record) = &mut self.record {
            record.completed(number, piece, (self.now, left));
        }
        self.counted.crossed[self.accesses.get(access).step].downstream_bytes += units;
        self.events.push(left + self.flight, Event::Arrival { request: number, last });
        true
    }
}

/// Sends DLLPs before the next TLP; returns their time.
fn dllps(port: &mut Port, now: Picoseconds, bytes: u32) -> Picoseconds {
    let before = port.free_at().max(now);
    port.send_dllps(now, bytes);
    port.free_at().since(before)
}

impl Machine {
    /// Bytes of a TLP for a register, with 4 B of data: the root port's request, or the device's completion.
    pub(super) fn register_tlp_bytes(&self, kind: TlpKind) -> u32 {
        self.link().from_other_end().tlp_bytes(kind, Piece { address: 0, length: REGISTER_BYTES })
    }
}

/// Bytes of a register.
pub(crate) const REGISTER_BYTES: u32 = 4;
