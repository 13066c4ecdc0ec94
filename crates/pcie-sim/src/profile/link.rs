//! The negotiated link, as `lspci -vvv` shows it.

use serde::{Deserialize, Serialize};

/// What the two ends agreed on, and what the card's configuration registers say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// PCIe generation, 1-7.
    pub generation: u32,
    /// Lanes in use: 1, 2, 4, 8, 12, 16 or 32.
    pub lanes: u32,
    /// Maximum payload size, bytes.
    pub mps_bytes: u32,
    /// Maximum read request size, bytes.
    pub mrrs_bytes: u32,
    /// Read completion boundary of the root port, bytes.
    pub rcb_bytes: u32,
    /// Whether the card appends an ECRC to what it sends (`CGenEn+` in its AER capability).
    pub ecrc: bool,
    /// Read requests the card may have in flight: 32 without extended tags, 256 with, 768 with 10-bit tags.
    pub tags: u32,
    /// Flit mode (Gen6 and later).
    pub flit: bool,
}
