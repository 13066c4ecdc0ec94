//! Tags, as the times at which they are free.

use super::NEVER;
use crate::machine::Machine;
use crate::profile::TagOrder;
use pcie_time::Picoseconds;

/// A ring of slots, of which requests take one after the other.
#[derive(Debug)]
pub(super) struct Tags {
    order: TagOrder,
    /// By slot, when its tag is free: `NEVER` while that is unknown.
    free_at: Vec<Picoseconds>,
    tags: Vec<u32>,
    next: usize,
    /// Slot of the next tag to be freed, with `AnyFree`: tags are freed in the order of the answers.
    returns: usize,
}

impl Tags {
    pub(super) fn new(machine: &Machine) -> Self {
        let count = machine.tags();
        Self {
            order: machine.system.device.dma.tag_order,
            free_at: vec![Picoseconds::ZERO; count as usize],
            tags: (0..count).collect(),
            next: 0,
            returns: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.tags.len()
    }

    #[inline]
    pub(super) fn next(&self) -> Picoseconds {
        self.free_at[self.next]
    }

    #[inline]
    pub(super) fn next_slot(&self) -> usize {
        self.next
    }

    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let slot = self.next;
        self.free_at[slot] = NEVER;
        self.next = self.after(slot);
        self.tags[slot]
    }

    /// Frees a tag at `time`, which must not decrease from call to call; returns its slot.
    #[inline]
    pub(super) fn free(&mut self, tag: u32, time: Picoseconds) -> usize {
        let slot = match self.order {
            TagOrder::InTurn => tag as usize,
            TagOrder::AnyFree => {
                let slot = self.returns;
                self.returns = self.after(slot);
                self.tags[slot] = tag;
                slot
            }
        };
        self.free_at[slot] = time;
        slot
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.tags.len() { 0 } else { slot + 1 }
    }
}
