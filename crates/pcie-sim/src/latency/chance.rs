//! What chance decides about one transaction: a single draw, its bits shared out.

/// The draw of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    bits: u64,
}

const JITTER_BITS: u32 = 12;
/// Values that a jitter can have.
pub(super) const JITTERS: usize = 1 << JITTER_BITS;
const REFRESH_BITS: u32 = 20;

impl Chance {
    pub(super) fn new(bits: u64) -> Self {
        Self { bits }
    }

    /// All of it, for what takes bits that leave the others alone.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.bits
    }

    /// Where within a tick of the card's timer the transaction starts.
    #[inline]
    pub(super) fn timer_phase(self) -> u32 {
        (self.bits >> 32) as u32
    }

    /// Which of the jitters it has, counted from the least.
    #[inline]
    pub(super) fn jitter(self) -> usize {
        self.bits as usize % JITTERS
    }

    /// Where between two refreshes the transaction starts: uniform in `0..1`.
    #[inline]
    pub(super) fn refresh_place(self) -> f64 {
        let place = self.bits >> JITTER_BITS & ((1 << REFRESH_BITS) - 1);
        place as f64 / f64::from(1u32 << REFRESH_BITS)
    }
}

/// The jitters, from -1 to 1.
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
            let (jitter, place) = (all[chance.jitter()] / 2.0, chance.refresh_place() - 0.5);
            for value in [phase, jitter, place] {
                assert!((-0.5..=0.5).contains(&value));
            }
            for (sum, value) in sums.iter_mut().zip([phase, jitter, place]) {
                *sum += value / count as f64;
            }
            for (sum, product) in products.iter_mut().zip([phase * jitter, jitter * place, place * phase]) {
                *sum += product / count as f64;
            }
        }
        assert!(sums.iter().all(|mean| mean.abs() < 0.004), "{sums:?}");
        assert!(products.iter().all(|mean| mean.abs() < 0.002), "{products:?}");
    }
}
