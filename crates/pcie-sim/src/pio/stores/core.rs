//! A core that writes messages through write-combining buffers, or word by word.

use crate::pio::frame::Word;
use crate::pio::plan::Pace;
use crate::pio::queue::BUFFER_WORDS;
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// The cause of a core's waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    Buffer,
    /// Known space in its queue.
    Space,
    Lock,
    /// Delivery of the previous message.
    Delivery,
}

#[derive(Clone, Debug)]
pub(super) struct Flushed {
    pub(super) queue: usize,
    pub(super) message: usize,
    pub(super) buffer: u64,
    pub(super) first_word: usize,
    pub(super) words: Vec<Word>,
}

/// A buffer that a core has filled, perhaps in part.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    pub(super) flushed: Flushed,
    /// Whether the message ends with it.
    pub(super) last: bool,
    /// Whether others of its message precede it.
    pub(super) follows: bool,
}

#[derive(Clone, Debug)]
struct Writing {
    message: usize,
    words: Vec<Word>,
    next_word: usize,
    first_buffer: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) queue: usize,
    /// Messages to write: numbers and frames.
    pub(super) todo: VecDeque<(usize, Vec<u8>)>,
    writing: Option<Writing>,
    buffers: u32,
    free_buffers: u32,
    /// Flushed buffers that wait for the link.
    pub(super) flushed: VecDeque<Flushed>,
    /// Earliest start of its next TLP: the gap between buffers is the core's, and leaves the link free.
    pub(super) next_send: Picoseconds,
    pub(super) waiting: Option<(Waiting, Picoseconds)>,
    pub(super) pace: Pace,
    /// Whether it may start a message: it holds the lock, or needs none.
    pub(super) admitted: bool,
}

impl Core {
    pub(super) fn new(
        queue: usize,
        todo: VecDeque<(usize, Vec<u8>)>,
        buffers: u32,
        pace: Pace,
        admitted: bool,
    ) -> Self {
        Self {
            queue,
            todo,
            writing: None,
            buffers,
            free_buffers: buffers,
            flushed: VecDeque::new(),
            next_send: Picoseconds::ZERO,
            waiting: None,
            pace,
            admitted,
        }
    }

    /// Whether it has written all its messages, and waited for delivery if required.
    pub(super) fn is_free(&self) -> bool {
        self.todo.is_empty() && self.writing.is_none() && self.waiting.is_none()
    }

    /// Whether it is free and all its buffers are empty.
    pub(super) fn is_idle(&self) -> bool {
        self.is_free() && self.flushed.is_empty() && self.free_buffers == self.buffers
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    pub(super) fn has_free_buffer(&self) -> bool {
        self.free_buffers > 0
    }

    pub(super) fn free_buffer(&mut self) {
        debug_assert!(self.free_buffers < self.buffers, "an unused buffer is freed");
        self.free_buffers += 1;
    }

    /// Starts a message, which has the buffers of its queue from `first_buffer` on.
    pub(super) fn begin(&mut self, message: usize, words: Vec<Word>, first_buffer: u64) {
        debug_assert!(self.writing.is_none() && self.admitted, "the core is busy or not admitted");
        debug_assert!(!words.is_empty(), "empty message");
        self.writing = Some(Writing { message, words, next_word: 0, first_buffer });
    }

    /// The buffer of its queue that it fills next; `None` if it writes no message.
    pub(super) fn next_buffer(&self) -> Option<u64> {
        let writing = self.writing.as_ref()?;
        Some(writing.first_buffer + (writing.next_word / BUFFER_WORDS) as u64)
    }

    /// Fills a buffer until it is full, the message ends, or `is_needed_elsewhere` is true after a word.
    pub(super) fn fill(
        &mut self,
        combine: bool,
        mut is_needed_elsewhere: impl FnMut() -> bool,
    ) -> Option<Filled> {
        let buffer = self.next_buffer()?;
        let writing = self.writing.as_mut()?;
        let first_word = writing.next_word % BUFFER_WORDS;
        let most_words = if combine { BUFFER_WORDS - first_word } else { 1 };
        let from = writing.next_word;
        while writing.next_word - from < most_words && writing.next_word < writing.words.len() {
            writing.next_word += 1;
            if is_needed_elsewhere() {
                break;
            }
        }
        debug_assert!(self.free_buffers > 0, "a used buffer is filled");
        debug_assert!(writing.next_word > from, "an empty buffer is flushed");
        self.free_buffers -= 1;
        let words = writing.words[from..writing.next_word].to_vec();
        Some(Filled {
            flushed: Flushed { queue: self.queue, message: writing.message, buffer, first_word, words },
            last: writing.next_word == writing.words.len(),
            follows: from > 0,
        })
    }

    /// Takes the message that it has written completely, if any.
    pub(super) fn take_written(&mut self) -> Option<usize> {
        let done = self.writing.take_if(|writing| writing.next_word == writing.words.len());
        done.map(|writing| writing.message)
    }
}
