//! Stores and descriptors on one link; a policy of each connection selects the path of a message.
//!
//! In the source (section III), a MUX in the device joins the two paths, with a policy for all messages, per
//! connection, or per packet. Here a connection has a core and a queue of each kind, and sends messages up to
//! a limit by stores and longer ones by descriptors; a limit of 0 or of the longest is per connection.
//!
//! [`StoresRun`] and [`DescriptorsRun`] share the link to the device, on which they alternate, and the cores.
//! A core writes a message by stores, or writes a descriptor, rings the doorbell, and continues while the
//! device fetches it, up to the profile's limit in flight. Messages on different paths may overtake each
//! other.
//!
//! Every connection continues until the last one has finished its messages, so that all are sent under load.
//! The device's answers to stores, which the source's trace shows, are not simulated here.

#[cfg(test)]
mod tests;

use super::plan::{Pace, StorePlan};
use super::stores::StoresRun;
use super::{DescriptorsRun, MessageMachine, Sharing, Stalls, frame, payload, run_events_unless};
use crate::cache::history::TestKey;
use pcie_time::{Draws, EventQueue, Picoseconds, Stream};
use pcie_trace::Segment;
use std::collections::VecDeque;

/// Limit of the messages of all connections together.
const MESSAGES_MAX: u64 = 1 << 18;

/// The messages of a connection, and their path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Payloads of its messages in bytes, sent cyclically.
    pub sizes: Vec<u64>,
    /// The longest payload that is sent by stores.
    pub stores_up_to_bytes: u64,
    /// When it sends its next message.
    pub pace: Pace,
}

/// The times of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuxMessage {
    /// Its payload.
    pub payload_bytes: u64,
    /// Whether it was sent by stores.
    pub by_stores: bool,
    /// The core starts it, or starts to wait for a free doorbell.
    pub taken_up: Picoseconds,
    /// The device has all of it: it has left the filter, or its last completion has arrived.
    pub received: Picoseconds,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MuxOutcome {
    /// By connection, the messages received until the end, in the order in which they were started.
    pub connections: Vec<Vec<MuxMessage>>,
    /// When the last connection has finished its messages.
    pub elapsed: Picoseconds,
    /// Sent messages, including those that arrived later.
    pub sent: u64,
    /// Frames dropped because of a signature in their payload.
    pub dropped: u64,
    /// Frames that differ from those written: always 0.
    pub changed: u64,
    /// Waiting times of cores that store.
    pub stalls: Stalls,
    /// Bytes of TLPs to the device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs to the host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both.
    pub control_bytes: u64,
    /// Whether the run stopped early because a connection was too much faster than the slowest.
    pub too_many: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// It stores a message, or waits until the message is received.
    Storing,
    /// It waits for a free doorbell.
    WaitingForRoom,
    /// It waits until its descriptors are done.
    WaitingForDescriptors,
    /// It spends the CPU time of a doorbell.
    Ringing,
    Idle,
}

#[derive(Debug)]
struct State {
    activity: Activity,
    /// Since when it waits for a free doorbell.
    waits_since: Option<Picoseconds>,
    messages: Vec<MuxMessage>,
    received: u64,
    /// Messages in flight by stores: index in the stores' outcome, index in `messages`, frame.
    stored: VecDeque<(usize, usize, Vec<u8>)>,
    /// Messages in flight by descriptors: number in the descriptors' outcome, index in `messages`.
    rung: VecDeque<(u32, usize)>,
}

/// A run of connections on an idle machine.
#[derive(Debug)]
pub struct MuxRun<'a> {
    machine: &'a MessageMachine,
    plans: Vec<Connection>,
    /// Messages that each connection must finish.
    count: u64,
    stores: StoresRun<'a>,
    descriptors: DescriptorsRun<'a>,
    /// Cores that spend the CPU time of a doorbell, and its end.
    ringing: EventQueue<usize>,
    states: Vec<State>,
    /// Whether the last TLP to the device was a store, so that descriptors are next.
    stored_last: bool,
    payload: Draws,
    drawn: u64,
    now: Picoseconds,
    outcome: MuxOutcome,
}

impl<'a> MuxRun<'a> {
    /// Connections with `count` messages each and own queues; `plan` applies to stores, except for its pace.
    #[must_use]
    pub fn new(
        machine: &'a MessageMachine,
        plan: StorePlan,
        key: TestKey,
        count: u64,
        plans: Vec<Connection>,
    ) -> Self {
        let cores = plans.len();
        let state = || State {
            activity: Activity::Idle,
            waits_since: None,
            messages: vec![],
            received: 0,
            stored: VecDeque::new(),
            rung: VecDeque::new(),
        };
        let mut run = Self {
            machine,
            count,
            stores: StoresRun::new(
                machine,
                StorePlan { sharing: Sharing::OwnQueues, ..plan },
                key,
                vec![vec![]; cores],
            ),
            descriptors: DescriptorsRun::idle(machine, key, (cores as u32, Sharing::OwnQueues)),
            ringing: EventQueue::default(),
            states: plans.iter().map(|_| state()).collect(),
            plans,
            stored_last: false,
            payload: key.draws(Stream::Payload),
            drawn: 0,
            now: Picoseconds::ZERO,
            outcome: MuxOutcome::default(),
        };
        for core in 0..cores {
            run.take_up(core);
        }
        run
    }

    /// Simulates until every connection has finished its messages and all others in flight have arrived;
    /// `None` if `stopped`, which is called from time to time, returns true before.
    pub fn run_unless(mut self, stopped: &mut dyn FnMut() -> bool) -> Option<MuxOutcome> {
        run_events_unless(stopped, || self.next_event()).then(|| self.finished())
    }

    /// The trace of the first `span`; ends early once `stopped` returns true.
    #[must_use]
    pub fn trace(mut self, span: Picoseconds, stopped: &mut dyn FnMut() -> bool) -> Vec<Segment> {
        self.stores.record(span);
        self.descriptors.record(span);
        run_events_unless(stopped, || {
            !(self.stores.is_recorded() && self.descriptors.is_recorded()) && self.next_event()
        });
        let mut segments = self.stores.into_segments();
        segments.extend(self.descriptors.into_segments());
        segments.sort_by_key(|segment| segment.start_ps);
        segments
    }

    fn finished(mut self) -> MuxOutcome {
        debug_assert!(
            self.states.iter().all(|state| state.stored.is_empty() && state.rung.is_empty()),
            "unreceived messages at the end"
        );
        let (stores, descriptors) = (self.stores.outcome(), self.descriptors.outcome());
        self.outcome.stalls = stores.stalls;
        self.outcome.downstream_bytes = stores.wire_bytes + descriptors.downstream_bytes;
        self.outcome.upstream_bytes = descriptors.upstream_bytes;
        self.outcome.control_bytes = descriptors.control_bytes;
        let end = self.outcome.elapsed;
        let in_time = |message: &MuxMessage| message.received > Picoseconds::ZERO && message.received <= end;
        self.outcome.connections = self
            .states
            .into_iter()
            .map(|state| state.messages.into_iter().filter(in_time).collect())
            .collect();
        self.outcome
    }

    /// Handles the next event; false at the end. At equal times, stores and descriptors alternate.
    fn next_event(&mut self) -> bool {
        let [stores, descriptors, ringing] =
            [self.stores.next_time(), self.descriptors.next_time(), self.ringing.next_time()];
        let Some(now) = [stores, descriptors, ringing].into_iter().flatten().min() else { return false };
        self.now = now;
        if ringing == Some(now) {
            if let Some((_, core)) = self.ringing.pop() {
                self.take_up(core);
            }
        } else if stores == Some(now) && !(descriptors == Some(now) && self.stored_last) {
            self.stores.next_event();
        } else {
            self.descriptors.next_event();
        }
        self.share_link();
        self.update();
        true
    }

    /// Copies the state of the link from the path that used it last to the other.
    fn share_link(&mut self) {
        let (stores, descriptors) = (self.stores.downlink_mut(), self.descriptors.downlink_mut());
        match stores.free_at().cmp(&descriptors.free_at()) {
            std::cmp::Ordering::Greater => (*descriptors, self.stored_last) = (stores.clone(), true),
            std::cmp::Ordering::Less => (*stores, self.stored_last) = (descriptors.clone(), false),
            std::cmp::Ordering::Equal => {}
        }
    }

    /// Records received messages, and lets cores continue that can.
    fn update(&mut self) {
        for delivered in self.stores.take_delivered() {
            let waiting = &self.states[delivered.queue as usize].stored;
            let as_written = waiting
                .front()
                .is_some_and(|(number, _, frame)| *number == delivered.message && *frame == delivered.frame);
            self.outcome.changed += u64::from(!as_written);
        }
        self.outcome.dropped = self.stores.outcome().dropped;
        for core in 0..self.states.len() {
            self.record_received(core);
        }
        if self.outcome.elapsed == Picoseconds::ZERO
            && self.states.iter().all(|state| state.received >= self.count)
        {
            self.outcome.elapsed = self.now;
        }
        for core in 0..self.states.len() {
            let continues = match self.states[core].activity {
                Activity::Storing => self.stores.is_free(core),
                Activity::WaitingForRoom => self.descriptors.has_room(core as u32),
                Activity::WaitingForDescriptors => self.states[core].rung.is_empty(),
                Activity::Ringing | Activity::Idle => false,
            };
            if continues {
                self.take_up(core);
            }
        }
    }

    fn record_received(&mut self, core: usize) {
        let State { messages, received, stored, rung, .. } = &mut self.states[core];
        while let Some((number, index, _)) = stored.front() {
            let left = self.stores.outcome().messages[*number].left;
            if left == Picoseconds::ZERO {
                break;
            }
            messages[*index].received = left;
            *received += 1;
            stored.pop_front();
        }
        while let Some((number, index)) = rung.front() {
            let message = &self.descriptors.outcome().messages[*number as usize];
            if message.written_back == Picoseconds::ZERO {
                break;
            }
            messages[*index].received = message.received;
            *received += 1;
            rung.pop_front();
        }
    }

    /// Has a core start its next message, or the group of its next doorbell.
    fn take_up(&mut self, core: usize) {
        if self.outcome.elapsed > Picoseconds::ZERO || self.outcome.too_many {
            self.states[core].activity = Activity::Idle;
            return;
        }
        if self.outcome.sent >= MESSAGES_MAX {
            self.outcome.too_many = true;
            return;
        }
        let payload_bytes = self.next_size(core);
        if payload_bytes <= self.plans[core].stores_up_to_bytes {
            self.store(core, payload_bytes);
        } else {
            self.ring(core);
        }
        self.share_link();
    }

    /// The payload of the next message of a connection.
    fn next_size(&self, core: usize) -> u64 {
        let sizes = &self.plans[core].sizes;
        sizes[self.states[core].messages.len() % sizes.len()]
    }

    fn record_start(&mut self, core: usize, payload_bytes: u64, by_stores: bool) -> usize {
        let taken_up = self.states[core].waits_since.take().unwrap_or(self.now);
        let received = Picoseconds::ZERO;
        self.outcome.sent += 1;
        self.states[core].messages.push(MuxMessage { payload_bytes, by_stores, taken_up, received });
        self.states[core].messages.len() - 1
    }

    fn store(&mut self, core: usize, payload_bytes: u64) {
        let index = self.record_start(core, payload_bytes, true);
        let payload = payload(self.payload, &mut self.drawn, payload_bytes);
        let frame = frame(self.machine.profile.header_bytes, &payload);
        let number = self.stores.offer(self.now, core, self.plans[core].pace, frame.clone());
        self.states[core].stored.push_back((number, index, frame));
        self.states[core].activity = Activity::Storing;
    }

    /// Rings the doorbell for the next message and, in a stream, for the following ones on the same path, up
    /// to the profile's messages per doorbell.
    fn ring(&mut self, core: usize) {
        if !self.descriptors.has_room(core as u32) {
            self.states[core].activity = Activity::WaitingForRoom;
            self.states[core].waits_since = Some(self.now);
            return;
        }
        let together = match self.plans[core].pace {
            Pace::Alone => 1,
            Pace::Stream => self.machine.profile.descriptors.messages_per_doorbell as usize,
        };
        let mut indices = vec![];
        let mut frames = vec![];
        while indices.len() < together && self.outcome.sent < MESSAGES_MAX {
            let payload_bytes = self.next_size(core);
            if payload_bytes <= self.plans[core].stores_up_to_bytes {
                break;
            }
            indices.push(self.record_start(core, payload_bytes, false));
            frames.push(payload_bytes + u64::from(self.machine.profile.header_bytes));
        }
        let numbers = self.descriptors.offer(self.now, core as u32, &frames);
        self.states[core].rung.extend(numbers.zip(indices));
        if self.plans[core].pace == Pace::Alone {
            self.states[core].activity = Activity::WaitingForDescriptors;
        } else {
            let busy = Picoseconds::from_ns(self.machine.profile.descriptors.cpu_ns);
            self.states[core].activity = Activity::Ringing;
            self.ringing.push(self.now + busy, core);
        }
    }
}
