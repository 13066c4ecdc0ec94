//! The device's buffer for completions, as the times at which its space is free again.

use super::NEVER;
use crate::link::completion_buffer::FreeSpace;
use pcie_time::Picoseconds;
use pcie_wire::CompletionSpace;
use std::collections::VecDeque;

/// A limited buffer, whose space is given back in the order of the answers.
#[derive(Debug)]
pub(super) struct CompletionBuffer {
    free: FreeSpace,
    returns: VecDeque<(Picoseconds, CompletionSpace)>,
    /// Space of the next request.
    next: CompletionSpace,
}

impl CompletionBuffer {
    /// An empty buffer, and the space of the first request.
    pub(super) fn new(free: FreeSpace, first: CompletionSpace) -> Self {
        Self { free, returns: VecDeque::new(), next: first }
    }

    /// When the next request has its space; `NEVER` if that needs an answer that has not been sent.
    #[inline]
    pub(super) fn ready(&self) -> Picoseconds {
        let (mut free, mut at) = (self.free, Picoseconds::ZERO);
        let mut returns = self.returns.iter();
        while !free.holds(self.next) {
            let Some((time, space)) = returns.next() else { return NEVER };
            free.give_back(*space);
            at = *time;
        }
        at
    }

    /// Sets the space of the next request.
    #[inline]
    pub(super) fn expect(&mut self, next: CompletionSpace) {
        self.next = next;
    }

    /// Takes the space of the next request.
    #[inline]
    pub(super) fn take(&mut self) {
        while !self.free.holds(self.next)
            && let Some((_, space)) = self.returns.pop_front()
        {
            self.free.give_back(space);
        }
        self.free.take(self.next);
    }

    /// Space is free from `time` on, which must not decrease from call to call.
    #[inline]
    pub(super) fn give_back(&mut self, space: CompletionSpace, time: Picoseconds) {
        debug_assert!(self.returns.back().is_none_or(|(last, _)| *last <= time), "answers out of order");
        self.returns.push_back((time, space));
    }
}
