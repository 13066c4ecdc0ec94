//! The blocks that may be written: named by the user, on the drive, and holding nothing that looks like somebody's data.

use crate::options::range;
use std::fmt::Write as _;

/// A range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scratch {
    pub(super) first: u64,
    pub(super) blocks: u64,
}

/// Bytes at the start of a drive, or of a range, that are looked at for signatures.
pub(super) const HEAD_BYTES: u64 = 72 << 10;

/// Where what is on a disk says what it is: place, bytes, name.
const SIGNATURES: [(usize, &[u8], &str); 14] = [
    (0, b"XFSB", "an XFS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (54, b"FAT", "a FAT file system"),
    (82, b"FAT32", "a FAT file system"),
    (0, b"LUKS\xba\xbe", "an encrypted volume"),
    (512, b"LABELONE", "an LVM volume"),
    (1024 + 56, b"\x53\xef", "an ext file system"),
    (4086, b"SWAPSPACE2", "swap"),
    (4096, b"\xfc\x4e\x2b\xa9", "a RAID member"),
    (0, b"\xfc\x4e\x2b\xa9", "a RAID member"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (0x1_0040, b"_BHRfS_M", "a Btrfs file system"),
    (0, b"hsqs", "a squashfs"),
];

impl Scratch {
    /// From `LBA+LENGTH`, on a drive of so many blocks.
    pub(super) fn parse(text: &str, block_bytes: u64, blocks: u64) -> Result<Self, String> {
        let parsed = range(text).filter(|(_, length)| length.is_multiple_of(block_bytes));
        let Some((first, length)) = parsed else {
            return Err(format!(
                "device.scratch = {text}: give LBA+LENGTH, the first block and a length in whole blocks of {block_bytes} bytes, such as \
                 2048+64M"
            ));
        };
        let scratch = Self { first, blocks: length / block_bytes };
        if first.checked_add(scratch.blocks).is_none_or(|end| end > blocks) {
            return Err(format!(
                "device.scratch = {text}: lies outside of the drive, which has {blocks} blocks of {block_bytes} bytes"
            ));
        }
        Ok(scratch)
    }

    /// What there is in the range, from the first bytes of the drive and those of the range; none for nothing.
    pub(super) fn holds(&self, drive: &[u8], range: &[u8], block_bytes: u64) -> Option<String> {
        if let Some(name) = signature(range) {
            return Some(format!("the range begins with {name}"));
        }
        // Without a partition table, what is at the start of a drive is all over it.
        if let Some(name) = signature(drive) {
            return Some(format!("the drive holds {name}"));
        }
        let overlaps = |first: u64, last: u64| first < self.first + self.blocks && self.first <= last;
        let taken =
            partitions(drive, block_bytes).into_iter().find(|&(first, last)| overlaps(first, last))?;
        Some(format!("a partition has blocks {} to {}", taken.0, taken.1))
    }
}

/// The refusal of a range that holds something.
pub(super) fn refused(text: &str, found: &str, serial: &str) -> String {
    let mut told = format!("device.scratch = {text}: {found}: give blocks that are nobody's");
    // Writing to a string cannot fail.
    let _ =
        write!(told, ", or, if this drive's contents may be lost, --set device.scratch_overwrite={serial}");
    told
}

fn signature(head: &[u8]) -> Option<&'static str> {
    let found = SIGNATURES
        .iter()
        .find(|(place, bytes, _)| head.get(*place..).is_some_and(|at| at.starts_with(bytes)));
    found.map(|(_, _, name)| *name)
}

/// First and last block of each partition that the table at the start of a drive names, GPT or MBR. What the tables themselves
/// take counts as one.
fn partitions(drive: &[u8], block_bytes: u64) -> Vec<(u64, u64)> {
    let long = |place: usize| {
        drive.get(place..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let word = |place: usize| {
        drive.get(place..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let header = block_bytes as usize;
    if drive.get(header..).is_some_and(|at| at.starts_with(b"EFI PART")) {
        let (entries, bytes) = (word(header + 80).min(1024), word(header + 84).clamp(128, 4096));
        let first = (long(header + 72).saturating_mul(block_bytes)) as usize;
        let usable = (long(header + 40), long(header + 48));
        let entry = |number: u32| {
            let place = first.checked_add((number * bytes) as usize)?;
            let kind = (long(place), long(place.checked_add(8)?));
            (kind != (0, 0)).then(|| (long(place + 32), long(place + 40)))
        };
        let mut found: Vec<(u64, u64)> = (0..entries).filter_map(entry).collect();
        found.extend([(0, usable.0.saturating_sub(1)), (usable.1.saturating_add(1), u64::MAX)]);
        return found;
    }
    if drive.get(510..512) != Some(b"\x55\xaa") {
        return Vec::new();
    }
    let entry = |number: usize| {
        let place = 446 + 16 * number;
        let (first, blocks) = (u64::from(word(place + 8)), u64::from(word(place + 12)));
        (drive.get(place + 4).is_some_and(|kind| *kind != 0) && blocks > 0)
            .then(|| (first, first + blocks - 1))
    };
    (0..4).filter_map(entry).chain([(0, 0)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 1 << 20;

    #[test]
    fn a_range_is_whole_blocks_on_the_drive() {
        assert_eq!(Scratch::parse("2048+1M", 512, BLOCKS), Ok(Scratch { first: 2048, blocks: 2048 }));
        let told = |text| Scratch::parse(text, 4096, BLOCKS).unwrap_err();
        assert!(
            told("2048").contains("give LBA+LENGTH") && told("0+512").contains("whole blocks of 4096 bytes")
        );
        assert!(told("1048576+4K").contains("outside of the drive, which has 1048576 blocks"));
        assert!(told("18446744073709551615+4K").contains("give LBA+LENGTH"));
    }

    #[test]
    fn somebodys_data_is_found_where_it_says_what_it_is() {
        let scratch = Scratch { first: 2048, blocks: 2048 };
        let empty = vec![0; HEAD_BYTES as usize];
        assert_eq!(scratch.holds(&empty, &empty, 512), None);
        for (place, bytes, name) in SIGNATURES {
            let mut head = empty.clone();
            head[place..place + bytes.len()].copy_from_slice(bytes);
            assert!(scratch.holds(&empty, &head, 512).is_some_and(|told| told.contains(name)), "{name}");
            assert!(
                scratch.holds(&head, &empty, 512).is_some_and(|told| told.contains("the drive holds")),
                "{name}"
            );
        }
    }

    #[test]
    fn partitions_are_found_in_both_kinds_of_tables() {
        let empty = vec![0; HEAD_BYTES as usize];
        let mut old = empty.clone();
        old[510..512].copy_from_slice(b"\x55\xaa");
        old[450] = 0x83;
        old[454..458].copy_from_slice(&4000u32.to_le_bytes());
        old[458..462].copy_from_slice(&1000u32.to_le_bytes());
        let mut new = empty.clone();
        new[512..520].copy_from_slice(b"EFI PART");
        for (place, value) in [(40, 34u64), (48, 9999), (72, 2)] {
            new[512 + place..520 + place].copy_from_slice(&value.to_le_bytes());
        }
        new[592..600].copy_from_slice(&(1u64 | 128 << 32).to_le_bytes());
        new[1024] = 1;
        new[1056..1064].copy_from_slice(&4000u64.to_le_bytes());
        new[1064..1072].copy_from_slice(&4999u64.to_le_bytes());
        for table in [&old, &new] {
            let holds = |first, blocks| Scratch { first, blocks }.holds(table, &empty, 512);
            assert_eq!(holds(2048, 1952), None);
            assert!(holds(2048, 1953).is_some_and(|told| told.contains("blocks 4000 to 4999")));
            assert_eq!(holds(5000, 10), None);
            assert!(holds(0, 8).is_some());
        }
    }
}
