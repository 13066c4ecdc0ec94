//! Simulated time in integer picoseconds, and the length of a timer tick as a rational.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a span, in picoseconds. Spans are below 200 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picoseconds(pub u64);

impl Picoseconds {
    /// The start of time, or an empty span.
    pub const ZERO: Self = Self(0);

    /// The nearest whole picosecond to a time in nanoseconds; negative times and NaN become zero.
    #[inline]
    #[must_use]
    pub fn from_ns(ns: f64) -> Self {
        /// From here on all floating-point numbers are whole.
        const WHOLE: f64 = (1u64 << 53) as f64;
        let exact = ns * 1e3;
        // Rounding by hand: not every processor has an instruction that rounds halves away from zero.
        if exact < WHOLE {
            let whole = exact as i64;
            let rounded = whole + i64::from(exact - whole as f64 >= 0.5);
            return Self(rounded.max(0) as u64);
        }
        Self(exact.max(0.0) as u64)
    }

    /// In nanoseconds.
    #[inline]
    #[must_use]
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The time since `earlier`, or zero if that is later.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The sum, capped at the latest time.
    #[inline]
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Picoseconds {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picoseconds {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Picoseconds {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} ns", self.as_ns())
    }
}

/// The length of a timer tick in nanoseconds, as a fraction: 16 cycles of 1.2 GHz are 40/3 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickLength {
    /// Numerator, ns.
    pub numerator_ns: u64,
    /// Denominator; not zero.
    pub denominator: u64,
}

impl TickLength {
    /// Whole ticks in a span plus the phase of the timer when it started.
    ///
    /// `phase` is the position of the span's start within a tick, uniform in `0..2^32`. The count is
    /// `floor(span / tick + phase / 2^32)`, which is unbiased on average.
    #[inline]
    #[must_use]
    pub fn ticks(self, span: Picoseconds, phase: u32) -> u64 {
        self.short_ticks(span, phase).unwrap_or_else(|| {
            let tick = u128::from(self.numerator_ns) * 1000;
            let scaled = (u128::from(span.0) * u128::from(self.denominator)) << 32;
            ((scaled + tick * u128::from(phase)) / (tick << 32)) as u64
        })
    }

    /// The same in 64-bit arithmetic, if it does not overflow.
    #[inline]
    fn short_ticks(self, span: Picoseconds, phase: u32) -> Option<u64> {
        let tick = self.numerator_ns.checked_mul(1000)?;
        // The dropped fraction cannot carry into the quotient, because the other terms are whole.
        let within = tick.checked_mul(u64::from(phase))? >> 32;
        span.0.checked_mul(self.denominator)?.checked_add(within)?.checked_div(tick)
    }

    /// Duration of some ticks, ns.
    #[must_use]
    pub fn in_ns(self, ticks: f64) -> f64 {
        ticks * self.numerator_ns as f64 / self.denominator as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFP: TickLength = TickLength { numerator_ns: 40, denominator: 3 };

    #[test]
    fn ticks_do_not_drift() {
        assert_eq!(NFP.ticks(Picoseconds(40_000_000), 0), 3000);
        assert_eq!(NFP.ticks(Picoseconds(39_999_999), 0), 2999);
        assert_eq!(NFP.ticks(Picoseconds(39_999_999), u32::MAX), 3000);
    }

    #[test]
    fn long_spans_need_wider_arithmetic() {
        let tick = TickLength { numerator_ns: 1, denominator: 1 << 40 };
        assert_eq!(tick.ticks(Picoseconds(1 << 30), 0), ((1u128 << 70) / 1000) as u64);
    }

    #[test]
    fn phases_make_the_average_unbiased() {
        let span = Picoseconds(20_000);
        let phases = 1u32 << 12;
        let total: u64 = (0..phases).map(|step| NFP.ticks(span, step << 20)).sum();
        let average_ns = NFP.in_ns(total as f64 / f64::from(phases));
        assert!((average_ns - 20.0).abs() < 0.01, "{average_ns}");
    }

    #[test]
    fn conversion_rounds_and_never_goes_negative() {
        assert_eq!(Picoseconds::from_ns(0.0006), Picoseconds(1));
        for ps in
            [0.499_999_999_999_999_94, 0.5, 1.5, 2.499_999, 4_503_599_627_370_495.5, 1e30, f64::INFINITY]
        {
            assert_eq!(Picoseconds::from_ns(ps / 1e3), Picoseconds((ps / 1e3 * 1e3).round() as u64), "{ps}");
        }
        assert_eq!(Picoseconds::from_ns(-3.0), Picoseconds::ZERO);
        assert_eq!(Picoseconds::from_ns(f64::NAN), Picoseconds::ZERO);
    }
}
