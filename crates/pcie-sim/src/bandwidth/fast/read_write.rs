//! Tests that read and write.
//!
//! DLLPs acknowledge a write as soon as it arrives, so neither end of the link can run far ahead of the
//! other: [`ReadWriteRun::step`] advances the device up to the next answer, and then gives that answer.

mod card;
mod pending_reads;
mod root_port;

use super::NEVER;
use super::layouts::TlpLayouts;
use crate::bandwidth::start::{Finished, Start};
use crate::link::replay::Replays;
use crate::root_complex::line_pool::PoolUse;
use crate::root_complex::under_load::Complex;
use card::{Card, Outgoing, Step};
use pcie_time::Picoseconds;
use pcie_wire::Piece;
use pending_reads::PendingRead;
use root_port::RootPort;
use std::collections::VecDeque;

/// A running test that reads and writes.
#[derive(Debug)]
pub(crate) struct ReadWriteRun<'a> {
    layouts: TlpLayouts<'a>,
    card: Card<'a>,
    root_port: RootPort,
    complex: Complex<'a>,
    flight: Picoseconds,
    /// The first transaction of the run.
    first: u64,
    completed: Completed,
}

#[derive(Debug, Default)]
struct Completed {
    /// Completions that one of the other direction could still overtake.
    reads: VecDeque<Finished>,
    writes: VecDeque<Finished>,
    count: u64,
    last: Picoseconds,
    noting: bool,
    noted: Vec<Finished>,
}

impl Completed {
    #[inline]
    fn count(&mut self, finished: Finished) {
        self.count += 1;
        self.last = finished.time;
        if self.noting {
            self.noted.push(finished);
        }
    }

    /// Counts completions up to `until`, before which all are known, and up to `target`.
    fn settle(&mut self, until: Picoseconds, target: u64) {
        while self.count < target {
            let time = |queue: &VecDeque<Finished>| queue.front().map_or(NEVER, |first| first.time);
            let (read, write) = (time(&self.reads), time(&self.writes));
            if read.min(write) > until {
                return;
            }
            let queue = if read < write { &mut self.reads } else { &mut self.writes };
            let Some(completion) = queue.pop_front() else { return };
            self.count(completion);
        }
    }
}

/// Completions that are merged in one batch.
const BATCH: usize = 64;

impl<'a> ReadWriteRun<'a> {
    pub(crate) fn new(start: Start<'a>) -> Self {
        let first_draw = start.first_draw();
        let (uplink, downlink) = start.machine.ports_in(start.key, first_draw);
        let Start { machine, test, list, key, state, first } = start;
        let mut layouts = TlpLayouts::new(machine, test, uplink.clone(), downlink.clone());
        Self {
            card: Card::new(machine, test, list, uplink, first, &mut layouts),
            layouts,
            root_port: RootPort::new(machine, key, downlink, first_draw),
            complex: Complex::new(machine.system(), machine.lines(), key, state, first_draw),
            flight: machine.flight(),
            first,
            completed: Completed::default(),
        }
    }

    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        let target = self.completed.count + count;
        self.completed.noting = noted.is_some();
        while self.completed.count < target {
            let reached = self.step();
            let enough = BATCH.min((target - self.completed.count) as usize);
            if reached == NEVER || self.completed.reads.len() + self.completed.writes.len() >= enough {
                self.completed.settle(reached, target);
            }
            if reached == NEVER {
                break;
            }
        }
        if let Some(noted) = noted {
            noted.append(&mut self.completed.noted);
        }
        self.completed.last
    }

    /// Writes (until the root complex has let them through) and reads in flight at the last completion.
    pub(crate) fn in_flight(&self) -> [f64; 2] {
        self.card.in_flight(self.first + self.completed.count, self.completed.last)
    }

    /// Use of the root complex's pools for writes and for reads.
    pub(in crate::bandwidth) fn pool_use(&self) -> [Option<PoolUse>; 2] {
        self.complex.pool_use()
    }

    /// What each direction sent again.
    pub(in crate::bandwidth) fn replays(&self) -> [Option<Replays>; 2] {
        [self.card.replays(), self.root_port.replays()]
    }

    /// Takes a step; returns the time up to which all completions are known: `NEVER` at the end.
    #[inline]
    fn step(&mut self) -> Picoseconds {
        // No unsent completion arrives before this.
        let answer = self.root_port.next_answer();
        let horizon = if answer == NEVER { NEVER } else { answer + self.flight };
        let (time, step) = self.card.next_step(&self.layouts);
        if time <= horizon && time != NEVER {
            self.advance(time, step);
            return time;
        }
        if answer == NEVER {
            return NEVER;
        }
        self.answer(answer);
        answer
    }

    #[inline]
    fn advance(&mut self, now: Picoseconds, step: Step) {
        match step {
            Step::Issue => {
                if let Some(tlp) = self.card.issue(now, &mut self.layouts) {
                    self.offer(tlp.ready, tlp);
                }
            }
            Step::Pulled => {
                if let Some(write) = self.card.pulled.take() {
                    self.offer(now, write);
                }
            }
            Step::Send => {
                if let Some(first) = self.card.outgoing.pop_front() {
                    self.send(now, first);
                }
            }
        }
    }

    /// Sends a TLP that is ready at once if possible; otherwise queues it.
    #[inline]
    fn offer(&mut self, now: Picoseconds, tlp: Outgoing) {
        if self.card.outgoing.is_empty() && self.card.send_time(&tlp, &self.layouts) <= now {
            self.send(now, tlp);
        } else {
            self.card.outgoing.push_back(tlp);
        }
    }

    /// Sends a TLP through the root complex, up to the time at which its data are available or written.
    #[inline]
    fn send(&mut self, now: Picoseconds, tlp: Outgoing) {
        let left = self.card.send(now, &tlp, &self.layouts);
        let arrival = left + self.flight;
        if let Some(tag) = tlp.tag {
            let request = &self.layouts.requests[tlp.layout as usize];
            let piece = Piece { address: tlp.offset + request.start, length: request.length };
            let (credit_back, data) = self.complex.admit(piece, arrival);
            if let Some(credits) = &mut self.card.non_posted {
                credits.take_until(credit_back);
            }
            self.root_port.pending.add(data, PendingRead::new(tag, request.small));
            return;
        }
        let write = &self.layouts.writes[tlp.layout as usize];
        let piece = Piece { address: tlp.offset + write.start, length: write.length };
        self.root_port.write_arrives(arrival);
        let credits_back = self.complex.write(piece, arrival).credits_back;
        self.card.posted_credits_taken(write.length, credits_back);
        if let Some(transaction) = tlp.ends {
            self.completed.writes.push_back(Finished { transaction, time: left });
        }
    }

    #[inline]
    fn answer(&mut self, now: Picoseconds) {
        let Some(answer) = self.root_port.answer(now, &self.card, &self.layouts) else { return };
        let arrival = answer.left + self.flight;
        self.card.completion_arrives(arrival);
        if answer.last
            && let Some(done) = self.card.answered(answer.tag, arrival, &self.layouts)
        {
            self.completed.reads.push_back(done);
        }
    }
}
