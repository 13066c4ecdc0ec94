//! Sends the requests of a [`ReadPath`] that may wait for workers, credits or space for completions.

use super::card::Outgoing;
use super::path::ReadPath;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::fast::NEVER;
use pcie_time::Picoseconds;
use pcie_wire::Piece;

impl ReadPath<'_> {
    /// Sends all requests that no future completion can affect; false at the end of the test.
    pub(super) fn send_all<const PLAIN: bool>(&mut self) -> bool {
        // No unsent completion arrives before this.
        let mut horizon = self.answers_at + self.flight;
        let mut any = self.next_answer() != NEVER;
        loop {
            let sends_at = self.card.outgoing.front().map_or(NEVER, |first| self.card.send_time(first));
            let time = self.card.issue_time().min(sends_at);
            if time > horizon {
                let answer = self.next_answer();
                if time == NEVER || answer != NEVER && time > answer + self.flight {
                    self.card.arrivals.forget();
                    return any;
                }
                horizon = time;
            }
            any = true;
            if sends_at == time {
                self.card.acknowledge::<PLAIN>(&mut self.uplink, time);
                if let Some(first) = self.card.outgoing.pop_front() {
                    self.send::<PLAIN>(time, first);
                }
            } else {
                self.issue::<PLAIN>(time);
            }
        }
    }

    /// Issues the head's next request if the uplink's backlog allows, and sends it at once if possible.
    #[inline(always)]
    fn issue<const PLAIN: bool>(&mut self, now: Picoseconds) {
        self.card.acknowledge::<PLAIN>(&mut self.uplink, now);
        let wait = self.uplink.free_at().since(UPLINK_BACKLOG);
        if wait > now {
            self.card.issues_at = wait;
            return;
        }
        let request = self.card.issue(now, &mut self.planned);
        if self.card.outgoing.is_empty() && self.card.send_time(&request) <= now {
            self.send::<PLAIN>(now, request);
        } else {
            self.card.outgoing.push_back(request);
        }
    }

    /// Sends a request through the root complex, up to the time at which its data are available.
    #[inline(always)]
    fn send<const PLAIN: bool>(&mut self, now: Picoseconds, request: Outgoing) {
        self.card.sent_at = now;
        let layout = self.planned.layouts.request(request.layout);
        let left = self.uplink.send_units_of::<PLAIN>(now, layout.uplink_bytes);
        let piece = Piece { address: request.offset + layout.start, length: layout.length };
        let (credit_back, data) = self.complex.admit(piece, left + self.flight);
        if let Some(credits) = &mut self.card.credits {
            credits.take_until(credit_back);
        }
        self.pending.add(data, request.tag, layout.small);
    }
}
