//! The event queue: earliest first; among events of the same time by rank, then in the order of insertion.

use crate::Picoseconds;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events with the times at which they happen.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    inserted: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    time: Picoseconds,
    rank: u8,
    order: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed, because the heap gives its greatest element first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.rank, other.order).cmp(&(self.time, self.rank, self.order))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event that happens at `time`, of rank 0.
    pub fn push(&mut self, time: Picoseconds, event: E) {
        self.push_ranked(time, 0, event);
    }

    /// Adds an event that happens at `time`, after all events of that time whose rank is lower.
    pub fn push_ranked(&mut self, time: Picoseconds, rank: u8, event: E) {
        self.heap.push(Entry { time, rank, order: self.inserted, event });
        self.inserted += 1;
    }

    /// Takes the earliest event.
    pub fn pop(&mut self) -> Option<(Picoseconds, E)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }

    /// When the earliest event happens.
    #[must_use]
    pub fn next_time(&self) -> Option<Picoseconds> {
        self.heap.peek().map(|entry| entry.time)
    }

    /// Events waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_insertion() {
        let mut queue = EventQueue::default();
        for (time, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(Picoseconds(time), name);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn ranks_order_what_happens_at_the_same_time() {
        let mut queue = EventQueue::default();
        for (time, rank, name) in [(5, 1, 'd'), (5, 0, 'b'), (1, 2, 'a'), (5, 1, 'e'), (5, 0, 'c')] {
            queue.push_ranked(Picoseconds(time), rank, name);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcde");
    }
}
