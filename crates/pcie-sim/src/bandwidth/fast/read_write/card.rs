//! The card's side: which DMA goes a TLP further, which TLP is sent, and what the data engine has done.

use super::super::NEVER;
use super::super::credits::{DataCredits, HeaderCredits};
use super::super::layouts::{RequestLayout, TlpLayouts};
use super::super::tags::Tags;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::start::Finished;
use crate::link::credits::data_credits;
use crate::link::port::Port;
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Test};
use std::collections::VecDeque;

/// What the card does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The data of a write TLP have come out of its memory.
    Pulled,
    /// The TLP that is first in line is sent.
    Send,
    /// The DMA at the head of the queue goes a TLP further.
    Issue,
}

/// The DMA at the head of the queue: none once all of its TLPs are issued.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    transaction: u64,
    offset: u64,
    writes: bool,
    /// Its TLPs that were not issued yet: a range of the layouts' requests or writes.
    next: u32,
    end: u32,
}

/// A read request in flight, by tag.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    layout: u32,
    dma: u32,
}

/// A DMA read in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    transaction: u64,
    /// Requests whose data were not moved yet.
    open: u32,
}

/// A TLP that the card has ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// When it is ready.
    pub(super) ready: Picoseconds,
    /// Where its DMA starts.
    pub(super) offset: u64,
    /// The place of its layout among the layouts' requests or writes.
    pub(super) layout: u32,
    /// The tag of a request.
    pub(super) tag: Option<u32>,
    /// The transaction that a write ends.
    pub(super) ends: Option<u64>,
}

/// The card.
#[derive(Debug)]
pub(super) struct Card<'a> {
    test: &'a Test,
    list: &'a AddressList,
    next: u64,
    /// Where the next DMA starts, looked up ahead.
    next_offset: u64,
    head: Head,
    workers: Workers,
    /// TLPs of a write, about.
    tlps_each: f64,
    /// Before this nothing more is issued.
    issues_at: Picoseconds,
    clock: Picoseconds,
    tags: Tags,
    in_flight: Vec<InFlight>,
    /// DMA reads in flight.
    reads: Vec<Read>,
    /// Places among them that no read has.
    vacant: Vec<u32>,
    /// The head's place, while it is a read.
    read_place: u32,
    write_engine_free: Picoseconds,
    /// The write TLP whose data come out of the card's memory.
    pub(super) pulled: Option<Outgoing>,
    /// TLPs that wait for credits.
    pub(super) outgoing: VecDeque<Outgoing>,
    sent_at: Picoseconds,
    pub(super) non_posted: Option<HeaderCredits>,
    posted: Option<HeaderCredits>,
    posted_data: Option<DataCredits>,
    uplink: Port,
    dllp_bytes: u32,
    /// When the completions arrive whose DLLPs were not sent yet.
    completions: VecDeque<Picoseconds>,
    read_engine_free: Picoseconds,
    /// By receive buffer, when it is free.
    buffers: Vec<Picoseconds>,
    buffer: usize,
}

impl<'a> Card<'a> {
    pub(super) fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        uplink: Port,
        first: u64,
    ) -> Self {
        let system = &machine.system;
        let (device, root) = (&system.device, &system.host.root_complex);
        let workers = test.outstanding.unwrap_or(u32::MAX).min(device.dma.outstanding);
        let tags = Tags::new(machine);
        Self {
            test,
            list,
            next: first,
            next_offset: list.offset(first),
            head: Head::default(),
            workers: Workers { idle: workers, after_reads: VecDeque::new(), after_writes: VecDeque::new() },
            tlps_each: test.size_bytes.div_ceil(u64::from(system.link.mps_bytes)) as f64,
            issues_at: Picoseconds::ZERO,
            clock: machine.request_clock(),
            in_flight: vec![InFlight::default(); tags.count()],
            tags,
            reads: Vec::new(),
            vacant: Vec::new(),
            read_place: 0,
            write_engine_free: Picoseconds::ZERO,
            pulled: None,
            outgoing: VecDeque::new(),
            sent_at: Picoseconds::ZERO,
            non_posted: HeaderCredits::new(root.non_posted_header_credits),
            posted: HeaderCredits::new(root.posted_header_credits),
            posted_data: DataCredits::new(root.posted_data_credits),
            uplink,
            dllp_bytes: machine.uplink_dllp_bytes(),
            completions: VecDeque::new(),
            read_engine_free: Picoseconds::ZERO,
            buffers: vec![Picoseconds::ZERO; device.dma.receive_buffers as usize],
            buffer: 0,
        }
    }

    /// Writes and reads that are in flight at a time, when all transactions before `complete` are complete.
    pub(super) fn in_flight(&self, complete: u64, now: Picoseconds) -> [f64; 2] {
        let of_headers = self.posted.as_ref().map_or(0, |headers| headers.held_at(now));
        let of_data = self.posted_data.as_ref().map_or(0, |data| data.held_at(now));
        let reads = (self.reads.len() - self.vacant.len()) as f64;
        let writes = (self.next - complete) as f64 - reads;
        [writes + of_headers.max(of_data) as f64 / self.tlps_each, reads]
    }

    /// What the card does next of what is known, and when: never if it has to wait for a completion that was not sent yet.
    #[inline]
    pub(super) fn next_step(&self, layouts: &TlpLayouts<'_>) -> (Picoseconds, Step) {
        let mut first = (self.issue_time(), Step::Issue);
        if let Some(outgoing) = self.outgoing.front() {
            let time = self.send_time(outgoing, layouts);
            if time <= first.0 {
                first = (time, Step::Send);
            }
        }
        if let Some(pulled) = &self.pulled
            && pulled.ready <= first.0
        {
            first = (pulled.ready, Step::Pulled);
        }
        first
    }

    /// When the head can go a TLP further, for all that is known.
    #[inline]
    fn issue_time(&self) -> Picoseconds {
        let (worker, writes) = if self.head.next < self.head.end {
            (Picoseconds::ZERO, self.head.writes)
        } else if self.next < self.test.transactions {
            (self.workers.free_at(), self.is_write(self.next))
        } else {
            return NEVER;
        };
        let engine = if writes { self.write_engine_free } else { self.tags.next() };
        self.issues_at.max(worker).max(engine)
    }

    #[inline]
    fn is_write(&self, transaction: u64) -> bool {
        AddressList::writes(self.test.operation, transaction, self.test.transactions)
    }

    /// When the TLP that is first in line can be sent.
    #[inline]
    pub(super) fn send_time(&self, outgoing: &Outgoing, layouts: &TlpLayouts<'_>) -> Picoseconds {
        let credit = match outgoing.tag {
            Some(_) => self.non_posted.as_ref().map_or(Picoseconds::ZERO, HeaderCredits::ready),
            None => {
                let length = layouts.writes[outgoing.layout as usize].length;
                let header = self.posted.as_ref().map_or(Picoseconds::ZERO, HeaderCredits::ready);
                let data = self
                    .posted_data
                    .as_ref()
                    .map_or(Picoseconds::ZERO, |data| data.ready(data_credits(length)));
                header.max(data)
            }
        };
        outgoing.ready.max(self.sent_at).max(credit)
    }

    /// Gives the uplink the DLLPs for the completions that have arrived by `now`.
    #[inline]
    fn send_dllps(&mut self, now: Picoseconds) {
        while self.completions.front().is_some_and(|arrival| *arrival <= now) {
            if let Some(arrival) = self.completions.pop_front() {
                self.uplink.send_dllps(arrival, self.dllp_bytes);
            }
        }
    }

    /// Takes the head a TLP further, if not too much waits for the uplink; returns the TLP that this makes ready.
    #[inline]
    pub(super) fn issue(&mut self, now: Picoseconds, layouts: &mut TlpLayouts<'_>) -> Option<Outgoing> {
        self.send_dllps(now);
        let wait = self.uplink.free_at().since(UPLINK_BACKLOG);
        self.issues_at = now.max(wait);
        if wait > now {
            return None;
        }
        if self.head.next == self.head.end {
            self.take_dma(layouts);
        }
        let head = &mut self.head;
        let layout = head.next;
        head.next += 1;
        self.issues_at = now + self.clock;
        if head.writes {
            self.write_engine_free = now + layouts.writes[layout as usize].pull_time;
            let ends = (head.next == head.end).then_some(head.transaction);
            let ready = self.write_engine_free;
            self.pulled = Some(Outgoing { ready, offset: head.offset, layout, tag: None, ends });
            None
        } else {
            let tag = self.tags.take();
            self.in_flight[tag as usize] = InFlight { layout, dma: self.read_place };
            Some(Outgoing { ready: now, offset: head.offset, layout, tag: Some(tag), ends: None })
        }
    }

    #[inline]
    fn take_dma(&mut self, layouts: &mut TlpLayouts<'_>) {
        let transaction = self.next;
        self.next += 1;
        self.workers.take();
        let offset = self.next_offset;
        self.next_offset = self.list.offset(self.next);
        let writes = self.is_write(transaction);
        let parts = layouts.parts(offset, writes);
        if !writes {
            self.read_place = self.vacant.pop().unwrap_or_else(|| {
                self.reads.push(Read::default());
                (self.reads.len() - 1) as u32
            });
            self.reads[self.read_place as usize] = Read { transaction, open: parts.end - parts.start };
        }
        self.head = Head { transaction, offset, writes, next: parts.start, end: parts.end };
    }

    /// Sends a TLP; its credits are taken once it is known when they are back. Returns when its last byte has left.
    #[inline]
    pub(super) fn send(&mut self, now: Picoseconds, tlp: &Outgoing, layouts: &TlpLayouts<'_>) -> Picoseconds {
        self.send_dllps(now);
        self.sent_at = now;
        let (bytes, gap_bytes) = match tlp.tag {
            Some(_) => (layouts.requests[tlp.layout as usize].uplink_bytes, 0),
            None => {
                let write = &layouts.writes[tlp.layout as usize];
                (write.uplink_bytes, write.gap_bytes)
            }
        };
        let left = self.uplink.send_units(now, bytes);
        self.uplink.leave_unit(gap_bytes);
        if tlp.ends.is_some() {
            self.workers.after_writes.push_back(left);
        }
        left
    }

    /// The credits of the write sent last are back at a time.
    #[inline]
    pub(super) fn posted_credits_taken(&mut self, bytes: u32, back: Picoseconds) {
        if let Some(headers) = &mut self.posted {
            headers.take(back);
        }
        if let Some(data) = &mut self.posted_data {
            data.take(data_credits(bytes), back);
        }
    }

    /// The layout of the request that has a tag.
    #[inline]
    pub(super) fn request<'s>(&self, tag: u32, layouts: &'s TlpLayouts<'_>) -> &'s RequestLayout {
        &layouts.requests[self.in_flight[tag as usize].layout as usize]
    }

    /// When there is room for the data of another request.
    #[inline]
    pub(super) fn room_at(&self) -> Picoseconds {
        self.buffers[self.buffer]
    }

    /// A completion arrives at a time, and is answered by a DLLP.
    #[inline]
    pub(super) fn completion_arrives(&mut self, arrival: Picoseconds) {
        if self.dllp_bytes > 0 {
            self.completions.push_back(arrival);
        }
    }

    /// All data of a request have arrived: its tag is free, and the data engine moves them on. Returns the DMA that this
    /// completes.
    #[inline]
    pub(super) fn answered(
        &mut self,
        tag: u32,
        arrival: Picoseconds,
        layouts: &TlpLayouts<'_>,
    ) -> Option<Finished> {
        let InFlight { layout, dma } = self.in_flight[tag as usize];
        self.tags.free(tag, arrival);
        let moved = self.read_engine_free.max(arrival) + layouts.requests[layout as usize].move_time;
        self.read_engine_free = moved;
        self.buffers[self.buffer] = moved;
        self.buffer = if self.buffer + 1 == self.buffers.len() { 0 } else { self.buffer + 1 };
        let read = &mut self.reads[dma as usize];
        read.open -= 1;
        if read.open > 0 {
            return None;
        }
        self.vacant.push(dma);
        self.workers.after_reads.push_back(moved);
        Some(Finished { transaction: read.transaction, time: moved })
    }
}

/// Workers that wait for a DMA, by the times at which they became free.
#[derive(Debug)]
struct Workers {
    /// Those that had none yet.
    idle: u32,
    after_reads: VecDeque<Picoseconds>,
    after_writes: VecDeque<Picoseconds>,
}

impl Workers {
    /// When the next one is free: never if that is not known.
    #[inline]
    fn free_at(&self) -> Picoseconds {
        if self.idle > 0 {
            return Picoseconds::ZERO;
        }
        let first = |queue: &VecDeque<Picoseconds>| queue.front().copied().unwrap_or(NEVER);
        first(&self.after_reads).min(first(&self.after_writes))
    }

    #[inline]
    fn take(&mut self) {
        if self.idle > 0 {
            self.idle -= 1;
            return;
        }
        let first = |queue: &VecDeque<Picoseconds>| queue.front().copied().unwrap_or(NEVER);
        if first(&self.after_reads) <= first(&self.after_writes) {
            self.after_reads.pop_front();
        } else {
            self.after_writes.pop_front();
        }
    }
}
