//! Time of payload at a rate, in whole picoseconds and fixed-point arithmetic.

use pcie_time::Picoseconds;

/// Fraction bits of a picosecond.
const FRACTION: u32 = 32;

/// Time for a byte, as a fixed-point number of picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteTime(u64);

impl ByteTime {
    /// The time of a byte at a rate. Even the lowest rate of a description fits.
    pub fn at(gbytes_per_s: f64) -> Self {
        Self((1e3 / gbytes_per_s * 2f64.powi(FRACTION as i32)).round() as u64)
    }

    /// Time of `bytes`, to the nearest picosecond.
    #[inline]
    pub fn of(self, bytes: u64) -> Picoseconds {
        let exact = u128::from(self.0) * u128::from(bytes);
        Picoseconds(((exact + (1 << (FRACTION - 1))) >> FRACTION) as u64)
    }

    /// In picoseconds.
    pub fn picoseconds(self) -> f64 {
        self.0 as f64 / 2f64.powi(FRACTION as i32)
    }
}
