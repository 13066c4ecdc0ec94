//! The event queue: earliest first; among events of the same time by rank, then in the order of insertion.

use crate::Picoseconds;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Time, rank, and order of insertion.
type Key = (Picoseconds, u8, u64);

/// Events with the times at which they happen.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<Key, E>>>,
    inserted: u64,
}

/// An event, ordered by its key alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K, E> {
    pub(crate) key: K,
    pub(crate) event: E,
}

impl<K: Ord, E> PartialEq for Entry<K, E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Ord, E> Eq for Entry<K, E> {}

impl<K: Ord, E> PartialOrd for Entry<K, E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, E> Ord for Entry<K, E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event of rank 0 at `time`.
    pub fn push(&mut self, time: Picoseconds, event: E) {
        self.push_ranked(time, 0, event);
    }

    /// Adds an event at `time`, after all events of that time with a lower rank.
    pub fn push_ranked(&mut self, time: Picoseconds, rank: u8, event: E) {
        self.heap.push(Reverse(Entry { key: (time, rank, self.inserted), event }));
        self.inserted += 1;
    }

    /// Takes the earliest event.
    pub fn pop(&mut self) -> Option<(Picoseconds, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.key.0, entry.event))
    }

    /// Time of the earliest event.
    #[must_use]
    pub fn next_time(&self) -> Option<Picoseconds> {
        self.heap.peek().map(|Reverse(entry)| entry.key.0)
    }

    /// Number of waiting events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_rank_then_insertion() {
        let mut queue = EventQueue::default();
        for (time, rank, name) in
            [(5, 1, 'e'), (5, 0, 'c'), (1, 2, 'a'), (5, 1, 'f'), (5, 0, 'd'), (3, 0, 'b')]
        {
            match rank {
                0 => queue.push(Picoseconds(time), name),
                _ => queue.push_ranked(Picoseconds(time), rank, name),
            }
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcdef");
    }
}
