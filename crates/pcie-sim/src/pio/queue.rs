//! The device's transmit queue: what arrives is put in its place by address, and leaves through the filter in order.

use super::filter::{Filter, Leaving};
use super::frame::Word;
use super::plan::Ending;
use pcie_model::pio::{BUFFER_BYTES, WORD_BYTES};
use std::collections::VecDeque;

/// Words in a buffer.
pub(super) const BUFFER_WORDS: usize = (BUFFER_BYTES / WORD_BYTES) as usize;

/// One queue. Buffers are counted from the start of the run; a real queue would use their number modulo its space.
#[derive(Clone, Debug)]
pub(super) struct TransmitQueue {
    capacity: u64,
    ending: Ending,
    /// From `head` on, as far as something has arrived.
    places: VecDeque<[Option<Word>; BUFFER_WORDS]>,
    /// The next buffer to leave.
    head: u64,
    /// The next buffer that a message may be given.
    pub(super) next: u64,
    /// What cores know of `head`.
    pub(super) known_head: u64,
    /// Whether a buffer is on its way through the filter.
    pub(super) draining: bool,
    filter: Filter,
}

impl TransmitQueue {
    pub(super) fn new(capacity_bytes: u32, ending: Ending) -> Self {
        let capacity = u64::from(capacity_bytes) / BUFFER_BYTES;
        Self {
            capacity,
            ending,
            places: VecDeque::new(),
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

    /// Puts words in their place; false if there is none, and they are lost.
    pub(super) fn put(&mut self, buffer: u64, first_word: usize, words: &[Word]) -> bool {
        let ahead = buffer.checked_sub(self.head).filter(|ahead| *ahead < self.capacity);
        let place = ahead.and_then(|ahead| {
            let room = self.places.len().max(ahead as usize + 1);
            self.places.resize(room, [None; BUFFER_WORDS]);
            self.places.get_mut(ahead as usize)
        });
        let Some(slots) = place.and_then(|place| place.get_mut(first_word..first_word + words.len())) else {
            return false;
        };
        let empty = slots.iter().all(Option::is_none);
        for (slot, word) in slots.iter_mut().zip(words) {
            *slot = Some(*word);
        }
        empty
    }

    /// Whether the next buffer to leave is there as a whole.
    pub(super) fn is_ready(&self) -> bool {
        let Some(place) = self.places.front() else { return false };
        let Some(first) = &place[0] else { return false };
        let needed = match self.ending {
            Ending::Stuffed => BUFFER_WORDS,
            Ending::Fenced => self.filter.words_of_next(first, BUFFER_WORDS),
        };
        place[..needed].iter().all(Option::is_some)
    }

    /// Takes the next buffer through the filter, and frees its place.
    pub(super) fn drain(&mut self) -> Option<Leaving> {
        let place = self.places.pop_front()?;
        self.head += 1;
        let words: Vec<Word> = place.into_iter().map_while(|word| word).collect();
        self.filter.take(&words)
    }
}
