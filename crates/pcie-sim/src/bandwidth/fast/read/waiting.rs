//! The steps of a [`ReadPath`] in which workers or credits can be waited for.

use super::card::{InFlight, Outgoing};
use super::path::ReadPath;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::fast::NEVER;
use crate::bandwidth::start::Finished;
use pcie_time::Picoseconds;
use pcie_wire::Piece;

impl ReadPath<'_> {
    /// Answers all requests that no other can be chosen before that is still to be sent; false once there are as many
    /// completions as asked for.
    pub(super) fn answer_all(&mut self, target: u64) -> bool {
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
            let InFlight { layout, read, transaction } = card.in_flight[tag as usize];
            let request = planned.layouts.request(layout);
            let mut left = now.max(card.buffers.next());
            for bytes in planned.layouts.completions(request) {
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

    /// Sends all requests for which no completion counts that is still to come; false if nothing is left to happen.
    pub(super) fn send_all(&mut self) -> bool {
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
        let layout = self.planned.layouts.request(request.layout);
        let left = self.uplink.send_units(now, layout.uplink_bytes);
        let piece = Piece { address: request.offset + layout.start, length: layout.length };
        let (credit_back, data) = self.complex.admit(piece, left + self.flight);
        if let Some(credits) = &mut self.card.credits {
            credits.take_until(credit_back);
        }
        self.ready.add(data, request.tag, layout.small);
    }
}
