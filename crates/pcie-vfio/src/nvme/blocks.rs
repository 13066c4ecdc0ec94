//! Reads blocks of a drive before any of them is known to be free.

/// Most bytes read at once.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

/// A readable drive: its block size, its number of blocks, and a function that reads blocks (first, count).
pub(super) struct Drive<'a, E> {
    pub(super) block_bytes: u64,
    pub(super) blocks: u64,
    pub(super) read: &'a mut dyn FnMut(u64, u64) -> Result<Vec<u8>, E>,
}

impl<E> Drive<'_, E> {
    /// The contents of `count` blocks from `first`, as far as the drive reaches.
    pub(super) fn blocks(&mut self, first: u64, count: u64) -> Result<Vec<u8>, E> {
        let mut held = Vec::new();
        let step = (PIECE_BYTES / self.block_bytes).max(1);
        let end = first.saturating_add(count).min(self.blocks);
        let mut next = first;
        while next < end {
            let some = step.min(end - next);
            held.extend((self.read)(next, some)?);
            next += some;
        }
        Ok(held)
    }
}
