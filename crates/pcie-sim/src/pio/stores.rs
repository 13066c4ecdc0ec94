//! The event loop of messages by stores: cores, their buffers, the link, the queues.

mod core;
#[cfg(test)]
mod golden;
mod lock;
mod looped_back;

use super::filter::Leaving;
use super::frame::words;
use super::plan::{Delivered, Ending, EvictionOrder, Pace, Sharing, StoreMessage, StorePlan, StoresOutcome};
use super::queue::{BUFFER_WORDS, TransmitQueue};
use super::{MessageMachine, run_events_unless};
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::record::REGISTERS;
use core::{Core, Filled, Flushed, Waiting};
use lock::{Asked, Lock};
use looped_back::LoopBack;
use pcie_model::pio::{BUFFER_BYTES, WORD_BYTES};
use pcie_time::{Draws, EventQueue, Picoseconds, Stream};
use pcie_trace::{Recorder, Segment, Tlp, lane};
use pcie_wire::{Piece, TlpKind};
use std::collections::VecDeque;

/// Buffers after which the addresses of a queue repeat.
const MAPPED_BUFFERS: u64 = 1 << 14;
/// The counter of write-combining buffers whose data have not left.
const BUFFERS: &str = "buffers in use";

#[derive(Clone, Debug)]
enum Event {
    Step(usize),
    /// A core has written the words of a buffer, which is flushed.
    Written(usize, Flushed),
    /// The port may send another TLP.
    Port,
    /// A TLP has left: its buffer is free.
    Left(usize),
    Arrived(Flushed),
    /// A buffer has passed the filter of a queue.
    Drained(usize),
    /// Cores learn the head of a queue.
    Credit(usize, u64),
    /// A core's message is done, and the link behind it idle.
    Idle(usize),
}

/// A run of messages by stores on an idle machine.
#[derive(Debug)]
pub struct StoresRun<'a> {
    machine: &'a MessageMachine,
    plan: StorePlan,
    events: EventQueue<Event>,
    now: Picoseconds,
    cores: Vec<Core>,
    queues: Vec<TransmitQueue>,
    in_queue: Vec<VecDeque<(usize, usize)>>,
    lock: Lock,
    port: Port,
    loop_back: Option<LoopBack>,
    /// Time of the next `Port` event.
    port_planned: Option<Picoseconds>,
    next_core: usize,
    order: Draws,
    pressure: Draws,
    evicted: u64,
    stored: u64,
    outcome: StoresOutcome,
    /// The trace, if one is asked for.
    record: Option<Box<Recorder>>,
}

impl<'a> StoresRun<'a> {
    /// A run with frames for each core (see [`frame`](super::frame)), of at most 64 KiB of payload.
    #[must_use]
    pub fn new(
        machine: &'a MessageMachine,
        plan: StorePlan,
        key: TestKey,
        frames: Vec<Vec<Vec<u8>>>,
    ) -> Self {
        let queues = match plan.sharing {
            Sharing::OwnQueues => frames.len(),
            Sharing::OneQueue => frames.len().min(1),
        };
        let (buffers, ending) = if plan.combine {
            (machine.profile.core.write_combining_buffers, plan.ending)
        } else {
            // An uncached store leaves before the next one, without stuffing.
            (1, Ending::Fenced)
        };
        let mut count = 0;
        let cores: Vec<_> = frames
            .into_iter()
            .enumerate()
            .map(|(core, frames)| {
                let todo = frames.into_iter().map(|frame| {
                    count += 1;
                    (count - 1, frame)
                });
                let admitted = plan.sharing == Sharing::OwnQueues;
                Core::new(core.min(queues - 1), todo.collect(), buffers, plan.pace, admitted)
            })
            .collect();
        let mut events = EventQueue::default();
        for (core, _) in cores.iter().enumerate().filter(|(_, state)| !state.todo.is_empty()) {
            events.push(Picoseconds::ZERO, Event::Step(core));
        }
        Self {
            machine,
            plan,
            events,
            now: Picoseconds::ZERO,
            cores,
            queues: vec![TransmitQueue::new(machine.profile.queue.capacity_bytes, ending); queues],
            in_queue: vec![VecDeque::new(); queues],
            lock: Lock::default(),
            port: machine.downlink(),
            loop_back: machine.profile.answers.as_ref().map(|answers| {
                let piece = Piece { address: 0, length: BUFFER_BYTES as u32 };
                LoopBack::new(answers, machine.uplink(), machine.tlp_bytes(TlpKind::MemoryWrite, piece))
            }),
            port_planned: None,
            next_core: 0,
            order: key.draws(Stream::EvictionOrder),
            pressure: key.draws(Stream::Pressure),
            evicted: 0,
            stored: 0,
            outcome: StoresOutcome {
                messages: vec![StoreMessage::default(); count],
                ..StoresOutcome::default()
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
        let mut recorder = Recorder::new(span);
        recorder.begins(BUFFERS, 0);
        self.record = Some(Box::new(recorder));
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.record.as_ref().is_none_or(|record| record.is_done(self.now))
    }

    pub(super) fn into_segments(self) -> Vec<Segment> {
        self.record.map(|record| record.into_segments()).unwrap_or_default()
    }

    /// Records a phase of a core's message.
    fn note(
        &mut self,
        lane: &'static str,
        name: &'static str,
        span: (Picoseconds, Picoseconds),
        message: usize,
    ) {
        if let Some(record) = &mut self.record {
            record.phase(lane, name, span, message as u64, None);
        }
    }

    /// Simulates until every message has left.
    #[must_use]
    pub fn run(mut self) -> StoresOutcome {
        while self.next_event() {}
        self.finished()
    }

    /// Like `run`, but `None` once `stopped` returns true; called many times in a tenth of a second.
    pub fn run_unless(mut self, stopped: &mut dyn FnMut() -> bool) -> Option<StoresOutcome> {
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
        &mut self.port
    }

    /// Has a free core write a message; returns the message's number.
    pub(super) fn offer(&mut self, now: Picoseconds, core: usize, pace: Pace, frame: Vec<u8>) -> usize {
        self.now = now;
        let message = self.outcome.messages.len();
        self.outcome.messages.push(StoreMessage::default());
        self.cores[core].pace = pace;
        self.cores[core].todo.push_back((message, frame));
        self.step(core);
        message
    }

    /// Whether a core can take another message.
    pub(super) fn is_free(&self, core: usize) -> bool {
        self.cores[core].is_free()
    }

    pub(super) fn outcome(&self) -> &StoresOutcome {
        &self.outcome
    }

    /// Frames delivered since the last call.
    pub(super) fn take_delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.outcome.delivered)
    }

    fn finished(mut self) -> StoresOutcome {
        debug_assert!(self.cores.iter().all(Core::is_idle), "a core is busy at the end");
        debug_assert!(self.in_queue.iter().all(VecDeque::is_empty), "a queue is not empty at the end");
        debug_assert!(self.lock.is_idle(), "the lock is in use at the end");
        self.outcome.elapsed =
            self.outcome.messages.iter().map(|message| message.left).max().unwrap_or_default();
        self.outcome
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Step(core) => self.step(core),
            Event::Written(core, flushed) => self.written(core, flushed),
            Event::Port => {
                self.port_planned = self.port_planned.filter(|planned| *planned > self.now);
                self.pump();
            }
            Event::Left(core) => {
                self.cores[core].free_buffer();
                if let Some(record) = &mut self.record {
                    record.change(BUFFERS, self.now, -1);
                }
                self.wake(core, Waiting::Buffer);
            }
            Event::Arrived(flushed) => {
                let queue = &mut self.queues[flushed.queue];
                self.outcome.lost +=
                    u64::from(!queue.put(flushed.buffer, flushed.first_word, &flushed.words));
                self.start_drain(flushed.queue);
            }
            Event::Drained(queue) => self.drained(queue),
            Event::Idle(core) => self.wake(core, Waiting::Delivery),
            Event::Credit(queue, head) => {
                self.queues[queue].known_head = head;
                for core in 0..self.cores.len() {
                    if self.cores[core].queue == queue {
                        self.wake(core, Waiting::Space);
                    }
                }
            }
        }
    }

    /// Wakes a core that waits for `cause`, and counts its waiting time.
    fn wake(&mut self, core: usize, cause: Waiting) {
        let Some((waiting, since)) = self.cores[core].waiting else { return };
        if waiting != cause {
            return;
        }
        self.cores[core].waiting = None;
        let waited = self.now - since;
        if self.record.is_some() {
            let name = match cause {
                Waiting::Buffer => "wait for a buffer",
                Waiting::Space => "wait for the queue",
                Waiting::Lock => "wait for the lock",
                Waiting::Delivery => "wait for delivery",
            };
            self.note(lane::CORE, name, (since, self.now), core);
        }
        match cause {
            Waiting::Buffer => self.outcome.stalls.buffers += waited,
            Waiting::Space => self.outcome.stalls.queue += waited,
            Waiting::Lock => self.outcome.stalls.lock += waited,
            Waiting::Delivery => {}
        }
        self.step(core);
    }

    fn wait(&mut self, core: usize, cause: Waiting) {
        self.cores[core].waiting = Some((cause, self.now));
    }

    /// A core starts a message or fills its next buffer, if it can.
    fn step(&mut self, core: usize) {
        if !self.cores[core].is_writing() {
            if self.cores[core].todo.is_empty() {
                return;
            }
            if !self.cores[core].admitted && !self.take_lock(core) {
                return;
            }
            self.start_message(core);
        }
        let Some(buffer) = self.cores[core].next_buffer() else { return };
        if !self.queues[self.cores[core].queue].has_space(buffer) {
            self.wait(core, Waiting::Space);
        } else if !self.cores[core].has_free_buffer() {
            self.wait(core, Waiting::Buffer);
        } else {
            self.fill(core);
        }
    }

    /// Asks for the lock; false if it is held, or its cache line must move first.
    fn take_lock(&mut self, core: usize) -> bool {
        let asked = self.lock.ask(core);
        if asked == Asked::Waits {
            self.wait(core, Waiting::Lock);
            return false;
        }
        self.cores[core].admitted = true;
        if asked == Asked::HoldsAfterMove {
            let moves = Picoseconds::from_ns(self.machine.profile.core.lock_ns);
            self.outcome.stalls.lock += moves;
            self.events.push(self.now + moves, Event::Step(core));
            return false;
        }
        true
    }

    fn release_lock(&mut self, core: usize) {
        if self.plan.sharing == Sharing::OwnQueues {
            return;
        }
        self.cores[core].admitted = false;
        if let Some(next) = self.lock.release(core) {
            self.wake(next, Waiting::Lock);
        }
    }

    fn start_message(&mut self, core: usize) {
        let state = &mut self.cores[core];
        let Some((message, frame)) = state.todo.pop_front() else { return };
        let used = (frame.len() as u64).div_ceil(WORD_BYTES);
        let whole_buffers = (used + 1).next_multiple_of(BUFFER_WORDS as u64);
        let stuffed = self.plan.combine && self.plan.ending == Ending::Stuffed;
        let words = words(&frame, if stuffed { whole_buffers - used } else { 1 });
        let queue = &mut self.queues[state.queue];
        let first_buffer = queue.next;
        queue.next += whole_buffers / BUFFER_WORDS as u64;
        self.in_queue[state.queue].push_back((message, core));
        state.begin(message, words, first_buffer);
        self.outcome.messages[message].started = self.now;
    }

    fn fill(&mut self, core: usize) {
        let Self { plan, pressure, stored, .. } = self;
        let filled = self.cores[core].fill(plan.combine, || {
            *stored += 1;
            pressure.fraction(*stored) < plan.pressure
        });
        let Some(Filled { flushed, last, follows }) = filled else { return };
        let state = &self.cores[core];
        let in_part = !(flushed.first_word + flushed.words.len()).is_multiple_of(BUFFER_WORDS);
        let by_fence = self.plan.combine && last && in_part;
        let is_second = follows && self.outcome.messages[flushed.message].tlps <= 1;
        let times = &self.machine.profile.core;
        let mut ns = times.fill_ns * flushed.words.len() as f64 / BUFFER_WORDS as f64;
        if by_fence {
            ns += times.fence_ns;
        }
        let mut end = self.now + Picoseconds::from_ns(ns);
        if state.pace == Pace::Alone && self.plan.combine && is_second {
            // The first two buffers of a single message are further apart, for an unknown reason.
            let apart = state.next_send + Picoseconds::from_ns(self.machine.times.first_store_ns);
            end = end.max(apart);
        }
        if let Some(record) = &mut self.record {
            record.phase(lane::CORE, "fill a buffer", (self.now, end), flushed.message as u64, None);
            record.change(BUFFERS, self.now, 1);
        }
        self.events.push(end, Event::Written(core, flushed));
    }

    fn written(&mut self, core: usize, flushed: Flushed) {
        self.cores[core].flushed.push_back(flushed);
        self.pump();
        if let Some(message) = self.cores[core].take_written() {
            self.outcome.messages[message].written = self.now;
            self.release_lock(core);
            if self.cores[core].pace == Pace::Alone {
                self.wait(core, Waiting::Delivery);
                return;
            }
        }
        self.step(core);
    }

    /// Sends a TLP, if the port is free and a core has one: cores take turns.
    fn pump(&mut self) {
        let count = self.cores.len();
        let turn = (0..count).map(|ahead| (self.next_core + ahead) % count);
        let ready = turn.filter(|&core| !self.cores[core].flushed.is_empty());
        // The first of those that may send soonest.
        let next = ready.min_by_key(|&core| self.cores[core].next_send.max(self.port.free_at()));
        let Some(core) = next else { return };
        let start = self.cores[core].next_send.max(self.port.free_at());
        if start > self.now {
            self.plan_port(start);
            return;
        }
        self.next_core = (core + 1) % count;
        let waiting = &mut self.cores[core].flushed;
        let index = match self.plan.eviction {
            EvictionOrder::InOrder => 0,
            EvictionOrder::Random => self.order.below(self.evicted, waiting.len() as u64) as usize,
        };
        self.evicted += 1;
        let Some(flushed) = waiting.remove(index) else { return };
        self.send(core, flushed);
    }

    fn send(&mut self, core: usize, flushed: Flushed) {
        let length = (flushed.words.len() as u64 * WORD_BYTES) as u32;
        let address = flushed.first_word as u64 * WORD_BYTES;
        let bytes = self.machine.tlp_bytes(TlpKind::MemoryWrite, Piece { address, length });
        let left = self.port.send(self.now, bytes);
        if let Some(record) = &mut self.record {
            record.tlp(Tlp {
                lane: lane::DOWN,
                name: "MWr",
                start: self.now,
                end: left,
                request: flushed.message as u64,
                tag: None,
                address: REGISTERS + flushed.buffer % MAPPED_BUFFERS * BUFFER_BYTES + address,
                bytes: length,
                byte_count: None,
            });
        }
        let times = &self.machine.times;
        let own_ns = if self.plan.combine { times.core_interval_ns } else { times.uncached_interval_ns };
        let next_send = own_ns.map_or_else(
            || left + Picoseconds::from_ns(times.store_gap_ns),
            |own_ns| left.max(self.now + Picoseconds::from_ns(own_ns)),
        );
        self.cores[core].next_send = next_send;
        let message = &mut self.outcome.messages[flushed.message];
        if message.tlps == 0 {
            (message.first_store, message.first_left) = (self.now, left);
        }
        message.last_left = left;
        message.tlps += 1;
        message.last_store = self.now;
        message.next_store = next_send;
        self.outcome.tlps += 1;
        self.outcome.wire_bytes += u64::from(bytes);
        self.events.push(left, Event::Left(core));
        self.events.push(left + self.machine.flight(), Event::Arrived(flushed));
        self.pump();
    }

    /// Plans a `Port` event, unless an earlier one is planned.
    fn plan_port(&mut self, at: Picoseconds) {
        if self.port_planned.is_none_or(|planned| at < planned) {
            self.port_planned = Some(at);
            self.events.push(at, Event::Port);
        }
    }

    fn start_drain(&mut self, queue: usize) {
        if !self.queues[queue].draining && self.queues[queue].is_ready() {
            self.queues[queue].draining = true;
            let drain = Picoseconds::from_ns(self.machine.profile.queue.drain_ns);
            self.note(lane::DEVICE, "filter a buffer", (self.now, self.now + drain), queue);
            self.events.push(self.now + drain, Event::Drained(queue));
        }
    }

    fn drained(&mut self, queue: usize) {
        self.queues[queue].draining = false;
        if let Some(leaving) = self.queues[queue].drain() {
            self.leave(queue, leaving);
        }
        let back = self.machine.flight() + Picoseconds::from_ns(self.machine.profile.queue.credit_return_ns);
        let head = self.queues[queue].head();
        self.events.push(self.now + back, Event::Credit(queue, head));
        self.start_drain(queue);
    }

    fn leave(&mut self, queue: usize, leaving: Leaving) {
        let waiting = self.in_queue[queue].pop_front();
        debug_assert!(waiting.is_some(), "queue {queue} delivers an unknown message");
        let Some((message, core)) = waiting else { return };
        self.outcome.messages[message].left = self.now;
        match leaving {
            Leaving::Frame(frame) => {
                let stored = &self.outcome.messages[message];
                let answered =
                    self.loop_back.as_mut().map(|device| device.send(self.now, stored, frame.len() as u64));
                self.outcome.messages[message].back = answered;
                self.outcome.delivered.push(Delivered { queue: queue as u32, message, frame });
            }
            Leaving::Dropped => self.outcome.dropped += 1,
        }
        self.events.push(self.now.max(self.cores[core].next_send), Event::Idle(core));
    }
}
