//! A message as a core writes it: a header with the frame's length, the payload, and signatures.

use pcie_model::pio::WORD_BYTES;
use pcie_time::Draws;

/// The end-of-packet signature. As the first word of a frame it would state an impossible length.
pub const SIGNATURE: [u8; 8] = 0xDEAD_BEEF_CAFE_BEEF_u64.to_le_bytes();

/// One store's worth of bytes.
pub(super) type Word = [u8; WORD_BYTES as usize];

const LENGTH_BYTES: usize = 4;

/// A frame: a header of `header_bytes`, which starts with the frame's length, and the payload. Profiles whose
/// headers are too short for the length are refused.
#[must_use]
pub fn frame(header_bytes: u32, payload: &[u8]) -> Vec<u8> {
    let length = header_bytes + payload.len() as u32;
    let mut frame = length.to_le_bytes().to_vec();
    frame.resize((header_bytes as usize).max(LENGTH_BYTES), 0);
    frame.extend_from_slice(payload);
    frame
}

/// A random payload; `drawn` counts the words drawn so far.
#[must_use]
pub fn payload(draws: Draws, drawn: &mut u64, bytes: u64) -> Vec<u8> {
    let words = bytes.div_ceil(WORD_BYTES);
    let mut payload: Vec<u8> =
        (*drawn..*drawn + words).flat_map(|word| draws.bits(word).to_le_bytes()).collect();
    *drawn += words;
    payload.truncate(bytes as usize);
    payload
}

/// The length that a frame states in its first word.
pub(super) fn stated_bytes(first: &Word) -> usize {
    u32::from_le_bytes([first[0], first[1], first[2], first[3]]) as usize
}

/// The words of a frame, padded with zeros, and `signatures` behind them.
pub(super) fn words(frame: &[u8], signatures: u64) -> Vec<Word> {
    let mut words: Vec<Word> = frame
        .chunks(WORD_BYTES as usize)
        .map(|chunk| {
            let mut word = Word::default();
            word[..chunk.len()].copy_from_slice(chunk);
            word
        })
        .collect();
    words.resize(words.len() + signatures as usize, SIGNATURE);
    words
}
