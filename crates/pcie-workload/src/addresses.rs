//! Lists of addresses: which unit the n-th transaction of a test addresses.
//!
//! The published program draws unit indices once into a list of 2^20 and replays it. Here the list is never
//! stored: an entry is a function of its index, so any part of a test can be computed alone.

use crate::units::greatest_common_divisor;
use crate::{Operation, Pattern, Test, Units};
use pcie_time::{Blocks, Draws};

/// Entries of the list.
pub const LIST_LENGTH: u64 = 1 << 20;

/// The addresses of a test, by transaction.
#[derive(Clone, Debug)]
pub struct AddressList {
    units: Units,
    pattern: Pattern,
    stride: u64,
    draws: Draws,
    latency: bool,
    transactions: u64,
}

impl AddressList {
    /// The list of a valid test; `draws` is the [`pcie_time::Stream::Addresses`] sequence of the test.
    #[must_use]
    pub fn new(test: &Test, draws: Draws) -> Self {
        Self {
            units: Units::new(test),
            pattern: test.pattern,
            stride: test.stride_units,
            draws,
            latency: test.operation.is_latency(),
            transactions: test.transactions,
        }
    }

    /// The units that the list draws from.
    #[must_use]
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// The draws that a random pattern is made from.
    #[must_use]
    pub fn draws(&self) -> Draws {
        self.draws
    }

    /// The order of the accesses.
    pub(crate) fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// The stride of a strided pattern, units.
    pub(crate) fn stride(&self) -> u64 {
        self.stride
    }

    /// List index that a transaction uses.
    ///
    /// The latency loop uses the first address twice. Bandwidth workers count down to 1, so they walk it
    /// backwards.
    #[inline]
    #[must_use]
    pub fn index(&self, transaction: u64) -> u64 {
        if self.latency {
            transaction.saturating_sub(1) % LIST_LENGTH
        } else {
            self.transactions.saturating_sub(transaction).wrapping_sub(1) % LIST_LENGTH
        }
    }

    /// Unit at a list index.
    #[inline]
    #[must_use]
    pub fn unit_at(&self, index: u64) -> u64 {
        let usable = self.units.usable_count();
        let nth = match self.pattern {
            Pattern::Fixed => 0,
            Pattern::Sequential => index % usable,
            Pattern::Strided => (index * self.stride) % usable,
            // The program redraws units that cross a page, so all usable ones are equally likely.
            Pattern::Random => self.draws.below(index, usable),
        };
        self.units.nth_usable(nth)
    }

    /// Offset in the buffer of the first byte that a transaction transfers.
    #[inline]
    #[must_use]
    pub fn offset(&self, transaction: u64) -> u64 {
        self.units.address(self.unit_at(self.index(transaction)))
    }

    /// [`AddressList::offset`] of the transactions from `first` on, faster.
    pub fn offsets(&self, first: u64, offsets: &mut [u64]) {
        let usable = self.units.usable_count();
        if self.pattern == Pattern::Random && self.units.all_usable() {
            for (index, transaction) in offsets.iter_mut().zip(first..) {
                *index = self.index(transaction);
            }
            self.draws.bits_of(offsets);
            for offset in offsets {
                *offset = self.units.address(Draws::part(*offset, usable));
            }
        } else {
            for (offset, transaction) in offsets.iter_mut().zip(first..) {
                *offset = self.offset(transaction);
            }
        }
    }

    /// Whether a transaction writes before or instead of reading; in a read-write test, by turns.
    #[must_use]
    pub fn writes(operation: Operation, transaction: u64, transactions: u64) -> bool {
        match operation {
            Operation::LatRd | Operation::BwRd | Operation::LatChase => false,
            Operation::LatWrrd | Operation::BwWr => true,
            // The shared counter is `transactions - transaction`; even values read.
            Operation::BwRdwr => transactions.wrapping_sub(transaction) % 2 == 1,
        }
    }

    /// Transactions until a sequential or strided pattern is back at its start; 1 for other patterns.
    #[must_use]
    pub fn pass(&self) -> u64 {
        match self.pattern {
            Pattern::Sequential => self.units.usable_count().min(LIST_LENGTH),
            Pattern::Strided => {
                let usable = self.units.usable_count();
                let divisor = greatest_common_divisor(usable, self.stride % usable.max(1));
                (usable / divisor.max(1)).clamp(1, LIST_LENGTH)
            }
            Pattern::Fixed | Pattern::Random => 1,
        }
    }
}

/// The offsets of a list's transactions in order, computed in blocks.
#[derive(Clone, Debug)]
pub struct Offsets<'a> {
    list: &'a AddressList,
    blocks: Blocks<u64>,
}

impl<'a> Offsets<'a> {
    /// Offsets from transaction `first` on.
    #[must_use]
    pub fn new(list: &'a AddressList, first: u64) -> Self {
        Self { list, blocks: Blocks::new(first) }
    }

    /// The next one.
    #[inline(always)]
    pub fn next_offset(&mut self) -> u64 {
        let list = self.list;
        self.blocks.next(|first, offsets| list.offsets(first, offsets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::tests::sample;
    use pcie_time::Stream;

    fn list(test: &Test) -> AddressList {
        AddressList::new(test, Draws::new(1, 0, Stream::Addresses))
    }

    #[test]
    fn latency_uses_the_first_address_twice_and_bandwidth_walks_backwards() {
        let latency = Test { operation: Operation::LatRd, pattern: Pattern::Sequential, ..sample() };
        let offsets: Vec<u64> = (0..4).map(|n| list(&latency).offset(n)).collect();
        assert_eq!(offsets, [0, 0, 64, 128]);
        let bandwidth = Test { pattern: Pattern::Sequential, transactions: 8, ..sample() };
        let indices: Vec<u64> = (0..8).map(|n| list(&bandwidth).index(n)).collect();
        assert_eq!(indices, [7, 6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn list_is_replayed() {
        let test = Test { operation: Operation::LatRd, window_bytes: 1 << 26, ..sample() };
        let list = list(&test);
        assert_eq!(list.offset(5), list.offset(5 + LIST_LENGTH));
        assert_ne!(list.offset(5), list.offset(6));
    }

    #[test]
    fn blocks_of_offsets_equal_single_ones() {
        for (size_bytes, pattern) in
            [(64, Pattern::Random), (1500, Pattern::Random), (64, Pattern::Sequential), (64, Pattern::Fixed)]
        {
            for operation in [Operation::BwRd, Operation::LatRd] {
                let test = Test { operation, pattern, size_bytes, transactions: 40, ..sample() };
                let list = list(&test);
                let mut offsets = [0; 64];
                list.offsets(7, &mut offsets);
                assert!((7..).zip(offsets).all(|(transaction, offset)| offset == list.offset(transaction)));
            }
        }
    }

    #[test]
    fn read_write_tests_alternate() {
        let kinds: Vec<bool> = (0..4).map(|n| AddressList::writes(Operation::BwRdwr, n, 8)).collect();
        assert_eq!(kinds, [false, true, false, true]);
    }
}
