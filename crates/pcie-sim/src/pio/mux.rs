//! Stores and descriptors beside each other on one link: a policy for each connection says which of its messages go which way.
//!
//! The source (section III) calls what joins the two ways in the device a MUX, and names the policies: one way for all, one for
//! each connection, or one for each packet. Here a connection has a core and a queue of either kind to itself, and
//! sends messages of up to a limit by stores and longer ones by descriptors; a limit of 0, or of the longest, is the policy per
//! connection.
//!
//! [`StoresRun`] and [`DescriptorsRun`] do what they do alone; what they share is the link to the device, where they take
//! turns, and the cores. A core writes a message by stores, or writes a descriptor, rings, and goes on while the device
//! fetches the message; it waits where as many are under way as the profile lets be. Messages of one connection that go different
//! ways overtake each other: the MUX keeps no order between its inputs.
//!
//! Every connection goes on until the last one has done its messages, so that all of them are sent under load. What a device
//! answers to stores in the source's trace, where messages are looped back to the host, is no part of this.

#[cfg(test)]
mod tests;

use super::plan::{Pace, StorePlan};
use super::stores::StoresRun;
use super::{DescriptorsRun, MessageMachine, Sharing, Stalls, frame, happens_unless, payload};
use crate::cache::history::TestKey;
use pcie_time::{Draws, EventQueue, Picoseconds, Stream};
use std::collections::VecDeque;

/// Messages of all connections together; more are not taken up.
const MESSAGES_MAX: u64 = 1 << 18;

/// A connection: what it sends, and by which way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Payloads of its messages, which it sends over and over, bytes.
    pub sizes: Vec<u64>,
    /// The longest payload that goes by stores.
    pub stores_up_to_bytes: u64,
    /// When it sends its next message.
    pub pace: Pace,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuxMessage {
    /// Its payload.
    pub payload_bytes: u64,
    /// Whether it went by stores.
    pub by_stores: bool,
    /// The core began with it, or began to wait for room to ring.
    pub taken_up: Picoseconds,
    /// The device had all of it: it had left the filter, or its last completion had arrived.
    pub received: Picoseconds,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MuxOutcome {
    /// Of each connection, the messages that were received until the end, in the order in which they were taken up.
    pub connections: Vec<Vec<MuxMessage>>,
    /// When the last connection had done its messages.
    pub elapsed: Picoseconds,
    /// Messages that were sent, those included that arrived later.
    pub sent: u64,
    /// Frames dropped since a signature was in their payload.
    pub dropped: u64,
    /// Frames that did not arrive as they were written: always 0.
    pub changed: u64,
    /// Waiting of cores that store.
    pub stalls: Stalls,
    /// Bytes of TLPs to the device.
    pub downstream_bytes: u64,
    /// Bytes of TLPs to the host.
    pub upstream_bytes: u64,
    /// Bytes of doorbells, descriptors and write-backs among both.
    pub control_bytes: u64,
    /// Whether a connection was so much faster than the slowest that it had to be stopped before.
    pub too_many: bool,
}

/// What the core of a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It stores a message, or waits until that has been received.
    Storing,
    /// It waits until there is room for another doorbell.
    WaitingForRoom,
    /// It waits until what it has rung for is done.
    WaitingForDescriptors,
    /// It has rung and is busy with that for so long.
    Ringing,
    /// It has nothing to do any more.
    Nothing,
}

#[derive(Debug)]
struct State {
    doing: Doing,
    /// Since when it waits for room.
    waits_since: Option<Picoseconds>,
    messages: Vec<MuxMessage>,
    /// Its messages that are received.
    received: u64,
    /// What has been written by stores and not been received: number there, number here, the frame.
    stored: VecDeque<(usize, usize, Vec<u8>)>,
    /// What is under way by descriptors, likewise.
    rung: VecDeque<(u32, usize)>,
}

/// Connections on a machine, to be simulated from an idle one.
#[derive(Debug)]
pub struct MuxRun<'a> {
    machine: &'a MessageMachine,
    plans: Vec<Connection>,
    /// Messages of each connection that it has to do.
    count: u64,
    stores: StoresRun<'a>,
    descriptors: DescriptorsRun<'a>,
    /// Cores that have rung, and when they go on.
    ringing: EventQueue<usize>,
    states: Vec<State>,
    /// Whether the last TLP to the device was a store, so that it is the turn of descriptors.
    stored_last: bool,
    payload: Draws,
    drawn: u64,
    now: Picoseconds,
    outcome: MuxOutcome,
}

impl<'a> MuxRun<'a> {
    /// Connections that each have `count` messages to send; `plan` says how stores are made, its pace excepted. Each connection
    /// has queues of its own.
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
            doing: Doing::Nothing,
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

    /// Simulates until every connection has done its messages and what else was under way has arrived; none if it is to stop
    /// before, for which `stopped` is asked now and then.
    pub fn run_unless(mut self, stopped: &mut dyn FnMut() -> bool) -> Option<MuxOutcome> {
        happens_unless(stopped, || self.next_event()).then(|| self.finished())
    }

    fn finished(mut self) -> MuxOutcome {
        debug_assert!(
            self.states.iter().all(|state| state.stored.is_empty() && state.rung.is_empty()),
            "a message is left that was not received"
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

    /// Lets the next thing happen; false once nothing is left. Of stores and descriptors that could go on at once, those do
    /// that did not use the link last.
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
        self.notice();
        true
    }

    /// Both see the same link to the device: who has used it tells the other.
    fn share_link(&mut self) {
        let (stores, descriptors) = (self.stores.downlink_mut(), self.descriptors.downlink_mut());
        match stores.free_at().cmp(&descriptors.free_at()) {
            std::cmp::Ordering::Greater => (*descriptors, self.stored_last) = (stores.clone(), true),
            std::cmp::Ordering::Less => (*stores, self.stored_last) = (descriptors.clone(), false),
            std::cmp::Ordering::Equal => {}
        }
    }

    /// Notes what has been received, and lets cores go on that can.
    fn notice(&mut self) {
        for delivered in self.stores.take_delivered() {
            let waiting = &self.states[delivered.queue as usize].stored;
            let as_written = waiting
                .front()
                .is_some_and(|(number, _, frame)| *number == delivered.message && *frame == delivered.frame);
            self.outcome.changed += u64::from(!as_written);
        }
        self.outcome.dropped = self.stores.outcome().dropped;
        for core in 0..self.states.len() {
            self.note_received(core);
        }
        if self.outcome.elapsed == Picoseconds::ZERO
            && self.states.iter().all(|state| state.received >= self.count)
        {
            self.outcome.elapsed = self.now;
        }
        for core in 0..self.states.len() {
            let goes_on = match self.states[core].doing {
                Doing::Storing => self.stores.is_free(core),
                Doing::WaitingForRoom => self.descriptors.has_room(core as u32),
                Doing::WaitingForDescriptors => self.states[core].rung.is_empty(),
                Doing::Ringing | Doing::Nothing => false,
            };
            if goes_on {
                self.take_up(core);
            }
        }
    }

    fn note_received(&mut self, core: usize) {
        let State { messages, received, stored, rung, .. } = &mut self.states[core];
        while let Some((number, place, _)) = stored.front() {
            let left = self.stores.outcome().messages[*number].left;
            if left == Picoseconds::ZERO {
                break;
            }
            messages[*place].received = left;
            *received += 1;
            stored.pop_front();
        }
        while let Some((number, place)) = rung.front() {
            let message = &self.descriptors.outcome().messages[*number as usize];
            if message.written_back == Picoseconds::ZERO {
                break;
            }
            messages[*place].received = message.received;
            *received += 1;
            rung.pop_front();
        }
    }

    /// Has a core begin with its next message, or with those that it rings for together.
    fn take_up(&mut self, core: usize) {
        if self.outcome.elapsed > Picoseconds::ZERO || self.outcome.too_many {
            self.states[core].doing = Doing::Nothing;
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

    fn note_taken_up(&mut self, core: usize, payload_bytes: u64, by_stores: bool) -> usize {
        let taken_up = self.states[core].waits_since.take().unwrap_or(self.now);
        let received = Picoseconds::ZERO;
        self.outcome.sent += 1;
        self.states[core].messages.push(MuxMessage { payload_bytes, by_stores, taken_up, received });
        self.states[core].messages.len() - 1
    }

    fn store(&mut self, core: usize, payload_bytes: u64) {
        let place = self.note_taken_up(core, payload_bytes, true);
        let payload = payload(self.payload, &mut self.drawn, payload_bytes);
        let frame = frame(self.machine.profile.header_bytes, &payload);
        let number = self.stores.offer(self.now, core, self.plans[core].pace, frame.clone());
        self.states[core].stored.push_back((number, place, frame));
        self.states[core].doing = Doing::Storing;
    }

    /// Rings for the next message and, where there is no need to wait for it, for those behind it that go the same way, as
    /// many as share a doorbell.
    fn ring(&mut self, core: usize) {
        if !self.descriptors.has_room(core as u32) {
            self.states[core].doing = Doing::WaitingForRoom;
            self.states[core].waits_since = Some(self.now);
            return;
        }
        let together = match self.plans[core].pace {
            Pace::Alone => 1,
            Pace::Stream => self.machine.profile.descriptors.messages_per_doorbell as usize,
        };
        let mut places = vec![];
        let mut frames = vec![];
        while places.len() < together && self.outcome.sent < MESSAGES_MAX {
            let payload_bytes = self.next_size(core);
            if payload_bytes <= self.plans[core].stores_up_to_bytes {
                break;
            }
            places.push(self.note_taken_up(core, payload_bytes, false));
            frames.push(payload_bytes + u64::from(self.machine.profile.header_bytes));
        }
        let numbers = self.descriptors.offer(self.now, core as u32, &frames);
        self.states[core].rung.extend(numbers.zip(places));
        if self.plans[core].pace == Pace::Alone {
            self.states[core].doing = Doing::WaitingForDescriptors;
        } else {
            let busy = Picoseconds::from_ns(self.machine.profile.descriptors.cpu_ns);
            self.states[core].doing = Doing::Ringing;
            self.ringing.push(self.now + busy, core);
        }
    }
}
