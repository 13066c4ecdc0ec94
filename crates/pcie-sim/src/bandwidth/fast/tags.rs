//! Tags as times: when the one that the next request gets is free.

use super::NEVER;
use crate::machine::Machine;
use crate::profile::TagOrder;
use pcie_time::Picoseconds;

/// The tags. Requests get their places in turn.
#[derive(Debug)]
pub(super) struct Tags {
    order: TagOrder,
    /// By place, when a tag is free there: `NEVER` while that is not known.
    free_at: Vec<Picoseconds>,
    /// By place, the tag.
    tags: Vec<u32>,
    next: usize,
    /// Where the tag that becomes free next is put, where any serves: they come back in the order of the answers.
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

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.tags.len()
    }

    /// When the next one is free.
    #[inline]
    pub(super) fn next(&self) -> Picoseconds {
        self.free_at[self.next]
    }

    /// The place of the next one.
    #[inline]
    pub(super) fn next_place(&self) -> usize {
        self.next
    }

    /// Takes the next one.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let place = self.next;
        self.free_at[place] = NEVER;
        self.next = self.after(place);
        self.tags[place]
    }

    /// A tag is free again at a time, later than those before it; returns its place.
    #[inline]
    pub(super) fn free(&mut self, tag: u32, time: Picoseconds) -> usize {
        let place = match self.order {
            TagOrder::InTurn => tag as usize,
            TagOrder::AnyFree => {
                let place = self.returns;
                self.returns = self.after(place);
                self.tags[place] = tag;
                place
            }
        };
        self.free_at[place] = time;
        place
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.tags.len() { 0 } else { place + 1 }
    }
}
