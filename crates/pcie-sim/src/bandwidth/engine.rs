//! The event loop of a bandwidth test: the card and the two directions of the link.

use super::card::{Credits, Tags, data_engine_time};
use super::complex::Complex;
use crate::history::{State, TestKey};
use crate::machine::Machine;
use crate::port::Port;
use crate::profile::CardKind;
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::{Piece, TlpKind};
use pcie_workload::{AddressList, Test};
use std::collections::VecDeque;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The card looks at the head of its queue of DMAs.
    Issue,
    /// The data of a write TLP have come out of the card's memory.
    Pulled { piece: Piece, last: bool },
    /// A read request arrives at the root complex.
    Request(u32),
    /// A read request was admitted: its credit is free.
    Admitted,
    /// A write TLP arrives at the root complex.
    Write(Piece),
    /// A write TLP has gone through: its credits are free.
    Written { bytes: u32 },
    /// The data of a request are there.
    Data(u32),
    /// The downlink can send the next completion.
    Downlink,
    /// A completion has arrived at the card.
    Completion { request: u32, last: bool },
    /// The data engine has moved the data of a request.
    Moved(u32),
    /// A DMA is complete, and its worker free.
    Complete,
}

/// A read request in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    piece: Piece,
    tag: u32,
    dma: u32,
}

/// A DMA read in flight.
#[derive(Clone, Copy, Debug)]
struct Read {
    offset: u64,
    /// Requests sent whose data were not moved yet.
    open: u32,
    /// Whether all of its requests were sent.
    sent: bool,
}

/// The DMA at the head of the card's queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    transaction: u64,
    /// Offset in the buffer where the next request starts.
    next_offset: u64,
    left_bytes: u64,
    /// Its place among the reads in flight, once one of its requests was sent.
    read: Option<u32>,
}

/// A TLP that the card has ready.
#[derive(Clone, Copy, Debug)]
enum Outgoing {
    Request(u32),
    Write { piece: Piece, last: bool },
}

/// A bandwidth test going on.
#[derive(Debug)]
pub struct BandwidthRun<'a> {
    machine: &'a Machine,
    test: &'a Test,
    list: &'a AddressList,
    events: EventQueue<Event>,
    now: Picoseconds,
    next: u64,
    free_workers: u32,
    completed: u64,
    head: Option<Head>,
    reads: Slots<Read>,
    requests: Slots<Request>,
    tags: Tags,
    credits: Credits,
    outgoing: VecDeque<Outgoing>,
    /// Requests of whose data the card has taken in a part or all, and not moved on.
    taken_in: u32,
    read_engine_free: Picoseconds,
    write_engine_free: Picoseconds,
    next_issue: Picoseconds,
    planned_issue: Option<Picoseconds>,
    uplink: Port,
    downlink: Port,
    downlink_planned: bool,
    complex: Complex<'a>,
    flight: Picoseconds,
}

/// Work that may wait for the uplink before the card stops adding to it: about two full TLPs.
const UPLINK_BACKLOG: Picoseconds = Picoseconds(80_000);

impl<'a> BandwidthRun<'a> {
    /// Starts at transaction `first`, with the machine in the state in which the transactions before it left it and
    /// nothing in flight.
    #[must_use]
    pub fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> Self {
        let system = &machine.system;
        let root = &system.host.root_complex;
        let workers = test.outstanding.unwrap_or(u32::MAX).min(system.device.dma.outstanding);
        let mut run = Self {
            machine,
            test,
            list,
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            next: first,
            free_workers: workers,
            completed: 0,
            head: None,
            reads: Slots::default(),
            requests: Slots::default(),
            tags: Tags::new(system.link.tags),
            credits: Credits::new(system),
            outgoing: VecDeque::new(),
            taken_in: 0,
            read_engine_free: Picoseconds::ZERO,
            write_engine_free: Picoseconds::ZERO,
            next_issue: Picoseconds::ZERO,
            planned_issue: None,
            uplink: Port::new(machine.link(), system.device.uplink_quantum_bytes, root.uplink_stretch)
                .with_gap(system.device.uplink_gap_bytes),
            downlink: Port::new(machine.link(), root.downlink_quantum_bytes, root.downlink_stretch),
            downlink_planned: false,
            complex: Complex::new(machine, key, state, first),
            flight: Picoseconds::from_ns(root.flight_ns),
        };
        run.plan_issue(Picoseconds::ZERO);
        run
    }

    /// Simulates until `count` more transactions are complete, or all are; returns the time of the last completion,
    /// counted from the start of the run.
    pub fn run(&mut self, count: u64) -> Picoseconds {
        let target = self.completed + count;
        while self.completed < target {
            let Some((time, event)) = self.events.pop() else { break };
            self.now = time;
            self.handle(event);
        }
        self.now
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Issue => {
                if self.planned_issue == Some(self.now) {
                    self.planned_issue = None;
                }
                self.issue();
            }
            Event::Pulled { piece, last } => {
                self.outgoing.push_back(Outgoing::Write { piece, last });
                self.pump();
            }
            Event::Request(request) => self.request_arrives(request),
            Event::Admitted => {
                self.credits.give_back_non_posted();
                self.pump();
            }
            Event::Write(piece) => self.write_arrives(piece),
            Event::Written { bytes } => {
                self.credits.give_back_posted(bytes);
                self.pump();
            }
            Event::Data(request) => {
                self.complex.data_ready(request, self.requests.get(request).piece);
                self.answer();
            }
            Event::Downlink => {
                self.downlink_planned = false;
                self.answer();
            }
            Event::Completion { request, last } => {
                self.uplink.send_dllps(self.now, self.machine.system.device.uplink_dllp_bytes);
                if last {
                    self.answered(request);
                }
            }
            Event::Moved(request) => self.moved(request),
            Event::Complete => {
                self.completed += 1;
                self.free_workers += 1;
                self.issue();
            }
        }
    }

    fn plan_issue(&mut self, at: Picoseconds) {
        if self.planned_issue.is_none_or(|planned| at < planned) {
            self.planned_issue = Some(at);
            self.events.push(at, Event::Issue);
        }
    }

    /// Takes DMAs from the queue, in order, as far as they can go.
    fn issue(&mut self) {
        while let Some(head) = self.head.or_else(|| self.take_dma()) {
            let wait = self.next_issue.max(self.uplink.free_at().since(UPLINK_BACKLOG));
            if self.now < wait {
                self.plan_issue(wait);
                break;
            }
            let writes = AddressList::writes(self.test.operation, head.transaction, self.test.transactions);
            let went_on = if writes { self.issue_write(head) } else { self.issue_request(head) };
            if !went_on {
                break;
            }
        }
        self.pump();
    }

    fn take_dma(&mut self) -> Option<Head> {
        if self.free_workers == 0 || self.next >= self.test.transactions {
            return None;
        }
        self.free_workers -= 1;
        let transaction = self.next;
        self.next += 1;
        let next_offset = self.list.offset(transaction);
        self.head = Some(Head { transaction, next_offset, left_bytes: self.test.size_bytes, read: None });
        self.head
    }

    /// Makes the next read request of the DMA at the head; false if it has to wait for a tag.
    fn issue_request(&mut self, mut head: Head) -> bool {
        let Some(piece) = self.machine.read_requests(head.next_offset, head.left_bytes).next() else {
            return false;
        };
        let Some(tag) = self.tags.take() else { return false };
        let dma = *head
            .read
            .get_or_insert_with(|| self.reads.put(Read { offset: head.next_offset, open: 0, sent: false }));
        head.next_offset += u64::from(piece.length);
        head.left_bytes -= u64::from(piece.length);
        let read = self.reads.get_mut(dma);
        read.open += 1;
        read.sent = head.left_bytes == 0;
        self.head = (head.left_bytes > 0).then_some(head);
        let request = self.requests.put(Request { piece, tag, dma });
        self.outgoing.push_back(Outgoing::Request(request));
        self.clock_tick();
        true
    }

    /// A card that hands requests straight to its core makes one per clock.
    fn clock_tick(&mut self) {
        let timer = self.machine.system.device.timer;
        if self.machine.system.device.kind == CardKind::Direct {
            self.next_issue =
                self.now + Picoseconds(timer.numerator_ns * 1000 / (timer.denominator * timer.cycles));
        }
    }

    /// Has the data engine pull the next TLP of the write at the head; false if the engine is busy.
    fn issue_write(&mut self, mut head: Head) -> bool {
        if self.now < self.write_engine_free {
            self.plan_issue(self.write_engine_free);
            return false;
        }
        let Some(piece) = self.machine.write_tlps(head.next_offset, head.left_bytes).next() else {
            return false;
        };
        let done_bytes = self.test.size_bytes - head.left_bytes;
        self.write_engine_free = self.now + self.pull_time(done_bytes, u64::from(piece.length));
        head.next_offset += u64::from(piece.length);
        head.left_bytes -= u64::from(piece.length);
        let last = head.left_bytes == 0;
        self.events.push(self.write_engine_free, Event::Pulled { piece, last });
        self.head = (!last).then_some(head);
        self.clock_tick();
        true
    }

    /// Time to pull the bytes of one TLP, given how many of its DMA were pulled before: what the DMA takes with it, less
    /// what it takes without.
    fn pull_time(&self, done_bytes: u64, bytes: u64) -> Picoseconds {
        let engine = &self.machine.system.device.dma.engine;
        let card = self.test.device_offset_bytes;
        let upto = |bytes| data_engine_time(engine, true, card, bytes, 0);
        let before = if done_bytes == 0 { Picoseconds::ZERO } else { upto(done_bytes) };
        upto(done_bytes + bytes).since(before)
    }

    /// Gives the port what there is to send, in order, as far as credits go.
    fn pump(&mut self) {
        while let Some(outgoing) = self.outgoing.front().copied() {
            let sent = match outgoing {
                Outgoing::Request(request) => self.send_request(request),
                Outgoing::Write { piece, last } => self.send_write(piece, last),
            };
            if !sent {
                return;
            }
            self.outgoing.pop_front();
        }
    }

    fn send_request(&mut self, request: u32) -> bool {
        if !self.credits.take_non_posted() {
            return false;
        }
        let piece = self.requests.get(request).piece;
        let left = self.uplink.send(self.now, self.machine.tlp_bytes(TlpKind::MemoryRead, piece));
        self.events.push(left + self.flight, Event::Request(request));
        true
    }

    fn send_write(&mut self, piece: Piece, last: bool) -> bool {
        if !self.credits.take_posted(piece.length) {
            return false;
        }
        let left = self.uplink.send(self.now, self.machine.tlp_bytes(TlpKind::MemoryWrite, piece));
        self.events.push(left + self.flight, Event::Write(piece));
        if last {
            let engine = &self.machine.system.device.dma.engine;
            let pulled_bytes = self.test.size_bytes.next_multiple_of(u64::from(engine.word_bytes));
            if !pulled_bytes.is_multiple_of(u64::from(engine.write_piece_bytes)) {
                self.uplink.leave_unit(engine.write_gap_bytes);
            }
            self.events.push(left, Event::Complete);
        }
        true
    }

    fn request_arrives(&mut self, request: u32) {
        let piece = self.requests.get(request).piece;
        let (admitted, data) = self.complex.admit(piece, self.now);
        self.events.push(admitted, Event::Admitted);
        self.events.push(data, Event::Data(request));
    }

    fn write_arrives(&mut self, piece: Piece) {
        self.downlink.send_dllps(self.now, self.machine.system.host.root_complex.downlink_dllp_bytes);
        let done = self.complex.write(piece, self.now);
        self.events.push(done, Event::Written { bytes: piece.length });
    }

    /// Sends the next completion, if there is one and the downlink is free.
    fn answer(&mut self) {
        if self.downlink_planned {
            return;
        }
        if self.downlink.free_at() > self.now {
            self.downlink_planned = true;
            self.events.push(self.downlink.free_at(), Event::Downlink);
            return;
        }
        let room = self.taken_in < self.machine.system.device.dma.receive_buffers;
        let first = self.complex.is_first_completion();
        let Some((request, piece, last)) = self.complex.next_completion(room) else { return };
        self.taken_in += u32::from(first);
        let left = self.downlink.send(self.now, self.machine.tlp_bytes(TlpKind::CompletionWithData, piece));
        self.events.push(left + self.flight, Event::Completion { request, last });
        self.downlink_planned = true;
        self.events.push(left, Event::Downlink);
    }

    /// The data of a request have arrived: its tag is free, and the data engine takes them on in order of arrival.
    fn answered(&mut self, request: u32) {
        let Request { piece, tag, dma } = *self.requests.get(request);
        self.tags.release(tag);
        let offset = self.reads.get(dma).offset;
        let time = self.move_time(offset, u64::from(piece.length));
        self.read_engine_free = self.read_engine_free.max(self.now) + time;
        self.events.push(self.read_engine_free, Event::Moved(request));
        self.issue();
    }

    fn moved(&mut self, request: u32) {
        let dma = self.requests.get(request).dma;
        self.requests.take(request);
        self.taken_in -= 1;
        let read = self.reads.get_mut(dma);
        read.open -= 1;
        if read.open == 0 && read.sent {
            self.reads.take(dma);
            self.events.push(self.now, Event::Complete);
        }
        self.answer();
    }

    /// The share that `bytes` of a DMA have in what the data engine takes for all of it.
    fn move_time(&self, offset: u64, bytes: u64) -> Picoseconds {
        let engine = &self.machine.system.device.dma.engine;
        let (size, card) = (self.test.size_bytes, self.test.device_offset_bytes);
        let whole = data_engine_time(engine, false, card, size, self.boundaries_inside_segments(offset));
        Picoseconds(whole.0 * bytes / size)
    }

    /// Boundaries between read requests that do not fall on a boundary of the data engine's segments, which count from the
    /// word that holds the transfer's first byte.
    fn boundaries_inside_segments(&self, offset: u64) -> u64 {
        let engine = &self.machine.system.device.dma.engine;
        self.machine
            .read_requests(offset, self.test.size_bytes)
            .skip(1)
            .filter(|piece| !(piece.address - offset).is_multiple_of(u64::from(engine.segment_bytes)))
            .count() as u64
    }
}

/// A table whose places are used again.
#[derive(Clone, Debug)]
struct Slots<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    fn put(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = value;
            return place;
        }
        self.places.push(value);
        (self.places.len() - 1) as u32
    }

    fn get(&self, place: u32) -> &T {
        &self.places[place as usize]
    }

    fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }

    fn take(&mut self, place: u32) {
        self.free.push(place);
    }
}
