//! The device's side: issues and sends TLPs, and receives the data of reads.

use super::super::NEVER;
use super::super::completion_buffer::CompletionBuffer;
use super::super::credits::DataCredits;
use super::super::layouts::{RequestLayout, TlpLayouts};
use super::super::ring::Ring;
use super::super::tags::Tags;
use crate::bandwidth::card::UPLINK_BACKLOG;
use crate::bandwidth::start::Finished;
use crate::link::credits::data_credits;
use crate::link::port::Port;
use crate::link::replay::Replays;
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Test};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The data of a write TLP have been read from device memory.
    Pulled,
    Send,
    /// The DMA at the head of the queue issues its next TLP.
    Issue,
}

/// The DMA at the head of the queue; void once `next == end`.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    transaction: u64,
    offset: u64,
    writes: bool,
    /// Its unissued TLPs: a range of the layouts' requests or writes.
    next: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    layout: u32,
    dma: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Read {
    transaction: u64,
    /// Requests whose data have not been moved.
    open: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) ready: Picoseconds,
    /// Offset of its DMA.
    pub(super) offset: u64,
    /// Index of its layout among the layouts' requests or writes.
    pub(super) layout: u32,
    pub(super) tag: Option<u32>,
    /// The transaction that a write ends.
    pub(super) ends: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Card<'a> {
    test: &'a Test,
    list: &'a AddressList,
    next: u64,
    /// Offset of the next DMA, looked up ahead.
    next_offset: u64,
    head: Head,
    workers: Workers,
    /// Approximate number of TLPs of a write.
    tlps_each: f64,
    /// Earliest time of the next issue.
    issues_at: Picoseconds,
    clock: Picoseconds,
    tags: Tags,
    tag_return: Picoseconds,
    /// Space for completions, if it is limited.
    completion_buffer: Option<CompletionBuffer>,
    in_flight: Vec<InFlight>,
    reads: Vec<Read>,
    /// Free slots in `reads`.
    vacant: Vec<u32>,
    /// The head's slot in `reads`, while it is a read.
    read_slot: u32,
    write_engine_free: Picoseconds,
    /// The write TLP whose data are being read from device memory.
    pub(super) pulled: Option<Outgoing>,
    /// TLPs that wait for credits.
    pub(super) outgoing: VecDeque<Outgoing>,
    sent_at: Picoseconds,
    pub(super) non_posted: Option<Ring>,
    posted: Ring,
    posted_data: Option<DataCredits>,
    uplink: Port,
    dllp_bytes: u32,
    /// Arrivals of completions whose DLLPs have not been sent.
    completions: VecDeque<Picoseconds>,
    read_engine_free: Picoseconds,
    buffers: Ring,
}

impl<'a> Card<'a> {
    pub(super) fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        uplink: Port,
        first: u64,
        layouts: &mut TlpLayouts<'_>,
    ) -> Self {
        let system = &machine.system;
        let (device, root) = (&system.device, &system.host.root_complex);
        let workers = test.outstanding.unwrap_or(u32::MAX).min(device.dma.outstanding);
        let tags = Tags::new(machine);
        let completion_buffer = machine.completion_buffer().map(|free| {
            let request = layouts.parts(list.offset(first), false).start;
            CompletionBuffer::new(free, layouts.requests[request as usize].space)
        });
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
            tag_return: machine.tag_return(),
            completion_buffer,
            reads: Vec::new(),
            vacant: Vec::new(),
            read_slot: 0,
            write_engine_free: Picoseconds::ZERO,
            pulled: None,
            outgoing: VecDeque::new(),
            sent_at: Picoseconds::ZERO,
            non_posted: Ring::of_credits(root.non_posted_header_credits),
            posted: Ring::new(root.posted_header_credits.held_headers() as usize),
            posted_data: DataCredits::new(root.posted_data_credits),
            uplink,
            dllp_bytes: machine.uplink_dllp_bytes(),
            completions: VecDeque::new(),
            read_engine_free: Picoseconds::ZERO,
            buffers: Ring::new(device.dma.receive_buffers as usize),
        }
    }

    /// What the device sent again.
    pub(in crate::bandwidth) fn replays(&self) -> Option<Replays> {
        self.uplink.replays()
    }

    /// Writes and reads in flight at `now`, when all transactions before `complete` are complete.
    pub(super) fn in_flight(&self, complete: u64, now: Picoseconds) -> [f64; 2] {
        let of_headers = self.posted.taken_at(now);
        let of_data = self.posted_data.as_ref().map_or(0, |data| data.held_at(now));
        let reads = (self.reads.len() - self.vacant.len()) as f64;
        let writes = (self.next - complete) as f64 - reads;
        [writes + of_headers.max(of_data) as f64 / self.tlps_each, reads]
    }

    /// The device's next step and its time; `NEVER` if it needs a completion that has not been sent.
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

    /// Time of the next issue, as far as it is known.
    #[inline]
    fn issue_time(&self) -> Picoseconds {
        let (worker, writes) = if self.head.next < self.head.end {
            (Picoseconds::ZERO, self.head.writes)
        } else if self.next < self.test.transactions {
            (self.workers.free_at(), self.is_write(self.next))
        } else {
            return NEVER;
        };
        let engine = match (writes, &self.completion_buffer) {
            (true, _) => self.write_engine_free,
            (false, None) => self.tags.next(),
            (false, Some(buffer)) => self.tags.next().max(buffer.ready()),
        };
        self.issues_at.max(worker).max(engine)
    }

    #[inline]
    fn is_write(&self, transaction: u64) -> bool {
        AddressList::writes(self.test.operation, transaction, self.test.transactions)
    }

    /// When the first queued TLP can be sent.
    #[inline]
    pub(super) fn send_time(&self, outgoing: &Outgoing, layouts: &TlpLayouts<'_>) -> Picoseconds {
        let credit = match outgoing.tag {
            Some(_) => self.non_posted.as_ref().map_or(Picoseconds::ZERO, Ring::next),
            None => {
                let length = layouts.writes[outgoing.layout as usize].length;
                let header = self.posted.next();
                let data = self
                    .posted_data
                    .as_ref()
                    .map_or(Picoseconds::ZERO, |data| data.ready(data_credits(length)));
                header.max(data)
            }
        };
        outgoing.ready.max(self.sent_at).max(credit)
    }

    /// Sends the DLLPs for completions that have arrived by `now`.
    #[inline]
    fn send_dllps(&mut self, now: Picoseconds) {
        while self.completions.front().is_some_and(|arrival| *arrival <= now) {
            if let Some(arrival) = self.completions.pop_front() {
                self.uplink.send_dllps(arrival, self.dllp_bytes);
            }
        }
    }

    /// Issues the head's next TLP, if the uplink's backlog allows; returns it if it is ready at once.
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
        let issued = if head.writes {
            self.write_engine_free = now + layouts.writes[layout as usize].pull_time;
            let ends = (head.next == head.end).then_some(head.transaction);
            let ready = self.write_engine_free;
            self.pulled = Some(Outgoing { ready, offset: head.offset, layout, tag: None, ends });
            None
        } else {
            let tag = self.tags.take();
            if let Some(buffer) = &mut self.completion_buffer {
                buffer.take();
            }
            self.in_flight[tag as usize] = InFlight { layout, dma: self.read_slot };
            Some(Outgoing { ready: now, offset: head.offset, layout, tag: Some(tag), ends: None })
        };
        self.expect_request(layouts);
        issued
    }

    /// Looks up the space of the next request, if space is limited and the next TLP is a request.
    #[inline]
    fn expect_request(&mut self, layouts: &mut TlpLayouts<'_>) {
        let Some(buffer) = &mut self.completion_buffer else { return };
        let request = match self.head.next < self.head.end {
            true if self.head.writes => return,
            true => self.head.next,
            false if AddressList::writes(self.test.operation, self.next, self.test.transactions) => return,
            false => layouts.parts(self.next_offset, false).start,
        };
        buffer.expect(layouts.requests[request as usize].space);
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
            self.read_slot = self.vacant.pop().unwrap_or_else(|| {
                self.reads.push(Read::default());
                (self.reads.len() - 1) as u32
            });
            self.reads[self.read_slot as usize] = Read { transaction, open: parts.end - parts.start };
        }
        self.head = Head { transaction, offset, writes, next: parts.start, end: parts.end };
    }

    /// Sends a TLP, except for taking its credits; returns when its last byte has left.
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

    /// Takes the credits of the last write, which are returned at `back`.
    #[inline]
    pub(super) fn posted_credits_taken(&mut self, bytes: u32, back: Picoseconds) {
        self.posted.take_until(back);
        if let Some(data) = &mut self.posted_data {
            data.take(data_credits(bytes), back);
        }
    }

    #[inline]
    pub(super) fn request<'s>(&self, tag: u32, layouts: &'s TlpLayouts<'_>) -> &'s RequestLayout {
        &layouts.requests[self.in_flight[tag as usize].layout as usize]
    }

    /// When a receive buffer is free for another request.
    #[inline]
    pub(super) fn room_at(&self) -> Picoseconds {
        self.buffers.next()
    }

    /// A completion arrives, and will be acknowledged by a DLLP.
    #[inline]
    pub(super) fn completion_arrives(&mut self, arrival: Picoseconds) {
        if self.dllp_bytes > 0 {
            self.completions.push_back(arrival);
        }
    }

    /// The last completion of a request arrives: returns its tag, moves its data. Returns a completed DMA.
    #[inline]
    pub(super) fn answered(
        &mut self,
        tag: u32,
        arrival: Picoseconds,
        layouts: &TlpLayouts<'_>,
    ) -> Option<Finished> {
        let InFlight { layout, dma } = self.in_flight[tag as usize];
        let returned = arrival + self.tag_return;
        self.tags.free(tag, returned);
        if let Some(buffer) = &mut self.completion_buffer {
            buffer.give_back(layouts.requests[layout as usize].space, returned);
        }
        let moved = self.read_engine_free.max(arrival) + layouts.requests[layout as usize].move_time;
        self.read_engine_free = moved;
        self.buffers.take_until(moved);
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

/// Idle workers, by the times at which they became free.
#[derive(Debug)]
struct Workers {
    /// Workers without a DMA so far.
    idle: u32,
    after_reads: VecDeque<Picoseconds>,
    after_writes: VecDeque<Picoseconds>,
}

impl Workers {
    /// When the first worker of each queue is free; `NEVER` if that is unknown.
    #[inline]
    fn first(&self) -> (Picoseconds, Picoseconds) {
        let first = |queue: &VecDeque<Picoseconds>| queue.front().copied().unwrap_or(NEVER);
        (first(&self.after_reads), first(&self.after_writes))
    }

    #[inline]
    fn free_at(&self) -> Picoseconds {
        if self.idle > 0 {
            return Picoseconds::ZERO;
        }
        let (read, write) = self.first();
        read.min(write)
    }

    #[inline]
    fn take(&mut self) {
        if self.idle > 0 {
            self.idle -= 1;
            return;
        }
        let (read, write) = self.first();
        if read <= write {
            self.after_reads.pop_front()
        } else {
            self.after_writes.pop_front()
        };
    }
}
