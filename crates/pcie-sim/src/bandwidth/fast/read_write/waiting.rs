//! Requests on their way through the root complex, in the order in which their data will be there, and the choice among
//! those whose data are.

use crate::profile::CompletionOrder;
use pcie_time::{Draws, Picoseconds};

/// A request that was not chosen yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting(u32);

impl Waiting {
    /// The request with a tag; `small` if it counts as such.
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

/// The requests that were not chosen yet, earliest data first.
#[derive(Debug)]
pub(super) struct Ready {
    rule: CompletionOrder,
    draws: Draws,
    drawn: u64,
    /// The next draw, made ahead of the choice that waits for it.
    drawn_ahead: u64,
    room: usize,
    /// By place, when the data are there. The places in order are `first..`; those before belonged to requests that were
    /// chosen. Two lists of single words, because a word that was just written is quickly read again, and a pair is not.
    times: Vec<Picoseconds>,
    waiting: Vec<Waiting>,
    first: usize,
    /// How many of them had data when last looked at, and how many of those are small.
    there: usize,
    small_ones: usize,
}

impl Ready {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64, most: usize) -> Self {
        // More room than is needed, so that the places of chosen requests are seldom cleared away.
        let room = 4 * most + 64;
        let (times, waiting) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let drawn_ahead = draws.bits(drawn + 1);
        Self { rule, draws, drawn, drawn_ahead, room, times, waiting, first: 0, there: 0, small_ones: 0 }
    }

    /// When the first data are there that were not chosen.
    #[inline]
    pub(super) fn earliest(&self) -> Option<Picoseconds> {
        self.times.get(self.first).copied()
    }

    /// Adds a request behind those whose data are there no later.
    #[inline]
    pub(super) fn add(&mut self, time: Picoseconds, request: Waiting) {
        if self.times.len() == self.room {
            self.times.drain(..self.first);
            self.waiting.drain(..self.first);
            self.first = 0;
        }
        let mut place = self.times.len();
        self.times.push(time);
        self.waiting.push(request);
        while place > self.first && self.times[place - 1] > time {
            self.times[place] = self.times[place - 1];
            self.waiting[place] = self.waiting[place - 1];
            place -= 1;
        }
        self.times[place] = time;
        self.waiting[place] = request;
    }

    /// Chooses among the requests whose data are there by `now`, of which there must be one; returns its tag.
    #[inline]
    pub(super) fn choose(&mut self, now: Picoseconds) -> u32 {
        while self.times.get(self.first + self.there).is_some_and(|time| *time <= now) {
            self.small_ones += self.waiting[self.first + self.there].small();
            self.there += 1;
        }
        let nth = match self.rule {
            CompletionOrder::Fifo => 0,
            CompletionOrder::RandomSmall if self.small_ones == 0 => 0,
            CompletionOrder::Random | CompletionOrder::RandomSmall => {
                let nth = (u128::from(self.drawn_ahead) * self.there as u128) >> 64;
                self.drawn += 1;
                self.drawn_ahead = self.draws.bits(self.drawn + 1);
                nth as usize
            }
        };
        let chosen = self.waiting[self.first + nth];
        // Those before it move up by one: few, so that a loop is faster than a copy.
        for place in (self.first..self.first + nth).rev() {
            self.times[place + 1] = self.times[place];
            self.waiting[place + 1] = self.waiting[place];
        }
        self.first += 1;
        self.there -= 1;
        self.small_ones -= chosen.small();
        chosen.tag()
    }
}
