//! Identify data of a drive.

use crate::nvme::error::NvmeError;
use crate::nvme::registers as r;

/// Bytes that a read of deallocated blocks returns (DLFEAT, base specification 1.4, figure 245).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeallocatedReads {
    /// The drive does not report it.
    #[default]
    NotReported,
    /// Zeros.
    Zeros,
    /// Bytes of all ones.
    Ones,
}

impl DeallocatedReads {
    fn of(dlfeat: u8) -> Self {
        match dlfeat & 7 {
            1 => Self::Zeros,
            2 => Self::Ones,
            _ => Self::NotReported,
        }
    }
}

/// A controller and its first namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Model.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
    /// Longest transfer, bytes.
    pub transfer_bytes_most: u64,
    /// Whether it supports Compare.
    pub has_compare: bool,
    /// Whether it supports Verify, which reads blocks and moves no data.
    pub has_verify: bool,
    /// Whether it supports Dataset Management, which deallocates blocks.
    pub has_deallocate: bool,
    /// Bytes that a read of deallocated blocks returns.
    pub deallocated_reads: DeallocatedReads,
    /// Whether it supports scatter-gather lists.
    pub has_sgl: bool,
    /// Blocks of the namespace.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

impl Identity {
    /// Reads the Identify pages of controller and namespace 1; `transfer_most` is the driver's own limit.
    pub(super) fn read(controller: &[u8], namespace: &[u8], transfer_most: u64) -> Result<Self, NvmeError> {
        let transfer = match controller[77] {
            0 => transfer_most,
            log2 => 4096u64.checked_shl(u32::from(log2)).unwrap_or(u64::MAX).min(transfer_most),
        };
        let format = usize::from(namespace[26] & 0xf);
        let layout = word(namespace, 128 + 4 * format);
        let block_log2 = layout >> 16 & 0xff;
        let blocks = u64::from(word(namespace, 0)) | u64::from(word(namespace, 4)) << 32;
        if blocks == 0 || !(9..=16).contains(&block_log2) {
            return Err(NvmeError::Unsupported(
                "the drive has no namespace 1 with blocks of 512 bytes to 64 KiB".into(),
            ));
        }
        if layout & 0xffff != 0 {
            return Err(NvmeError::Unsupported(format!(
                "the blocks of namespace 1 carry {} bytes of metadata: format the namespace without metadata",
                layout & 0xffff
            )));
        }
        let optional = word(controller, 520);
        Ok(Self {
            model: text(&controller[24..64]),
            serial: text(&controller[4..24]),
            firmware: text(&controller[64..72]),
            transfer_bytes_most: transfer,
            has_compare: optional & r::ONCS_COMPARE != 0,
            has_verify: optional & r::ONCS_VERIFY != 0,
            has_deallocate: optional & r::ONCS_DATASET_MANAGEMENT != 0,
            deallocated_reads: DeallocatedReads::of(namespace[33]),
            has_sgl: matches!(word(controller, 536) & 3, 1 | 2),
            blocks,
            block_bytes: 1 << block_log2,
        })
    }
}

fn word(page: &[u8], offset: usize) -> u32 {
    page[offset..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn text(bytes: &[u8]) -> String {
    let printable = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { ' ' };
    bytes.iter().map(printable).collect::<String>().trim().to_owned()
}
