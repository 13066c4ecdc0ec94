//! Tests that only read.
//!
//! Without writes the two ends of the link see each other over a long way: the data of a request that is still to be sent
//! are not there before the link and the root complex have had their time. So the root complex gives all answers up to
//! there at once, and then the card sends all requests that those answers allow: tens of them, where single steps would
//! alternate, and nothing could predict how.

mod card;
mod free;

use super::NEVER;
use super::planned::Planned;
use super::ready::Ready;
use super::shapes::{Alike, Shapes};
use crate::bandwidth::reference::UPLINK_BACKLOG;
use crate::bandwidth::start::{Finished, Start};
use crate::link::port::Port;
use crate::root_complex::under_load::Complex;
use card::{Card, InFlight, Outgoing};
use pcie_time::{Picoseconds, Stream};
use pcie_wire::Piece;

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
    noted: Option<Vec<Finished>>,
}

impl<'a> ReadRun<'a> {
    pub(crate) fn new(start: Start<'a>) -> Self {
        let (uplink, downlink) = start.machine.ports();
        let Start { machine, test, list, key, state, first } = start;
        let system = &machine.system;
        let root = &system.host.root_complex;
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
            ready: Ready::new(root.completion_order, order, first << 8, machine.tags() as usize),
            downlink,
            answers_at: Picoseconds::ZERO,
            flight,
            completed: 0,
            last: Picoseconds::ZERO,
            noted: None,
        }
    }

    /// See [`crate::BandwidthRun::run`].
    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
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
            card.tags.free(tag, arrival);
            engine_free = engine_free.max(arrival) + request.move_time;
            card.buffers.take_until(engine_free);
            if card.completes(read, engine_free) {
                *completed += 1;
                *last = engine_free;
                if let Some(noted) = noted {
                    noted.push(Finished { transaction, time: engine_free });
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
