//! Alignment classes: the start offset within a page and the length of the addresses (32 or 64 bits), which
//! decide how a transfer is split. A test has few classes, so the layout of each is computed once.
//!
//! A transfer longer than a page starts at a page. Its addresses are nearly always all short or all long; a
//! transfer that crosses from chunks with short addresses to chunks with long ones is a class of its own.

use crate::profile::System;
use pcie_workload::PAGE_BYTES;
use std::collections::HashMap;

const COUNT: usize = 2 * PAGE_BYTES as usize;
const UNKNOWN: u16 = u16::MAX;

/// The number (index of a layout or plan) of each class.
#[derive(Debug)]
pub(crate) struct AlignmentClasses {
    low_chunks: Vec<bool>,
    chunk_shift: u32,
    /// Bytes of a transfer longer than a page; 0 for shorter ones.
    long_bytes: u64,
    numbers: Box<[u16; COUNT]>,
    /// By class, of transfers with short and long addresses.
    mixed: HashMap<usize, usize>,
}

/// Two for each byte of a page, and from [`COUNT`] on one for each transfer with short and long addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlignmentClass(usize);

impl AlignmentClasses {
    pub(crate) fn new(system: &System, size_bytes: u64) -> Self {
        Self {
            long_bytes: if size_bytes > PAGE_BYTES { size_bytes } else { 0 },
            low_chunks: system.chunk_addresses.iter().map(|address| *address < 1 << 32).collect(),
            chunk_shift: system.chunk_bytes.trailing_zeros(),
            numbers: Box::new([UNKNOWN; COUNT]),
            mixed: HashMap::new(),
        }
    }

    /// The class of a transfer that starts at an offset of the buffer.
    #[inline(always)]
    pub(crate) fn of(&self, offset: u64) -> AlignmentClass {
        if self.long_bytes > 0 {
            return self.of_long(offset);
        }
        AlignmentClass((offset % PAGE_BYTES) as usize * 2 + usize::from(self.is_low(offset)))
    }

    fn of_long(&self, offset: u64) -> AlignmentClass {
        let low = self.is_low(offset);
        let mut starts = (offset..offset + self.long_bytes).step_by(1 << self.chunk_shift);
        let alike =
            self.is_low(offset + self.long_bytes - 1) == low && starts.all(|start| self.is_low(start) == low);
        AlignmentClass(if alike { usize::from(low) } else { COUNT + (offset / PAGE_BYTES) as usize })
    }

    #[inline(always)]
    fn is_low(&self, offset: u64) -> bool {
        self.low_chunks.get((offset >> self.chunk_shift) as usize).copied().unwrap_or(false)
    }

    /// The number of a class, if it has one.
    #[inline(always)]
    pub(crate) fn number(&self, class: AlignmentClass) -> Option<usize> {
        match self.numbers.get(class.0) {
            Some(number) => (*number != UNKNOWN).then_some(usize::from(*number)),
            None => self.mixed.get(&class.0).copied(),
        }
    }

    pub(crate) fn set_number(&mut self, class: AlignmentClass, number: usize) {
        match self.numbers.get_mut(class.0) {
            Some(known) => *known = number as u16,
            None => {
                self.mixed.insert(class.0, number);
            }
        }
    }

    /// The offsets of `byte` in the first chunk with short addresses and in the first with long ones.
    pub(crate) fn with_both_lengths_of_address(&self, byte: u64) -> impl Iterator<Item = u64> + use<> {
        let first = |low| self.low_chunks.iter().position(|chunk| *chunk == low);
        let shift = self.chunk_shift;
        [first(true), first(false)].into_iter().flatten().map(move |chunk| ((chunk as u64) << shift) + byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;

    #[test]
    fn class_depends_on_page_offset_and_address_length() {
        let machine = snb();
        let mut classes = AlignmentClasses::new(machine.system(), 64);
        let offsets: Vec<u64> = classes.with_both_lengths_of_address(24).collect();
        let [short, long] = offsets[..] else { panic!("{offsets:?}") };
        classes.set_number(classes.of(short), 3);
        assert_eq!(classes.number(classes.of(short + PAGE_BYTES)), Some(3));
        assert_eq!(classes.number(classes.of(long)), None);
        assert_eq!(classes.number(classes.of(short + 1)), None);
    }

    #[test]
    fn long_transfers_share_a_class_unless_their_addresses_cross_4_gib() {
        let machine = snb();
        let chunk_bytes = machine.system().chunk_bytes;
        let is_low = |chunk: usize| machine.system().chunk_addresses[chunk] < 1 << 32;
        let chunks = 0..machine.system().chunk_addresses.len() - 1;
        let edge = chunks.clone().find(|chunk| is_low(*chunk) != is_low(chunk + 1)).unwrap() as u64;
        let mut classes = AlignmentClasses::new(machine.system(), 4 * PAGE_BYTES);
        let within = edge * chunk_bytes;
        let across = (edge + 1) * chunk_bytes - PAGE_BYTES;
        classes.set_number(classes.of(within), 1);
        classes.set_number(classes.of(across), 2);
        let number = |offset| classes.number(classes.of(offset));
        assert_eq!((number(within + 2 * PAGE_BYTES), number(across)), (Some(1), Some(2)));
        assert_eq!(number(across - PAGE_BYTES), None, "a different share of long addresses");
        assert_eq!(number(across - 3 * PAGE_BYTES), Some(1), "ends at the edge");
    }
}
