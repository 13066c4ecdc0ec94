//! Page walks that are going on or wait for a walker: there is room for so many, and requests to their pages find them.

use pcie_time::Picoseconds;
use std::hint::select_unpredictable;

const NO_PAGE: u32 = u32::MAX;

/// The walks. Their places are used again once they are done.
#[derive(Debug)]
pub(super) struct PendingWalks {
    /// By place, when the walk is done.
    done: Vec<Picoseconds>,
    pages: Vec<u32>,
    /// By page, where its last walk was.
    place_of: Vec<u32>,
    most: usize,
    /// Walks that were done by now are no more.
    now: Picoseconds,
}

impl PendingWalks {
    /// Room for `most` walks of pages below a bound.
    pub(super) fn new(most: u32, page_count: u32) -> Self {
        let place_of = vec![0; page_count as usize];
        let (done, pages) = (vec![Picoseconds::ZERO], vec![NO_PAGE]);
        Self { done, pages, place_of, most: most.max(1) as usize, now: Picoseconds::ZERO }
    }

    /// Forgets the walks that are done by a time.
    #[inline]
    pub(super) fn pass(&mut self, now: Picoseconds) {
        self.now = self.now.max(now);
    }

    /// When the walk of a page is done, if one is going on.
    #[inline]
    pub(super) fn of_page(&self, page: u32) -> Option<Picoseconds> {
        let place = self.place_of[page as usize] as usize;
        let going_on = self.pages[place] == page && self.done[place] > self.now;
        going_on.then(|| self.done[place])
    }

    /// When there is room for a walk of a page, at `at` or later; that place is taken.
    #[inline]
    pub(super) fn take_place(&mut self, page: u32, at: Picoseconds) -> (usize, Picoseconds) {
        let (mut place, free_at) = earliest(&self.done);
        // What is asked for at `at` may be asked for after what comes later: its walk waits for the place all the same.
        let mut room = at.max(free_at);
        if free_at > self.now {
            if self.done.len() < self.most {
                place = self.done.len();
                self.done.push(Picoseconds::ZERO);
                self.pages.push(NO_PAGE);
                room = at;
            } else {
                self.now = free_at;
            }
        }
        self.pages[place] = page;
        self.place_of[page as usize] = place as u32;
        (place, room)
    }

    /// The walk at a place is done at a time.
    #[inline]
    pub(super) fn done_at(&mut self, place: usize, time: Picoseconds) {
        self.done[place] = time;
    }
}

/// The place of the earliest of some times, the first of them if there are several, and that time; there must be one.
///
/// Which it is is chance: a branch on it would be foreseen wrongly.
#[inline]
pub(super) fn earliest(times: &[Picoseconds]) -> (usize, Picoseconds) {
    let (mut place, mut time) = (0, times[0]);
    for (other, other_time) in times.iter().enumerate().skip(1) {
        let earlier = *other_time < time;
        place = select_unpredictable(earlier, other, place);
        time = select_unpredictable(earlier, *other_time, time);
    }
    (place, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_waits_for_the_first_of_as_many_as_there_is_room_for() {
        let mut walks = PendingWalks::new(2, 10);
        for (page, at, room, done) in [(3, 100, 100, 500), (4, 110, 110, 300), (5, 120, 300, 700)] {
            walks.pass(Picoseconds(at));
            assert_eq!(walks.of_page(page), None);
            let (place, free_at) = walks.take_place(page, Picoseconds(at));
            assert_eq!(free_at, Picoseconds(room), "page {page}");
            walks.done_at(place, Picoseconds(done));
        }
        assert_eq!(
            [3, 4, 5].map(|page| walks.of_page(page)),
            [Some(Picoseconds(500)), None, Some(Picoseconds(700))]
        );
        walks.pass(Picoseconds(500));
        assert_eq!(walks.of_page(3), None);
    }
}
