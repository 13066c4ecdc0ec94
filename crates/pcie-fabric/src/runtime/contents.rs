//! The bytes in the memories of hosts and devices.

use std::collections::HashMap;

use crate::topology::NodeId;

const PAGE_BYTES: u64 = 4096;

/// Written pages, by the node that owns the memory; all other bytes are zero.
#[derive(Debug, Default)]
pub struct Contents {
    pages: HashMap<(NodeId, u64), Box<[u8; PAGE_BYTES as usize]>>,
}

impl Contents {
    /// Bytes of a node's memory from an address on.
    #[must_use]
    pub fn read(&self, owner: NodeId, address: u64, size_bytes: u64) -> Vec<u8> {
        let mut bytes = vec![0; size_bytes as usize];
        for (page, first, span) in pieces(address, size_bytes) {
            if let Some(held) = self.pages.get(&(owner, page)) {
                bytes[span.clone()].copy_from_slice(&held[first..first + span.len()]);
            }
        }
        bytes
    }

    /// Sets bytes of a node's memory from an address on.
    pub fn write(&mut self, owner: NodeId, address: u64, bytes: &[u8]) {
        for (page, first, span) in pieces(address, bytes.len() as u64) {
            let held = self.pages.entry((owner, page)).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
            held[first..first + span.len()].copy_from_slice(&bytes[span]);
        }
    }

    /// Copies bytes from one memory to another, unless neither was ever written.
    pub(super) fn carry(
        &mut self,
        (source, from): (NodeId, u64),
        (target, to): (NodeId, u64),
        size_bytes: u64,
    ) {
        let written = |owner, address| {
            pieces(address, size_bytes).any(|(page, ..)| self.pages.contains_key(&(owner, page)))
        };
        if written(source, from) || written(target, to) {
            let bytes = self.read(source, from, size_bytes);
            self.write(target, to, &bytes);
        }
    }
}

/// Splits bytes by page: the page, the offset in it, and the range of the bytes.
fn pieces(address: u64, size_bytes: u64) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == size_bytes {
            return None;
        }
        let at = address + done;
        let first = at % PAGE_BYTES;
        let length = (PAGE_BYTES - first).min(size_bytes - done);
        let span = done as usize..(done + length) as usize;
        done += length;
        Some((at / PAGE_BYTES, first as usize, span))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cross_pages_and_owners_are_apart() {
        let mut contents = Contents::default();
        let pattern: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        contents.write(1, PAGE_BYTES - 7, &pattern);
        assert_eq!(contents.read(1, PAGE_BYTES - 7, 10_000), pattern);
        assert_eq!(contents.read(2, PAGE_BYTES - 7, 10_000), vec![0; 10_000]);
        contents.carry((1, PAGE_BYTES), (2, 3), 5000);
        assert_eq!(contents.read(2, 3, 5000), pattern[7..5007]);
        contents.carry((3, 0), (2, 3), 8);
        assert_eq!(contents.read(2, 3, 8), [0; 8], "zeros overwrite older bytes");
    }
}
