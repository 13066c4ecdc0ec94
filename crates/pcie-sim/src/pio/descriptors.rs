//! The event loop of messages by descriptor DMA: doorbell, descriptor, payload, write-back, interrupt.
//!
//! A doorbell, a descriptor read and a write-back serve a group of messages; short messages may be part of their
//! descriptors (inline). Each core has a descriptor
//! queue, or all share one and its lock. The limit of messages in flight bounds the concurrent groups of a
//! queue.

use super::{HOST_BYTES, MessageMachine, Pace, Sharing, run_events_unless};
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::record::{REGISTERS, Record};
use crate::root_complex::under_load::Complex;
use pcie_model::pio::DescriptorPath;
use pcie_time::{EventQueue, Picoseconds};
use pcie_trace::{Segment, Tlp, lane};
use pcie_wire::{CompletionPolicy, Piece, SplitAt, TlpKind};
use std::collections::VecDeque;
use std::ops::Range;

/// The times of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DescriptorMessage {
    /// The start of the doorbell's TLP.
    pub doorbell: Picoseconds,
    /// Its end.
    pub doorbell_left: Picoseconds,
    /// The start of the first request of the descriptor.
    pub descriptor_request: Picoseconds,
    /// The start of its first completion.
    pub descriptor: Picoseconds,
    /// Its end.
    pub descriptor_left: Picoseconds,
    /// The start of the first request of the payload; zero for a message inside its descriptor.
    pub payload_request: Picoseconds,
    /// Its end.
    pub payload_request_left: Picoseconds,
    /// The start of its first completion.
    pub payload: Picoseconds,
    /// The end of its last completion.
    pub received: Picoseconds,
    /// The end of the write-back that it is part of.
    pub written_back: Picoseconds,
}

impl DescriptorMessage {
    /// Whether its descriptor carried it.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.payload_request == Picoseconds::ZERO
    }
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescriptorsOutcome {
    /// Every message.
    pub messages: Vec<DescriptorMessage>,
    /// Serialisation time of the payload of the profile's measured message.
    pub measured_payload: Picoseconds,
    /// Serialisation time of a batch of descriptors without messages in them.
    pub bare_descriptors: Picoseconds,
    /// Bytes of TLPs to the device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs to the host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both, without the messages in descriptors.
    pub control_bytes: u64,
    /// Until the last message was written back.
    pub elapsed: Picoseconds,
}

impl DescriptorsOutcome {
    /// Latency as in the source: from the doorbell to the start of the payload's completion, for the measured
    /// message. A longer payload adds its extra serialisation time, and so does a message inside its descriptor.
    #[must_use]
    pub fn latency(&self, message: &DescriptorMessage) -> Picoseconds {
        let counted = if message.is_inline() { self.bare_descriptors } else { self.measured_payload };
        (message.received - message.doorbell).since(counted)
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The core rings the doorbell for a group.
    Ring(u32),
    ReadDescriptors(u32),
    ReadPayloads(u32),
    Request(u32),
    Data(u32),
    /// The downlink can send another TLP.
    Downlink,
    /// The last completion of a request has arrived.
    Answered(u32),
    Done(u32),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    piece: Piece,
    group: u32,
    /// The message of a payload; `None` for descriptors.
    message: Option<u32>,
}

/// Messages of a core that share a doorbell.
#[derive(Clone, Debug)]
struct Group {
    core: u32,
    messages: Range<u32>,
    /// Unanswered requests for its descriptors.
    requests: u32,
    /// Messages whose payloads have not arrived.
    payloads: u32,
}

/// A run of messages by descriptors on an idle machine.
#[derive(Debug)]
pub struct DescriptorsRun<'a> {
    machine: &'a MessageMachine,
    path: DescriptorPath,
    sharing: Sharing,
    /// The last holder of a shared queue's lock.
    last_core: Option<u32>,
    events: EventQueue<Event>,
    now: Picoseconds,
    uplink: Port,
    downlink: Port,
    downlink_planned: bool,
    complex: Complex<'a>,
    requests: Vec<Request>,
    waiting: VecDeque<u32>,
    tags: u32,
    groups: Vec<Group>,
    /// By message, bytes that have not arrived.
    to_come: Vec<u64>,
    /// By queue, groups without a doorbell so far, in order.
    to_ring: Vec<VecDeque<u32>>,
    /// By queue, groups that may start before another is done.
    room: Vec<u32>,
    outcome: DescriptorsOutcome,
    /// The trace, if one is asked for.
    record: Option<Box<Record<'a>>>,
}

/// Offset of payloads in the host buffer, behind descriptors and their write-backs.
const PAYLOAD_OFFSET: u64 = HOST_BYTES / 2;

impl<'a> DescriptorsRun<'a> {
    /// `count` messages from each core with frames of `frame_bytes`, headers included, written by the CPU.
    ///
    /// Alone, each message has a doorbell of its own, and the core's next one waits until it has arrived.
    #[must_use]
    pub fn new(
        machine: &'a MessageMachine,
        key: TestKey,
        (cores, sharing): (u32, Sharing),
        (count, pace): (u32, Pace),
        frame_bytes: u64,
    ) -> Self {
        let mut run = Self::idle(machine, key, (cores, sharing));
        let batch = match pace {
            Pace::Alone => run.alone(cores),
            Pace::Stream => run.path.messages_per_doorbell,
        };
        let frames = vec![frame_bytes; count as usize];
        for core in 0..cores {
            for batch in frames.chunks(batch as usize) {
                run.add_group(core, batch);
            }
        }
        let groups = count.div_ceil(batch);
        run.to_ring = match sharing {
            Sharing::OwnQueues => {
                (0..cores).map(|core| (core * groups..(core + 1) * groups).collect()).collect()
            }
            // Cores take turns.
            Sharing::OneQueue => {
                vec![(0..groups).flat_map(|nth| (0..cores).map(move |core| core * groups + nth)).collect()]
            }
        };
        for _ in 0..run.room[0] {
            for queue in 0..run.to_ring.len() {
                run.ring_next(queue);
            }
        }
        run
    }

    /// Leaves each core room for one message in flight; returns the messages of a doorbell.
    fn alone(&mut self, cores: u32) -> u32 {
        let most = match self.sharing {
            Sharing::OwnQueues => 1,
            Sharing::OneQueue => cores,
        };
        self.room.iter_mut().for_each(|room| *room = most.min(*room));
        self.outcome.bare_descriptors = read_time(self.machine, self.path.descriptor_bytes.into());
        1
    }

    /// Cores without messages so far.
    pub(super) fn idle(machine: &'a MessageMachine, key: TestKey, (cores, sharing): (u32, Sharing)) -> Self {
        let system = &machine.machine;
        let mut state = system.boot();
        system.warm_from_host(&mut state, HOST_BYTES, key);
        let path = machine.profile.descriptors;
        let queues = match sharing {
            Sharing::OwnQueues => cores as usize,
            Sharing::OneQueue => 1,
        };
        Self {
            machine,
            path,
            sharing,
            last_core: None,
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            uplink: machine.uplink(),
            downlink: machine.downlink(),
            downlink_planned: false,
            complex: Complex::new(system.system(), system.lines(), key, state, 0),
            requests: Vec::new(),
            waiting: VecDeque::new(),
            tags: system.system.link.tags,
            groups: Vec::new(),
            to_come: Vec::new(),
            to_ring: vec![VecDeque::new(); queues],
            room: vec![(path.messages_in_flight / path.messages_per_doorbell).max(1); queues],
            outcome: DescriptorsOutcome {
                measured_payload: read_time(machine, measured_bytes(machine)),
                bare_descriptors: read_time(
                    machine,
                    u64::from(path.descriptor_bytes * path.messages_per_doorbell),
                ),
                ..DescriptorsOutcome::default()
            },
            record: None,
        }
    }

    /// The trace of the first `span`; ends early once `stopped` returns true.
    #[must_use]
    pub fn trace(mut self, span: Picoseconds, stopped: &mut dyn FnMut() -> bool) -> Vec<Segment> {
        self.record(span);
        run_events_unless(stopped, || !self.is_recorded() && self.next_event());
        self.into_segments()
    }

    /// Records a trace from now on.
    pub(super) fn record(&mut self, span: Picoseconds) {
        self.record = Some(Box::new(Record::new(&self.machine.machine, span)));
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.record.as_ref().is_none_or(|record| record.is_done(self.now))
    }

    pub(super) fn into_segments(self) -> Vec<Segment> {
        self.record.map(|record| record.into_segments()).unwrap_or_default()
    }

    /// Adds messages of a core that share a doorbell; `frame_bytes` of each include headers.
    fn add_group(&mut self, core: u32, frame_bytes: &[u64]) -> u32 {
        let first = self.to_come.len() as u32;
        self.to_come.extend(frame_bytes);
        let messages = first..self.to_come.len() as u32;
        self.outcome.messages.resize(self.to_come.len(), DescriptorMessage::default());
        self.groups.push(Group { core, messages, requests: 0, payloads: frame_bytes.len() as u32 });
        self.groups.len() as u32 - 1
    }

    /// Rings the doorbell for messages now, or as soon as there is room; returns their numbers.
    pub(super) fn offer(&mut self, now: Picoseconds, core: u32, frame_bytes: &[u64]) -> Range<u32> {
        self.now = now;
        let group = self.add_group(core, frame_bytes);
        self.to_ring[core as usize].push_back(group);
        self.ring_next(core as usize);
        self.group(group)
    }

    /// Whether a core with a queue of its own may ring the doorbell.
    pub(super) fn has_room(&self, core: u32) -> bool {
        self.room[core as usize] > 0
    }

    /// Simulates until every message is written back.
    #[must_use]
    pub fn run(mut self) -> DescriptorsOutcome {
        while self.next_event() {}
        self.finished()
    }

    /// Like `run`, but `None` once `stopped` returns true; called many times in a tenth of a second.
    pub fn run_unless(mut self, stopped: &mut dyn FnMut() -> bool) -> Option<DescriptorsOutcome> {
        run_events_unless(stopped, || self.next_event()).then(|| self.finished())
    }

    pub(super) fn next_event(&mut self) -> bool {
        let Some((time, event)) = self.events.pop() else { return false };
        self.now = time;
        self.handle(event);
        true
    }

    pub(super) fn next_time(&self) -> Option<Picoseconds> {
        self.events.next_time()
    }

    pub(super) fn downlink_mut(&mut self) -> &mut Port {
        &mut self.downlink
    }

    pub(super) fn outcome(&self) -> &DescriptorsOutcome {
        &self.outcome
    }

    fn finished(mut self) -> DescriptorsOutcome {
        debug_assert!(self.to_ring.iter().all(VecDeque::is_empty), "messages without a doorbell at the end");
        debug_assert!(self.to_come.iter().all(|bytes| *bytes == 0), "missing bytes at the end");
        debug_assert!(self.waiting.is_empty(), "unsent requests at the end");
        debug_assert_eq!(self.tags, self.machine.machine.system.link.tags, "tags in use at the end");
        self.outcome.elapsed =
            self.outcome.messages.iter().map(|message| message.written_back).max().unwrap_or_default();
        self.outcome
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Ring(group) => self.ring(group),
            Event::ReadDescriptors(group) => {
                let bytes = u64::from(self.path.descriptor_bytes) * self.group(group).len() as u64;
                let inline_bytes = self.inline_bytes(group);
                // Descriptors that carry messages take whole slots of 64 B.
                let slot_bytes =
                    if inline_bytes > 0 { (bytes + inline_bytes).next_multiple_of(64) } else { 64 };
                let offset = u64::from(group) * slot_bytes % PAYLOAD_OFFSET;
                self.read(group, None, offset, bytes + inline_bytes);
            }
            Event::ReadPayloads(group) => {
                for message in self.group(group) {
                    match self.to_come[message as usize] {
                        0 => {}
                        bytes => self.read(group, Some(message), PAYLOAD_OFFSET, bytes),
                    }
                }
            }
            Event::Request(request) => {
                let piece = self.requests[request as usize].piece;
                let data = match &mut self.record {
                    None => self.complex.admit(piece, self.now).1,
                    Some(record) => {
                        let steps = self.complex.read_steps(piece, self.now);
                        record.read_arrived(request, self.now, &steps);
                        // Credits never run out here: they are back at once.
                        record.read_credited(self.now);
                        steps.data
                    }
                };
                self.events.push(data, Event::Data(request));
            }
            Event::Data(request) => {
                if let Some(record) = &mut self.record {
                    record.data_ready(request, self.now);
                }
                self.complex.data_ready(request, self.requests[request as usize].piece);
                self.answer();
            }
            Event::Downlink => {
                self.downlink_planned = false;
                self.answer();
            }
            Event::Answered(request) => self.answered(request),
            Event::Done(group) => self.done(group),
        }
    }

    fn group(&self, group: u32) -> Range<u32> {
        self.groups[group as usize].messages.clone()
    }

    /// Rings the doorbell for the next group of a queue; a shared queue's lock first moves to its core.
    fn ring_next(&mut self, queue: usize) {
        if self.room[queue] == 0 {
            return;
        }
        let Some(group) = self.to_ring[queue].pop_front() else { return };
        self.room[queue] -= 1;
        let core = self.groups[group as usize].core;
        let moves = self.sharing == Sharing::OneQueue
            && self.last_core.replace(core).is_some_and(|last| last != core);
        let lock_ns = if moves { self.machine.profile.core.lock_ns } else { 0.0 };
        self.events.push(self.now + Picoseconds::from_ns(lock_ns), Event::Ring(group));
    }

    fn ring(&mut self, group: u32) {
        let piece = Piece { address: 0, length: self.path.doorbell_bytes };
        let bytes = self.machine.tlp_bytes(TlpKind::MemoryWrite, piece);
        let start = self.now.max(self.downlink.free_at());
        let left = self.downlink.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.recorder().tlp(Tlp {
                lane: lane::DOWN,
                name: "MWr",
                start: start.min(left),
                end: left,
                request: group.into(),
                tag: None,
                address: REGISTERS,
                bytes: piece.length,
                byte_count: None,
            });
        }
        self.outcome.downstream_bytes += u64::from(bytes);
        self.outcome.control_bytes += u64::from(bytes);
        for message in self.group(group) {
            let message = &mut self.outcome.messages[message as usize];
            (message.doorbell, message.doorbell_left) = (start, left);
        }
        let parsed = Picoseconds::from_ns(self.machine.times.doorbell_ns);
        self.events.push(left + self.machine.flight() + parsed, Event::ReadDescriptors(group));
    }

    /// Issues the requests of a read, and sends them as far as there are tags.
    fn read(&mut self, group: u32, message: Option<u32>, offset: u64, bytes: u64) {
        for piece in self.machine.link.read_requests(offset, bytes, SplitAt::AlignedAddress) {
            self.groups[group as usize].requests += u32::from(message.is_none());
            self.requests.push(Request { piece, group, message });
            self.waiting.push_back(self.requests.len() as u32 - 1);
        }
        self.send_requests();
    }

    fn send_requests(&mut self) {
        while self.tags > 0 {
            let Some(number) = self.waiting.pop_front() else { return };
            self.tags -= 1;
            let request = self.requests[number as usize];
            let bytes = self.machine.tlp_bytes(TlpKind::MemoryRead, request.piece);
            let start = self.now.max(self.uplink.free_at());
            let left = self.uplink.send(self.now, bytes);
            if let Some(record) = &mut self.record {
                let tag = number % self.machine.machine.system.link.tags.max(1);
                record.read_issued(number, request.piece, tag, self.now);
                record.read_sent(number, request.piece, self.now, (start.min(left), left));
            }
            self.outcome.upstream_bytes += u64::from(bytes);
            match request.message {
                Some(message) => {
                    let message = &mut self.outcome.messages[message as usize];
                    stamp(&mut message.payload_request, start);
                    stamp(&mut message.payload_request_left, left);
                }
                None => {
                    self.outcome.control_bytes += u64::from(bytes);
                    for message in self.group(request.group) {
                        stamp(&mut self.outcome.messages[message as usize].descriptor_request, start);
                    }
                }
            }
            self.events.push(left + self.machine.flight(), Event::Request(number));
        }
    }

    fn answer(&mut self) {
        if self.downlink_planned {
            return;
        }
        if self.downlink.free_at() > self.now {
            self.plan_downlink();
            return;
        }
        let Some((number, piece, last)) = self.complex.next_completion(true) else { return };
        let bytes = self.machine.tlp_bytes(TlpKind::CompletionWithData, piece);
        let left = self.downlink.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.completed(number, piece, (self.now, left));
        }
        self.outcome.downstream_bytes += u64::from(bytes);
        let request = self.requests[number as usize];
        match request.message {
            Some(message) => stamp(&mut self.outcome.messages[message as usize].payload, self.now),
            None => {
                self.outcome.control_bytes += u64::from(bytes);
                for message in self.group(request.group) {
                    let message = &mut self.outcome.messages[message as usize];
                    stamp(&mut message.descriptor, self.now);
                    stamp(&mut message.descriptor_left, left);
                }
            }
        }
        if last {
            self.events.push(left + self.machine.flight(), Event::Answered(number));
        }
        self.plan_downlink();
    }

    fn plan_downlink(&mut self) {
        self.downlink_planned = true;
        self.events.push(self.downlink.free_at(), Event::Downlink);
    }

    fn answered(&mut self, number: u32) {
        debug_assert!(self.tags < self.machine.machine.system.link.tags, "an unused tag is freed");
        self.tags += 1;
        let request = self.requests[number as usize];
        if let Some(record) = &mut self.record {
            let name = if request.message.is_some() { "read payload" } else { "read descriptors" };
            record.answered(number, name, self.now, (self.now, self.now));
            record.tag_returned(self.now);
        }
        match request.message {
            None => {
                let open = &mut self.groups[request.group as usize];
                debug_assert!(open.requests > 0, "unrequested descriptors arrive");
                open.requests -= 1;
                if open.requests == 0 {
                    self.descriptors_arrived(request.group);
                }
            }
            Some(message) => self.payload_arrived(request, message),
        }
        self.send_requests();
    }

    /// The messages in descriptors are there; the device parses the descriptors, then reads the others.
    fn descriptors_arrived(&mut self, group: u32) {
        self.outcome.control_bytes -= self.inline_bytes(group);
        for message in self.group(group) {
            let (path, to_come) = (&self.path, &mut self.to_come[message as usize]);
            if path.inline_bytes_of(*to_come) > 0 {
                *to_come = 0;
                self.groups[group as usize].payloads -= 1;
                let message = &mut self.outcome.messages[message as usize];
                (message.payload, message.received) = (message.descriptor, self.now);
            }
        }
        let parsed = self.now + Picoseconds::from_ns(self.machine.times.parse_ns);
        let is_done = self.groups[group as usize].payloads == 0;
        self.events.push(parsed, if is_done { Event::Done(group) } else { Event::ReadPayloads(group) });
    }

    /// Bytes of the messages that the descriptors of a group carry, before they have arrived.
    fn inline_bytes(&self, group: u32) -> u64 {
        self.group(group).map(|message| self.path.inline_bytes_of(self.to_come[message as usize])).sum()
    }

    fn payload_arrived(&mut self, request: Request, message: u32) {
        self.outcome.messages[message as usize].received = self.now;
        let to_come = &mut self.to_come[message as usize];
        debug_assert!(*to_come >= u64::from(request.piece.length), "message {message} gets too many bytes");
        *to_come -= u64::from(request.piece.length);
        if *to_come > 0 {
            return;
        }
        let open = &mut self.groups[request.group as usize];
        open.payloads -= 1;
        if open.payloads == 0 {
            self.events.push(self.now, Event::Done(request.group));
        }
    }

    /// Writes a group back, interrupts, and starts the next.
    fn done(&mut self, group: u32) {
        let messages = self.group(group);
        debug_assert!(
            messages.clone().all(|message| self.to_come[message as usize] == 0),
            "group {group} is done with missing bytes"
        );
        debug_assert!(
            messages.clone().all(|message| self.is_in_flight(message)),
            "group {group} is done twice"
        );
        let length = self.path.write_back_bytes * messages.len() as u32;
        let offset = u64::from(group) * 64 % PAYLOAD_OFFSET;
        let mut left = self.now;
        for piece in self.machine.link.writes(offset, u64::from(length), SplitAt::AlignedAddress) {
            left = self.write(piece, true);
        }
        let every = self.path.messages_per_interrupt;
        if messages.clone().any(|message| (message + 1).is_multiple_of(every)) {
            self.write(Piece { address: offset, length: self.path.interrupt_bytes }, false);
        }
        for message in messages {
            self.outcome.messages[message as usize].written_back = left;
        }
        let queue = if self.to_ring.len() > 1 { self.groups[group as usize].core as usize } else { 0 };
        self.room[queue] += 1;
        self.ring_next(queue);
    }

    fn is_in_flight(&self, message: u32) -> bool {
        self.outcome.messages[message as usize].written_back == Picoseconds::ZERO
    }

    fn write(&mut self, piece: Piece, is_control: bool) -> Picoseconds {
        let bytes = self.machine.tlp_bytes(TlpKind::MemoryWrite, piece);
        let start = self.now.max(self.uplink.free_at());
        let left = self.uplink.send(self.now, bytes);
        self.outcome.upstream_bytes += u64::from(bytes);
        self.outcome.control_bytes += if is_control { u64::from(bytes) } else { 0 };
        let arrives = left + self.machine.flight();
        match &mut self.record {
            None => drop(self.complex.write(piece, arrives)),
            Some(record) => {
                record.write_issued((self.now, self.now));
                record.write_sent(piece, self.now, (start.min(left), left));
                let steps = self.complex.write_steps(piece, arrives);
                record.write_arrived(piece, arrives, &steps);
            }
        }
        left
    }
}

/// Sets a time that has not been set.
fn stamp(time: &mut Picoseconds, now: Picoseconds) {
    if *time == Picoseconds::ZERO {
        *time = now;
    }
}

/// Bytes of the payload of the profile's measured message.
fn measured_bytes(machine: &MessageMachine) -> u64 {
    let profile = &machine.profile;
    u64::from(profile.descriptors.measured_payload_bytes + profile.header_bytes)
}

/// Serialisation time of the completions of a read.
fn read_time(machine: &MessageMachine, bytes: u64) -> Picoseconds {
    let mut port = machine.downlink();
    let link = &machine.link;
    link.read_requests(0, bytes, SplitAt::AlignedAddress)
        .flat_map(|request| link.completions(request, CompletionPolicy::AtMpsBoundaries))
        .map(|piece| port.send(Picoseconds::ZERO, machine.tlp_bytes(TlpKind::CompletionWithData, piece)))
        .last()
        .unwrap_or_default()
}
