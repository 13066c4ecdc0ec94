//! A resource of N units used in turn, as the times at which they are free: user n waits for user n - N.

use super::NEVER;
use crate::profile::Credits;
use pcie_time::Picoseconds;

/// Workers, receive buffers or header credits.
#[derive(Debug)]
pub(super) struct Ring {
    /// `NEVER` while it is unknown.
    free_at: Vec<Picoseconds>,
    next: usize,
    /// The next unit to be returned, where units are returned in turn.
    returns: usize,
}

impl Ring {
    /// `count` free units.
    pub(super) fn new(count: usize) -> Self {
        Self { free_at: vec![Picoseconds::ZERO; count], next: 0, returns: 0 }
    }

    /// Header credits of one kind; `None` for infinite credits.
    pub(super) fn of_credits(advertised: Credits) -> Option<Self> {
        advertised.count().map(|count| Self::new(count as usize))
    }

    /// When the next unit is free.
    #[inline]
    pub(super) fn next(&self) -> Picoseconds {
        self.free_at[self.next]
    }

    #[inline]
    pub(super) fn take(&mut self) {
        self.free_at[self.next] = NEVER;
        self.next = self.after(self.next);
    }

    /// Takes the next unit until `time`.
    #[inline]
    pub(super) fn take_until(&mut self, time: Picoseconds) {
        self.free_at[self.next] = time;
        self.next = self.after(self.next);
    }

    /// The unit that was taken first is free at `time`.
    #[inline]
    pub(super) fn free_first(&mut self, time: Picoseconds) {
        self.free_at[self.returns] = time;
        self.returns = self.after(self.returns);
    }

    /// Units in use at `now`.
    pub(super) fn taken_at(&self, now: Picoseconds) -> usize {
        self.free_at.iter().filter(|free_at| **free_at > now).count()
    }

    /// When each unit is free, in the order of use.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = Picoseconds> + '_ {
        let (later, next) = self.free_at.split_at(self.next);
        next.iter().chain(later).copied()
    }

    /// Units taken in turn and not returned, modulo their number.
    pub(super) fn taken(&self) -> usize {
        (self.next + self.free_at.len() - self.returns) % self.free_at.len()
    }

    /// Makes all known times later.
    pub(super) fn shift(&mut self, by: Picoseconds) {
        self.free_at.iter_mut().filter(|free_at| **free_at != NEVER).for_each(|free_at| *free_at += by);
    }

    #[inline]
    fn after(&self, unit: usize) -> usize {
        if unit + 1 == self.free_at.len() { 0 } else { unit + 1 }
    }
}
