//! The data that the core expects in the buffer and writes there: each double word is its offset XOR a key.

use crate::host::Contents;
use pcie_host::Buffer;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern(pub(super) u32);

impl Contents for Pattern {
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64) {
        let window = window_bytes.min(buffer.length());
        for (offset, word) in (0..window / 4 * 4).step_by(4).zip((0u32..).step_by(4)) {
            buffer.put_words(offset, &[word ^ self.0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::buffer;

    #[test]
    fn each_word_is_its_offset_xor_the_key() {
        let mut buffer = buffer();
        Pattern(0xffff_0000).fill(&mut buffer, 32);
        assert_eq!(buffer.copied(28, 4), Some(0xffff_001cu32.to_le_bytes().to_vec()));
        assert_eq!(buffer.copied(32, 4064), Some(vec![0; 4064]));
    }
}
