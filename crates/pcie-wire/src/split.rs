//! Splitting of transfers into requests: writes at MPS, reads at MRRS, neither across 4 KiB.

use crate::{LinkConfiguration, PayloadSize};

/// No request crosses a multiple of this.
pub const PAGE_BYTES: u32 = 4096;

const DOUBLE_WORD_BYTES: u32 = 4;

/// The address range of one TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The first byte's address.
    pub address: u64,
    /// Bytes, 1 to 4096.
    pub length: u32,
}

impl Piece {
    /// Bytes of the double words that the piece touches: TLPs carry whole double words.
    pub const fn padded_bytes(&self) -> u32 {
        let lead = (self.address % DOUBLE_WORD_BYTES as u64) as u32;
        (lead + self.length).next_multiple_of(DOUBLE_WORD_BYTES)
    }

    /// Whether the piece is whole double words, so that all bytes are enabled.
    pub const fn is_double_word_aligned(&self) -> bool {
        self.padded_bytes() == self.length
    }
}

/// Cut positions of a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitAt {
    /// Every limit bytes from the start of the transfer: the fewest requests.
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
            // The limit counts whole double words, including bytes before an unaligned start.
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

    /// The write TLPs of a transfer that is first cut at multiples of `boundary` bytes, a power of two up to
    /// 4096, and each part then every MPS bytes from its start.
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
