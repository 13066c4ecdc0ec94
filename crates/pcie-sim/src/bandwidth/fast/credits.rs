//! Credits as times: when the one that the next TLP needs is back.

use crate::profile::Credits;
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// Header credits of one kind: the n-th TLP needs the credit of the TLP as many before it as there are credits.
#[derive(Debug)]
pub(super) struct HeaderCredits {
    back_at: Vec<Picoseconds>,
    next: usize,
}

impl HeaderCredits {
    /// Those that were advertised; none where no TLP ever waits for one.
    pub(super) fn new(advertised: Credits) -> Option<Self> {
        let count = advertised.count()?;
        Some(Self { back_at: vec![Picoseconds::ZERO; count as usize], next: 0 })
    }

    /// When the next TLP has its credit.
    #[inline]
    pub(super) fn ready(&self) -> Picoseconds {
        self.back_at[self.next]
    }

    /// TLPs whose credits are not back at a time.
    pub(super) fn held_at(&self, now: Picoseconds) -> usize {
        self.back_at.iter().filter(|back| **back > now).count()
    }

    /// The next TLP takes its credit, which is back at a time.
    #[inline]
    pub(super) fn take(&mut self, back: Picoseconds) {
        self.back_at[self.next] = back;
        self.next = if self.next + 1 == self.back_at.len() { 0 } else { self.next + 1 };
    }
}

/// Data credits, which come back in order.
#[derive(Debug)]
pub(super) struct DataCredits {
    free: u32,
    returns: VecDeque<(Picoseconds, u32)>,
}

impl DataCredits {
    /// Those that were advertised; none where no TLP ever waits for one.
    pub(super) fn new(advertised: Credits) -> Option<Self> {
        advertised.count().map(|free| Self { free, returns: VecDeque::new() })
    }

    /// TLPs whose credits are not back at a time.
    pub(super) fn held_at(&self, now: Picoseconds) -> usize {
        self.returns.iter().filter(|(back, _)| *back > now).count()
    }

    /// When so many credits are there.
    #[inline]
    pub(super) fn ready(&self, count: u32) -> Picoseconds {
        let (mut there, mut at) = (self.free, Picoseconds::ZERO);
        let mut returns = self.returns.iter();
        while there < count
            && let Some((time, more)) = returns.next()
        {
            there += more;
            at = *time;
        }
        at
    }

    /// Takes so many credits, which are back at a time.
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
