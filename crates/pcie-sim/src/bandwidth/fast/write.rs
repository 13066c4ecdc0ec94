//! Tests that only write. Everything happens in order: a TLP's times follow from those of the TLPs before.

mod repeats;

use super::NEVER;
use super::credits::DataCredits;
use super::layouts::TlpLayouts;
use super::planned::Planned;
use super::ring::Ring;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::start::{Finished, Start};
use crate::link::credits::data_credits;
use crate::link::port::Port;
use crate::link::replay::Replays;
use crate::root_complex::line_pool::PoolUse;
use crate::root_complex::under_load::Complex;
use pcie_time::Picoseconds;
use pcie_wire::Piece;
use repeats::Repeats;
use std::collections::VecDeque;
use std::ops::Range;

/// A running test that only writes.
#[derive(Debug)]
pub(crate) struct WriteRun<'a> {
    planned: Planned<'a>,
    /// The first transaction of the run.
    first: u64,
    /// Transactions that the test has left.
    left: u64,
    next: u64,
    head: Head,
    workers: Ring,
    /// Earliest time of the next issue.
    issues_at: Picoseconds,
    clock: Picoseconds,
    engine_free: Picoseconds,
    /// TLPs that wait for credits.
    outgoing: VecDeque<Outgoing>,
    sent_at: Picoseconds,
    headers: Ring,
    /// `None` if headers always run out first.
    data: Option<DataCredits>,
    /// Approximate number of TLPs of a transaction.
    tlps_each: f64,
    uplink: Port,
    flight: Picoseconds,
    complex: Complex<'a>,
    completed: u64,
    /// Time of the last completion.
    last: Picoseconds,
    noted: Option<Vec<Finished>>,
    /// `None` where times do not repeat.
    repeats: Option<Repeats>,
    /// Completed transactions at which to look for a period.
    looks_at: u64,
}

/// The DMA at the head of the queue, with its unissued TLPs.
#[derive(Clone, Debug, Default)]
struct Head {
    offset: u64,
    tlps: Range<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Outgoing {
    /// When its data have been read from device memory.
    ready: Picoseconds,
    offset: u64,
    layout: u32,
    /// The transaction that it ends.
    ends: Option<u64>,
}

impl<'a> WriteRun<'a> {
    pub(crate) fn new(start: Start<'a>) -> Self {
        let first_draw = start.first_draw();
        let (uplink, downlink) = start.machine.ports_in(start.key, first_draw);
        let layouts = TlpLayouts::new(start.machine, start.test, uplink.clone(), downlink);
        let mut planned = Planned::new(layouts, start.list, start.first, true);
        let repeats = Repeats::new(&start, planned.writes_are_alike(start.test.window_bytes));
        let Start { machine, test, list: _, key, state, first } = start;
        let system = &machine.system;
        let (device, root) = (&system.device, &system.host.root_complex);
        let workers = test.outstanding.unwrap_or(u32::MAX).min(device.dma.outstanding);
        let longest = test.size_bytes.min(u64::from(system.link.mps_bytes)) as u32;
        let data_bind = u64::from(root.posted_header_credits.held_headers())
            * u64::from(data_credits(longest))
            > u64::from(root.posted_data_credits.at_most());
        Self {
            planned,
            first,
            left: test.transactions.saturating_sub(first),
            next: first,
            head: Head::default(),
            workers: Ring::new(workers as usize),
            issues_at: Picoseconds::ZERO,
            clock: machine.request_clock(),
            engine_free: Picoseconds::ZERO,
            outgoing: VecDeque::new(),
            sent_at: Picoseconds::ZERO,
            headers: Ring::new(root.posted_header_credits.held_headers() as usize),
            data: DataCredits::new(root.posted_data_credits).filter(|_| data_bind),
            tlps_each: test.size_bytes.div_ceil(u64::from(system.link.mps_bytes)) as f64,
            uplink,
            flight: machine.flight(),
            complex: Complex::new(machine.system(), machine.lines(), key, state, first_draw),
            completed: 0,
            last: Picoseconds::ZERO,
            noted: None,
            looks_at: if repeats.is_some() { 0 } else { u64::MAX },
            repeats,
        }
    }

    pub(crate) fn run(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        let target = self.completed + count;
        self.noted = noted.is_some().then(Vec::new);
        if noted.is_none() {
            self.skip_periods(target);
        }
        while self.completed < target {
            if self.looks_for_period() {
                self.look_for_period();
                if noted.is_none() {
                    self.skip_periods(target);
                    continue;
                }
            }
            let issues_at = self.issue_time();
            if let Some(first) = self.outgoing.front().copied() {
                let sends_at = self.send_time(&first);
                if sends_at <= issues_at {
                    self.outgoing.pop_front();
                    self.send(sends_at, first);
                    continue;
                }
            }
            if issues_at == NEVER {
                break;
            }
            self.issue(issues_at);
        }
        if let (Some(noted), Some(own)) = (noted, &mut self.noted) {
            noted.append(own);
        }
        self.last
    }

    /// Transactions in flight at the last completion, until the root complex has let their writes through.
    pub(crate) fn in_flight(&self) -> f64 {
        let dmas = (self.next - self.first - self.completed) as f64;
        let of_headers = self.headers.taken_at(self.last);
        let of_data = self.data.as_ref().map_or(0, |data| data.held_at(self.last));
        dmas + of_headers.max(of_data) as f64 / self.tlps_each
    }

    /// Use of the root complex's pools for writes and for reads.
    pub(in crate::bandwidth) fn pool_use(&self) -> [Option<PoolUse>; 2] {
        self.complex.pool_use()
    }

    /// What each direction sent again.
    pub(in crate::bandwidth) fn replays(&self) -> [Option<Replays>; 2] {
        [self.uplink.replays(), None]
    }

    /// Time of the next issue, as far as it is known.
    #[inline(always)]
    fn issue_time(&self) -> Picoseconds {
        let time = self.issues_at.max(self.engine_free);
        if !self.head.tlps.is_empty() {
            return time;
        }
        if self.left == 0 {
            return NEVER;
        }
        time.max(self.workers.next())
    }

    #[inline(always)]
    fn send_time(&self, tlp: &Outgoing) -> Picoseconds {
        let time = tlp.ready.max(self.sent_at).max(self.headers.next());
        match &self.data {
            None => time,
            Some(data) => {
                let length = self.planned.layouts.writes[tlp.layout as usize].length;
                time.max(data.ready(data_credits(length)))
            }
        }
    }

    /// Issues the head's next TLP, if the uplink's backlog allows. If possible, sends it as soon as its data
    /// have been read from device memory: no other step comes in between.
    #[inline(always)]
    fn issue(&mut self, now: Picoseconds) {
        let wait = self.uplink.free_at().since(UPLINK_BACKLOG);
        if wait > now {
            self.issues_at = wait;
            return;
        }
        if self.head.tlps.is_empty() {
            let (offset, tlps) = self.planned.next();
            self.head = Head { offset, tlps };
            self.left -= 1;
            self.next += 1;
            self.workers.take();
        }
        let layout = self.head.tlps.start;
        self.head.tlps.start += 1;
        self.issues_at = now + self.clock;
        self.engine_free = now + self.planned.layouts.writes[layout as usize].pull_time;
        let ends = self.head.tlps.is_empty().then_some(self.next - 1);
        let tlp = Outgoing { ready: self.engine_free, offset: self.head.offset, layout, ends };
        if self.outgoing.is_empty() && self.send_time(&tlp) <= tlp.ready {
            self.send(tlp.ready, tlp);
        } else {
            self.outgoing.push_back(tlp);
        }
    }

    /// Sends a TLP through the root complex, up to the time at which it is written.
    #[inline(always)]
    fn send(&mut self, now: Picoseconds, tlp: Outgoing) {
        let write = &self.planned.layouts.writes[tlp.layout as usize];
        self.sent_at = now;
        let left = self.uplink.send_units(now, write.uplink_bytes);
        self.uplink.leave_unit(write.gap_bytes);
        let piece = Piece { address: tlp.offset + write.start, length: write.length };
        let credits_back = self.complex.write(piece, left + self.flight).credits_back;
        self.headers.take_until(credits_back);
        if let Some(data) = &mut self.data {
            data.take(data_credits(write.length), credits_back);
        }
        if let Some(transaction) = tlp.ends {
            self.workers.free_first(left);
            self.completed += 1;
            self.last = left;
            if let Some(noted) = &mut self.noted {
                noted.push(Finished { transaction, time: left });
            }
        }
    }
}
