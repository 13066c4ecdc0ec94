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
    /// How far flits are when a transaction of a latency test starts.
    Flits = 19,
    /// Flits or TLPs from the device to the host that arrive damaged.
    UplinkErrors = 20,
    /// Those from the host to the device.
    DownlinkErrors = 21,
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

    /// Replaces each index by its 64 random bits, with the processor's vectors.
    pub fn bits_of(self, indices: &mut [u64]) {
        pulp::Arch::new().dispatch(Many { draws: self, indices });
    }

    /// 64 random bits.
    #[inline(always)]
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
        Self::part(self.bits(index), bound)
    }

    /// The number in `0..bound` that 64 random bits stand for; see [`Draws::below`].
    #[inline]
    #[must_use]
    pub fn part(bits: u64, bound: u64) -> u64 {
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`.
    #[inline]
    #[must_use]
    pub fn fraction(self, index: u64) -> f64 {
        fraction_of(self.bits(index))
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    #[must_use]
    pub fn exponential(self, index: u64) -> f64 {
        exponential_of(self.bits(index))
    }

    /// [`Draws::exponential`] of the indices from `first` on, with the processor's vectors.
    pub fn exponentials(self, first: u64, found: &mut [f64]) {
        pulp::Arch::new().dispatch(Exponentials { draws: self, first, found });
    }

    /// Normally distributed with mean 0 and standard deviation 1.
    #[must_use]
    pub fn normal(self, index: u64) -> f64 {
        let (distance, angle) = (self.exponential(2 * index), self.fraction(2 * index + 1));
        (2.0 * distance).sqrt() * libm::cos(std::f64::consts::TAU * angle)
    }
}

/// Uniform in `[0, 1)`.
#[inline(always)]
fn fraction_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Exponentially distributed with mean 1.
#[inline(always)]
fn exponential_of(bits: u64) -> f64 {
    -ln(1.0 - fraction_of(bits))
}

/// Terms of the series in [`ln`]: the first that is left out is below 2^-60.
const TERMS: usize = 11;

/// Natural logarithm of a number in `(0, 1]`, to within 2 ulp. Branchless, so loops over it vectorize;
/// basic operations only, so every processor computes the same bits.
///
/// With u = 2^e m and m around 1, ln u = e ln 2 + 2 artanh(s), where s = (m - 1) / (m + 1).
#[inline(always)]
fn ln(u: f64) -> f64 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = (u.to_bits() as i64 - std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64) >> MANTISSA_BITS;
    let mantissa = f64::from_bits((u.to_bits() as i64 - (exponent << MANTISSA_BITS)) as u64);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..TERMS).rev().fold(0.0, |sum, nth| sum * square + 1.0 / (2 * nth + 1) as f64);
    f64::from(exponent as i32) * std::f64::consts::LN_2 + 2.0 * s * series
}

/// The exponential draws of many indices; see [`Many`].
struct Exponentials<'a> {
    draws: Draws,
    first: u64,
    found: &'a mut [f64],
}

impl pulp::WithSimd for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        for (found, index) in self.found.iter_mut().zip(self.first..) {
            *found = exponential_of(self.draws.bits(index));
        }
    }
}

/// The draws of many indices: a loop that is compiled for each kind of vectors.
struct Many<'a> {
    draws: Draws,
    indices: &'a mut [u64],
}

impl pulp::WithSimd for Many<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        for index in self.indices {
            *index = self.draws.bits(*index);
        }
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
    fn logarithms_are_right_to_two_units_in_the_last_place() {
        let draws = Draws::new(4, 0, Stream::WalkTime);
        let edges = [1.0, 1.0 - f64::EPSILON / 2.0, 0.5, 0.75, 2f64.powi(-53), 0.707, 0.7072];
        for u in (0..100_000).map(|index| 1.0 - draws.fraction(index)).chain(edges) {
            let exact = libm::log(u);
            assert!((ln(u) - exact).abs() <= 2.0 * f64::EPSILON * exact.abs(), "ln {u}");
        }
    }

    #[test]
    fn many_draws_equal_single_ones_with_all_vectors() {
        let draws = Draws::new(5, 1, Stream::WalkTime);
        let indices: Vec<u64> = (7..77).collect();
        let bits: Vec<u64> = indices.iter().map(|index| draws.bits(*index)).collect();
        let exponentials: Vec<f64> = indices.iter().map(|index| draws.exponential(*index)).collect();
        let check = |vectorize: &dyn Fn(Many<'_>, Exponentials<'_>)| {
            let (mut many, mut found) = (indices.clone(), vec![0.0; 70]);
            vectorize(
                Many { draws, indices: &mut many },
                Exponentials { draws, first: 7, found: &mut found },
            );
            assert_eq!((many, found), (bits.clone(), exponentials.clone()));
        };
        check(&|many, exponentials| {
            pulp::Arch::new().dispatch(many);
            pulp::Arch::new().dispatch(exponentials);
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = pulp::x86::V3::try_new() {
            check(&|many, exponentials| {
                pulp::Simd::vectorize(avx2, many);
                pulp::Simd::vectorize(avx2, exponentials);
            });
        }
    }

    #[test]
    fn below_stays_below() {
        let draws = Draws::new(3, 1, Stream::Addresses);
        assert!((0..10_000).all(|index| draws.below(index, 7) < 7));
    }
}
