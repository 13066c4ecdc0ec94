//! The contents of the host buffer: before a test the core's data pattern under some key, then with the
//! core's writes. Only written pages take memory.

use std::collections::HashMap;

const PAGE_BYTES: u64 = 4096;

/// The bytes of the buffer.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pages: HashMap<u64, Box<[u8; PAGE_BYTES as usize]>>,
    key: u32,
}

impl Memory {
    /// Fills the buffer with the pattern of a key.
    pub(crate) fn fill(&mut self, key: u32) {
        self.pages.clear();
        self.key = key;
    }

    /// Reads from `offset` on, within a page.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) {
        match self.pages.get(&(offset / PAGE_BYTES)) {
            Some(page) => {
                let start = (offset % PAGE_BYTES) as usize;
                bytes.copy_from_slice(&page[start..start + bytes.len()]);
            }
            None => pattern(self.key, offset, bytes),
        }
    }

    /// Writes from `offset` on, within a page.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let (number, key) = (offset / PAGE_BYTES, self.key);
        let page = self.pages.entry(number).or_insert_with(|| {
            let mut page = Box::new([0; PAGE_BYTES as usize]);
            pattern(key, number * PAGE_BYTES, &mut page[..]);
            page
        });
        let start = (offset % PAGE_BYTES) as usize;
        page[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

/// The core's data pattern: each double word is its offset exclusive-or the key.
fn pattern(key: u32, offset: u64, bytes: &mut [u8]) {
    for (byte, offset) in bytes.iter_mut().zip(offset..) {
        let word = (offset as u32 & !3) ^ key;
        *byte = word.to_le_bytes()[(offset % 4) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_kept_within_the_pattern() {
        let mut memory = Memory::default();
        memory.fill(0xffff_0000);
        memory.write(4097, &[1, 2]);
        let mut bytes = [0; 6];
        memory.read(4094, &mut bytes[..2]);
        assert_eq!(bytes[..2], 0xffff_0ffcu32.to_le_bytes()[2..]);
        memory.read(4096, &mut bytes);
        assert_eq!(bytes, [0, 1, 2, 0xff, 4, 0x10]);
        memory.fill(0);
        memory.read(4096, &mut bytes);
        assert_eq!(bytes, [0, 0x10, 0, 0, 4, 0x10]);
    }
}
