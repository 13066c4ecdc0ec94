//! Size of TLPs on the link.
//!
//! Outside flit mode each TLP has 8 bytes of framing, sequence number and LCRC around it (Gen1/2: STP 1,
//! sequence 2, LCRC 4, END 1; from Gen3: an STP token of 4 that holds the sequence number, LCRC 4). In flit
//! mode framing, CRC and FEC belong to the flit, and a memory request that enables only some bytes of a
//! double word carries an OHC-A1 of 1 DW. Source: PCI Express Base Specification.
//!
//! Integrity and data encryption (IDE) adds to each TLP an IDE prefix of 1 DW, or in flit mode an OHC-C of 1 DW, and a
//! MAC of 96 bits that up to 8 TLPs share. Source: PCI Express Base Specification 6.0, section 6.33. The optional CRC
//! over plain text (PCRC, 1 DW) is not counted.

use crate::{AddressWidth, LinkConfiguration, Piece};

/// Framing, sequence number and LCRC of one TLP outside flit mode.
pub const LINK_BYTES_PER_TLP: u32 = 8;

const ECRC_BYTES: u32 = 4;
const COMPLETION_HEADER_BYTES: u32 = 12;
const OHC_BYTES: u32 = 4;
const IDE_PREFIX_BYTES: u32 = 4;
const IDE_MAC_BYTES: u32 = 12;

/// The TLPs that move data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlpKind {
    /// Memory read request, MRd: carries no data.
    MemoryRead,
    /// Memory write request, MWr: posted.
    MemoryWrite,
    /// Completion with data, CplD.
    CompletionWithData,
}

impl LinkConfiguration {
    /// Header bytes of a kind of TLP, without prefixes and OHC.
    pub const fn header_bytes(&self, kind: TlpKind) -> u32 {
        match (kind, self.address_width) {
            (TlpKind::CompletionWithData, _) => COMPLETION_HEADER_BYTES,
            (_, AddressWidth::Bits32) => 12,
            (_, AddressWidth::Bits64) => 16,
        }
    }

    /// Bytes of a TLP for `piece`, with framing and whole double words, and with IDE a MAC of its own; in flit mode, of
    /// a flit's TLP bytes.
    pub const fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        let data = match kind {
            TlpKind::MemoryRead => 0,
            TlpKind::MemoryWrite | TlpKind::CompletionWithData => piece.padded_bytes(),
        };
        let framing = if self.flit_mode() { 0 } else { LINK_BYTES_PER_TLP };
        let checks = self.ecrc_bytes(kind) + self.ide_bytes();
        framing + self.header_bytes(kind) + self.byte_enable_bytes(kind, piece) + data + checks
    }

    /// The same, with the TLP's share of its MAC.
    pub fn mean_tlp_bytes(&self, kind: TlpKind, piece: Piece) -> f64 {
        let saved = self.ide_tlps().map_or(0.0, |tlps| 1.0 - 1.0 / f64::from(tlps));
        f64::from(self.tlp_bytes(kind, piece)) - saved * f64::from(IDE_MAC_BYTES)
    }

    /// Bytes of IDE on a TLP with a MAC of its own: prefix or OHC-C, and MAC; 0 without IDE.
    pub const fn ide_bytes(&self) -> u32 {
        if self.ide_tlps().is_some() { IDE_PREFIX_BYTES + IDE_MAC_BYTES } else { 0 }
    }

    /// Bytes of the end-to-end CRC of a kind of TLP; 0 without one.
    pub const fn ecrc_bytes(&self, kind: TlpKind) -> u32 {
        let carries_one = match kind {
            TlpKind::MemoryRead | TlpKind::MemoryWrite => self.ecrc,
            TlpKind::CompletionWithData => self.completion_ecrc,
        };
        if carries_one { ECRC_BYTES } else { 0 }
    }

    const fn byte_enable_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        let is_request = !matches!(kind, TlpKind::CompletionWithData);
        if self.flit_mode() && is_request && !piece.is_double_word_aligned() { OHC_BYTES } else { 0 }
    }
}
