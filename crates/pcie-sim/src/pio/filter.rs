//! The end-of-packet filter: takes buffers in order, and outputs frames without their signatures.
//!
//! A frame ends at the first signature. A frame with a signature in its payload ends too early, as its stated
//! length shows: it is dropped and counted, and the next frame starts where the stated length ends. (The
//! source relies on the frame's checksum, and does not say how its filter finds the next frame.)

use super::frame::{SIGNATURE, Word, stated_bytes};
use pcie_model::pio::WORD_BYTES;

/// The output of a completed frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    Frame(Vec<u8>),
    /// A frame with a signature inside.
    Dropped,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    frame: Option<Partial>,
}

#[derive(Clone, Debug)]
struct Partial {
    bytes: Vec<u8>,
    stated_bytes: usize,
    ended: bool,
}

impl Partial {
    fn new(first: &Word) -> Self {
        Self { bytes: Vec::new(), stated_bytes: stated_bytes(first), ended: false }
    }

    /// Missing words, including the first signature behind the frame.
    fn words_left(&self) -> usize {
        self.stated_bytes.div_ceil(WORD_BYTES as usize) + 1 - self.bytes.len() / WORD_BYTES as usize
    }
}

impl Filter {
    /// Words of the frame in the next buffer, including the first signature, given the buffer's first word.
    pub(super) fn words_of_next(&self, first: &Word, most: usize) -> usize {
        let left = self.frame.as_ref().map_or_else(|| Partial::new(first).words_left(), Partial::words_left);
        left.min(most)
    }

    /// Takes the next buffer; returns the frame that it completes.
    pub(super) fn take(&mut self, words: &[Word]) -> Option<Leaving> {
        let first = words.first()?;
        let mut partial = self.frame.take().unwrap_or_else(|| Partial::new(first));
        for word in words.iter().take(partial.words_left()) {
            if partial.words_left() == 1 {
                let intact = !partial.ended && *word == SIGNATURE;
                partial.bytes.truncate(partial.stated_bytes);
                return Some(if intact { Leaving::Frame(partial.bytes) } else { Leaving::Dropped });
            }
            partial.ended |= *word == SIGNATURE;
            partial.bytes.extend_from_slice(word);
        }
        self.frame = Some(partial);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{frame, words};
    use super::*;

    fn leaving(frames: &[Vec<u8>]) -> Vec<Leaving> {
        let mut filter = Filter::default();
        let mut out = Vec::new();
        for frame in frames {
            let used = frame.len().div_ceil(8) as u64;
            for buffer in words(frame, (used + 1).next_multiple_of(8) - used).chunks(8) {
                out.extend(filter.take(buffer));
            }
        }
        out
    }

    #[test]
    fn removes_signatures_for_every_frame_length() {
        let frames: Vec<_> = [1, 8, 12, 20, 21, 64, 84, 500].map(|bytes| frame(36, &vec![7; bytes])).to_vec();
        assert_eq!(leaving(&frames), frames.into_iter().map(Leaving::Frame).collect::<Vec<_>>());
    }

    #[test]
    fn a_signature_in_a_payload_drops_only_its_frame() {
        let next = frame(8, &[9; 100]);
        for index in 0..15 {
            let mut payload = vec![3; 120];
            payload[8 * index..8 * index + 8].copy_from_slice(&SIGNATURE);
            let found = leaving(&[frame(8, &payload), next.clone()]);
            assert_eq!(found, [Leaving::Dropped, Leaving::Frame(next.clone())], "word {index}");
        }
    }

    #[test]
    fn a_signature_across_two_words_is_payload() {
        let mut payload = vec![3; 120];
        payload[12..20].copy_from_slice(&SIGNATURE);
        let frame = frame(8, &payload);
        assert_eq!(leaving(std::slice::from_ref(&frame)), [Leaving::Frame(frame)]);
    }
}
