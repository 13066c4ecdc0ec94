//! The device's transmit queue: stores words by address, and drains them through the filter in order.

use super::filter::{Filter, Leaving};
use super::frame::Word;
use super::plan::Ending;
use pcie_model::pio::{BUFFER_BYTES, WORD_BYTES};
use std::collections::VecDeque;

pub(super) const BUFFER_WORDS: usize = (BUFFER_BYTES / WORD_BYTES) as usize;

/// A queue. Buffers are numbered from the start of the run; a real queue would number them cyclically.
#[derive(Clone, Debug)]
pub(super) struct TransmitQueue {
    capacity: u64,
    ending: Ending,
    /// Buffers from `head` up to the last one with a word.
    buffers: VecDeque<[Option<Word>; BUFFER_WORDS]>,
    head: u64,
    /// The next buffer to allocate to a message.
    pub(super) next: u64,
    /// The value of `head` that cores know.
    pub(super) known_head: u64,
    pub(super) draining: bool,
    filter: Filter,
}

impl TransmitQueue {
    pub(super) fn new(capacity_bytes: u32, ending: Ending) -> Self {
        let capacity = u64::from(capacity_bytes) / BUFFER_BYTES;
        Self {
            capacity,
            ending,
            buffers: VecDeque::new(),
            head: 0,
            next: 0,
            known_head: 0,
            draining: false,
            filter: Filter::default(),
        }
    }

    /// Whether cores know that there is space for a buffer.
    pub(super) fn has_space(&self, buffer: u64) -> bool {
        buffer < self.known_head + self.capacity
    }

    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// Stores words; false if there is no space or a word is overwritten.
    pub(super) fn put(&mut self, buffer: u64, first_word: usize, words: &[Word]) -> bool {
        let ahead = buffer.checked_sub(self.head).filter(|ahead| *ahead < self.capacity);
        let stored = ahead.and_then(|ahead| {
            let length = self.buffers.len().max(ahead as usize + 1);
            self.buffers.resize(length, [None; BUFFER_WORDS]);
            self.buffers.get_mut(ahead as usize)?.get_mut(first_word..first_word + words.len())
        });
        let Some(slots) = stored else { return false };
        let empty = slots.iter().all(Option::is_none);
        for (slot, word) in slots.iter_mut().zip(words) {
            *slot = Some(*word);
        }
        empty
    }

    /// Whether the next buffer to leave is complete.
    pub(super) fn is_ready(&self) -> bool {
        let Some(buffer) = self.buffers.front() else { return false };
        let Some(first) = &buffer[0] else { return false };
        let needed = match self.ending {
            Ending::Stuffed => BUFFER_WORDS,
            Ending::Fenced => self.filter.words_of_next(first, BUFFER_WORDS),
        };
        buffer[..needed].iter().all(Option::is_some)
    }

    /// Passes the next buffer through the filter.
    pub(super) fn drain(&mut self) -> Option<Leaving> {
        let buffer = self.buffers.pop_front()?;
        self.head += 1;
        let words: Vec<Word> = buffer.into_iter().map_while(|word| word).collect();
        self.filter.take(&words)
    }
}
