//! The random properties of a transaction, from the bits of a single draw.

#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    bits: u64,
}

const JITTER_BITS: u32 = 12;
pub(super) const JITTERS: usize = 1 << JITTER_BITS;
const REFRESH_BITS: u32 = 20;

impl Chance {
    pub(super) fn new(bits: u64) -> Self {
        Self { bits }
    }

    /// All bits, for uses of bits independent of the others.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.bits
    }

    /// Start of the transaction within a tick of the device's timer, in units of 2^-32.
    #[inline]
    pub(super) fn timer_phase(self) -> u32 {
        (self.bits >> 32) as u32
    }

    /// Index of its jitter, from the least.
    #[inline]
    pub(super) fn jitter(self) -> usize {
        self.bits as usize % JITTERS
    }

    /// Start of the transaction between two refreshes: uniform in `0..1`.
    #[inline]
    pub(super) fn refresh_phase(self) -> f64 {
        let phase = self.bits >> JITTER_BITS & ((1 << REFRESH_BITS) - 1);
        phase as f64 / f64::from(1u32 << REFRESH_BITS)
    }
}

pub(super) fn jitters() -> impl Iterator<Item = f64> {
    let most = (JITTERS - 1) as f64;
    (0..JITTERS).map(move |nth| 2.0 * nth as f64 / most - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_time::{Draws, Stream};

    #[test]
    fn the_parts_of_a_draw_are_independent_and_fill_their_ranges() {
        let draws = Draws::new(1, 0, Stream::Transaction);
        let count = 100_000u64;
        let all: Vec<f64> = jitters().collect();
        let (mut sums, mut products) = ([0.0; 3], [0.0; 3]);
        for index in 0..count {
            let chance = Chance::new(draws.bits(index));
            let phase = f64::from(chance.timer_phase()) / 2f64.powi(32) - 0.5;
            let (jitter, refresh) = (all[chance.jitter()] / 2.0, chance.refresh_phase() - 0.5);
            for value in [phase, jitter, refresh] {
                assert!((-0.5..=0.5).contains(&value));
            }
            for (sum, value) in sums.iter_mut().zip([phase, jitter, refresh]) {
                *sum += value / count as f64;
            }
            for (sum, product) in products.iter_mut().zip([phase * jitter, jitter * refresh, refresh * phase])
            {
                *sum += product / count as f64;
            }
        }
        assert!(sums.iter().all(|mean| mean.abs() < 0.004), "{sums:?}");
        assert!(products.iter().all(|mean| mean.abs() < 0.002), "{products:?}");
    }
}
