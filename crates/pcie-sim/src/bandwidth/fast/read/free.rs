//! The steps of a [`ReadPath`] in which neither workers nor credits are ever waited for, as in most tests: with what is known
//! then left out, and what each step has from the one before it close at hand.
//!
//! Where besides `ALIKE`, each read is one request and all requests take the same times, so that nothing is looked up.

use super::card::InFlight;
use super::path::ReadPath;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::fast::NEVER;
use crate::bandwidth::fast::layouts::Alike;
use crate::bandwidth::start::Finished;
use pcie_time::Picoseconds;
use pcie_wire::Piece;

impl ReadPath<'_> {
    /// See [`ReadPath::answer_all`].
    pub(super) fn answer_free<const ALIKE: bool>(&mut self, alike: &Alike, target: u64) -> bool {
        let mut wanted = target.saturating_sub(self.completed);
        if wanted == 0 {
            return false;
        }
        let Self { ready, card, planned, noted, last, flight, lookahead, .. } = self;
        let (flight, lookahead) = (*flight, *lookahead);
        let mut downlink = self.downlink.clone();
        let mut engine_free = card.engine_free;
        let mut arrivals = std::mem::take(&mut card.arrivals);
        let next_tag = card.tags.next_place();
        let (issues_at, done) = (card.issues_at, card.left == 0 && card.head.requests.is_empty());
        let limit = card.issue_time().saturating_add(lookahead);
        let answer = |now: Picoseconds, tag: u32, mut limit: Picoseconds| {
            let in_flight = &card.in_flight[tag as usize];
            let (completions, move_time) = if ALIKE {
                (&alike.completion_bytes[..], alike.move_time)
            } else {
                let request = planned.layouts.request(in_flight.layout);
                (planned.layouts.completions(request), request.move_time)
            };
            let mut left = now.max(card.buffers.next());
            for bytes in completions {
                left = downlink.send_units(left, *bytes);
                arrivals.push(left + flight);
            }
            let arrival = left + flight;
            let freed = card.tags.free(tag, arrival);
            engine_free = engine_free.max(arrival) + move_time;
            card.buffers.take_until(engine_free);
            if freed == next_tag && !done {
                limit = issues_at.max(arrival) + lookahead;
            }
            let InFlight { read, transaction, .. } = *in_flight;
            if ALIKE || card.completes(read, engine_free) {
                *last = engine_free;
                if let Some(noted) = noted {
                    noted.push(Finished { transaction, time: engine_free });
                }
                wanted -= 1;
                if wanted == 0 {
                    limit = Picoseconds::ZERO;
                }
            }
            (left, limit)
        };
        self.answers_at = ready.answer_while(self.answers_at, limit, answer);
        card.engine_free = engine_free;
        card.arrivals = arrivals;
        self.downlink = downlink;
        self.completed = target - wanted;
        wanted > 0
    }

    /// See [`ReadPath::send_all`].
    pub(super) fn send_free<const ALIKE: bool>(&mut self, alike: &Alike) -> bool {
        let mut horizon = self.answers_at + self.flight;
        let mut any = self.next_answer() != NEVER;
        let mut uplink = self.uplink.clone();
        let mut acknowledged = self.card.acknowledged;
        let mut issues_at = self.card.issues_at;
        while self.card.left > 0 || !ALIKE && !self.card.head.requests.is_empty() {
            let time = issues_at.max(self.card.tags.next());
            if time > horizon {
                let answer = self.next_answer();
                if time == NEVER || answer != NEVER && time > answer + self.flight {
                    break;
                }
                horizon = time;
            }
            any = true;
            while let Some(arrival) = self.card.arrivals.get(acknowledged)
                && *arrival <= time
            {
                uplink.send_dllps(*arrival, self.card.dllp_bytes);
                acknowledged += 1;
            }
            let wait = uplink.free_at().since(UPLINK_BACKLOG);
            if wait > time {
                issues_at = wait;
                continue;
            }
            issues_at = time + self.card.clock;
            if ALIKE {
                let address = self.planned.next_offset();
                let tag = self.card.tags.take();
                self.card.in_flight[tag as usize].transaction = self.card.transaction;
                self.card.transaction += 1;
                self.card.left -= 1;
                let left = uplink.send_units(time, alike.uplink_bytes);
                let piece = Piece { address, length: alike.length };
                let (_, data) = self.complex.admit(piece, left + self.flight);
                self.ready.add(data, tag, alike.small);
            } else {
                let request = self.card.issue(time, &mut self.planned);
                let layout = self.planned.layouts.request(request.layout);
                let left = uplink.send_units(time, layout.uplink_bytes);
                let piece = Piece { address: request.offset + layout.start, length: layout.length };
                let (_, data) = self.complex.admit(piece, left + self.flight);
                self.ready.add(data, request.tag, layout.small);
            }
        }
        self.uplink = uplink;
        self.card.issues_at = issues_at;
        self.card.acknowledged = acknowledged;
        self.card.forget_arrivals();
        any
    }
}
