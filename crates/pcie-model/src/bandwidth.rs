//! Effective bandwidth of DMA transfers: equations (1) to (3) of the 2018 paper, less the misprint in (2), which adds the
//! data to the read requests.

use pcie_wire::{Accounting, SplitAt};
use serde::Serialize;

use crate::error::ModelError;
use crate::{Answer, Load, Model};

/// The largest transfer that the model splits: 1 GiB.
pub const MAX_TRANSFER_BYTES: u64 = 1 << 30;

/// The highest bandwidth of transfers of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bandwidth {
    /// Bytes of one transfer.
    pub size_bytes: u64,
    /// The device reads host memory.
    pub read: Answer,
    /// The device writes host memory.
    pub write: Answer,
    /// As many reads as writes at once; the rate is that of one direction.
    pub rdwr: Answer,
    /// What the link offers to TLPs in each direction, in Gb/s.
    pub tlp_gbps: f64,
    /// Read requests outstanding that fill the link, where the round trip is known.
    pub tags_to_fill: Option<u64>,
}

impl Model {
    /// Bandwidth of transfers of `size_bytes` that each start `offset_bytes` above a 4 KiB boundary.
    ///
    /// # Errors
    /// A size of 0 or above [`MAX_TRANSFER_BYTES`], an offset above 4095, or any offset under `sigcomm18`, which splits by
    /// size alone.
    pub fn bandwidth(&self, size_bytes: u64, offset_bytes: u64) -> Result<Bandwidth, ModelError> {
        let out_of_range =
            |key, value: u64, remedy| ModelError::OutOfRange { key, value: value as f64, remedy };
        if offset_bytes > 4095 {
            return Err(out_of_range("offset_bytes", offset_bytes, "0 to 4095"));
        }
        if offset_bytes != 0 && self.accounting == Accounting::Sigcomm18 {
            return Err(ModelError::UnknownToSigcomm18 { key: "offset_bytes" });
        }
        let bad_size = || out_of_range("size_bytes", size_bytes, "1 byte to 1 GiB");
        if size_bytes == 0 || size_bytes > MAX_TRANSFER_BYTES {
            return Err(bad_size());
        }
        let read =
            |split_at| Load::dma_read_split(&self.link, self.accounting, offset_bytes, size_bytes, split_at);
        let by_size = read(SplitAt::TransferSize);
        let write = Load::dma_write(&self.link, self.accounting, offset_bytes, size_bytes);
        // A ceiling must hold however the device cuts its reads.
        let best_with = |other: Load| {
            [by_size, read(SplitAt::AlignedAddress)]
                .into_iter()
                .filter_map(|read| self.answer(&(read + other), size_bytes))
                .max_by(|one, other| one.gbps.total_cmp(&other.gbps))
                .ok_or_else(bad_size)
        };
        Ok(Bandwidth {
            size_bytes,
            read: best_with(Load::default())?,
            write: self.answer(&write, size_bytes).ok_or_else(bad_size)?,
            rdwr: best_with(write)?,
            tlp_gbps: self.accounting.tlp_gbps(&self.link),
            tags_to_fill: self
                .limits
                .round_trip_ns
                .map(|round_trip_ns| self.tags_to_fill(&by_size, round_trip_ns)),
        })
    }

    /// As many requests as are on their way while the link is full of completions, charged as if the other direction
    /// were full too.
    fn tags_to_fill(&self, read: &Load, round_trip_ns: f64) -> u64 {
        let bytes_per_ns = self.accounting.saturated_tlp_gbps(&self.link, self.dllp_intervals()) / 8.0;
        (bytes_per_ns * round_trip_ns * read.read_requests / read.downstream_bytes).ceil() as u64
    }
}

#[cfg(test)]
mod tests;
