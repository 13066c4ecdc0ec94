//! Two ways to account for what a link spends: the specification's arithmetic, and the 2018 paper's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generation::SKP_SHARE;
use crate::sigcomm18;
use crate::{DllpIntervals, FLIT_BYTES, FLIT_TLP_BYTES, LinkConfiguration, Piece, TlpKind};

/// Which arithmetic to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accounting {
    /// The specification's: a ceiling that no measurement exceeds.
    Spec,
    /// The 2018 paper's, quirks included ([`sigcomm18`] says which).
    Sigcomm18,
}

impl Accounting {
    /// Bytes that one TLP about `piece` takes from what [`Accounting::tlp_gbps`] offers.
    pub fn tlp_bytes(self, link: &LinkConfiguration, kind: TlpKind, piece: Piece) -> u32 {
        match (self, kind) {
            (Self::Spec, _) => link.tlp_bytes(kind, piece),
            (Self::Sigcomm18, TlpKind::MemoryRead) => sigcomm18::tlp_bytes(link, kind, 0),
            (Self::Sigcomm18, _) => sigcomm18::tlp_bytes(link, kind, piece.length),
        }
    }

    /// What one direction offers to TLPs and to the DLLPs that [`Accounting::dllp_bytes_per_received_byte`] charges, in
    /// Gb/s.
    ///
    /// `Spec` takes off SKP ordered sets, at 4 symbols in 1538 in every generation (from Gen3 it is one block in 370 to
    /// 375, 0.27 % where this is 0.26 %: still a ceiling); in flit mode it takes off what is not TLP bytes in a flit.
    pub fn tlp_gbps(self, link: &LinkConfiguration) -> f64 {
        match self {
            Self::Sigcomm18 => sigcomm18::tlp_gbps(link),
            Self::Spec if link.flit_mode() => link.raw_gbps() * FLIT_TLP_BYTES as f64 / FLIT_BYTES as f64,
            Self::Spec => link.raw_gbps() * (1.0 - SKP_SHARE),
        }
    }

    /// Bytes of Acks and UpdateFCs that go the other way for each byte of TLPs. None under `Sigcomm18`, whose rate has
    /// them taken off already.
    pub fn dllp_bytes_per_received_byte(self, link: &LinkConfiguration, intervals: DllpIntervals) -> f64 {
        match self {
            Self::Spec => intervals.bytes_per_received_byte(link),
            Self::Sigcomm18 => 0.0,
        }
    }

    /// What is left to TLPs in one direction, in Gb/s, while the other is full of TLPs too: each then carries the DLLPs
    /// for the other.
    pub fn saturated_tlp_gbps(self, link: &LinkConfiguration, intervals: DllpIntervals) -> f64 {
        match self {
            Self::Sigcomm18 => sigcomm18::tlp_gbps(link),
            Self::Spec if link.flit_mode() => self.tlp_gbps(link),
            Self::Spec => link.raw_gbps() * (1.0 - intervals.bytes_per_received_byte(link) - SKP_SHARE),
        }
    }
}

#[cfg(test)]
mod tests;
