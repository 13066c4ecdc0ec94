//! A bounded table of page walks, active or waiting for a walker. Requests to the same page share a walk.

use pcie_time::Picoseconds;
use std::hint::select_unpredictable;

const NO_PAGE: u32 = u32::MAX;

/// The slot of a walk is reused once the walk is done.
#[derive(Debug)]
pub(super) struct PendingWalks {
    /// By slot, when the walk is done.
    done: Vec<Picoseconds>,
    pages: Vec<u32>,
    /// By page, the slot of its last walk.
    slot_of: Vec<u32>,
    most: usize,
    /// Walks done by this time no longer count.
    now: Picoseconds,
}

impl PendingWalks {
    /// A table for `most` walks of pages below `page_count`.
    pub(super) fn new(most: u32, page_count: u32) -> Self {
        let slot_of = vec![0; page_count as usize];
        let (done, pages) = (vec![Picoseconds::ZERO], vec![NO_PAGE]);
        Self { done, pages, slot_of, most: most.max(1) as usize, now: Picoseconds::ZERO }
    }

    #[inline]
    pub(super) fn pass(&mut self, now: Picoseconds) {
        self.now = self.now.max(now);
    }

    /// When the pending walk of a page is done, if there is one.
    #[inline]
    pub(super) fn of_page(&self, page: u32) -> Option<Picoseconds> {
        let slot = self.slot_of[page as usize] as usize;
        let going_on = self.pages[slot] == page && self.done[slot] > self.now;
        going_on.then(|| self.done[slot])
    }

    /// Takes a slot for the walk of a page; returns the slot and when it is free, no sooner than `at`.
    #[inline]
    pub(super) fn take_slot(&mut self, page: u32, at: Picoseconds) -> (usize, Picoseconds) {
        let (mut slot, free_at) = earliest(&self.done);
        // Calls may come out of time order; an earlier walk waits for the slot all the same.
        let mut room = at.max(free_at);
        if free_at > self.now {
            if self.done.len() < self.most {
                slot = self.done.len();
                self.done.push(Picoseconds::ZERO);
                self.pages.push(NO_PAGE);
                room = at;
            } else {
                self.now = free_at;
            }
        }
        self.pages[slot] = page;
        self.slot_of[page as usize] = slot as u32;
        (slot, room)
    }

    #[inline]
    pub(super) fn done_at(&mut self, slot: usize, time: Picoseconds) {
        self.done[slot] = time;
    }
}

/// Index and value of the first earliest time; `times` must not be empty. Branchless, because the result is
/// random and a branch on it would be mispredicted.
#[inline]
pub(super) fn earliest(times: &[Picoseconds]) -> (usize, Picoseconds) {
    let (mut index, mut time) = (0, times[0]);
    for (other, other_time) in times.iter().enumerate().skip(1) {
        let earlier = *other_time < time;
        index = select_unpredictable(earlier, other, index);
        time = select_unpredictable(earlier, *other_time, time);
    }
    (index, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_waits_for_the_first_free_slot_of_a_full_table() {
        let mut walks = PendingWalks::new(2, 10);
        for (page, at, room, done) in [(3, 100, 100, 500), (4, 110, 110, 300), (5, 120, 300, 700)] {
            walks.pass(Picoseconds(at));
            assert_eq!(walks.of_page(page), None);
            let (slot, free_at) = walks.take_slot(page, Picoseconds(at));
            assert_eq!(free_at, Picoseconds(room), "page {page}");
            walks.done_at(slot, Picoseconds(done));
        }
        assert_eq!(
            [3, 4, 5].map(|page| walks.of_page(page)),
            [Some(Picoseconds(500)), None, Some(Picoseconds(700))]
        );
        walks.pass(Picoseconds(500));
        assert_eq!(walks.of_page(3), None);
    }
}
