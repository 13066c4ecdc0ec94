//! The device of a test that only reads: issues requests, and receives their data.

use super::super::NEVER;
use super::super::completion_buffer::CompletionBuffer;
use super::super::planned::{Head, Planned};
use super::super::ring::Ring;
use super::super::tags::Tags;
use super::arrivals::Arrivals;
use crate::link::port::Port;
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_workload::Test;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Card {
    /// Transactions that the test has left.
    pub(super) left: u64,
    pub(super) head: Head,
    /// When each worker is free for another DMA; `None` if there are more than can be busy.
    pub(super) workers: Option<Ring>,
    pub(super) tags: Tags,
    /// From the arrival of a request's last completion until its tag is free.
    pub(super) tag_return: Picoseconds,
    /// Space for completions, if it is limited.
    pub(super) completion_buffer: Option<CompletionBuffer>,
    /// With limited space, the DMA behind the head: its first request may be larger or smaller.
    following: Option<Head>,
    /// By tag.
    pub(super) in_flight: Vec<InFlight>,
    /// Unmoved requests of each read in flight that has several.
    pub(super) open: Vec<u32>,
    /// Free slots in `open`.
    pub(super) vacant: Vec<u32>,
    /// The head's slot in `open`.
    pub(super) read: u32,
    pub(super) transaction: u64,
    /// Earliest time of the next issue.
    pub(super) issues_at: Picoseconds,
    pub(super) clock: Picoseconds,
    /// Requests that wait for credits.
    pub(super) outgoing: VecDeque<Outgoing>,
    pub(super) sent_at: Picoseconds,
    /// `None` if they are always returned before a tag is free.
    pub(super) credits: Option<Ring>,
    pub(super) dllp_bytes: u32,
    pub(super) arrivals: Arrivals,
    pub(super) engine_free: Picoseconds,
    pub(super) buffers: Ring,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight {
    pub(super) layout: u32,
    /// Slot of its read in `open`; `ALONE` if it is the only request of its read.
    pub(super) read: u32,
    pub(super) transaction: u64,
}

pub(super) const ALONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) issued: Picoseconds,
    pub(super) offset: u64,
    pub(super) layout: u32,
    pub(super) tag: u32,
}

impl Card {
    pub(super) fn new(
        machine: &Machine,
        test: &Test,
        first: u64,
        least_read: Picoseconds,
        planned: &mut Planned<'_>,
    ) -> Self {
        let system = &machine.system;
        let device = &system.device;
        let tags = Tags::new(machine);
        let buffers = device.dma.receive_buffers as usize;
        // A DMA in progress has a tag or a receive buffer, or is the head.
        let workers = test.outstanding.unwrap_or(u32::MAX).min(device.dma.outstanding) as usize;
        let workers_bind = workers < tags.count() + buffers + 2;
        // With as many credits as tags, the request whose credit is needed has its data before a tag is free.
        let root = &system.host.root_complex;
        let credits = root.non_posted_header_credits.count().map(|count| count as usize);
        let credits_bind =
            |count: &usize| *count < tags.count() || Picoseconds::from_ns(root.credit_return_ns) > least_read;
        let mut following = None;
        let completion_buffer = machine.completion_buffer().map(|free| {
            let head = following.insert(planned.next_head());
            CompletionBuffer::new(free, planned.layouts.request(head.requests.start).space)
        });
        Self {
            left: test.transactions.saturating_sub(first),
            head: Head::default(),
            workers: workers_bind.then(|| Ring::new(workers)),
            in_flight: vec![InFlight::default(); tags.count()],
            open: Vec::new(),
            vacant: Vec::new(),
            read: ALONE,
            transaction: first,
            issues_at: Picoseconds::ZERO,
            clock: machine.request_clock(),
            outgoing: VecDeque::new(),
            sent_at: Picoseconds::ZERO,
            credits: credits.filter(credits_bind).map(Ring::new),
            tags,
            tag_return: machine.tag_return(),
            completion_buffer,
            following,
            dllp_bytes: machine.uplink_dllp_bytes(),
            arrivals: Arrivals::default(),
            engine_free: Picoseconds::ZERO,
            buffers: Ring::new(buffers),
        }
    }

    /// Time of the next issue; `NEVER` if it needs a completion that has not been sent.
    #[inline(always)]
    pub(super) fn issue_time(&self) -> Picoseconds {
        let time = self.issues_at.max(self.tags.next());
        let time = self.completion_buffer.as_ref().map_or(time, |buffer| buffer.ready().max(time));
        if !self.head.requests.is_empty() {
            return time;
        }
        if self.left == 0 {
            return NEVER;
        }
        self.workers.as_ref().map_or(time, |workers| workers.next().max(time))
    }

    /// Time of the device's next step, as far as it is known.
    #[inline]
    pub(super) fn next_send(&self) -> Picoseconds {
        self.issue_time().min(self.outgoing.front().map_or(NEVER, |first| self.send_time(first)))
    }

    #[inline]
    pub(super) fn send_time(&self, request: &Outgoing) -> Picoseconds {
        let time = request.issued.max(self.sent_at);
        self.credits.as_ref().map_or(time, |credits| credits.next().max(time))
    }

    /// Sends the DLLPs for completions that have arrived by `now`.
    #[inline(always)]
    pub(super) fn acknowledge<const PLAIN: bool>(&mut self, uplink: &mut Port, now: Picoseconds) {
        while self.arrivals.next() <= now {
            uplink.send_dllps_of::<PLAIN>(self.arrivals.next(), self.dllp_bytes);
            self.arrivals.acknowledge();
        }
    }

    #[inline(always)]
    pub(super) fn issue(&mut self, now: Picoseconds, planned: &mut Planned<'_>) -> Outgoing {
        if self.head.requests.is_empty() {
            self.head = self.following.take().unwrap_or_else(|| planned.next_head());
            self.transaction += 1;
            self.left -= 1;
            if let Some(workers) = &mut self.workers {
                workers.take();
            }
            self.begin_read();
        }
        let layout = self.head.requests.start;
        self.head.requests.start += 1;
        let tag = self.tags.take();
        self.in_flight[tag as usize] =
            InFlight { layout, read: self.read, transaction: self.transaction - 1 };
        self.issues_at = now + self.clock;
        self.reserve(planned);
        Outgoing { issued: now, offset: self.head.offset, layout, tag }
    }

    /// Takes the space of the request that was issued, if space is limited.
    #[inline(always)]
    fn reserve(&mut self, planned: &mut Planned<'_>) {
        let Some(buffer) = &mut self.completion_buffer else { return };
        let next = match self.head.requests.is_empty() {
            true => self.following.get_or_insert_with(|| planned.next_head()).requests.start,
            false => self.head.requests.start,
        };
        buffer.take();
        buffer.expect(planned.layouts.request(next).space);
    }

    /// Records the head's number of requests, if it has several.
    #[inline(always)]
    fn begin_read(&mut self) {
        let count = self.head.requests.end - self.head.requests.start;
        if count == 1 {
            self.read = ALONE;
            return;
        }
        self.read = self.vacant.pop().unwrap_or_else(|| {
            self.open.push(0);
            (self.open.len() - 1) as u32
        });
        self.open[self.read as usize] = count;
    }

    /// Whether `read` is complete, after one of its requests was moved at `moved`.
    #[inline(always)]
    pub(super) fn completes(&mut self, read: u32, moved: Picoseconds) -> bool {
        if read != ALONE {
            let open = &mut self.open[read as usize];
            *open -= 1;
            if *open > 0 {
                return false;
            }
            self.vacant.push(read);
        }
        if let Some(workers) = &mut self.workers {
            workers.free_first(moved);
        }
        true
    }
}
