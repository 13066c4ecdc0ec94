//! What the core expects of the buffer, and writes there: each double word is its offset exclusive-or a key.

use crate::host::Contents;

/// The pattern of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern(pub(super) u32);

impl Contents for Pattern {
    fn fill(&self, buffer: &mut [u8], window_bytes: u64) {
        let window = usize::try_from(window_bytes).unwrap_or(usize::MAX).min(buffer.len());
        let (words, _) = buffer[..window].as_chunks_mut::<4>();
        for (word, offset) in words.iter_mut().zip((0u32..).step_by(4)) {
            *word = (offset ^ self.0).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_tells_its_place() {
        let mut buffer = [0; 64];
        Pattern(0xffff_0000).fill(&mut buffer, 32);
        assert_eq!(buffer[28..32], 0xffff_001cu32.to_le_bytes());
        assert_eq!(buffer[32..], [0; 32]);
    }
}
