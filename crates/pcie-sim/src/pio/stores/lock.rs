//! The lock of a queue that several cores share: its holder writes a message, the others wait in turn.

use std::collections::VecDeque;

/// The answer to a core that asks for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It holds the lock, and can continue.
    Holds,
    /// It holds the lock, once its cache line has moved from the previous holder.
    HoldsAfterMove,
    Waits,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lock {
    holder: Option<usize>,
    last: Option<usize>,
    waiting: VecDeque<usize>,
}

impl Lock {
    pub(super) fn ask(&mut self, core: usize) -> Asked {
        debug_assert!(!self.waiting.contains(&core), "core {core} already waits");
        if self.holder.is_some_and(|holder| holder != core) {
            self.waiting.push_back(core);
            return Asked::Waits;
        }
        self.holder = Some(core);
        let moves = self.last.replace(core).is_some_and(|last| last != core);
        if moves { Asked::HoldsAfterMove } else { Asked::Holds }
    }

    /// Releases the lock; returns the core that may ask again.
    pub(super) fn release(&mut self, core: usize) -> Option<usize> {
        debug_assert_eq!(self.holder, Some(core), "only the holder releases the lock");
        self.holder = None;
        self.waiting.pop_front()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.holder.is_none() && self.waiting.is_empty()
    }
}
