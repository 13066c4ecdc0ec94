//! Requests on their way through the root complex, in the order in which their data will be there, and the choice among
//! those whose data are.

use crate::profile::CompletionOrder;
use pcie_time::{Draws, Picoseconds};

/// A request whose data are there at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Due {
    pub(super) time: Picoseconds,
    pub(super) tag: u32,
    /// Of at most MPS.
    pub(super) small: bool,
}

/// The requests that were not chosen yet, earliest data first.
#[derive(Debug)]
pub(super) struct Ready {
    rule: CompletionOrder,
    draws: Draws,
    drawn: u64,
    /// Those in order are `places[first..]`; before them stand places of requests that were chosen.
    places: Vec<Due>,
    first: usize,
    /// How many of them had data when last looked at, and how many of those are small.
    there: usize,
    small_ones: usize,
}

impl Ready {
    pub(super) fn new(rule: CompletionOrder, draws: Draws, drawn: u64, most: usize) -> Self {
        // Twice the room that is needed, so that chosen places are seldom cleared away.
        let places = Vec::with_capacity(4 * most + 64);
        Self { rule, draws, drawn, places, first: 0, there: 0, small_ones: 0 }
    }

    /// When the first data are there that were not chosen.
    #[inline]
    pub(super) fn earliest(&self) -> Option<Picoseconds> {
        self.places.get(self.first).map(|due| due.time)
    }

    /// Adds a request behind those whose data are there no later.
    #[inline]
    pub(super) fn add(&mut self, due: Due) {
        if self.places.len() == self.places.capacity() {
            self.places.drain(..self.first);
            self.first = 0;
        }
        let mut place = self.places.len();
        self.places.push(due);
        while place > self.first && self.places[place - 1].time > due.time {
            self.places[place] = self.places[place - 1];
            place -= 1;
        }
        self.places[place] = due;
    }

    /// Chooses among the requests whose data are there by `now`; there must be one.
    #[inline]
    pub(super) fn choose(&mut self, now: Picoseconds) -> Due {
        while let Some(due) = self.places.get(self.first + self.there)
            && due.time <= now
        {
            self.small_ones += usize::from(due.small);
            self.there += 1;
        }
        let nth = match self.rule {
            CompletionOrder::Fifo => 0,
            CompletionOrder::RandomSmall if self.small_ones == 0 => 0,
            CompletionOrder::Random | CompletionOrder::RandomSmall => {
                self.drawn += 1;
                self.draws.below(self.drawn, self.there as u64) as usize
            }
        };
        let chosen = self.places[self.first + nth];
        self.places.copy_within(self.first..self.first + nth, self.first + 1);
        self.first += 1;
        self.there -= 1;
        self.small_ones -= usize::from(chosen.small);
        chosen
    }
}
