//! Sequences whose values are computed a block at a time. No value may depend on its predecessor, so the loop over
//! a block can use the processor's vectors.

/// Values in a block.
pub const BLOCK: usize = 64;

/// The values of a sequence in order.
#[derive(Clone, Debug)]
pub struct Blocks<T> {
    /// Index of the next block's first value.
    next: u64,
    block: [T; BLOCK],
    /// Values of the block already taken.
    taken: usize,
}

impl<T: Copy + Default> Blocks<T> {
    /// The values from index `first` on.
    #[must_use]
    pub fn new(first: u64) -> Self {
        Self { next: first, block: [T::default(); BLOCK], taken: BLOCK }
    }

    /// The next value. When the block is used up, `make` fills the next one, given the index of its first value.
    #[inline(always)]
    pub fn next(&mut self, make: impl FnOnce(u64, &mut [T; BLOCK])) -> T {
        if self.taken >= BLOCK {
            self.renew(make);
        }
        let value = self.block[self.taken];
        self.taken += 1;
        value
    }

    #[inline(never)]
    fn renew(&mut self, make: impl FnOnce(u64, &mut [T; BLOCK])) {
        make(self.next, &mut self.block);
        self.next += BLOCK as u64;
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_each_block_is_made_once() {
        let (mut blocks, mut made) = (Blocks::new(5), Vec::new());
        for index in 5..5 + 3 * BLOCK as u64 {
            let value = blocks.next(|first, block| {
                made.push(first);
                for (value, index) in block.iter_mut().zip(first..) {
                    *value = index * index;
                }
            });
            assert_eq!(value, index * index);
        }
        assert_eq!(made, [5, 69, 133]);
    }
}
