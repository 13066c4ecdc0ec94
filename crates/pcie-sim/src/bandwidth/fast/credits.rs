//! Data credits, as the times at which they are returned.

use crate::profile::Credits;
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// Data credits, returned in order.
#[derive(Debug)]
pub(super) struct DataCredits {
    free: u32,
    returns: VecDeque<(Picoseconds, u32)>,
}

impl DataCredits {
    /// The advertised credits; `None` for infinite credits.
    pub(super) fn new(advertised: Credits) -> Option<Self> {
        advertised.count().map(|free| Self { free, returns: VecDeque::new() })
    }

    /// TLPs that hold credits at `now`.
    pub(super) fn held_at(&self, now: Picoseconds) -> usize {
        self.returns.iter().filter(|(back, _)| *back > now).count()
    }

    /// Credits that are free already.
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// When others are returned, and how many, in order.
    pub(super) fn returns(&self) -> impl ExactSizeIterator<Item = (Picoseconds, u32)> + '_ {
        self.returns.iter().copied()
    }

    /// Makes all times later.
    pub(super) fn shift(&mut self, by: Picoseconds) {
        self.returns.iter_mut().for_each(|(back, _)| *back += by);
    }

    /// When `count` credits are available.
    #[inline]
    pub(super) fn ready(&self, count: u32) -> Picoseconds {
        let (mut available, mut at) = (self.free, Picoseconds::ZERO);
        let mut returns = self.returns.iter();
        while available < count
            && let Some((time, more)) = returns.next()
        {
            available += more;
            at = *time;
        }
        at
    }

    /// Takes `count` credits, which are returned at `back`.
    #[inline]
    pub(super) fn take(&mut self, count: u32, back: Picoseconds) {
        while self.free < count
            && let Some((_, more)) = self.returns.pop_front()
        {
            self.free += more;
        }
        self.free -= count;
        self.returns.push_back((back, count));
    }
}
