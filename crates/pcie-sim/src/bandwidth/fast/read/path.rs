//! The path of reads through device, uplink, root complex and downlink, with its state.

use super::ahead::Ahead;
use super::card::{Card, InFlight};
use crate::bandwidth::fast::NEVER;
use crate::bandwidth::fast::layouts::{Alike, FEW, TlpLayouts};
use crate::bandwidth::fast::packed_reads::PackedReads;
use crate::bandwidth::fast::planned::Planned;
use crate::bandwidth::start::{Finished, Start};
use crate::link::port::Port;
use crate::root_complex::under_load::Complex;
use pcie_time::{Picoseconds, Stream};

#[derive(Debug)]
pub(super) struct ReadPath<'a> {
    pub(super) planned: Planned<'a>,
    /// The same reads, where all requests are alike.
    pub(super) ahead: Ahead<'a>,
    pub(super) card: Card,
    pub(super) uplink: Port,
    pub(super) complex: Complex<'a>,
    pub(super) pending: PackedReads,
    pub(super) downlink: Port,
    /// When the downlink is free for another request's completions.
    pub(super) answers_at: Picoseconds,
    pub(super) flight: Picoseconds,
    /// Least time from sending a request until its data are available.
    pub(super) lookahead: Picoseconds,
    pub(super) completed: u64,
    /// Time of the last completion.
    pub(super) last: Picoseconds,
    pub(super) noted: Option<Vec<Finished>>,
}

impl<'a> ReadPath<'a> {
    pub(super) fn new(start: Start<'a>) -> Self {
        let first_draw = start.first_draw();
        let (uplink, downlink) = start.machine.ports_in(start.key, first_draw);
        let Start { machine, test, list, key, state, first } = start;
        let system = &machine.system;
        let root = &system.host.root_complex;
        let layouts = TlpLayouts::new(machine, test, uplink.clone(), downlink.clone());
        let complex = Complex::new(machine.system(), machine.lines(), key, state, first_draw);
        let order = key.draws(Stream::CompletionOrder);
        let flight = machine.flight();
        let mut planned = Planned::new(layouts, list, first, false);
        let card = Card::new(machine, test, first, complex.least_read(), &mut planned);
        Self {
            planned,
            ahead: Ahead::new(list, first),
            card,
            uplink,
            lookahead: flight + complex.least_read(),
            complex,
            pending: PackedReads::new(root.completion_order, order, first_draw, machine.tags() as usize),
            downlink,
            answers_at: Picoseconds::ZERO,
            flight,
            completed: 0,
            last: Picoseconds::ZERO,
            noted: None,
        }
    }

    /// When the next of the sent requests can be answered.
    #[inline]
    pub(super) fn next_answer(&self) -> Picoseconds {
        self.answers_at.max(self.pending.earliest())
    }

    /// Answers requests up to the time at which an unsent one could be chosen; false at `target` completions.
    ///
    /// Without `WAITS`, the path never waits for workers or credits. With `ALIKE`, each read is one request
    /// and all requests have the same sizes and times, which saves the look-ups.
    pub(super) fn answer_all<const WAITS: bool, const ALIKE: bool, const PLAIN: bool>(
        &mut self,
        alike: &Alike,
        target: u64,
    ) -> bool {
        let mut wanted = target.saturating_sub(self.completed);
        if wanted == 0 {
            return false;
        }
        let Self { pending, card, planned, noted, last, flight, lookahead, .. } = self;
        let (flight, lookahead) = (*flight, *lookahead);
        let tag_return = card.tag_return;
        // Locals, because each answer depends on the one before.
        let mut downlink = self.downlink.clone();
        let mut engine_free = card.engine_free;
        let mut arrivals = std::mem::take(&mut card.arrivals);
        let next_tag = card.tags.next_slot();
        let (issues_at, done) = (card.issues_at, card.left == 0 && card.head.requests.is_empty());
        let next_send = if WAITS { card.next_send() } else { card.issue_time() };
        let answer = |now: Picoseconds, tag: u32, mut limit: Picoseconds| {
            let in_flight = &card.in_flight[tag as usize];
            let (few, completions, move_time) = if ALIKE {
                (&alike.few, &alike.completion_bytes[..], alike.move_time)
            } else {
                let request = planned.layouts.request(in_flight.layout);
                (&request.few, planned.layouts.completions(request), request.move_time)
            };
            let begins = now.max(card.buffers.next());
            let (free, arrival) = if let Some(few) = few {
                let sent = downlink.send_together(begins, &few.times, few.bytes);
                arrivals.add_few(sent.map(|left| left + flight), few.count);
                (sent[FEW - 1], sent[FEW - 1] + flight)
            } else {
                let (mut free, mut arrival) = (begins, begins + flight);
                for bytes in completions {
                    let left = downlink.send_units_of::<PLAIN>(free, *bytes);
                    free = if PLAIN { left } else { downlink.free_at().max(begins) };
                    arrival = left + flight;
                    arrivals.add(arrival);
                }
                (free, arrival)
            };
            let returned = arrival + tag_return;
            let freed = card.tags.free(tag, returned);
            if WAITS && let Some(buffer) = &mut card.completion_buffer {
                buffer.give_back(planned.layouts.request(in_flight.layout).space, returned);
            }
            engine_free = engine_free.max(arrival) + move_time;
            card.buffers.take_until(engine_free);
            let InFlight { read, transaction, .. } = *in_flight;
            if ALIKE || card.completes(read, engine_free) {
                *last = engine_free;
                if let Some(noted) = noted {
                    noted.push(Finished { transaction, time: engine_free });
                }
                wanted -= 1;
                if wanted == 0 {
                    return (free, Picoseconds::ZERO);
                }
            }
            if WAITS && limit == NEVER {
                limit = card.next_send().saturating_add(lookahead);
            } else if !WAITS && freed == next_tag && !done {
                limit = issues_at.max(returned) + lookahead;
            }
            (free, limit)
        };
        self.answers_at = pending.answer_while(self.answers_at, next_send.saturating_add(lookahead), answer);
        card.engine_free = engine_free;
        card.arrivals = arrivals;
        self.downlink = downlink;
        self.completed = target - wanted;
        wanted > 0
    }
}
