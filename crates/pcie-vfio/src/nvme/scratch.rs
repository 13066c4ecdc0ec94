//! The blocks that may be written. The user names them and the drive's serial number; they must read as
//! zeros, on a drive that holds nothing but partition tables and partitions elsewhere.
//!
//! libblkid cannot help: the drive is bound to vfio-pci and has no block device, and pcielab-run is one
//! static file. These checks are stricter. Every superblock, label and table that libblkid knows lies within
//! 8 MiB of an end of the drive. All bytes there must be zeros, except partition tables, whose checksums must
//! match, and partitions, which the range must not touch. Unknown formats are therefore found too.

use super::blocks::Drive;
use super::tables::{self, Part};
use crate::options::range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scratch {
    pub(super) first: u64,
    pub(super) blocks: u64,
}

/// Longest range, bytes: all of it is read before any of it is written.
const LONGEST_BYTES: u64 = 1 << 30;
/// Bytes checked at each end of a drive. The second header of LUKS 2 may be at 4 MiB, VMFS volumes at 2 MiB,
/// records of RAID controllers 1.6 MB before the end; everything else is nearer to an end.
const ENDS_BYTES: u64 = 8 << 20;
/// Signatures on a disk: offset, bytes, name. They only name data that is refused anyway.
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
    (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "a bcachefs file system"),
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
    /// Parses `LBA+LENGTH`, within a drive of `blocks` blocks.
    pub(super) fn parse(text: &str, block_bytes: u64, blocks: u64) -> Result<Self, String> {
        let parsed = range(text).filter(|(_, length)| length.is_multiple_of(block_bytes));
        let Some((first, length)) = parsed else {
            return Err(format!(
                "device.scratch is {text}: give LBA+LENGTH, the first block and a length in whole blocks of {block_bytes} bytes, \
                 for example 2048+64M"
            ));
        };
        if length > LONGEST_BYTES {
            return Err(format!("device.scratch is {text}: give 1G or less; only a few MiB are written"));
        }
        let scratch = Self { first, blocks: length / block_bytes };
        if first.checked_add(scratch.blocks).is_none_or(|end| end > blocks) {
            return Err(format!(
                "device.scratch is {text}: lies outside the drive, which has {blocks} blocks of {block_bytes} bytes"
            ));
        }
        Ok(scratch)
    }

    /// A message on data that must not be overwritten, if any; fails if the drive cannot be read.
    pub(super) fn holds<E>(&self, drive: &mut Drive<'_, E>) -> Result<Option<String>, E> {
        let parts = match tables::read(drive)? {
            Ok(parts) => parts,
            Err(damaged) => return Ok(Some(damaged)),
        };
        let last = self.first + self.blocks - 1;
        if let Some(part) = parts.iter().find(|part| part.first <= last && self.first <= part.last) {
            return Ok(Some(format!("{} has blocks {} to {}", part.owner, part.first, part.last)));
        }
        if let Some(found) = data_at_the_ends(drive, &parts)? {
            return Ok(Some(found));
        }
        let held = drive.blocks(self.first, self.blocks)?;
        if let Some(name) = signature(&held) {
            return Ok(Some(format!("the range begins with {name}")));
        }
        let filled = held.iter().position(|byte| *byte != 0);
        Ok(filled.map(|offset| {
            format!("block {} of it does not read as zeros", self.first + offset as u64 / drive.block_bytes)
        }))
    }
}

/// A message on data near the ends of a drive, outside partition tables and partitions.
fn data_at_the_ends<E>(drive: &mut Drive<'_, E>, parts: &[Part]) -> Result<Option<String>, E> {
    let count = (ENDS_BYTES / drive.block_bytes).min(drive.blocks);
    for first in [0, drive.blocks - count] {
        let held = drive.blocks(first, count)?;
        let is_known = |block: u64| parts.iter().any(|part| part.first <= block && block <= part.last);
        let blocks = held.chunks(drive.block_bytes as usize);
        let filled = (first..).zip(blocks).find_map(|(block, bytes)| {
            let offset = bytes.iter().position(|byte| *byte != 0)?;
            (!is_known(block)).then_some(block * drive.block_bytes + offset as u64)
        });
        let Some(byte) = filled else { continue };
        // Signatures of a whole drive are at its start.
        let name = (first == 0).then(|| signature(&held)).flatten();
        return Ok(Some(match name {
            Some(name) => format!("the drive holds {name}"),
            None => format!("the drive holds data at byte {byte}, outside any partition"),
        }));
    }
    Ok(None)
}

pub(super) fn refused(text: &str, found: &str) -> String {
    format!(
        "device.scratch is {text}: {found}: give blocks that read as zeros and are in no partition, on a drive that holds \
         nothing else (`sudo blkdiscard --zeroout` empties a drive that is bound to its own driver; its contents are lost)"
    )
}

/// The message for a drive that has another path.
pub(super) fn shared(text: &str, path: &str) -> String {
    format!(
        "device.scratch is {text}: {path}: give a drive with one path, or take the other paths out of use"
    )
}

/// The message for a missing or wrong serial number.
pub(super) fn unnamed(text: &str, named: Option<&str>, (model, serial): (&str, &str)) -> String {
    match named {
        None => format!(
            "device.scratch is {text}: blocks of {model}, serial number {serial}, would be written: if that is the drive you mean, \
             --set device.scratch_serial={serial}"
        ),
        Some(named) => format!(
            "device.scratch_serial is {named}: this drive is {model}, serial number {serial}: give the address of the other drive, or \
             this serial number"
        ),
    }
}

fn signature(head: &[u8]) -> Option<&'static str> {
    let matches = |(offset, bytes, _): &&(usize, &[u8], &str)| {
        head.get(*offset..).is_some_and(|at| at.starts_with(bytes))
    };
    // The longest, because one signature may be the start of another.
    SIGNATURES.iter().filter(matches).max_by_key(|(_, bytes, _)| bytes.len()).map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::blocks::PIECE_BYTES;
    use super::super::tables::tests::write_gpt;
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    const BLOCKS: u64 = 1 << 20;

    /// A drive of 64 MiB with its scratch range of 1 MiB in the middle.
    const DRIVE_BYTES: usize = 64 << 20;
    const SCRATCH: Scratch = Scratch { first: 65536, blocks: 2048 };

    fn found(drive: &[u8], scratch: Scratch) -> Option<String> {
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
    fn range_is_whole_blocks_on_the_drive() {
        assert_eq!(Scratch::parse("2048+1M", 512, BLOCKS), Ok(Scratch { first: 2048, blocks: 2048 }));
        for (text, named) in [
            ("2048", "give LBA+LENGTH"),
            ("0+512", "whole blocks of 4096 bytes"),
            ("1048576+4K", "outside the drive, which has 1048576 blocks"),
            ("18446744073709551615+4K", "give LBA+LENGTH"),
            ("0+2G", "give 1G or less"),
        ] {
            assert!(Scratch::parse(text, 4096, BLOCKS).unwrap_err().contains(named), "{text}");
        }
    }

    #[test]
    fn empty_drive_holds_nothing() {
        assert_eq!(found(&empty(), SCRATCH), None);
    }

    #[test]
    fn every_signature_is_found_at_the_start_of_drive_and_range() {
        for (offset, bytes, name) in SIGNATURES {
            for (first, begins) in
                [(0, "the drive holds"), (SCRATCH.first as usize * 512, "the range begins with")]
            {
                if first > 0 && offset >= SCRATCH.blocks as usize * 512 {
                    continue;
                }
                let mut drive = empty();
                drive[first + offset..][..bytes.len()].copy_from_slice(bytes);
                let message = found(&drive, SCRATCH).unwrap();
                assert!(message.contains(begins) && message.contains(name), "{name}: {message}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_byte_near_an_end_or_in_the_range_is_found(
            offset in prop_oneof![
                0..ENDS_BYTES as usize,
                DRIVE_BYTES - ENDS_BYTES as usize..DRIVE_BYTES,
                SCRATCH.first as usize * 512..(SCRATCH.first + SCRATCH.blocks) as usize * 512,
            ],
            byte in 1..=255u8,
        ) {
            let mut drive = empty();
            drive[offset] = byte;
            prop_assert!(found(&drive, SCRATCH).is_some(), "byte {offset}");
        }
    }

    #[test]
    fn data_in_the_range_is_refused_with_its_block() {
        let mut drive = empty();
        let start = SCRATCH.first as usize * 512;
        drive[start + 512 * 2047 + 511] = 1;
        assert_eq!(found(&drive, SCRATCH).unwrap(), "block 67583 of it does not read as zeros");
        let mut drive = empty();
        drive[start..start + (1 << 20)].fill(0xa5);
        assert_eq!(found(&drive, SCRATCH).unwrap(), "block 65536 of it does not read as zeros");
    }

    #[test]
    fn mbr_partitions_are_found() {
        let mut drive = empty();
        drive[510..512].copy_from_slice(b"\x55\xaa");
        drive[450] = 0x83;
        drive[454..458].copy_from_slice(&65_000u32.to_le_bytes());
        drive[458..462].copy_from_slice(&1000u32.to_le_bytes());
        assert_eq!(found(&drive, Scratch { first: 66_000, blocks: 2048 }), None);
        assert_eq!(found(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
        let table = found(&drive, Scratch { first: 0, blocks: 8 }).unwrap();
        assert_eq!(table, "the partition table has blocks 0 to 0");
        // Data in a partition at the start are ignored; a boot loader is in no partition.
        drive[454..458].copy_from_slice(&2048u32.to_le_bytes());
        drive[3 << 20..4 << 20].fill(1);
        drive[458..462].copy_from_slice(&20_000u32.to_le_bytes());
        assert_eq!(found(&drive, SCRATCH), None);
        drive[1 << 15] = 1;
        assert!(found(&drive, SCRATCH).unwrap().contains("data at byte 32768, outside any partition"));
        drive[1 << 15] = 0;
        drive[0] = 0xeb;
        assert!(found(&drive, SCRATCH).unwrap().contains("data at byte 0"));
    }

    #[test]
    fn gpt_is_found_with_entries_and_copy_anywhere() {
        let last = DRIVE_BYTES as u64 / 512 - 1;
        let partition = (65_000, 65_999);
        // Entries behind the header, and far away.
        for entries_at in [2, 40_000] {
            let mut drive = empty();
            write_gpt(&mut drive, 1, last, entries_at, partition);
            write_gpt(&mut drive, last, 1, last - 32, partition);
            assert_eq!(found(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
            assert_eq!(found(&drive, Scratch { first: 70_000, blocks: 8 }), None);
            let own = found(&drive, Scratch { first: entries_at + 3, blocks: 1 }).unwrap();
            assert!(own.starts_with("the partition table has blocks"), "{own}");
        }
        // The copy alone, at the end or where the first header points.
        let mut drive = empty();
        write_gpt(&mut drive, last, 1, last - 32, partition);
        assert_eq!(found(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
        let mut drive = empty();
        write_gpt(&mut drive, 1, 50_000, 2, (100_000, 100_001));
        write_gpt(&mut drive, 50_000, 1, 50_001, partition);
        assert_eq!(found(&drive, SCRATCH).unwrap(), "a partition has blocks 65000 to 65999");
    }

    #[test]
    fn damaged_gpt_is_refused() {
        let last = DRIVE_BYTES as u64 / 512 - 1;
        for byte in [512 + 40, 512 + 72, 512 + 84, 1024 + 40] {
            let mut drive = empty();
            write_gpt(&mut drive, 1, last, 2, (100_000, 100_001));
            drive[byte] ^= 1;
            let message = found(&drive, SCRATCH).unwrap();
            assert_eq!(message, "the partition table at block 1 (GPT) is damaged", "byte {byte}");
        }
    }

    #[test]
    fn serial_number_must_match() {
        let drive = ("QEMU NVMe", "S4EV");
        let missing = unnamed("2048+1M", None, drive);
        assert!(missing.contains("serial number S4EV"), "{missing}");
        assert!(missing.contains("--set device.scratch_serial=S4EV"), "{missing}");
        let wrong = unnamed("2048+1M", Some("S4EX"), drive);
        assert!(wrong.starts_with("device.scratch_serial is S4EX: this drive is QEMU NVMe"), "{wrong}");
        assert!(refused("2048+1M", "the drive holds swap").contains("blkdiscard"));
    }
}
