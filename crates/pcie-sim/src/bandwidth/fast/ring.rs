//! Things used in turn, as the times at which they are free again: the n-th user needs the one that the user as many before
//! it had as there are.

use super::NEVER;
use pcie_time::Picoseconds;

/// Workers, receive buffers or header credits.
#[derive(Debug)]
pub(super) struct Ring {
    /// `NEVER` while it is not known.
    free_at: Vec<Picoseconds>,
    next: usize,
    /// The one in use that is free again next, where they come back in turn, too.
    returns: usize,
}

impl Ring {
    /// So many of them, all free.
    pub(super) fn new(count: usize) -> Self {
        Self { free_at: vec![Picoseconds::ZERO; count], next: 0, returns: 0 }
    }

    /// When the next one is free.
    #[inline]
    pub(super) fn next(&self) -> Picoseconds {
        self.free_at[self.next]
    }

    /// Takes the next one.
    #[inline]
    pub(super) fn take(&mut self) {
        self.free_at[self.next] = NEVER;
        self.next = self.after(self.next);
    }

    /// Takes the next one, which is free again at a time.
    #[inline]
    pub(super) fn take_until(&mut self, time: Picoseconds) {
        self.free_at[self.next] = time;
        self.next = self.after(self.next);
    }

    /// The one that was taken first is free again at a time.
    #[inline]
    pub(super) fn free_first(&mut self, time: Picoseconds) {
        self.free_at[self.returns] = time;
        self.returns = self.after(self.returns);
    }

    /// How many are taken at a time that the holders of all of them know.
    pub(super) fn taken_at(&self, now: Picoseconds) -> usize {
        self.free_at.iter().filter(|free_at| **free_at > now).count()
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.free_at.len() { 0 } else { place + 1 }
    }
}
