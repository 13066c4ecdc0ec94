//! Sends the requests of a [`ReadPath`] that never waits for workers or credits, as in most tests: without
//! those checks, and with the state of the loop in local variables.

use super::path::ReadPath;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::fast::NEVER;
use crate::bandwidth::fast::layouts::Alike;
use pcie_wire::Piece;

impl ReadPath<'_> {
    /// See [`ReadPath::send_all`].
    pub(super) fn send_free<const ALIKE: bool, const PLAIN: bool>(&mut self, alike: &Alike) -> bool {
        let mut horizon = self.answers_at + self.flight;
        let mut any = self.next_answer() != NEVER;
        let mut uplink = self.uplink.clone();
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
            self.card.acknowledge::<PLAIN>(&mut uplink, time);
            let wait = uplink.free_at().since(UPLINK_BACKLOG);
            if wait > time {
                issues_at = wait;
                continue;
            }
            issues_at = time + self.card.clock;
            if ALIKE {
                let read = self.ahead.next(&mut self.complex, alike.length);
                let tag = self.card.tags.take();
                self.card.in_flight[tag as usize].transaction = self.card.transaction;
                self.card.transaction += 1;
                self.card.left -= 1;
                let left = uplink.send_units_of::<PLAIN>(time, alike.uplink_bytes);
                let data = self.complex.admit_planned(read, left + self.flight);
                self.pending.add(data, tag, alike.small);
            } else {
                let request = self.card.issue(time, &mut self.planned);
                let layout = self.planned.layouts.request(request.layout);
                let left = uplink.send_units_of::<PLAIN>(time, layout.uplink_bytes);
                let piece = Piece { address: request.offset + layout.start, length: layout.length };
                let (_, data) = self.complex.admit(piece, left + self.flight);
                self.pending.add(data, request.tag, layout.small);
            }
        }
        self.uplink = uplink;
        self.card.issues_at = issues_at;
        self.card.arrivals.forget();
        any
    }
}
