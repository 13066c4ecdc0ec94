//! What the core expects of the buffer, and writes there: each double word is its offset exclusive-or a key.

use crate::host::Contents;
use pcie_host::Buffer;

/// The pattern of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern(pub(super) u32);

impl Contents for Pattern {
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64) {
        let window = window_bytes.min(buffer.length());
        for (place, offset) in (0..window / 4 * 4).step_by(4).zip((0u32..).step_by(4)) {
            buffer.put_words(place, &[offset ^ self.0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::buffer;

    #[test]
    fn each_word_tells_its_place() {
        let mut buffer = buffer();
        Pattern(0xffff_0000).fill(&mut buffer, 32);
        assert_eq!(buffer.copied(28, 4), Some(0xffff_001cu32.to_le_bytes().to_vec()));
        assert_eq!(buffer.copied(32, 4064), Some(vec![0; 4064]));
    }
}
