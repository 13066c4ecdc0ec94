//! The memory of a host that the brick stands in for: zeros until written, in pages.

use std::collections::HashMap;

const PAGE_BYTES: u64 = 4096;

/// Bytes by address.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pages: HashMap<u64, Box<[u8; PAGE_BYTES as usize]>>,
}

impl Memory {
    pub(super) fn read(&self, address: u64, length: usize) -> Vec<u8> {
        let byte = |address: u64| {
            let page = self.pages.get(&(address / PAGE_BYTES));
            page.map_or(0, |page| page[(address % PAGE_BYTES) as usize])
        };
        (0..length as u64).map(|at| byte(address.wrapping_add(at))).collect()
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) {
        for (at, byte) in (0..).zip(bytes) {
            let address = address.wrapping_add(at);
            let page = self.pages.entry(address / PAGE_BYTES);
            page.or_insert_with(|| Box::new([0; PAGE_BYTES as usize]))[(address % PAGE_BYTES) as usize] =
                *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_cross_pages_and_the_end_of_addresses() {
        let mut memory = Memory::default();
        for address in [4094, u64::MAX - 1] {
            memory.write(address, &[1, 2, 3, 4]);
            assert_eq!(memory.read(address.wrapping_sub(1), 6), [0, 1, 2, 3, 4, 0]);
        }
    }
}
