//! Draws taken one after the other, made in blocks.

use crate::draw::Draws;

const BLOCK: usize = 64;

/// The draws of a sequence in order.
#[derive(Clone, Debug)]
pub struct DrawSequence {
    draws: Draws,
    /// Index of the next block's first draw.
    next: u64,
    block: [u64; BLOCK],
    /// Draws of the block already taken.
    taken: usize,
}

impl DrawSequence {
    /// The draws from index `first` on.
    #[must_use]
    pub fn new(draws: Draws, first: u64) -> Self {
        Self { draws, next: first, block: [0; BLOCK], taken: BLOCK }
    }

    /// 64 random bits: the next [`Draws::bits`].
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        if self.taken >= BLOCK {
            self.make_block();
        }
        let bits = self.block[self.taken];
        self.taken += 1;
        bits
    }

    /// The next [`Draws::below`].
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        Draws::part(self.bits(), bound)
    }

    #[inline(never)]
    fn make_block(&mut self) {
        self.block = std::array::from_fn(|nth| self.next + nth as u64);
        self.draws.bits_of(&mut self.block);
        self.next += BLOCK as u64;
        self.taken = 0;
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
