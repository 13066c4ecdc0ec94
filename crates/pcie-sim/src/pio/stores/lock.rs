//! The lock of a queue that several cores use: who holds it writes a message, the others wait in turn.

use std::collections::VecDeque;

/// What a core that asks for the lock is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It holds the lock, and can go on.
    Holds,
    /// It holds the lock, whose cache line has to travel to it first from the core that held it before.
    HoldsOnceTravelled,
    /// Another core holds it.
    Waits,
}

/// The lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Lock {
    holder: Option<usize>,
    last: Option<usize>,
    waiting: VecDeque<usize>,
}

impl Lock {
    /// A core asks for the lock.
    pub(super) fn ask(&mut self, core: usize) -> Asked {
        debug_assert!(!self.waiting.contains(&core), "core {core} asks, and waits already");
        if self.holder.is_some_and(|holder| holder != core) {
            self.waiting.push_back(core);
            return Asked::Waits;
        }
        self.holder = Some(core);
        let travels = self.last.replace(core).is_some_and(|last| last != core);
        if travels { Asked::HoldsOnceTravelled } else { Asked::Holds }
    }

    /// The core that holds it is done; returns the one that may ask again.
    pub(super) fn release(&mut self, core: usize) -> Option<usize> {
        debug_assert_eq!(self.holder, Some(core), "only the core that holds the lock gives it back");
        self.holder = None;
        self.waiting.pop_front()
    }

    /// Whether no core holds it, and none waits.
    pub(super) fn is_idle(&self) -> bool {
        self.holder.is_none() && self.waiting.is_empty()
    }
}
