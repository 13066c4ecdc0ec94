//! Tests that only read.
//!
//! Without writes the two ends of the link see each other over a long way: the data of a request that is still to be sent
//! are not there before the link and the root complex have had their time. So the root complex gives all answers up to
//! there at once, and then the card sends all requests that those answers allow: tens of them, where single steps would
//! alternate, and nothing could predict how.

mod free;

pub(super) use free::Alike;

use super::super::Completion;
use super::super::complex::Complex;
use super::super::engine::UPLINK_BACKLOG;
use super::NEVER;
use super::planned::Planned;
use super::ready::Ready;
use super::ring::Ring;
use super::shapes::Shapes;
use crate::history::{State, TestKey};
use crate::machine::Machine;
use crate::port::Port;
use pcie_time::{Picoseconds, Stream};
use pcie_wire::Piece;
use pcie_workload::{AddressList, Test};
use std::collections::VecDeque;
use std::ops::Range;

/// A test that only reads, going on.
#[derive(Debug)]
pub(crate) struct ReadRun<'a> {
    planned: Planned<'a>,
    /// Whether workers or credits can be waited for.
    waits: bool,
    /// What all requests have in common, where that is all.
    alike: Option<Alike>,
    card: Card,
    uplink: Port,
    complex: Complex<'a>,
    ready: Ready,
    downlink: Port,
    /// When the downlink is free for another request's completions.
    answers_at: Picoseconds,
    flight: Picoseconds,
    /// From when a request is sent, its data are not there sooner than this.
    lookahead: Picoseconds,
    completed: u64,
    /// When the last of them was.
    last: Picoseconds,
    noted: Option<Vec<Completion>>,
}

/// The card.
#[derive(Debug)]
struct Card {
    /// Transactions that the test has left.
    left: u64,
    head: Head,
    /// By worker, when it is free for another DMA; none if there are more than can be at work.
    workers: Option<Ring>,
    /// By tag, when it is free.
    tags: Ring,
    /// By tag, the request that has it.
    in_flight: Vec<InFlight>,
    /// Requests of the reads in flight whose data were not moved yet; a window of reads, because tags are used in order.
    open: Vec<u32>,
    place: usize,
    /// The head's read.
    read: u32,
    transaction: u64,
    /// Before this nothing more is issued.
    issues_at: Picoseconds,
    clock: Picoseconds,
    /// Requests that wait for credits.
    outgoing: VecDeque<Outgoing>,
    sent_at: Picoseconds,
    /// None if they are always back before there is a tag.
    credits: Option<Ring>,
    dllp_bytes: u32,
    /// When the completions arrive, in order, and how many of them were answered by DLLPs.
    arrivals: Vec<Picoseconds>,
    acknowledged: usize,
    engine_free: Picoseconds,
    /// By receive buffer, when it is free.
    buffers: Ring,
}

/// The DMA at the head of the queue, with the requests of it that were not issued yet.
#[derive(Clone, Debug, Default)]
struct Head {
    offset: u64,
    requests: Range<u32>,
}

/// A request in flight.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    shape: u32,
    /// Its read among those in flight; `ALONE` if it is the only request of it.
    read: u32,
    transaction: u64,
}

const ALONE: u32 = u32::MAX;

/// A request that was issued.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    issued: Picoseconds,
    offset: u64,
    shape: u32,
    tag: u32,
}

impl<'a> ReadRun<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> Self {
        let system = &machine.system;
        let root = &system.host.root_complex;
        let uplink = Port::new(machine.link(), system.device.uplink_quantum_bytes, root.uplink_stretch)
            .with_gap(system.device.uplink_gap_bytes);
        let downlink = Port::new(machine.link(), root.downlink_quantum_bytes, root.downlink_stretch);
        let shapes = Shapes::new(machine, test, uplink.clone(), downlink.clone());
        let complex = Complex::new(machine, key, state, first);
        let order = key.draws(Stream::CompletionOrder);
        let flight = Picoseconds::from_ns(root.flight_ns);
        let card = Card::new(machine, test, first, complex.least_read());
        let mut planned = Planned::new(shapes, list, first, false);
        Self {
            waits: card.workers.is_some() || card.credits.is_some(),
            alike: planned.alike(),
            planned,
            card,
            uplink,
            lookahead: flight + complex.least_read(),
            complex,
            ready: Ready::new(root.completion_order, order, first << 8, system.link.tags as usize),
            downlink,
            answers_at: Picoseconds::ZERO,
            flight,
            completed: 0,
            last: Picoseconds::ZERO,
            noted: None,
        }
    }

    /// See [`super::super::BandwidthRun::run`].
    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Completion>>) -> Picoseconds {
        let target = self.completed + count;
        self.noted = noted.is_some().then(Vec::new);
        if self.waits {
            while self.answer_all(target) && self.send_all() {}
        } else if let Some(alike) = self.alike.take() {
            while self.answer_free::<true>(&alike, target) && self.send_free::<true>(&alike) {}
            self.alike = Some(alike);
        } else {
            let any = Alike::default();
            while self.answer_free::<false>(&any, target) && self.send_free::<false>(&any) {}
        }
        if let (Some(noted), Some(own)) = (noted, &mut self.noted) {
            noted.append(own);
        }
        self.last
    }

    /// Answers all requests that no other can be chosen before that is still to be sent; false once there are as many
    /// completions as asked for.
    fn answer_all(&mut self, target: u64) -> bool {
        if self.completed >= target {
            return false;
        }
        let Self { ready, card, planned, completed, last, noted, flight, lookahead, .. } = self;
        let (flight, lookahead) = (*flight, *lookahead);
        // What each answer waits for stays close at hand.
        let mut downlink = self.downlink.clone();
        let mut engine_free = card.engine_free;
        let limit = card.next_send().saturating_add(lookahead);
        let answer = |now: Picoseconds, tag: u32, mut limit: Picoseconds| {
            let InFlight { shape, read, transaction } = card.in_flight[tag as usize];
            let request = planned.shapes.request(shape);
            let mut left = now.max(card.buffers.next());
            for bytes in planned.shapes.completions(request) {
                left = downlink.send_units(left, *bytes);
                if card.dllp_bytes > 0 {
                    card.arrivals.push(left + flight);
                }
            }
            let arrival = left + flight;
            card.tags.free(tag as usize, arrival);
            engine_free = engine_free.max(arrival) + request.move_time;
            card.buffers.take_until(engine_free);
            if card.completes(read, engine_free) {
                *completed += 1;
                *last = engine_free;
                if let Some(noted) = noted {
                    noted.push(Completion { transaction, time: engine_free });
                }
                if *completed == target {
                    return (left, Picoseconds::ZERO);
                }
            }
            if limit == NEVER {
                limit = card.next_send().saturating_add(lookahead);
            }
            (left, limit)
        };
        self.answers_at = ready.answer_while(self.answers_at, limit, answer);
        card.engine_free = engine_free;
        self.downlink = downlink;
        *completed < target
    }

    /// When the next request can be answered, of those that were sent.
    #[inline]
    fn next_answer(&self) -> Picoseconds {
        self.answers_at.max(self.ready.earliest())
    }

    /// Sends all requests for which no completion counts that is still to come; false if nothing is left to happen.
    fn send_all(&mut self) -> bool {
        // No completion that is not sent yet arrives before this.
        let mut horizon = self.answers_at + self.flight;
        let mut any = self.next_answer() != NEVER;
        loop {
            let sends_at = self.card.outgoing.front().map_or(NEVER, |first| self.card.send_time(first));
            let time = self.card.issue_time().min(sends_at);
            if time > horizon {
                let answer = self.next_answer();
                if time == NEVER || answer != NEVER && time > answer + self.flight {
                    self.card.forget_arrivals();
                    return any;
                }
                horizon = time;
            }
            any = true;
            if sends_at == time {
                self.card.acknowledge(&mut self.uplink, time);
                if let Some(first) = self.card.outgoing.pop_front() {
                    self.send(time, first);
                }
            } else {
                self.issue(time);
            }
        }
    }

    /// Takes the head a request further, if not too much waits for the uplink. It is sent at once, if it can be.
    #[inline(always)]
    fn issue(&mut self, now: Picoseconds) {
        self.card.acknowledge(&mut self.uplink, now);
        let wait = self.uplink.free_at().since(UPLINK_BACKLOG);
        if wait > now {
            self.card.issues_at = wait;
            return;
        }
        let request = self.card.issue(now, &mut self.planned);
        if self.card.outgoing.is_empty() && self.card.send_time(&request) <= now {
            self.send(now, request);
        } else {
            self.card.outgoing.push_back(request);
        }
    }

    /// Sends a request, through the root complex to where its data are there.
    #[inline(always)]
    fn send(&mut self, now: Picoseconds, request: Outgoing) {
        self.card.sent_at = now;
        let shape = self.planned.shapes.request(request.shape);
        let left = self.uplink.send_units(now, shape.uplink_bytes);
        let piece = Piece { address: request.offset + shape.start, length: shape.length };
        let (credit_back, data) = self.complex.admit(piece, left + self.flight);
        if let Some(credits) = &mut self.card.credits {
            credits.take_until(credit_back);
        }
        self.ready.add(data, request.tag, shape.small);
    }
}

impl Card {
    fn new(machine: &Machine, test: &Test, first: u64, least_read: Picoseconds) -> Self {
        let system = &machine.system;
        let device = &system.device;
        let (tags, buffers) = (system.link.tags as usize, device.dma.receive_buffers as usize);
        // A DMA at work has a tag, or a receive buffer, or is the head.
        let workers = test.outstanding.unwrap_or(u32::MAX).min(device.dma.outstanding) as usize;
        let workers_bind = workers < tags + buffers + 2;
        // The request whose credit is needed had its data before the one before it got its tag.
        let root = &system.host.root_complex;
        let credits = root.non_posted_header_credits as usize;
        let credits_bind = credits < tags || Picoseconds::from_ns(root.credit_return_ns) > least_read;
        Self {
            left: test.transactions.saturating_sub(first),
            head: Head::default(),
            workers: workers_bind.then(|| Ring::new(workers)),
            tags: Ring::new(tags),
            in_flight: vec![InFlight::default(); tags],
            open: vec![0; tags + 1],
            place: 0,
            read: ALONE,
            transaction: first,
            issues_at: Picoseconds::ZERO,
            clock: machine.request_clock(),
            outgoing: VecDeque::new(),
            sent_at: Picoseconds::ZERO,
            credits: credits_bind.then(|| Ring::new(credits)),
            dllp_bytes: device.uplink_dllp_bytes,
            arrivals: Vec::new(),
            acknowledged: 0,
            engine_free: Picoseconds::ZERO,
            buffers: Ring::new(buffers),
        }
    }

    /// When the head can go a request further: never if it has to wait for a completion that was not sent yet.
    #[inline(always)]
    fn issue_time(&self) -> Picoseconds {
        let time = self.issues_at.max(self.tags.next());
        if !self.head.requests.is_empty() {
            return time;
        }
        if self.left == 0 {
            return NEVER;
        }
        self.workers.as_ref().map_or(time, |workers| workers.next().max(time))
    }

    /// When the card sends something next, for all that is known.
    #[inline]
    fn next_send(&self) -> Picoseconds {
        self.issue_time().min(self.outgoing.front().map_or(NEVER, |first| self.send_time(first)))
    }

    /// When a request that was issued can be sent.
    #[inline]
    fn send_time(&self, request: &Outgoing) -> Picoseconds {
        let time = request.issued.max(self.sent_at);
        self.credits.as_ref().map_or(time, |credits| credits.next().max(time))
    }

    /// Gives the uplink the DLLPs for the completions that have arrived by `now`.
    #[inline]
    fn acknowledge(&mut self, uplink: &mut Port, now: Picoseconds) {
        while let Some(arrival) = self.arrivals.get(self.acknowledged)
            && *arrival <= now
        {
            uplink.send_dllps(*arrival, self.dllp_bytes);
            self.acknowledged += 1;
        }
    }

    /// Forgets the completions that were answered by DLLPs, once they are many.
    fn forget_arrivals(&mut self) {
        if self.acknowledged > 256 {
            self.arrivals.drain(..self.acknowledged);
            self.acknowledged = 0;
        }
    }

    /// Makes the next request.
    #[inline(always)]
    fn issue(&mut self, now: Picoseconds, planned: &mut Planned<'_>) -> Outgoing {
        if self.head.requests.is_empty() {
            let (offset, requests) = planned.next();
            self.head = Head { offset, requests };
            self.transaction += 1;
            self.left -= 1;
            if let Some(workers) = &mut self.workers {
                workers.take();
            }
            self.begin_read();
        }
        let shape = self.head.requests.start;
        self.head.requests.start += 1;
        let tag = self.tags.take();
        self.in_flight[tag] = InFlight { shape, read: self.read, transaction: self.transaction - 1 };
        self.issues_at = now + self.clock;
        Outgoing { issued: now, offset: self.head.offset, shape, tag: tag as u32 }
    }

    /// Notes how many requests the head has, if it has several.
    #[inline(always)]
    fn begin_read(&mut self) {
        let count = self.head.requests.end - self.head.requests.start;
        if count == 1 {
            self.read = ALONE;
            return;
        }
        self.place = if self.place + 1 == self.open.len() { 0 } else { self.place + 1 };
        self.open[self.place] = count;
        self.read = self.place as u32;
    }

    /// Whether the request moved last, of a read, completes that.
    #[inline(always)]
    fn completes(&mut self, read: u32, moved: Picoseconds) -> bool {
        if read != ALONE {
            let open = &mut self.open[read as usize];
            *open -= 1;
            if *open > 0 {
                return false;
            }
        }
        if let Some(workers) = &mut self.workers {
            workers.free_first(moved);
        }
        true
    }
}
