//! Alignment classes: where transfers start, as far as that decides how they are cut (the byte of a page, and how long the
//! addresses are). The transfers of a test are of few classes, so what belongs to each is worked out once.

use crate::profile::System;
use pcie_workload::PAGE_BYTES;

const COUNT: usize = 2 * PAGE_BYTES as usize;
const UNKNOWN: u16 = u16::MAX;

/// The classes, and the number of what was worked out for each.
#[derive(Debug)]
pub(crate) struct AlignmentClasses {
    low_chunks: Vec<bool>,
    chunk_shift: u32,
    numbers: Box<[u16; COUNT]>,
}

/// An alignment class: two for each byte of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlignmentClass(usize);

impl AlignmentClasses {
    pub(crate) fn new(system: &System) -> Self {
        Self {
            low_chunks: system.chunk_addresses.iter().map(|address| *address < 1 << 32).collect(),
            chunk_shift: system.chunk_bytes.trailing_zeros(),
            numbers: Box::new([UNKNOWN; COUNT]),
        }
    }

    /// The class of a transfer that starts at an offset of the buffer.
    #[inline(always)]
    pub(crate) fn of(&self, offset: u64) -> AlignmentClass {
        let low = self.low_chunks.get((offset >> self.chunk_shift) as usize).copied().unwrap_or(false);
        AlignmentClass((offset % PAGE_BYTES) as usize * 2 + usize::from(low))
    }

    /// The number of what was worked out for a class, if it was.
    #[inline(always)]
    pub(crate) fn number(&self, class: AlignmentClass) -> Option<usize> {
        let number = self.numbers[class.0];
        (number != UNKNOWN).then_some(usize::from(number))
    }

    /// What was worked out for a class has a number.
    pub(crate) fn set_number(&mut self, class: AlignmentClass, number: usize) {
        self.numbers[class.0] = number as u16;
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
        let mut classes = AlignmentClasses::new(machine.system());
        let offsets: Vec<u64> = classes.with_both_lengths_of_address(24).collect();
        let [short, long] = offsets[..] else { panic!("{offsets:?}") };
        classes.set_number(classes.of(short), 3);
        assert_eq!(classes.number(classes.of(short + PAGE_BYTES)), Some(3));
        assert_eq!(classes.number(classes.of(long)), None);
        assert_eq!(classes.number(classes.of(short + 1)), None);
    }
}
