//! A core that writes messages through write-combining buffers, or word by word.

use crate::pio::frame::Word;
use crate::pio::plan::Pace;
use crate::pio::queue::BUFFER_WORDS;
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// What a core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// One of its buffers.
    Buffer,
    /// Space in its queue that it knows of.
    Space,
    Lock,
    /// For the message before to be delivered.
    Delivery,
}

/// A buffer, or a part of one, on its way.
#[derive(Clone, Debug)]
pub(super) struct Flushed {
    pub(super) queue: usize,
    pub(super) message: usize,
    pub(super) buffer: u64,
    pub(super) first_word: usize,
    pub(super) words: Vec<Word>,
}

/// A buffer that a core has filled, as far as it did.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    pub(super) flushed: Flushed,
    /// Whether the message ends with it.
    pub(super) last: bool,
    /// Whether it is not the first of its message.
    pub(super) follows: bool,
}

/// A message that is being written.
#[derive(Clone, Debug)]
struct Writing {
    message: usize,
    words: Vec<Word>,
    next_word: usize,
    first_buffer: u64,
}

/// A core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// The queue that it writes to.
    pub(super) queue: usize,
    /// Messages that it has to write: their numbers and frames.
    pub(super) todo: VecDeque<(usize, Vec<u8>)>,
    writing: Option<Writing>,
    buffers: u32,
    free_buffers: u32,
    /// What has left its buffers' filling and waits for the link.
    pub(super) flushed: VecDeque<Flushed>,
    /// When its next buffer may leave: the gap behind the one before is the core's, and the link is free in it.
    pub(super) next_send: Picoseconds,
    pub(super) waiting: Option<(Waiting, Picoseconds)>,
    pub(super) pace: Pace,
    /// It may start a message: it holds the lock, or needs none.
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

    /// Whether it has written what it was given and, where it is to, has waited until that was done.
    pub(super) fn is_free(&self) -> bool {
        self.todo.is_empty() && self.writing.is_none() && self.waiting.is_none()
    }

    /// Whether besides nothing of what it wrote waits in a buffer.
    pub(super) fn is_idle(&self) -> bool {
        self.is_free() && self.flushed.is_empty() && self.free_buffers == self.buffers
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    pub(super) fn has_free_buffer(&self) -> bool {
        self.free_buffers > 0
    }

    /// A buffer has left: it is free again.
    pub(super) fn free_buffer(&mut self) {
        debug_assert!(self.free_buffers < self.buffers, "a buffer is given back that was not in use");
        self.free_buffers += 1;
    }

    /// Begins with a message, which has the buffers of its queue from `first_buffer` on.
    pub(super) fn begin(&mut self, message: usize, words: Vec<Word>, first_buffer: u64) {
        debug_assert!(self.writing.is_none() && self.admitted, "a core writes one message, once it may");
        debug_assert!(!words.is_empty(), "a message has a header at least");
        self.writing = Some(Writing { message, words, next_word: 0, first_buffer });
    }

    /// The buffer of its queue that it fills next; none if it writes nothing.
    pub(super) fn next_buffer(&self) -> Option<u64> {
        let writing = self.writing.as_ref()?;
        Some(writing.first_buffer + (writing.next_word / BUFFER_WORDS) as u64)
    }

    /// Fills a buffer up to where it leaves: when it holds `most_words`, when the message ends, or when something else
    /// needs it, which is asked after each word.
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
        debug_assert!(self.free_buffers > 0, "a buffer is filled that is not free");
        debug_assert!(writing.next_word > from, "a buffer leaves with nothing in it");
        self.free_buffers -= 1;
        let words = writing.words[from..writing.next_word].to_vec();
        Some(Filled {
            flushed: Flushed { queue: self.queue, message: writing.message, buffer, first_word, words },
            last: writing.next_word == writing.words.len(),
            follows: from > 0,
        })
    }

    /// The message that it has written to its end, if it has; it writes none then.
    pub(super) fn take_written(&mut self) -> Option<usize> {
        let done = self.writing.take_if(|writing| writing.next_word == writing.words.len());
        done.map(|writing| writing.message)
    }
}
