//! Cutting a read's data into completions.
//!
//! PCI Express Base Specification, "Data Return for Read Requests": a completer may return the data in
//! several completions. All but the last end at a multiple of the Read Completion Boundary (RCB), and none
//! exceeds MPS.

use crate::{LinkConfiguration, Piece};

/// How a completer splits within these rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompletionPolicy {
    /// As few completions as the rules allow.
    AsLargeAsMps,
    /// Cut at every multiple of MPS, as the E5 root complexes do in the published measurements.
    AtMpsBoundaries,
    /// Cut at every multiple of RCB: as many completions as the rules allow.
    EveryRcb,
    /// Cut at every multiple of this power of two, clamped to RCB and MPS.
    Every(u32),
}

/// The completions of one read request, in address order. Never allocates.
#[derive(Debug, Clone)]
pub struct Completions {
    address: u64,
    remaining: u32,
    /// No completion crosses a multiple of this unless `combine`.
    boundary: u32,
    /// MPS, if completions may cross boundaries up to it.
    combine: Option<u32>,
}

impl Iterator for Completions {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.remaining == 0 {
            return None;
        }
        let past_boundary = (self.address % u64::from(self.boundary)) as u32;
        let length = match self.combine {
            Some(mps) => {
                let whole = Piece { address: self.address, length: self.remaining };
                // MPS is a multiple of RCB, so MPS past the boundary before the start is a boundary too.
                if whole.padded_bytes() <= mps { self.remaining } else { mps - past_boundary }
            }
            None => self.remaining.min(self.boundary - past_boundary),
        };
        let piece = Piece { address: self.address, length };
        self.address = self.address.wrapping_add(u64::from(length));
        self.remaining -= length;
        Some(piece)
    }
}

/// Bytes that one data credit is for (PCI Express Base Specification, section 2.6.1).
const CREDIT_BYTES: u32 = 16;

/// Space in the buffer in which a device receives completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionSpace {
    /// Headers of completions.
    pub headers: u32,
    /// Bytes of data, in whole credits of 16.
    pub bytes: u32,
}

impl LinkConfiguration {
    /// The most space that the completions of one request need, however the host cuts them.
    ///
    /// A device must advertise infinite credits for completions, so it reserves this space before it sends the
    /// request (PCI Express Base Specification, section 2.6.1).
    pub fn completion_space(&self, request: Piece) -> CompletionSpace {
        self.completions(request, CompletionPolicy::EveryRcb).fold(
            CompletionSpace::default(),
            |space, piece| CompletionSpace {
                headers: space.headers + 1,
                bytes: space.bytes + piece.padded_bytes().next_multiple_of(CREDIT_BYTES),
            },
        )
    }

    /// The completions of one request from [`LinkConfiguration::read_requests`].
    #[inline]
    pub fn completions(&self, request: Piece, policy: CompletionPolicy) -> Completions {
        let (boundary, combine) = match policy {
            CompletionPolicy::AsLargeAsMps => (self.rcb.bytes(), Some(self.mps.bytes())),
            CompletionPolicy::AtMpsBoundaries => (self.mps.bytes(), None),
            CompletionPolicy::EveryRcb => (self.rcb.bytes(), None),
            CompletionPolicy::Every(bytes) => (bytes.clamp(self.rcb.bytes(), self.mps.bytes()), None),
        };
        Completions { address: request.address, remaining: request.length, boundary, combine }
    }
}
