//! Commands as the drive reads them: 64 bytes, and where their data are.

use crate::nvme::registers as r;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The drive writes blocks into memory.
    Read,
    /// The drive reads memory and compares it with blocks.
    Compare,
    /// The drive reads memory and keeps it in blocks.
    Write,
    /// No data at all: the floor of what a command costs.
    Flush,
}

impl Kind {
    pub(super) fn opcode(self) -> u32 {
        match self {
            Self::Read => r::READ,
            Self::Compare => r::COMPARE,
            Self::Write => r::WRITE,
            Self::Flush => r::FLUSH,
        }
    }

    /// What a drive is asked for with it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Compare => "compare",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }
}

/// How a command names its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Page by page.
    Prp,
    /// As one piece.
    Sgl,
}

/// Memory that follows itself on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Bus address of the first byte, a multiple of 4.
    pub address: u64,
    /// Bytes: whole blocks.
    pub bytes: u64,
}

/// Pages that a transfer touches at most: those of a list of one page, and the one before it.
pub(super) const PAGES_MOST: u64 = 512;
const PAGE: u64 = 4096;

/// The data pointer of a command by pages, and the list behind it where two entries do not do; the list lies at `list`.
pub(super) fn by_pages(data: Data, list: u64) -> ([u64; 2], impl Iterator<Item = u64>) {
    let second = (data.address / PAGE + 1) * PAGE;
    let end = data.address + data.bytes;
    let pages_behind = end.saturating_sub(second).div_ceil(PAGE);
    let pointer = match pages_behind {
        0 => 0,
        1 => second,
        _ => list,
    };
    let listed = if pages_behind > 1 { pages_behind } else { 0 };
    ([data.address, pointer], (0..listed).map(move |page| second + page * PAGE))
}

/// The data pointer of a command as one piece: a data block descriptor.
pub(super) fn as_one(data: Data) -> [u64; 2] {
    [data.address, data.bytes]
}

/// The words of a command on namespace 1.
pub(super) fn words(opcode: u32, identifier: u16, sgl: bool, pointer: [u64; 2], last: [u32; 6]) -> [u32; 16] {
    let mut words = [0; 16];
    words[0] = opcode | u32::from(sgl) << 14 | u32::from(identifier) << 16;
    words[1] = 1;
    for (place, half) in (6..).step_by(2).zip(pointer) {
        words[place] = half as u32;
        words[place + 1] = (half >> 32) as u32;
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
    fn pages_are_named_as_many_as_are_touched() {
        assert_eq!(pointers(0x10_0000, 4096), ([0x10_0000, 0], vec![]));
        assert_eq!(pointers(0x10_0204, 512), ([0x10_0204, 0], vec![]));
        assert_eq!(pointers(0x10_0e04, 512), ([0x10_0e04, 0x10_1000], vec![]));
        assert_eq!(pointers(0x10_0000, 8192), ([0x10_0000, 0x10_1000], vec![]));
        assert_eq!(pointers(0x10_0000, 12288), ([0x10_0000, 0xaaaa_0000], vec![0x10_1000, 0x10_2000]));
        let (_, list) = pointers(0x10_0ffc, 8192);
        assert_eq!(list, [0x10_1000, 0x10_2000]);
    }

    #[test]
    fn a_command_has_its_words_where_the_drive_looks_for_them() {
        let words = words(r::READ, 7, true, [0x1_2345_6780, 4096], [1, 2, 3, 0, 0, 0]);
        assert_eq!((words[0], words[1]), (2 | 1 << 14 | 7 << 16, 1));
        assert_eq!(words[6..13], [0x2345_6780, 1, 4096, 0, 1, 2, 3]);
    }
}
