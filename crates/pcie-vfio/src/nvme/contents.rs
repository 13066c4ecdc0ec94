//! The window while a drive compares: each unit holds the blocks that the drive compares it with.

use super::plan::Plan;
use crate::host::Contents;
use pcie_host::Buffer;

/// Blocks of the drive, and their layout in the window.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    plan: Plan,
    /// The drive's data for one unit after the other, until they repeat.
    held: Vec<u8>,
}

impl Blocks {
    /// From the drive's data, transfer after transfer.
    pub(super) fn new(plan: Plan, held: Vec<u8>) -> Self {
        Self { plan, held }
    }
}

impl Contents for Blocks {
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64) {
        let size = self.plan.size_bytes as usize;
        for unit in 0..window_bytes / self.plan.unit_bytes {
            let start = unit * self.plan.unit_bytes + self.plan.offset_bytes;
            let from = (unit % self.plan.period) as usize * size;
            if let Some(held) = self.held.get(from..from + size) {
                buffer.copy_in(start, held);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::buffer;

    #[test]
    fn each_unit_holds_its_blocks() {
        let plan =
            Plan { first_block: 8, blocks: 1, size_bytes: 512, unit_bytes: 576, offset_bytes: 4, period: 2 };
        let held = [[1; 512], [2; 512]].concat();
        let mut buffer = buffer();
        Blocks::new(plan, held).fill(&mut buffer, 3 * 576);
        let at = |offset: u64| buffer.copied(offset, 1).unwrap()[0];
        assert_eq!((at(3), at(4), at(515), at(516)), (0, 1, 1, 0));
        assert_eq!((at(580), at(1156), at(1732)), (2, 1, 0));
    }
}
