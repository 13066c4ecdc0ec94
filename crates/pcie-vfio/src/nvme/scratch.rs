//! The blocks that may be written: named by the user, with the serial number of the drive, reading as zeros, on a drive that
//! holds nothing but partition tables and partitions elsewhere.
//!
//! libblkid is not asked: the drive is bound to vfio-pci and has no block device, and pcielab-run is one static file. What is
//! asked for is more than it could say. Every superblock, label and table that it knows lies within 8 MiB of one of the ends of
//! a drive; all of these bytes have to be zeros, but for partition tables, whose digests are checked, and partitions, which the
//! range must not touch. So what no table of signatures knows is found too.

use super::blocks::Drive;
use super::tables::{self, Part};
use crate::options::range;
use std::fmt::Write as _;

/// A range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scratch {
    pub(super) first: u64,
    pub(super) blocks: u64,
}

/// The longest range: all of it is read before anything of it is written.
const LONGEST_BYTES: u64 = 1 << 30;
/// What is looked at from each end of a drive on. The second header of LUKS 2 may be at 4 MiB, volumes of VMFS at 2 MiB, records
/// of RAID controllers 1.6 MB before the end; all else is nearer to an end.
const ENDS_BYTES: u64 = 8 << 20;
/// Where what is on a disk says what it is: place, bytes, name. They only give names to what is refused anyway.
const SIGNATURES: [(usize, &[u8], &str); 34] = [
    (0, b"XFSB", "an XFS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (3, b"ReFS\0\0\0\0", "an ReFS file system"),
    (3, b"-FVE-FS-", "a BitLocker volume"),
    (54, b"FAT", "a FAT file system"),
    (82, b"FAT32", "a FAT file system"),
    (0, b"LUKS\xba\xbe", "an encrypted volume"),
    (0x4000, b"SKUL\xba\xbe", "an encrypted volume"),
    (0, b"bluestore block device", "a Ceph BlueStore device"),
    (32, b"ORCLDISK", "an Oracle ASM disk"),
    (0, b"\x01\x82\x01\x01", "an Oracle ASM disk"),
    (32, b"NXSB", "an APFS container"),
    (24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    (4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    (
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        "a bcachefs file system",
    ),
    (512, b"LABELONE", "an LVM volume"),
    (512 + 4, b"!IRON\x86\x9a", "a Stratis pool"),
    (0, b"dmvdo001", "a VDO volume"),
    (1024 + 56, b"\x53\xef", "an ext file system"),
    (4086, b"SWAPSPACE2", "swap"),
    (4086, b"SWAP-SPACE", "swap"),
    (4096, b"\xfc\x4e\x2b\xa9", "a RAID member"),
    (0, b"\xfc\x4e\x2b\xa9", "a RAID member"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (1024 + 6, b"\x34\x34", "an NILFS2 file system"),
    (0x8000, b"JFS1", "a JFS file system"),
    (0x1_0034, b"ReIsEr", "a ReiserFS file system"),
    (0x2034, b"ReIsEr", "a ReiserFS file system"),
    (0x1_0000, b"\x01\x16\x19\x70", "a GFS2 file system"),
    (0x1_0040, b"_BHRfS_M", "a Btrfs file system"),
    (0x2_0000, b"\x0c\xb1\xba\0\0\0\0\0", "a ZFS pool"),
    (0x10_0000, b"\x0d\xd0\x01\xc0", "a VMFS volume"),
    (0, b"hsqs", "a squashfs"),
];

impl Scratch {
    /// From `LBA+LENGTH`, on a drive of so many blocks.
    pub(super) fn parse(text: &str, block_bytes: u64, blocks: u64) -> Result<Self, String> {
        let parsed = range(text).filter(|(_, length)| length.is_multiple_of(block_bytes));
        let Some((first, length)) = parsed else {
            return Err(format!(
                "device.scratch is {text}: give LBA+LENGTH, the first block and a length in whole blocks of {block_bytes} bytes, such as \
                 2048+64M"
            ));
        };
        if length > LONGEST_BYTES {
            return Err(format!(
                "device.scratch is {text}: is longer than 1G: give less, of which no more than a few MiB are written"
            ));
        }
        let scratch = Self { first, blocks: length / block_bytes };
        if first.checked_add(scratch.blocks).is_none_or(|end| end > blocks) {
            return Err(format!(
                "device.scratch is {text}: lies outside of the drive, which has {blocks} blocks of {block_bytes} bytes"
            ));
        }
        Ok(scratch)
    }

    /// What there is on the drive that must not be written over; none for nothing.
    ///
    /// # Errors
    /// The drive cannot be read.
    pub(super) fn holds<E>(&self, drive: &mut Drive<'_, E>) -> Result<Option<String>, E> {
        let parts = match tables::read(drive)? {
            Ok(parts) => parts,
            Err(damaged) => return Ok(Some(damaged)),
        };
        let last = self.first + self.blocks - 1;
        if let Some(part) = parts.iter().find(|part| part.first <= last && self.first <= part.last) {
            return Ok(Some(format!("{} has blocks {} to {}", part.what, part.first, part.last)));
        }
        if let Some(found) = at_the_ends(drive, &parts)? {
            return Ok(Some(found));
        }
        let held = drive.blocks(self.first, self.blocks)?;
        if let Some(name) = signature(&held) {
            return Ok(Some(format!("the range begins with {name}")));
        }
        let filled = held.iter().position(|byte| *byte != 0);
        Ok(filled.map(|place| {
            format!("block {} of it does not read as zeros", self.first + place as u64 / drive.block_bytes)
        }))
    }
}

/// What is near the ends of a drive, and neither a partition table nor in a partition.
fn at_the_ends<E>(drive: &mut Drive<'_, E>, parts: &[Part]) -> Result<Option<String>, E> {
    let count = (ENDS_BYTES / drive.block_bytes).min(drive.blocks);
    for first in [0, drive.blocks - count] {
        let held = drive.blocks(first, count)?;
        let is_told = |block: u64| parts.iter().any(|part| part.first <= block && block <= part.last);
        let blocks = held.chunks(drive.block_bytes as usize);
        let filled = (first..).zip(blocks).find_map(|(block, bytes)| {
            let place = bytes.iter().position(|byte| *byte != 0)?;
            (!is_told(block)).then_some(block * drive.block_bytes + place as u64)
        });
        let Some(place) = filled else { continue };
        // A name, where it has one: of a whole drive, at its start.
        let name = (first == 0).then(|| signature(&held)).flatten();
        return Ok(Some(match name {
            Some(name) => format!("the drive holds {name}"),
            None => format!("the drive holds data at byte {place}, which are in no partition"),
        }));
    }
    Ok(None)
}

/// The refusal of a range that holds something, or may.
pub(super) fn refused(text: &str, found: &str) -> String {
    let mut told = format!("device.scratch is {text}: {found}");
    // Writing to a string cannot fail.
    let _ = write!(
        told,
        ": give blocks that read as zeros and are in no partition, on a drive that holds nothing else (`sudo blkdiscard --zeroout` \
         empties one whose contents may be lost, bound to its own driver)"
    );
    told
}

/// The refusal of a range whose drive nobody has named.
pub(super) fn unnamed(text: &str, named: Option<&str>, (model, serial): (&str, &str)) -> String {
    match named {
        None => format!(
            "device.scratch is {text}: blocks of {model}, serial number {serial}, would be written: if that is the drive you mean, \
             --set device.scratch_serial={serial}"
        ),
        Some(named) => format!(
            "device.scratch_serial is {named}: this drive is {model}, serial number {serial}: give the address of the other one, or \
             this number"
        ),
    }
}

fn signature(head: &[u8]) -> Option<&'static str> {
    let is_there = |(place, bytes, _): &&(usize, &[u8], &str)| {
        head.get(*place..).is_some_and(|at| at.starts_with(bytes))
    };
    // The longest: what two have in common is the shorter of them.
    SIGNATURES.iter().filter(is_there).max_by_key(|(_, bytes, _)| bytes.len()).map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::blocks::PIECE_BYTES;
    use super::super::tables::tests::write_gpt;
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    const BLOCKS: u64 = 1 << 20;

    /// A drive of 64 MiB, and its scratch range of 1 MiB in the middle.
    const DRIVE_BYTES: usize = 64 << 20;
    const SCRATCH: Scratch = Scratch { first: 65536, blocks: 2048 };

    fn told(drive: &[u8], scratch: Scratch) -> Option<String> {
        let mut read = |first: u64, count: u64| -> Result<Vec<u8>, Infallible> {
            assert!(count > 0 && count * 512 <= PIECE_BYTES);
            Ok(drive[first as usize * 512..][..count as usize * 512].to_vec())
        };
        let mut drive = Drive { block_bytes: 512, blocks: drive.len() as u64 / 512, read: &mut read };
        scratch.holds(&mut drive).unwrap()
    }

    fn empty() -> Vec<u8> {
        vec![0; DRIVE_BYTES]
    }

    #[test]
    fn a_range_is_whole_blocks_on_the_drive() {
        assert_eq!(Scratch::parse("2048+1M", 512, BLOCKS), Ok(Scratch { first: 2048, blocks: 2048 }));
        let told = |text| Scratch::parse(text, 4096, BLOCKS).unwrap_err();
        assert!(
            told("2048").contains("give LBA+LENGTH") && told("0+512").contains("whole blocks of 4096 bytes")
        );
        assert!(told("1048576+4K").contains("outside of the drive, which has 1048576 blocks"));
        assert!(told("18446744073709551615+4K").contains("give LBA+LENGTH"));
        assert!(told("0+2G").contains("longer than 1G"));
    }

    #[test]
    fn nothing_is_found_on_an_empty_drive() {
        assert_eq!(told(&empty(), SCRATCH), None);
    }

    #[test]
    fn somebodys_data_is_found_where_it_says_what_it_is() {
        for (place, bytes, name) in SIGNATURES {
            let mut drive = empty();
            drive[place..place + bytes.len()].copy_from_slice(bytes);
            let found = told(&drive, SCRATCH).unwrap();
            assert!(found.contains("the drive holds") && found.contains(name), "{name}: {found}");
            let mut drive = empty();
            let start = SCRATCH.first as usize * 512 + place;
            drive[start..start + bytes.len()].copy_from_slice(bytes);
            if place < SCRATCH.blocks as usize * 512 {
                let found = told(&drive, SCRATCH).unwrap();
                assert!(found.contains("the range begins with") && found.contains(name), "{name}: {found}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Whatever stands near an end of the drive, or anywhere in the range: known to anyone or not.
        #[test]
        fn one_byte_near_an_end_or_in_the_range_is_enough(
            place in prop_oneof![
                0..ENDS_BYTES as usize,
                DRIVE_BYTES - ENDS_BYTES as usize..DRIVE_BYTES,
                SCRATCH.first as usize * 512..(SCRATCH.first + SCRATCH.blocks) as usize * 512,
            ],
            byte in 1..=255u8,
        ) {
            let mut drive = empty();
            drive[place] = byte;
            prop_assert!(told(&drive, SCRATCH).is_some(), "byte {place}");
        }
    }

    #[test]
    fn a_range_full_of_data_is_refused_with_the_block() {
        let mut drive = empty();
        let start = SCRATCH.first as usize * 512;
        drive[start + 512 * 2047 + 511] = 1;
        assert_eq!(told(&drive, SCRATCH).unwrap(), "block 67583 of it does not read as zeros");
        let mut drive = empty();
        drive[start..start + (1 << 20)].fill(0xa5);
        assert_eq!(told(&drive, SCRATCH).unwrap(), "block 65536 of it does not read as zeros");
    }

    #[test]
    fn an_old_table_gives_partitions_away() {
        let mut drive = empty();
        drive[510..512].copy_from_slice(b"\x55\xaa");
        drive[450] = 0x83;
        drive[454..458].copy_from_slice(&65_000u32.to_le_bytes());
        drive[458..462].copy_from_slice(&1000u32.to_le_bytes());
        assert_eq!(told(&drive, Scratch { first: 66_000, blocks: 2048 }), None);
        let found = told(&drive, SCRATCH).unwrap();
        assert_eq!(found, "a partition has blocks 65000 to 65999");
        assert_eq!(
            told(&drive, Scratch { first: 0, blocks: 8 }).unwrap(),
            "the partition table has blocks 0 to 0"
        );
        // What a partition at the start holds is its own; a boot loader is in none.
        drive[454..458].copy_from_slice(&2048u32.to_le_bytes());
        drive[3 << 20..4 << 20].fill(1);
        drive[458..462].copy_from_slice(&20_000u32.to_le_bytes());
        assert_eq!(told(&drive, SCRATCH), None);
        drive[1 << 15] = 1;
        assert!(told(&drive, SCRATCH).unwrap().contains("data at byte 32768, which are in no partition"));
        drive[1 << 15] = 0;
        drive[0] = 0xeb;
        assert!(told(&drive, SCRATCH).unwrap().contains("data at byte 0"));
    }

    #[test]
    fn a_new_table_is_found_wherever_its_entries_and_its_copy_are() {
        let last = DRIVE_BYTES as u64 / 512 - 1;
        let partition = (65_000, 65_999);
        // Entries at their place, and far away from it.
        for entries_at in [2, 40_000] {
            let mut drive = empty();
            write_gpt(&mut drive, 1, last, entries_at, partition);
            write_gpt(&mut drive, last, 1, last - 32, partition);
            assert_eq!(told(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
            assert_eq!(told(&drive, Scratch { first: 70_000, blocks: 8 }), None);
            let own = told(&drive, Scratch { first: entries_at + 3, blocks: 1 }).unwrap();
            assert!(own.starts_with("the partition table has blocks"), "{own}");
        }
        // The copy alone, at the end or where the first one says.
        let mut drive = empty();
        write_gpt(&mut drive, last, 1, last - 32, partition);
        assert_eq!(told(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
        let mut drive = empty();
        write_gpt(&mut drive, 1, 50_000, 2, (100_000, 100_001));
        write_gpt(&mut drive, 50_000, 1, 50_001, partition);
        assert_eq!(told(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
    }

    #[test]
    fn a_table_that_is_damaged_is_believed_in_nothing() {
        let last = DRIVE_BYTES as u64 / 512 - 1;
        for place in [512 + 40, 512 + 72, 512 + 84, 1024 + 40] {
            let mut drive = empty();
            write_gpt(&mut drive, 1, last, 2, (100_000, 100_001));
            drive[place] ^= 1;
            let found = told(&drive, SCRATCH).unwrap();
            assert_eq!(found, "the partition table at block 1 (GPT) is damaged", "byte {place}");
        }
    }

    #[test]
    fn the_drive_is_named_by_its_serial_number() {
        let drive = ("QEMU NVMe", "S4EV");
        let told = unnamed("2048+1M", None, drive);
        assert!(
            told.contains("serial number S4EV") && told.contains("--set device.scratch_serial=S4EV"),
            "{told}"
        );
        let told = unnamed("2048+1M", Some("S4EX"), drive);
        assert!(told.starts_with("device.scratch_serial is S4EX: this drive is QEMU NVMe"), "{told}");
        assert!(refused("2048+1M", "the drive holds swap").contains("blkdiscard"));
    }
}
