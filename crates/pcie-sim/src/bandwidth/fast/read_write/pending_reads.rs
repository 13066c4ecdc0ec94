//! The queue of read requests in the root complex, ordered by the time of their data, and its choice.

use crate::profile::CompletionOrder;
use pcie_time::{DrawSequence, Draws, Picoseconds};

/// A request's tag, and in the lowest bit whether it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRead(u32);

impl PendingRead {
    #[inline]
    pub(super) fn new(tag: u32, small: bool) -> Self {
        Self(tag << 1 | u32::from(small))
    }

    fn tag(self) -> u32 {
        self.0 >> 1
    }

    fn small(self) -> usize {
        (self.0 & 1) as usize
    }
}

/// Requests that have not been chosen, earliest data first.
#[derive(Debug)]
pub(super) struct PendingReads {
    rule: CompletionOrder,
    draws: DrawSequence,
    capacity: usize,
    /// Times of the data, in order from `first` on; earlier slots belonged to chosen requests. Two lists of
    /// single words, because a word just written is read again quickly (store forwarding), and a pair is not.
    times: Vec<Picoseconds>,
    reads: Vec<PendingRead>,
    first: usize,
    /// Requests with data at the last choice, and the small ones among them.
    available: usize,
    small_ones: usize,
}

impl PendingReads {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64, most: usize) -> Self {
        // Spare capacity, so that slots of chosen requests are seldom removed.
        let capacity = 4 * most + 64;
        let (times, reads) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        Self {
            rule,
            draws: DrawSequence::new(draws, drawn + 1),
            capacity,
            times,
            reads,
            first: 0,
            available: 0,
            small_ones: 0,
        }
    }

    #[inline]
    pub(super) fn earliest(&self) -> Option<Picoseconds> {
        self.times.get(self.first).copied()
    }

    /// Inserts a request behind those of the same or an earlier time.
    #[inline]
    pub(super) fn add(&mut self, time: Picoseconds, request: PendingRead) {
        if self.times.len() == self.capacity {
            self.times.drain(..self.first);
            self.reads.drain(..self.first);
            self.first = 0;
        }
        let mut slot = self.times.len();
        self.times.push(time);
        self.reads.push(request);
        while slot > self.first && self.times[slot - 1] > time {
            self.times[slot] = self.times[slot - 1];
            self.reads[slot] = self.reads[slot - 1];
            slot -= 1;
        }
        self.times[slot] = time;
        self.reads[slot] = request;
    }

    /// Chooses among the requests with data by `now`, of which there must be one; returns its tag.
    #[inline]
    pub(super) fn choose(&mut self, now: Picoseconds) -> u32 {
        while self.times.get(self.first + self.available).is_some_and(|time| *time <= now) {
            self.small_ones += self.reads[self.first + self.available].small();
            self.available += 1;
        }
        let nth = match self.rule {
            CompletionOrder::Fifo => 0,
            CompletionOrder::RandomSmall if self.small_ones == 0 => 0,
            CompletionOrder::Random | CompletionOrder::RandomSmall => {
                self.draws.below(self.available as u64) as usize
            }
        };
        let chosen = self.reads[self.first + nth];
        // Shift the requests before it by one: few, so a loop is faster than a copy.
        for slot in (self.first..self.first + nth).rev() {
            self.times[slot + 1] = self.times[slot];
            self.reads[slot + 1] = self.reads[slot];
        }
        self.first += 1;
        self.available -= 1;
        self.small_ones -= chosen.small();
        chosen.tag()
    }
}
