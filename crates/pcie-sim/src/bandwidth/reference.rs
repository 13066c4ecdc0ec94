//! The reference engine: the event loop of a bandwidth test, with the device and both directions of the link.
//!
//! At each instant completions arrive first; device and root complex look for TLPs to send last.

use super::card::{Tags, UPLINK_BACKLOG};
use super::start::{DeviceTlp, Finished, Start};
use crate::link::completion_buffer::FreeSpace;
use crate::link::credits::Credits;
use crate::link::port::Port;
use crate::link::replay::Replays;
use crate::link::slots::Slots;
use crate::machine::Machine;
use crate::record::Record;
use crate::root_complex::line_pool::PoolUse;
use crate::root_complex::under_load::Complex;
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::{CompletionSpace, Piece, TlpKind};
use pcie_workload::{AddressList, Test};
use std::collections::VecDeque;

/// Transactions between two looks for a stop: a few milliseconds.
const TRANSACTIONS_BETWEEN_LOOKS: u64 = 4096;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The device looks at the head of its queue of DMAs.
    Issue,
    /// The data of a write TLP have been read from device memory.
    Pulled(WriteTlp),
    Request(u32),
    /// A read request was admitted: its credit is free.
    Admitted,
    Write(Piece),
    /// A write TLP has passed the root complex: its credits are free.
    Written {
        bytes: u32,
    },
    Data(u32),
    /// The root complex looks for a completion to send.
    Downlink,
    /// A completion has arrived at the device.
    Arrival {
        request: u32,
        last: bool,
    },
    /// The tag of an answered request, and its space for completions, are free.
    Returned {
        tag: u32,
        space: CompletionSpace,
    },
    /// The data engine has moved the data of a request.
    Moved(u32),
    /// A DMA is complete, and its worker free.
    Complete {
        transaction: u64,
    },
}

impl Event {
    /// Order among the events of an instant: decisions come last.
    fn rank(&self) -> u8 {
        match self {
            Self::Arrival { .. } | Self::Returned { .. } => 0,
            Self::Issue | Self::Downlink => 2,
            _ => 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Request {
    piece: Piece,
    tag: u32,
    dma: u32,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    transaction: u64,
    offset: u64,
    /// Issued requests whose data have not been moved.
    open: u32,
    /// Whether all of its requests have been issued.
    sent: bool,
}

/// The DMA at the head of the device's queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    transaction: u64,
    /// Offset of the next TLP in the buffer.
    next_offset: u64,
    left_bytes: u64,
    /// Its slot in `reads`, once one of its requests has been issued.
    read: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct WriteTlp {
    piece: Piece,
    /// Bytes that the uplink leaves idle behind it.
    gap_bytes: u32,
    /// The transaction that it ends.
    ends: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Outgoing {
    Request(u32),
    Write(WriteTlp),
}

#[derive(Debug)]
pub(super) struct ReferenceRun<'a> {
    machine: &'a Machine,
    test: &'a Test,
    list: &'a AddressList,
    events: EventQueue<Event>,
    now: Picoseconds,
    last_completion: Picoseconds,
    next: u64,
    free_workers: u32,
    completed: u64,
    head: Option<Head>,
    reads: Slots<Read>,
    requests: Slots<Request>,
    tags: Tags,
    /// Space for completions, if it is limited.
    completion_buffer: Option<FreeSpace>,
    credits: Credits,
    outgoing: VecDeque<Outgoing>,
    /// Requests whose data the device has received in part or as a whole, and has not moved.
    taken_in: u32,
    read_engine_free: Picoseconds,
    write_engine_free: Picoseconds,
    next_issue: Picoseconds,
    planned_issue: Option<Picoseconds>,
    uplink: Port,
    downlink: Port,
    /// Whether a `Downlink` event is queued.
    answer_planned: bool,
    complex: Complex<'a>,
    flight: Picoseconds,
    /// The TLPs that were sent, if they are noted.
    sent: Option<Vec<DeviceTlp>>,
    /// The trace, if one is asked for.
    record: Option<Box<Record<'a>>>,
}

impl<'a> ReferenceRun<'a> {
    pub(super) fn new(start: Start<'a>) -> Self {
        let first_draw = start.first_draw();
        let (uplink, downlink) = start.machine.ports_in(start.key, first_draw);
        let Start { machine, test, list, key, state, first } = start;
        let system = &machine.system;
        let workers = test.outstanding.unwrap_or(u32::MAX).min(system.device.dma.outstanding);
        let mut run = Self {
            machine,
            test,
            list,
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            last_completion: Picoseconds::ZERO,
            next: first,
            free_workers: workers,
            completed: 0,
            head: None,
            reads: Slots::default(),
            requests: Slots::default(),
            tags: Tags::new(system.device.dma.tag_order, machine.tags()),
            completion_buffer: machine.completion_buffer(),
            credits: Credits::new(system),
            outgoing: VecDeque::new(),
            taken_in: 0,
            read_engine_free: Picoseconds::ZERO,
            write_engine_free: Picoseconds::ZERO,
            next_issue: Picoseconds::ZERO,
            planned_issue: None,
            uplink,
            downlink,
            answer_planned: false,
            complex: Complex::new(machine.system(), machine.lines(), key, state, first_draw),
            flight: machine.flight(),
            sent: None,
            record: None,
        };
        run.plan_issue(Picoseconds::ZERO);
        run
    }

    /// All TLPs of the test, until `stopped` returns true: it is asked now and then, with the TLPs so far.
    pub(super) fn tlps(mut self, stopped: &mut dyn FnMut(u64) -> bool) -> Vec<DeviceTlp> {
        let mut sent = self.sent.insert(Vec::new()).len();
        while self.completed < self.test.transactions && !stopped(sent as u64) {
            let left = self.test.transactions - self.completed;
            self.run(left.min(TRANSACTIONS_BETWEEN_LOOKS), None);
            sent = self.sent.as_ref().map_or(0, Vec::len);
        }
        self.sent.unwrap_or_default()
    }

    /// The trace of the first `span`, until `stopped` returns true: it is asked now and then.
    pub(super) fn record(
        mut self,
        span: Picoseconds,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Option<Box<Record<'a>>> {
        self.record = Some(Box::new(Record::new(self.machine, span)));
        let mut handled = 0u64;
        while self.record.as_ref().is_some_and(|record| !record.is_done(self.now)) {
            let Some((time, event)) = self.events.pop() else { break };
            self.now = time;
            self.handle(event);
            handled += 1;
            if handled.is_multiple_of(TRANSACTIONS_BETWEEN_LOOKS) && stopped() {
                break;
            }
        }
        self.record
    }

    /// Notes a TLP that leaves the device's queue.
    fn note(&mut self, write: bool, piece: Piece) {
        if let Some(sent) = &mut self.sent {
            sent.push(DeviceTlp { at: self.now, write, piece });
        }
    }

    /// See [`crate::BandwidthRun::run`]; appends the completed transactions to `noted`.
    pub(super) fn run(&mut self, count: u64, mut noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        let target = self.completed + count;
        while self.completed < target {
            let Some((time, event)) = self.events.pop() else { break };
            self.now = time;
            if let (Event::Complete { transaction }, Some(noted)) = (event, &mut noted) {
                noted.push(Finished { transaction, time });
            }
            self.handle(event);
        }
        self.last_completion
    }

    /// Use of the root complex's pools for writes and for reads.
    pub(in crate::bandwidth) fn pool_use(&self) -> [Option<PoolUse>; 2] {
        self.complex.pool_use()
    }

    /// What each direction sent again.
    pub(in crate::bandwidth) fn replays(&self) -> [Option<Replays>; 2] {
        [self.uplink.replays(), self.downlink.replays()]
    }

    fn push(&mut self, at: Picoseconds, event: Event) {
        self.events.push_ranked(at, event.rank(), event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            // Superseded by an earlier one.
            Event::Issue if self.planned_issue != Some(self.now) => {}
            Event::Issue => {
                self.planned_issue = None;
                self.issue();
            }
            Event::Pulled(tlp) => {
                self.outgoing.push_back(Outgoing::Write(tlp));
                self.pump();
            }
            Event::Request(request) => self.request_arrives(request),
            Event::Admitted => {
                self.credits.give_back_non_posted();
                if let Some(record) = &mut self.record {
                    record.read_credited(self.now);
                }
                self.pump();
            }
            Event::Write(piece) => self.write_arrives(piece),
            Event::Written { bytes } => {
                self.credits.give_back_posted(bytes);
                self.pump();
            }
            Event::Data(request) => {
                if let Some(record) = &mut self.record {
                    record.data_ready(request, self.now);
                }
                self.complex.data_ready(request, self.requests.get(request).piece);
                self.plan_answer(self.now);
            }
            Event::Downlink => {
                self.answer_planned = false;
                self.answer();
            }
            Event::Arrival { request, last } => {
                self.uplink.send_dllps(self.now, self.machine.uplink_dllp_bytes());
                if last {
                    self.answered(request);
                }
            }
            Event::Returned { tag, space } => self.returned(tag, space),
            Event::Moved(request) => self.moved(request),
            Event::Complete { .. } => {
                self.completed += 1;
                self.last_completion = self.now;
                self.free_workers += 1;
                self.plan_issue(self.now);
            }
        }
    }

    /// Plans a look of the device at its queue, unless an earlier one is planned.
    fn plan_issue(&mut self, at: Picoseconds) {
        if self.planned_issue.is_none_or(|planned| at < planned) {
            self.planned_issue = Some(at);
            self.push(at, Event::Issue);
        }
    }

    /// Plans a look of the root complex for a completion, unless one is planned.
    fn plan_answer(&mut self, at: Picoseconds) {
        if !self.answer_planned {
            self.answer_planned = true;
            self.push(at, Event::Downlink);
        }
    }

    /// Issues the next TLP of the DMA at the head, if possible.
    fn issue(&mut self) {
        let Some(head) = self.head.or_else(|| self.take_dma()) else { return };
        let wait = self.next_issue.max(self.uplink.free_at().since(UPLINK_BACKLOG));
        if self.now < wait {
            self.plan_issue(wait);
            return;
        }
        let writes = AddressList::writes(self.test.operation, head.transaction, self.test.transactions);
        let went_on = if writes { self.issue_write(head) } else { self.issue_request(head) };
        if went_on {
            self.pump();
            self.plan_issue(self.now);
        }
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

    /// Issues the head's next read request; false if it has to wait for a tag or for space for completions.
    fn issue_request(&mut self, mut head: Head) -> bool {
        let Some(piece) = self.machine.read_requests(head.next_offset, head.left_bytes).next() else {
            return false;
        };
        let space = self.machine.completion_space(piece);
        if self.completion_buffer.is_some_and(|free| !free.holds(space)) {
            return false;
        }
        let Some(tag) = self.tags.take() else { return false };
        if let Some(free) = &mut self.completion_buffer {
            free.take(space);
        }
        let dma = *head.read.get_or_insert_with(|| {
            self.reads.put(Read {
                transaction: head.transaction,
                offset: head.next_offset,
                open: 0,
                sent: false,
            })
        });
        head.next_offset += u64::from(piece.length);
        head.left_bytes -= u64::from(piece.length);
        let read = self.reads.get_mut(dma);
        read.open += 1;
        read.sent = head.left_bytes == 0;
        self.head = (head.left_bytes > 0).then_some(head);
        let request = self.requests.put(Request { piece, tag, dma });
        if let Some(record) = &mut self.record {
            record.read_issued(request, piece, tag, self.now);
        }
        self.outgoing.push_back(Outgoing::Request(request));
        self.next_issue = self.now + self.machine.request_clock();
        true
    }

    /// Pulls the head's next write TLP; false if the data engine is busy.
    fn issue_write(&mut self, mut head: Head) -> bool {
        if self.now < self.write_engine_free {
            self.plan_issue(self.write_engine_free);
            return false;
        }
        let Some(piece) = self.machine.write_tlps(head.next_offset, head.left_bytes).next() else {
            return false;
        };
        let done_bytes = self.test.size_bytes - head.left_bytes;
        self.write_engine_free =
            self.now + self.machine.pull_time(self.test, done_bytes, u64::from(piece.length));
        if let Some(record) = &mut self.record {
            record.write_issued((self.now, self.write_engine_free));
        }
        let start = head.next_offset - done_bytes;
        let gap_bytes = self.machine.write_gap_bytes(start..start + self.test.size_bytes, piece);
        head.next_offset += u64::from(piece.length);
        head.left_bytes -= u64::from(piece.length);
        let last = head.left_bytes == 0;
        let ends = last.then_some(head.transaction);
        self.push(self.write_engine_free, Event::Pulled(WriteTlp { piece, gap_bytes, ends }));
        self.head = (!last).then_some(head);
        self.next_issue = self.now + self.machine.request_clock();
        true
    }

    /// Sends the queued TLPs in order, as far as credits allow.
    fn pump(&mut self) {
        while let Some(outgoing) = self.outgoing.front().copied() {
            let sent = match outgoing {
                Outgoing::Request(request) => self.send_request(request),
                Outgoing::Write(tlp) => self.send_write(tlp),
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
        self.note(false, piece);
        let units = self.machine.request_units(&self.uplink, piece);
        let start = self.uplink.free_at().max(self.now);
        let left = self.uplink.send_units(self.now, units);
        if let Some(record) = &mut self.record {
            record.read_sent(request, piece, self.now, (start.min(left), left));
        }
        self.push(left + self.flight, Event::Request(request));
        true
    }

    fn send_write(&mut self, WriteTlp { piece, gap_bytes, ends }: WriteTlp) -> bool {
        if !self.credits.take_posted(piece.length) {
            return false;
        }
        self.note(true, piece);
        let start = self.uplink.free_at().max(self.now);
        let left = self.uplink.send(self.now, self.machine.tlp_bytes(TlpKind::MemoryWrite, piece));
        if let Some(record) = &mut self.record {
            record.write_sent(piece, self.now, (start.min(left), left));
        }
        self.push(left + self.flight, Event::Write(piece));
        self.uplink.leave_unit(gap_bytes);
        if let Some(transaction) = ends {
            self.push(left, Event::Complete { transaction });
        }
        true
    }

    fn request_arrives(&mut self, request: u32) {
        let piece = self.requests.get(request).piece;
        let (admitted, data) = match &mut self.record {
            None => self.complex.admit(piece, self.now),
            Some(record) => {
                let steps = self.complex.read_steps(piece, self.now);
                record.read_arrived(request, self.now, &steps);
                (steps.credit_back, steps.data)
            }
        };
        self.push(admitted, Event::Admitted);
        self.push(data, Event::Data(request));
    }

    fn write_arrives(&mut self, piece: Piece) {
        self.downlink.send_dllps(self.now, self.machine.downlink_dllp_bytes());
        let done = match &mut self.record {
            None => self.complex.write(piece, self.now).credits_back,
            Some(record) => {
                let steps = self.complex.write_steps(piece, self.now);
                record.write_arrived(piece, self.now, &steps);
                steps.written.credits_back
            }
        };
        self.push(done, Event::Written { bytes: piece.length });
    }

    /// Sends the next completion, if there is one and the downlink is free.
    fn answer(&mut self) {
        if self.downlink.free_at() > self.now {
            self.plan_answer(self.downlink.free_at());
            return;
        }
        let room = self.taken_in < self.machine.system.device.dma.receive_buffers;
        let first = self.complex.is_first_completion();
        let Some((request, piece, last)) = self.complex.next_completion(room) else { return };
        self.taken_in += u32::from(first);
        let asked = self.requests.get(request).piece;
        let units = self.machine.completion_units(&self.downlink, asked, piece, last);
        let left = self.downlink.send_units(self.now, units);
        if let Some(record) = &mut self.record {
            record.completed(request, piece, (self.now, left));
        }
        self.push(left + self.flight, Event::Arrival { request, last });
        self.plan_answer(self.downlink.free_at().max(self.now));
    }

    /// The last completion of a request has arrived: returns its tag, and moves its data in order of arrival.
    fn answered(&mut self, request: u32) {
        let Request { piece, tag, dma } = *self.requests.get(request);
        let (space, tag_return) = (self.machine.completion_space(piece), self.machine.tag_return());
        if tag_return == Picoseconds::ZERO {
            self.returned(tag, space);
        } else {
            self.push(self.now + tag_return, Event::Returned { tag, space });
        }
        let offset = self.reads.get(dma).offset;
        let time = self.machine.move_time(self.test, offset, u64::from(piece.length));
        let from = self.read_engine_free.max(self.now);
        self.read_engine_free = from + time;
        if let Some(record) = &mut self.record {
            record.answered(request, "read", self.now, (from, self.read_engine_free));
        }
        self.push(self.read_engine_free, Event::Moved(request));
    }

    fn returned(&mut self, tag: u32, space: CompletionSpace) {
        self.tags.release(tag);
        if let Some(record) = &mut self.record {
            record.tag_returned(self.now);
        }
        if let Some(free) = &mut self.completion_buffer {
            free.give_back(space);
        }
        self.plan_issue(self.now);
    }

    fn moved(&mut self, request: u32) {
        let dma = self.requests.get(request).dma;
        self.requests.free(request);
        self.taken_in -= 1;
        let read = self.reads.get_mut(dma);
        read.open -= 1;
        if read.open == 0 && read.sent {
            let transaction = read.transaction;
            self.reads.free(dma);
            self.push(self.now, Event::Complete { transaction });
        }
        self.plan_answer(self.now);
    }
}
