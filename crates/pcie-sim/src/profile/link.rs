//! The negotiated link, as `lspci -vvv` shows it.

use pcie_schema::relief::{Who, better, less, more, next};
use pcie_wire::{FlitEntry, LinkParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lanes of the widest slot; links of 32 lanes have none.
const WIDEST_SLOT: u64 = 16;

/// The negotiated parameters, and those of the device's configuration registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// PCIe generation.
    #[schemars(extend("enum" = [1, 2, 3, 4, 5, 6, 7]))]
    #[schemars(extend("x-relief" = next(Who::SlotAndDevice)))]
    pub generation: u32,
    /// Lanes in use.
    #[schemars(extend("enum" = [1, 2, 4, 8, 12, 16, 32]))]
    #[schemars(extend("x-relief" = more(Who::SlotAndDevice).most(WIDEST_SLOT)))]
    pub lanes: u32,
    /// Maximum payload size (MPS).
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub mps_bytes: u32,
    /// Maximum read request size (MRRS).
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    #[schemars(extend("x-relief" = more(Who::Setting)))]
    pub mrrs_bytes: u32,
    /// Read completion boundary of the root port.
    #[serde(default = "least_boundary")]
    #[schemars(extend("enum" = [64, 128]))]
    #[schemars(extend("x-relief" = next(Who::Setting)))]
    pub rcb_bytes: u32,
    /// Whether the device appends an ECRC to its TLPs (`CGenEn+` in its AER capability).
    #[serde(default)]
    #[schemars(extend("x-relief" = better(Who::Setting, [true, false])))]
    pub ecrc: bool,
    /// Whether the root port appends an ECRC to its TLPs, completions above all (`CGenEn+` in the AER capability of the
    /// root port); absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Setting, [true, false])))]
    pub root_port_ecrc: Option<bool>,
    /// Read requests that the device may have in flight: 32 without extended tags, 256 with, 768 with 10-bit
    /// tags.
    #[schemars(range(min = 1, max = 16384))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub tags: u32,
    /// Flit mode: always in generations 6 and 7, optional at lower rates.
    #[serde(default)]
    #[schemars(extend("x-relief" = better(Who::SlotAndDevice, [false, true])))]
    pub flit: bool,
    /// In flit mode, which flit takes a TLP that finds no other one waiting; absent: `running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::SlotAndDevice, ["next", "running"])))]
    pub flit_entry: Option<FlitEntry>,
    /// In flit mode, the receiver's time to correct and check a whole flit (FEC, then CRC); absent: 2.5 ns, the middle of
    /// the 2 to 3 ns that secondary sources give; no measurement is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::SlotAndDevice)))]
    pub flit_check_ns: Option<f64>,
}

/// Middle of the 2 to 3 ns that secondary sources give for FEC and CRC of a flit; not measured.
const FLIT_CHECK_NS: f64 = 2.5;

impl Link {
    /// A receiver's time to correct and check a flit, in ns.
    #[must_use]
    pub fn flit_check_ns(&self) -> f64 {
        self.flit_check_ns.unwrap_or(FLIT_CHECK_NS)
    }

    /// The same link for the closed form, with addresses of 32 or 64 bits.
    #[must_use]
    pub fn with_addresses(&self, address_bits: u32) -> LinkParameters {
        LinkParameters {
            generation: self.generation,
            lanes: self.lanes,
            mps_bytes: self.mps_bytes,
            mrrs_bytes: self.mrrs_bytes,
            rcb_bytes: self.rcb_bytes,
            address_bits,
            ecrc: self.ecrc,
            completion_ecrc: Some(self.root_port_ecrc == Some(true)),
            flit_mode: Some(self.flit),
        }
    }
}

/// The default read completion boundary of a root port (PCI Express Base Specification, section 7.5.3.7).
fn least_boundary() -> u32 {
    64
}
