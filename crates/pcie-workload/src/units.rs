//! Units: the pieces of a window that transactions address.
//!
//! A unit is transfer plus offset, rounded up to whole cache lines. Units whose transfer would cross a 4 KiB
//! page are left out; the pattern repeats with the least common multiple of unit and page. Longer transfers
//! are aligned pages.

use crate::Test;
use crate::test::PAGE_BYTES;

/// The units of a window.
#[derive(Clone, Debug)]
pub struct Units {
    unit_bytes: u64,
    offset_bytes: u64,
    count: u64,
    /// Units in a period.
    period: u64,
    /// Usable units of a period, by index in it.
    usable: Vec<u32>,
    usable_count: u64,
}

/// Greatest common divisor.
#[must_use]
pub fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Units {
    /// The units of a valid test ([`Test::validate`]).
    #[must_use]
    pub fn new(test: &Test) -> Self {
        let unit_bytes = test.unit_bytes();
        let count = test.window_bytes / unit_bytes;
        let period = PAGE_BYTES / greatest_common_divisor(unit_bytes, PAGE_BYTES);
        let crosses = |unit: u64| {
            if test.size_bytes > PAGE_BYTES {
                return false;
            }
            let start = unit * unit_bytes + test.host_offset_bytes;
            start / PAGE_BYTES != (start + test.size_bytes - 1) / PAGE_BYTES
        };
        let usable: Vec<u32> = (0..period).filter(|&unit| !crosses(unit)).map(|unit| unit as u32).collect();
        let in_rest = usable.iter().filter(|&&unit| u64::from(unit) < count % period).count() as u64;
        let usable_count = count / period * usable.len() as u64 + in_rest;
        Self { unit_bytes, offset_bytes: test.host_offset_bytes, count, period, usable, usable_count }
    }

    /// Bytes from a unit to the next: whole cache lines.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Units in the window, usable or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Usable units: at least one for a valid test, because the first never crosses a page.
    #[must_use]
    pub fn usable_count(&self) -> u64 {
        self.usable_count
    }

    /// Whether every unit is usable.
    #[inline]
    #[must_use]
    pub fn all_usable(&self) -> bool {
        self.usable.len() as u64 == self.period
    }

    /// Units after which the page crossings repeat.
    #[must_use]
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Usable units of a period, in order.
    #[must_use]
    pub fn usable_in_period(&self) -> &[u32] {
        &self.usable
    }

    /// The n-th usable unit, `n < usable_count`.
    #[inline]
    #[must_use]
    pub fn nth_usable(&self, n: u64) -> u64 {
        let per_period = self.usable.len() as u64;
        if self.all_usable() {
            return n;
        }
        n / per_period * self.period + u64::from(self.usable[(n % per_period) as usize])
    }

    /// Offsets within a page at which transfers of usable units start, each at least once.
    pub fn starts_in_page(&self) -> impl Iterator<Item = u64> + '_ {
        let most = self.usable_count.min(self.usable.len() as u64);
        (0..most).map(|nth| self.address(self.nth_usable(nth)) % PAGE_BYTES)
    }

    /// Offset in the buffer of a unit's first transferred byte.
    #[inline]
    #[must_use]
    pub fn address(&self, unit: u64) -> u64 {
        unit * self.unit_bytes + self.offset_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::tests::sample;

    #[test]
    fn transfers_above_a_page_are_aligned_and_fill_the_window() {
        let test = crate::Test { size_bytes: 3 * 4096, window_bytes: 10 * 4096, ..sample() };
        let units = Units::new(&test);
        assert!(units.all_usable());
        let starts: Vec<u64> =
            (0..units.usable_count()).map(|n| units.address(units.nth_usable(n))).collect();
        assert_eq!(starts, [0, 3 * 4096, 6 * 4096]);
    }

    #[test]
    fn units_that_cross_a_page_are_left_out() {
        for (size, offset, window) in
            [(769, 0, 8192), (1024, 63, 1 << 20), (2048, 1, 8192), (64, 0, 64), (4095, 1, 8192)]
        {
            let test =
                crate::Test { size_bytes: size, host_offset_bytes: offset, window_bytes: window, ..sample() };
            let units = Units::new(&test);
            let expected: Vec<u64> = (0..units.count())
                .filter(|unit| {
                    let start = unit * test.unit_bytes() + offset;
                    start / 4096 == (start + size - 1) / 4096
                })
                .collect();
            let found: Vec<u64> = (0..units.usable_count()).map(|n| units.nth_usable(n)).collect();
            assert_eq!(found, expected, "{size} at {offset}");
            assert!(!found.is_empty());
        }
    }
}
