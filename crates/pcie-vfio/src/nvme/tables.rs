//! Partition tables of a drive: MBR, and GPT at both ends of the drive and wherever one of them points.

use super::blocks::Drive;

/// Blocks in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) owner: &'static str,
}

const TABLE: &str = "the partition table";
const PARTITION: &str = "a partition";
/// Type of the MBR entry that protects a drive with a GPT.
const PROTECTIVE: u8 = 0xee;
/// Most bytes of a GPT's entries together: the usual 128 take 16 KiB.
const ENTRIES_BYTES_MOST: u64 = 1 << 20;
const ENTRY_BYTES: std::ops::RangeInclusive<u64> = 128..=4096;
const HEADER_BYTES: std::ops::RangeInclusive<u64> = 92..=512;

/// The blocks of a drive's partitions and of the tables themselves; a message if a table is damaged.
pub(super) fn read<E>(drive: &mut Drive<'_, E>) -> Result<Result<Vec<Part>, String>, E> {
    let mut parts = Vec::new();
    let mut headers = vec![1, drive.blocks.saturating_sub(1)];
    let mut seen = 0;
    while let Some(&block) = headers.get(seen) {
        seen += 1;
        match gpt(drive, block)? {
            None => {}
            Some(Ok((found, other))) => {
                parts.extend(found);
                if !headers.contains(&other) && other < drive.blocks {
                    headers.push(other);
                }
            }
            Some(Err(())) => {
                return Ok(Err(format!("the partition table at block {block} (GPT) is damaged")));
            }
        }
    }
    let has_gpt = !parts.is_empty();
    let first = drive.blocks(0, 1)?;
    parts.extend(mbr(&first, has_gpt));
    Ok(Ok(parts))
}

/// The blocks of an MBR's partitions; none if the sector begins with a program or has other flags.
fn mbr(sector: &[u8], has_gpt: bool) -> Vec<Part> {
    let is_table = sector.get(510..512) == Some(b"\x55\xaa") && sector[..440].iter().all(|byte| *byte == 0);
    let entries: Vec<&[u8]> =
        (0..4).filter_map(|number| sector.get(446 + 16 * number..462 + 16 * number)).collect();
    if !is_table || entries.iter().any(|entry| entry[0] & 0x7f != 0) {
        return Vec::new();
    }
    let entry = |entry: &&[u8]| {
        let (first, blocks) = (u64::from(word(entry, 8)), u64::from(word(entry, 12)));
        let taken = entry[4] != 0 && blocks > 0 && !(has_gpt && entry[4] == PROTECTIVE);
        taken.then(|| Part { first, last: first + blocks - 1, owner: PARTITION })
    };
    let own = Part { first: 0, last: 0, owner: TABLE };
    entries.iter().filter_map(entry).chain([own]).collect()
}

/// Blocks of a GPT and its partitions, and the block of its other header; an error if it is damaged.
type Found = Option<Result<(Vec<Part>, u64), ()>>;

/// Reads the GPT whose header is at a block.
fn gpt<E>(drive: &mut Drive<'_, E>, block: u64) -> Result<Found, E> {
    let header = drive.blocks(block, 1)?;
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let Some(layout) = Layout::of(&header, block, drive) else { return Ok(Some(Err(()))) };
    let table = drive.blocks(layout.entries_at, layout.entries_blocks)?;
    let entries = table.get(..layout.entries_bytes as usize);
    let Some(entries) = entries.filter(|entries| crc32(entries) == layout.entries_crc) else {
        return Ok(Some(Err(())));
    };
    let entry = |entry: &[u8]| {
        let kind = entry.get(..16)?;
        let (first, last) = (long(entry, 32), long(entry, 40));
        let taken = kind.iter().any(|byte| *byte != 0);
        taken.then_some(Part { first, last: last.max(first), owner: PARTITION })
    };
    let mut parts: Vec<Part> = entries.chunks(layout.entry_bytes as usize).filter_map(entry).collect();
    let last = layout.entries_at + layout.entries_blocks - 1;
    parts.push(Part { first: block, last: block, owner: TABLE });
    parts.push(Part { first: layout.entries_at, last, owner: TABLE });
    Ok(Some(Ok((parts, layout.other))))
}

/// The layout in the header of a GPT (UEFI specification, section 5.3.2).
struct Layout {
    other: u64,
    entries_at: u64,
    entry_bytes: u64,
    entries_bytes: u64,
    entries_blocks: u64,
    entries_crc: u32,
}

impl Layout {
    fn of<E>(header: &[u8], block: u64, drive: &Drive<'_, E>) -> Option<Self> {
        let bytes = u64::from(word(header, 12));
        let mut own = header.get(..bytes as usize).filter(|_| HEADER_BYTES.contains(&bytes))?.to_vec();
        own[16..20].fill(0);
        let (entries, entry_bytes) = (u64::from(word(header, 80)), u64::from(word(header, 84)));
        let entries_bytes = entries.checked_mul(entry_bytes)?;
        let layout = Self {
            other: long(header, 32),
            entries_at: long(header, 72),
            entry_bytes,
            entries_bytes,
            entries_blocks: entries_bytes.div_ceil(drive.block_bytes),
            entries_crc: word(header, 88),
        };
        let end = layout.entries_at.checked_add(layout.entries_blocks)?;
        let fits = (1..=ENTRIES_BYTES_MOST).contains(&entries_bytes) && end <= drive.blocks;
        let sound = crc32(&own) == word(header, 16) && long(header, 24) == block;
        (sound && fits && ENTRY_BYTES.contains(&entry_bytes)).then_some(layout)
    }
}

fn long(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn word(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// CRC-32 of IEEE 802.3, as GPT uses it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn crc32_of_the_check_string() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    /// Writes header and entries of a GPT with one partition to a drive with blocks of 512 bytes.
    pub(crate) fn write_gpt(
        drive: &mut [u8],
        block: u64,
        other: u64,
        entries_at: u64,
        partition: (u64, u64),
    ) {
        let mut entries = vec![0; 128 * 128];
        entries[..16].fill(7);
        entries[32..40].copy_from_slice(&partition.0.to_le_bytes());
        entries[40..48].copy_from_slice(&partition.1.to_le_bytes());
        let mut header = vec![0; 92];
        header[..8].copy_from_slice(b"EFI PART");
        header[12..16].copy_from_slice(&92u32.to_le_bytes());
        for (at, value) in [(24, block), (32, other), (40, 34), (48, 100_000), (72, entries_at)] {
            header[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in [(80, 128), (84, 128), (88, crc32(&entries))] {
            header[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        }
        let sum = crc32(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        let at = |block: u64| block as usize * 512;
        drive[at(block)..at(block) + 92].copy_from_slice(&header);
        drive[at(entries_at)..][..entries.len()].copy_from_slice(&entries);
    }
}
