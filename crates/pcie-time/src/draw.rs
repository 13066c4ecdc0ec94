//! Counter-based random numbers: every draw is a function of (seed, test, stream, index).
//!
//! The generator is `squares64` (B. Widynski, "Squares: A Fast Counter-Based RNG", arXiv:2004.06278): a keyed
//! middle-square Weyl sequence in counter form. Keys come from a SplitMix64 finaliser over seed, test and
//! stream, made odd as the generator asks. Not for cryptography.

/// Purpose of a draw. Each has its own sequence, so adding a draw to one does not change the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Stream {
    /// The list of addresses.
    Addresses = 1,
    /// Addresses written by a device thrash.
    Thrash = 2,
    /// Which host-written lines stay in the cache.
    HostLines = 3,
    /// Jitter of the root complex.
    Jitter = 4,
    /// Refreshes met.
    Refresh = 5,
    /// Random choices within one transaction of a latency test.
    Transaction = 6,
    /// The root complex's choice among ready completions.
    CompletionOrder = 7,
    /// Idle states.
    Idle = 8,
    /// Refreshes met by page walks.
    WalkRefresh = 9,
    /// Which of the full write-combining buffers leaves next.
    EvictionOrder = 10,
    /// Write-combining buffers that something else needs.
    Pressure = 11,
    /// Payload of messages.
    Payload = 12,
    /// Intervals between randomly arriving requests.
    Arrivals = 13,
    /// Duration of page walks.
    WalkTime = 14,
    /// How often a machine with idle states stalls.
    Stalls = 15,
    /// Times of a saturated memory.
    MemoryTime = 16,
    /// Pages that a driver takes from its pool.
    Pages = 17,
    /// Queue pairs that packets are spread over.
    Queues = 18,
}

/// One sequence of draws.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    key: u64,
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Draws {
    /// The sequence for one purpose in one test of a run.
    #[must_use]
    pub fn new(seed: u64, test: u64, stream: Stream) -> Self {
        Self { key: mix(mix(mix(seed).wrapping_add(test)).wrapping_add(stream as u64)) | 1 }
    }

    /// Key of this sequence: all that hardware needs to make the same draws.
    #[must_use]
    pub fn key(self) -> u64 {
        self.key
    }

    /// 64 random bits.
    #[inline]
    #[must_use]
    pub fn bits(self, index: u64) -> u64 {
        let y = index.wrapping_mul(self.key);
        let z = y.wrapping_add(self.key);
        let x = y.wrapping_mul(y).wrapping_add(y).rotate_left(32);
        let x = x.wrapping_mul(x).wrapping_add(z).rotate_left(32);
        let x = x.wrapping_mul(x).wrapping_add(y).rotate_left(32);
        let x = x.wrapping_mul(x).wrapping_add(z);
        let swapped = x.rotate_left(32);
        x ^ (swapped.wrapping_mul(swapped).wrapping_add(y) >> 32)
    }

    /// 32 random bits.
    #[inline]
    #[must_use]
    pub fn word(self, index: u64) -> u32 {
        (self.bits(index) >> 32) as u32
    }

    /// Uniform in `0..bound`. The bias is below `bound / 2^64`. `bound` must not be zero.
    #[inline]
    #[must_use]
    pub fn below(self, index: u64, bound: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`.
    #[inline]
    #[must_use]
    pub fn fraction(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    #[must_use]
    pub fn exponential(self, index: u64) -> f64 {
        -libm::log(1.0 - self.fraction(index))
    }

    /// Normally distributed with mean 0 and standard deviation 1.
    #[must_use]
    pub fn normal(self, index: u64) -> f64 {
        let (distance, angle) = (self.exponential(2 * index), self.fraction(2 * index + 1));
        (2.0 * distance).sqrt() * libm::cos(std::f64::consts::TAU * angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_seed_test_stream_and_index_only() {
        let one = Draws::new(1, 2, Stream::Addresses);
        assert_eq!(one.bits(7), Draws::new(1, 2, Stream::Addresses).bits(7));
        for other in [
            Draws::new(2, 2, Stream::Addresses),
            Draws::new(1, 3, Stream::Addresses),
            Draws::new(1, 2, Stream::Jitter),
        ] {
            assert_ne!(one.bits(7), other.bits(7));
        }
        assert_ne!(one.bits(7), one.bits(8));
    }

    #[test]
    fn consecutive_draws_are_uniform_and_uncorrelated() {
        let draws = Draws::new(1, 0, Stream::Refresh);
        let count = 200_000u64;
        let (mut sum, mut lagged, mut cells) = (0.0, 0.0, [0u32; 64]);
        for index in 0..count {
            let value = draws.fraction(index);
            sum += value;
            lagged += (value - 0.5) * (draws.fraction(index + 1) - 0.5);
            cells[(value * 64.0) as usize] += 1;
        }
        assert!((sum / count as f64 - 0.5).abs() < 0.003);
        assert!((lagged / count as f64).abs() < 0.001);
        let expected = count as f64 / 64.0;
        let chi_square: f64 = cells.iter().map(|&cell| (f64::from(cell) - expected).powi(2) / expected).sum();
        assert!(chi_square < 110.0, "{chi_square} for 63 degrees of freedom");
    }

    #[test]
    fn normal_draws_have_the_right_mean_deviation_and_tails() {
        let draws = Draws::new(1, 0, Stream::Stalls);
        let values: Vec<f64> = (0..100_000).map(|index| draws.normal(index)).collect();
        let share = |within: f64| {
            values.iter().filter(|value| value.abs() < within).count() as f64 / values.len() as f64
        };
        assert!((values.iter().sum::<f64>() / values.len() as f64).abs() < 0.01);
        assert!((share(1.0) - 0.6827).abs() < 0.005);
        assert!((share(1.96) - 0.95).abs() < 0.002);
    }

    #[test]
    fn below_stays_below() {
        let draws = Draws::new(3, 1, Stream::Addresses);
        assert!((0..10_000).all(|index| draws.below(index, 7) < 7));
    }
}
