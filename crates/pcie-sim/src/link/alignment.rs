//! Alignment classes: where transfers start, as far as that decides how they are cut (the byte of a page, and how long the
//! addresses are). The transfers of a test are of few classes, so what belongs to each is worked out once.
//!
//! A transfer above a page starts at one. Its addresses are all short or all long, nearly always; one that goes from chunks
//! with short addresses to chunks with long ones is a class by itself.

use crate::profile::System;
use pcie_workload::PAGE_BYTES;
use std::collections::HashMap;

const COUNT: usize = 2 * PAGE_BYTES as usize;
const UNKNOWN: u16 = u16::MAX;

/// The classes, and the number of what was worked out for each.
#[derive(Debug)]
pub(crate) struct AlignmentClasses {
    low_chunks: Vec<bool>,
    chunk_shift: u32,
    /// Bytes of a transfer above a page; 0 for shorter ones.
    long_bytes: u64,
    numbers: Box<[u16; COUNT]>,
    /// Of transfers whose addresses are not all as long, by class.
    mixed: HashMap<usize, usize>,
}

/// An alignment class: two for each byte of a page, and from [`COUNT`] on one for each transfer with short and long addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlignmentClass(usize);

impl AlignmentClasses {
    /// Those of transfers of `size_bytes`.
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

    /// The number of what was worked out for a class, if it was.
    #[inline(always)]
    pub(crate) fn number(&self, class: AlignmentClass) -> Option<usize> {
        match self.numbers.get(class.0) {
            Some(number) => (*number != UNKNOWN).then_some(usize::from(*number)),
            None => self.mixed.get(&class.0).copied(),
        }
    }

    /// What was worked out for a class has a number.
    pub(crate) fn set_number(&mut self, class: AlignmentClass, number: usize) {
        match self.numbers.get_mut(class.0) {
            Some(known) => *known = number as u16,
            None => {
                self.mixed.insert(class.0, number);
            }
        }
    }

    /// The offsets at a byte of a page in the first chunk of the buffer with short addresses and the first with long ones.
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
    fn transfers_are_alike_at_the_same_byte_of_a_page_if_their_addresses_are_as_long() {
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
    fn long_transfers_are_alike_unless_their_addresses_go_from_short_to_long() {
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
        assert_eq!(number(across - PAGE_BYTES), None, "another part of it has long addresses");
        assert_eq!(number(across - 3 * PAGE_BYTES), Some(1), "this one ends at the edge");
    }
}
