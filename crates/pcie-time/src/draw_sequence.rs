//! Draws taken one after the other, made in blocks.

use crate::blocks::Blocks;
use crate::draw::Draws;

/// The draws of a sequence in order.
#[derive(Clone, Debug)]
pub struct DrawSequence {
    draws: Draws,
    blocks: Blocks<u64>,
}

impl DrawSequence {
    /// The draws from index `first` on.
    #[must_use]
    pub fn new(draws: Draws, first: u64) -> Self {
        Self { draws, blocks: Blocks::new(first) }
    }

    /// 64 random bits: the next [`Draws::bits`].
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        let draws = &self.draws;
        self.blocks.next(|first, bits| {
            *bits = std::array::from_fn(|nth| first + nth as u64);
            draws.bits_of(bits);
        })
    }

    /// The next [`Draws::below`].
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        Draws::part(self.bits(), bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn draws_in_order_equal_those_of_their_indices() {
        let draws = Draws::new(1, 2, Stream::Jitter);
        let mut sequence = DrawSequence::new(draws, 5);
        for index in 5..300 {
            match index % 2 {
                0 => assert_eq!(sequence.bits(), draws.bits(index)),
                _ => assert_eq!(sequence.below(7), draws.below(index, 7)),
            }
        }
    }
}
