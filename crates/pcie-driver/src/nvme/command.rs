//! Commands as the drive reads them: 64 bytes, and lists of pages.

use crate::nvme::registers as r;

/// Kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The drive writes blocks into memory.
    Read,
    /// The drive reads memory and compares it with blocks.
    Compare,
    /// The drive reads memory into blocks.
    Write,
    /// No data: the least cost of a command.
    Flush,
    /// The drive reads blocks and moves no data: of its [`Data`], only the length counts.
    Verify,
    /// The drive forgets what the blocks hold: of its [`Data`], only the length counts.
    Deallocate,
}

impl Kind {
    const fn opcode_and_name(self) -> (u32, &'static str) {
        match self {
            Self::Read => (r::READ, "read"),
            Self::Compare => (r::COMPARE, "compare"),
            Self::Write => (r::WRITE, "write"),
            Self::Flush => (r::FLUSH, "flush"),
            Self::Verify => (r::VERIFY, "verify"),
            Self::Deallocate => (r::DATASET_MANAGEMENT, "deallocate"),
        }
    }

    /// Whether it moves its data between blocks and memory.
    pub(super) fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Compare | Self::Write)
    }

    pub(super) fn opcode(self) -> u32 {
        self.opcode_and_name().0
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.opcode_and_name().1
    }
}

/// How a command names its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Physical region pages: page by page.
    Prp,
    /// A scatter-gather list of one data block descriptor.
    Sgl,
}

/// Memory that is contiguous on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Bus address of the first byte, a multiple of 4.
    pub address: u64,
    /// Bytes: whole blocks.
    pub bytes: u64,
}

/// Most pages of a transfer: a list of one page has as many entries.
pub(super) const PAGES_MOST: u64 = 512;
const PAGE: u64 = 4096;

/// The PRP data pointer of a command, and the PRP list at bus address `list` if two entries do not suffice.
pub(super) fn by_pages(data: Data, list: u64) -> ([u64; 2], impl Iterator<Item = u64>) {
    let second = (data.address / PAGE + 1) * PAGE;
    let end = data.address + data.bytes;
    let further_pages = end.saturating_sub(second).div_ceil(PAGE);
    let pointer = match further_pages {
        0 => 0,
        1 => second,
        _ => list,
    };
    let listed = if further_pages > 1 { further_pages } else { 0 };
    ([data.address, pointer], (0..listed).map(move |page| second + page * PAGE))
}

/// The SGL data pointer of a command: a data block descriptor.
pub(super) fn as_one(data: Data) -> [u64; 2] {
    [data.address, data.bytes]
}

/// The words of a command on namespace 1.
pub(super) fn words(opcode: u32, identifier: u16, sgl: bool, pointer: [u64; 2], last: [u32; 6]) -> [u32; 16] {
    let mut words = [0; 16];
    words[0] = opcode | u32::from(sgl) << 14 | u32::from(identifier) << 16;
    words[1] = 1;
    for (index, half) in (6..).step_by(2).zip(pointer) {
        words[index] = half as u32;
        words[index + 1] = (half >> 32) as u32;
    }
    words[10..].copy_from_slice(&last);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(address: u64, bytes: u64) -> ([u64; 2], Vec<u64>) {
        let (pointer, list) = by_pages(Data { address, bytes }, 0xaaaa_0000);
        (pointer, list.collect())
    }

    #[test]
    fn prps_name_every_page_touched() {
        assert_eq!(pointers(0x10_0000, 4096), ([0x10_0000, 0], vec![]));
        assert_eq!(pointers(0x10_0204, 512), ([0x10_0204, 0], vec![]));
        assert_eq!(pointers(0x10_0e04, 512), ([0x10_0e04, 0x10_1000], vec![]));
        assert_eq!(pointers(0x10_0000, 8192), ([0x10_0000, 0x10_1000], vec![]));
        assert_eq!(pointers(0x10_0000, 12288), ([0x10_0000, 0xaaaa_0000], vec![0x10_1000, 0x10_2000]));
        let (_, list) = pointers(0x10_0ffc, 8192);
        assert_eq!(list, [0x10_1000, 0x10_2000]);
    }

    #[test]
    fn command_words_follow_the_specification() {
        let words = words(r::READ, 7, true, [0x1_2345_6780, 4096], [1, 2, 3, 0, 0, 0]);
        assert_eq!((words[0], words[1]), (2 | 1 << 14 | 7 << 16, 1));
        assert_eq!(words[6..13], [0x2345_6780, 1, 4096, 0, 1, 2, 3]);
    }
}
