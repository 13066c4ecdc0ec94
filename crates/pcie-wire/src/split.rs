//! Cutting a transfer into requests: writes at MPS, reads at MRRS, and neither across 4 KiB.

use crate::{LinkConfiguration, PayloadSize};

/// No request crosses an address that is a multiple of this.
pub const PAGE_BYTES: u32 = 4096;

const DOUBLE_WORD_BYTES: u32 = 4;

/// A stretch of addresses that one TLP is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The first byte's address.
    pub address: u64,
    /// How many bytes, at least 1 and at most 4096.
    pub length: u32,
}

impl Piece {
    /// Bytes of the double words that the piece touches: TLPs carry and count whole double words.
    pub const fn padded_bytes(&self) -> u32 {
        let lead = (self.address % DOUBLE_WORD_BYTES as u64) as u32;
        (lead + self.length).next_multiple_of(DOUBLE_WORD_BYTES)
    }

    /// Whether the piece starts and ends at double words, so that all its bytes are enabled.
    pub const fn is_double_word_aligned(&self) -> bool {
        self.padded_bytes() == self.length
    }
}

/// Where a requester cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitAt {
    /// As many bytes as the limit allows, counted from where the transfer starts: the fewest requests.
    TransferSize,
    /// At addresses that are multiples of the limit, as the published measurements show the NFP-6000 to do.
    AlignedAddress,
}

/// The requests of one transfer, in address order. Never allocates; addresses wrap at 2^64.
#[derive(Debug, Clone)]
pub struct Pieces {
    address: u64,
    remaining: u64,
    limit: u32,
    split_at: SplitAt,
    /// No piece crosses a multiple of this.
    boundary: u32,
}

impl Iterator for Pieces {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.remaining == 0 {
            return None;
        }
        let to_boundary = self.boundary - (self.address % u64::from(self.boundary)) as u32;
        let room = match self.split_at {
            // The limit counts double words, so that bytes before an unaligned start count too.
            SplitAt::TransferSize => {
                to_boundary.min(self.limit - (self.address % u64::from(DOUBLE_WORD_BYTES)) as u32)
            }
            // Limits divide the boundary, so this never crosses one.
            SplitAt::AlignedAddress => self.limit - (self.address % u64::from(self.limit)) as u32,
        };
        let length = self.remaining.min(u64::from(room)) as u32;
        let piece = Piece { address: self.address, length };
        self.address = self.address.wrapping_add(u64::from(length));
        self.remaining -= u64::from(length);
        Some(piece)
    }
}

impl LinkConfiguration {
    /// The write TLPs of a transfer: each at most MPS, none across 4 KiB.
    #[inline]
    pub fn writes(&self, address: u64, length: u64, split_at: SplitAt) -> Pieces {
        pieces(address, length, self.mps, split_at, PAGE_BYTES)
    }

    /// The write TLPs of a transfer that the requester first cuts at multiples of `boundary` bytes, a power of two of at
    /// most 4096, and each part of it then by size: at most MPS, counted from where the part starts.
    #[inline]
    pub fn writes_in_parts(&self, address: u64, length: u64, boundary: u32) -> Pieces {
        pieces(address, length, self.mps, SplitAt::TransferSize, boundary.clamp(1, PAGE_BYTES))
    }

    /// The read requests of a transfer: each for at most MRRS, none across 4 KiB.
    #[inline]
    pub fn read_requests(&self, address: u64, length: u64, split_at: SplitAt) -> Pieces {
        pieces(address, length, self.mrrs, split_at, PAGE_BYTES)
    }
}

#[inline]
fn pieces(address: u64, length: u64, limit: PayloadSize, split_at: SplitAt, boundary: u32) -> Pieces {
    Pieces { address, remaining: length, limit: limit.bytes(), split_at, boundary }
}
