//! The calendar queue: the order of [`EventQueue`](crate::EventQueue), fast if events lie close together.
//!
//! Time is cut into days. Events of today are kept in order, those of the coming days on one sheet a day,
//! later ones in a heap. The cost of an event does not depend on the number of waiting events.
//!
//! Source: R. Brown, "Calendar Queues: A Fast O(1) Priority Queue Implementation for the Simulation Event Set
//! Problem", CACM 31(10), 1988; here with days of fixed length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Picoseconds;
use crate::queue;

/// A day is 2^11 ps: events a nanosecond apart are a few to a day.
const DAY_BITS: u32 = 11;
/// Days ahead with a sheet: 2 microseconds. Their marks fill whole words, whose own marks fit into one word.
const SHEETS: u64 = 1024;
const WORD: u64 = u64::BITS as u64;
const WORDS: u64 = SHEETS / WORD;
/// The end of a list of slots.
const NONE: u32 = u32::MAX;

/// Events with the times at which they happen.
#[derive(Clone, Debug)]
pub struct CalendarQueue<E> {
    today: u64,
    /// The slot of the earliest event, which is of today; the others of today follow in order.
    first: u32,
    /// The slot of the last event of today, if there is one.
    last: u32,
    /// First slots of the next days, by day modulo SHEETS; the others of a day follow in no order.
    sheets: Vec<u32>,
    /// Which sheets have events.
    marks: [u64; WORDS as usize],
    /// Which words of marks are not zero.
    marked_words: u64,
    /// Events of today and the next days. Slots are reused at once, so they stay in the cache. Events stay in
    /// their slots, because copying them costs more than ordering them.
    slots: Vec<Slot<E>>,
    /// First of the list of free slots.
    free: u32,
    far: BinaryHeap<Reverse<Entry<E>>>,
    inserted: u64,
    taken: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot<E> {
    entry: Entry<E>,
    next: u32,
}

/// An event by its time and the order of insertion.
type Entry<E> = queue::Entry<(Picoseconds, u64), E>;

fn day(time: Picoseconds) -> u64 {
    time.0 >> DAY_BITS
}

impl<E> Default for CalendarQueue<E> {
    fn default() -> Self {
        Self {
            today: 0,
            first: NONE,
            last: NONE,
            sheets: vec![NONE; SHEETS as usize],
            marks: [0; WORDS as usize],
            marked_words: 0,
            slots: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            inserted: 0,
            taken: 0,
        }
    }
}

impl<E: Copy> CalendarQueue<E> {
    /// Adds an event that happens at `time`.
    #[inline]
    pub fn push(&mut self, time: Picoseconds, event: E) {
        let entry = Entry { key: (time, self.inserted), event };
        self.inserted += 1;
        let ahead = day(time).saturating_sub(self.today);
        if ahead == 0 {
            let slot = self.fill_slot(entry, NONE);
            self.put_in_order(slot);
        } else if ahead < SHEETS {
            let sheet = day(time) % SHEETS;
            self.sheets[sheet as usize] = self.fill_slot(entry, self.sheets[sheet as usize]);
            self.marks[(sheet / WORD) as usize] |= 1 << (sheet % WORD);
            self.marked_words |= 1 << (sheet / WORD);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picoseconds, E)> {
        self.pop_until(Picoseconds(u64::MAX))
    }

    /// Takes the earliest event if it happens at `last` or before.
    #[inline]
    pub fn pop_until(&mut self, last: Picoseconds) -> Option<(Picoseconds, E)> {
        if self.first == NONE {
            self.turn_page();
        }
        let number = self.first;
        let slot = self.slots.get_mut(number as usize)?;
        let Entry { key: (time, _), event } = slot.entry;
        if time > last {
            return None;
        }
        self.first = std::mem::replace(&mut slot.next, self.free);
        self.free = number;
        self.taken += 1;
        Some((time, event))
    }

    /// Events waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.inserted - self.taken) as usize
    }

    /// Whether nothing is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inserted == self.taken
    }

    #[inline]
    fn fill_slot(&mut self, entry: Entry<E>, next: u32) -> u32 {
        let number = self.free;
        if let Some(slot) = self.slots.get_mut(number as usize) {
            self.free = slot.next;
            *slot = Slot { entry, next };
            return number;
        }
        self.slots.push(Slot { entry, next });
        self.slots.len() as u32 - 1
    }

    /// Inserts a filled slot into today's list: at the end, the usual case within a burst, or behind the last
    /// earlier one, which is near the start because days are short.
    #[inline]
    fn put_in_order(&mut self, number: u32) {
        let key = self.slots[number as usize].entry.key;
        let (mut before, mut after) = (NONE, self.first);
        if after != NONE && self.slots[self.last as usize].entry.key < key {
            (before, after) = (self.last, NONE);
        }
        while let Some(slot) = self.slots.get(after as usize).filter(|slot| slot.entry.key < key) {
            (before, after) = (after, slot.next);
        }
        self.slots[number as usize].next = after;
        if after == NONE {
            self.last = number;
        }
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.next = number,
            None => self.first = number,
        }
    }

    /// Goes to the next day that has events.
    fn turn_page(&mut self) {
        let near = self.next_sheet().map(|ahead| self.today + ahead);
        let far = self.far.peek().map(|entry| day(entry.0.key.0));
        let Some(next) = near.into_iter().chain(far).min() else { return };
        self.today = next;
        if near == Some(next) {
            self.take_sheet(next % SHEETS);
        }
        while self.far.peek().is_some_and(|entry| day(entry.0.key.0) == next) {
            if let Some(Reverse(entry)) = self.far.pop() {
                let slot = self.fill_slot(entry, NONE);
                self.put_in_order(slot);
            }
        }
    }

    #[inline]
    fn take_sheet(&mut self, sheet: u64) {
        let word = &mut self.marks[(sheet / WORD) as usize];
        *word &= !(1 << (sheet % WORD));
        if *word == 0 {
            self.marked_words &= !(1 << (sheet / WORD));
        }
        let mut number = std::mem::replace(&mut self.sheets[sheet as usize], NONE);
        while let Some(slot) = self.slots.get(number as usize) {
            let next = slot.next;
            self.put_in_order(number);
            number = next;
        }
    }

    /// Days until the next sheet with events.
    fn next_sheet(&self) -> Option<u64> {
        if self.marked_words == 0 {
            return None;
        }
        let first = (self.today + 1) % SHEETS;
        let (word, bit) = (first / WORD, first % WORD);
        let rest = self.marks[word as usize] >> bit;
        if rest != 0 {
            return Some(1 + u64::from(rest.trailing_zeros()));
        }
        // The later words; then, wrapping, the earlier ones and this one.
        let later = self.marked_words & (u64::MAX << word << 1);
        let found = u64::from(if later == 0 { self.marked_words } else { later }.trailing_zeros());
        let sheet = found * WORD + u64::from(self.marks[found as usize].trailing_zeros());
        Some((sheet + SHEETS - first) % SHEETS + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draws, EventQueue, Stream};

    /// Times as in a simulation: most near, many equal, some far beyond the sheets.
    fn step(draws: Draws, index: u64) -> Picoseconds {
        Picoseconds(match draws.below(index, 10) {
            0 => 0,
            1 => draws.below(index + 1, 100_000_000),
            2 => SHEETS << DAY_BITS,
            _ => draws.below(index + 1, 400) * 50,
        })
    }

    #[test]
    fn order_equals_that_of_the_event_queue() {
        let draws = Draws::new(1, 0, Stream::Jitter);
        let (mut calendar, mut queue) = (CalendarQueue::default(), EventQueue::default());
        for index in 0..200u64 {
            calendar.push(step(draws, 2 * index), index);
            queue.push(step(draws, 2 * index), index);
        }
        for index in 200..100_000 {
            let (now, event) = queue.pop().unwrap();
            assert_eq!(calendar.pop(), Some((now, event)));
            // The queue grows and shrinks by turns.
            for more in 0..[1, 1, 2, 0][(index / 37 % 4) as usize] {
                let time = now + step(draws, 4 * index + more);
                calendar.push(time, index);
                queue.push(time, index);
            }
            assert_eq!(calendar.len(), queue.len());
            if queue.is_empty() {
                break;
            }
        }
        while let Some(event) = queue.pop() {
            assert_eq!(calendar.pop(), Some(event));
        }
        assert!(calendar.is_empty() && calendar.pop().is_none());
    }

    #[test]
    fn pop_until_keeps_later_events() {
        let mut calendar = CalendarQueue::default();
        calendar.push(Picoseconds(5_000), 'b');
        calendar.push(Picoseconds(3_000), 'a');
        assert_eq!(calendar.pop_until(Picoseconds(2_999)), None);
        assert_eq!(calendar.pop_until(Picoseconds(3_000)), Some((Picoseconds(3_000), 'a')));
        // Between the event taken and the one waiting.
        calendar.push(Picoseconds(4_000), 'c');
        assert_eq!(calendar.pop_until(Picoseconds(4_500)), Some((Picoseconds(4_000), 'c')));
        assert_eq!(calendar.pop(), Some((Picoseconds(5_000), 'b')));
    }
}
