//! Link overhead, counted as the specification does or as the 2018 paper does.

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
    /// Bytes of one TLP for `piece`, at the rate of [`Accounting::tlp_gbps`]; with IDE under `Spec`, with its share of
    /// a MAC.
    pub fn tlp_bytes(self, link: &LinkConfiguration, kind: TlpKind, piece: Piece) -> f64 {
        match (self, kind) {
            (Self::Spec, _) => link.mean_tlp_bytes(kind, piece),
            (Self::Sigcomm18, TlpKind::MemoryRead) => f64::from(sigcomm18::tlp_bytes(link, kind, 0)),
            (Self::Sigcomm18, _) => f64::from(sigcomm18::tlp_bytes(link, kind, piece.length)),
        }
    }

    /// Rate of one direction for TLPs and the DLLPs of [`Accounting::dllp_bytes_per_received_byte`], Gb/s.
    ///
    /// `Spec` subtracts SKP ordered sets, as 4 symbols in 1538 in every generation (from Gen3 it is one block
    /// in 370 to 375,
    /// 0.27 % instead of 0.26 %: still a ceiling); in flit mode it subtracts the non-TLP bytes of flits.
    pub fn tlp_gbps(self, link: &LinkConfiguration) -> f64 {
        match self {
            Self::Sigcomm18 => sigcomm18::tlp_gbps(link),
            Self::Spec if link.flit_mode() => link.raw_gbps() * FLIT_TLP_BYTES as f64 / FLIT_BYTES as f64,
            Self::Spec => link.raw_gbps() * (1.0 - SKP_SHARE),
        }
    }

    /// Bytes of Acks and UpdateFCs sent back for each byte of TLPs. 0 under `Sigcomm18`, whose rate excludes
    /// them.
    pub fn dllp_bytes_per_received_byte(self, link: &LinkConfiguration, intervals: DllpIntervals) -> f64 {
        match self {
            Self::Spec => intervals.bytes_per_received_byte(link),
            Self::Sigcomm18 => 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
