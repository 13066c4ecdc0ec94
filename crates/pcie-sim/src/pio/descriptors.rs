//! The event loop of messages by descriptor DMA: doorbell, descriptor, payload, write-back, interrupt.
//!
//! A doorbell, a descriptor read and a write-back are for a group of messages, as many as the profile says. Each core has
//! a queue of descriptors of its own, or all share one and its lock; in each queue, groups are under way side by side as
//! far as its messages in flight allow.

use super::{HOST_BYTES, MessageMachine, Sharing, happens_unless};
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::root_complex::under_load::Complex;
use pcie_model::pio::DescriptorPath;
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::{CompletionPolicy, Piece, SplitAt, TlpKind};
use std::collections::VecDeque;
use std::ops::Range;

/// What became of a message.
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
    /// The start of the first request of the payload.
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

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DescriptorsOutcome {
    /// Every message.
    pub messages: Vec<DescriptorMessage>,
    /// What the payload of the profile's measured message takes on the link.
    pub measured_payload: Picoseconds,
    /// Bytes of TLPs to the device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs to the host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both.
    pub control_bytes: u64,
    /// Until the last message was written back.
    pub elapsed: Picoseconds,
}

impl DescriptorsOutcome {
    /// As the source counts it: from the doorbell to the start of the payload's completion, for the message measured; what
    /// another takes longer on the link counts.
    #[must_use]
    pub fn latency(&self, message: &DescriptorMessage) -> Picoseconds {
        (message.received - message.doorbell).since(self.measured_payload)
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The core rings for a group.
    Ring(u32),
    /// The device asks for the descriptors of a group.
    AskDescriptors(u32),
    /// The device asks for the payloads of a group.
    AskPayloads(u32),
    /// A request arrives at the root complex.
    Request(u32),
    /// The data of a request are there.
    Data(u32),
    /// The downlink can send another TLP.
    Downlink,
    /// The last completion of a request has arrived.
    Answered(u32),
    /// A group is done: the next may be rung for.
    Done(u32),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    piece: Piece,
    group: u32,
    /// The message whose payload is asked for; none for descriptors.
    message: Option<u32>,
}

/// Messages of a core that share a doorbell.
#[derive(Clone, Debug)]
struct Group {
    core: u32,
    messages: Range<u32>,
    /// Requests for its descriptors that are not answered.
    requests: u32,
    /// Messages whose payloads have not arrived.
    payloads: u32,
}

/// Messages by descriptors, to be simulated from an idle machine.
#[derive(Debug)]
pub struct DescriptorsRun<'a> {
    machine: &'a MessageMachine,
    path: DescriptorPath,
    sharing: Sharing,
    /// Who held the lock of a shared queue last.
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
    /// Bytes of each message that are still to come.
    to_come: Vec<u64>,
    /// Of each queue, groups that are still to be rung for, as they will be.
    to_ring: Vec<VecDeque<u32>>,
    /// Of each queue, groups that may be rung for before another is done.
    room: Vec<u32>,
    outcome: DescriptorsOutcome,
}

/// Where descriptors and what is written back of them lie in the host buffer; payloads follow.
const PAYLOAD_OFFSET: u64 = HOST_BYTES / 2;

impl<'a> DescriptorsRun<'a> {
    /// `count` messages of each of `cores` cores with frames of `frame_bytes`, headers included, written by the CPU
    /// before.
    #[must_use]
    pub fn new(
        machine: &'a MessageMachine,
        key: TestKey,
        (cores, sharing): (u32, Sharing),
        count: u32,
        frame_bytes: u64,
    ) -> Self {
        let mut run = Self::idle(machine, key, (cores, sharing));
        let batch = run.path.messages_per_doorbell as usize;
        let frames = vec![frame_bytes; count as usize];
        for core in 0..cores {
            for batch in frames.chunks(batch) {
                run.add_group(core, batch);
            }
        }
        let groups = count.div_ceil(run.path.messages_per_doorbell);
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

    /// Cores that have nothing to send yet.
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
                measured_payload: measured_payload(machine),
                ..DescriptorsOutcome::default()
            },
        }
    }

    /// Adds messages of a core that share a doorbell, with these bytes of each, headers included.
    fn add_group(&mut self, core: u32, frame_bytes: &[u64]) -> u32 {
        let first = self.to_come.len() as u32;
        self.to_come.extend(frame_bytes);
        let messages = first..self.to_come.len() as u32;
        self.outcome.messages.resize(self.to_come.len(), DescriptorMessage::default());
        self.groups.push(Group { core, messages, requests: 0, payloads: frame_bytes.len() as u32 });
        self.groups.len() as u32 - 1
    }

    /// Has a core ring for messages now, or as soon as there is room; says which they are.
    pub(super) fn offer(&mut self, now: Picoseconds, core: u32, frame_bytes: &[u64]) -> Range<u32> {
        self.now = now;
        let group = self.add_group(core, frame_bytes);
        self.to_ring[core as usize].push_back(group);
        self.ring_next(core as usize);
        self.group(group)
    }

    /// Whether a core with a queue of its own may ring for messages.
    pub(super) fn has_room(&self, core: u32) -> bool {
        self.room[core as usize] > 0
    }

    /// Simulates until every message is written back.
    #[must_use]
    pub fn run(mut self) -> DescriptorsOutcome {
        while self.next_event() {}
        self.finished()
    }

    /// The same, unless it is to stop; `stopped` is asked now and then, many times in a tenth of a second.
    pub fn run_unless(mut self, stopped: &mut dyn FnMut() -> bool) -> Option<DescriptorsOutcome> {
        happens_unless(stopped, || self.next_event()).then(|| self.finished())
    }

    /// Lets the next thing happen; false once nothing is left.
    pub(super) fn next_event(&mut self) -> bool {
        let Some((time, event)) = self.events.pop() else { return false };
        self.now = time;
        self.handle(event);
        true
    }

    /// When that will be.
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
        debug_assert!(
            self.to_ring.iter().all(VecDeque::is_empty),
            "messages are left that were not rung for"
        );
        debug_assert!(self.to_come.iter().all(|bytes| *bytes == 0), "bytes are left that have not come");
        debug_assert!(self.waiting.is_empty(), "requests are left that were not sent");
        debug_assert_eq!(self.tags, self.machine.machine.system.link.tags, "tags are left in use");
        self.outcome.elapsed =
            self.outcome.messages.iter().map(|message| message.written_back).max().unwrap_or_default();
        self.outcome
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Ring(group) => self.ring(group),
            Event::AskDescriptors(group) => {
                let bytes = u64::from(self.path.descriptor_bytes) * self.group(group).len() as u64;
                self.ask(group, None, u64::from(group) * 64 % PAYLOAD_OFFSET, bytes);
            }
            Event::AskPayloads(group) => {
                for message in self.group(group) {
                    self.ask(group, Some(message), PAYLOAD_OFFSET, self.to_come[message as usize]);
                }
            }
            Event::Request(request) => {
                let piece = self.requests[request as usize].piece;
                let (_, data) = self.complex.admit(piece, self.now);
                self.events.push(data, Event::Data(request));
            }
            Event::Data(request) => {
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

    /// The messages of a group.
    fn group(&self, group: u32) -> Range<u32> {
        self.groups[group as usize].messages.clone()
    }

    /// Rings for the next group of a queue; a shared one's lock has to come from the core that held it.
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
        self.outcome.downstream_bytes += u64::from(bytes);
        self.outcome.control_bytes += u64::from(bytes);
        for message in self.group(group) {
            let message = &mut self.outcome.messages[message as usize];
            (message.doorbell, message.doorbell_left) = (start, left);
        }
        let parsed = Picoseconds::from_ns(self.machine.times.doorbell_ns);
        self.events.push(left + self.machine.flight() + parsed, Event::AskDescriptors(group));
    }

    /// Makes the requests of a read, and sends them as far as there are tags.
    fn ask(&mut self, group: u32, message: Option<u32>, offset: u64, bytes: u64) {
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
        debug_assert!(
            self.tags < self.machine.machine.system.link.tags,
            "a tag comes back that was not in use"
        );
        self.tags += 1;
        let request = self.requests[number as usize];
        match request.message {
            None => {
                let open = &mut self.groups[request.group as usize];
                debug_assert!(open.requests > 0, "descriptors come that nobody asked for");
                open.requests -= 1;
                if open.requests == 0 {
                    let parsed = Picoseconds::from_ns(self.machine.times.parse_ns);
                    self.events.push(self.now + parsed, Event::AskPayloads(request.group));
                }
            }
            Some(message) => self.payload_arrived(request, message),
        }
        self.send_requests();
    }

    fn payload_arrived(&mut self, request: Request, message: u32) {
        self.outcome.messages[message as usize].received = self.now;
        let to_come = &mut self.to_come[message as usize];
        debug_assert!(*to_come >= u64::from(request.piece.length), "message {message} gets more than it has");
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

    /// Writes a group back, interrupts, and rings for the next.
    fn done(&mut self, group: u32) {
        let messages = self.group(group);
        debug_assert!(
            messages.clone().all(|message| self.to_come[message as usize] == 0),
            "group {group} is done, and bytes of it are still to come"
        );
        debug_assert!(
            messages.clone().all(|message| self.is_under_way(message)),
            "group {group} is done a second time"
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

    fn is_under_way(&self, message: u32) -> bool {
        self.outcome.messages[message as usize].written_back == Picoseconds::ZERO
    }

    fn write(&mut self, piece: Piece, is_control: bool) -> Picoseconds {
        let bytes = self.machine.tlp_bytes(TlpKind::MemoryWrite, piece);
        let left = self.uplink.send(self.now, bytes);
        self.outcome.upstream_bytes += u64::from(bytes);
        self.outcome.control_bytes += if is_control { u64::from(bytes) } else { 0 };
        self.complex.write(piece, left + self.machine.flight());
        left
    }
}

/// Notes the first time that something happens.
fn stamp(place: &mut Picoseconds, now: Picoseconds) {
    if *place == Picoseconds::ZERO {
        *place = now;
    }
}

/// What the completions of the profile's measured payload take on the link.
fn measured_payload(machine: &MessageMachine) -> Picoseconds {
    let profile = &machine.profile;
    let bytes = u64::from(profile.descriptors.measured_payload_bytes + profile.header_bytes);
    let mut port = machine.downlink();
    let link = &machine.link;
    link.read_requests(0, bytes, SplitAt::AlignedAddress)
        .flat_map(|request| link.completions(request, CompletionPolicy::AtMpsBoundaries))
        .map(|piece| port.send(Picoseconds::ZERO, machine.tlp_bytes(TlpKind::CompletionWithData, piece)))
        .last()
        .unwrap_or_default()
}
