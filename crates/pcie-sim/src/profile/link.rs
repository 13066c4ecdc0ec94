//! The negotiated link, as `lspci -vvv` shows it.

use super::ErrorRate;
use pcie_schema::quantity;
use pcie_schema::relief::{Who, better, less, more, next, without};
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
    /// Whether TLPs are encrypted (IDE): each carries 16 B more, a prefix (in flit mode an OHC-C) of 4 B and a MAC of 12 B
    /// of its own; absent: no. MACs that TLPs share are not simulated; `pcielab model bandwidth --ide 8` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Setting, [true, false])))]
    pub ide: Option<bool>,
    /// Read requests that the device may have in flight: 32 without extended tags, 256 with, 768 with 10-bit
    /// tags; in flit mode 16384 with 14-bit tags, less those that are reserved.
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
    /// In flit mode, the probability that a flit with TLPs arrives damaged beyond correction, so that it is sent again;
    /// `specification`: 5e-6, for which PCIe 6.0 is designed; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<quantity::ErrorRate>")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = without(Who::Slot)))]
    pub flit_error_rate: Option<ErrorRate>,
    /// In flit mode, what is sent again after a damaged flit: it and all behind it, or it alone; absent: `go-back-n`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::SlotAndDevice, ["go-back-n", "selective"])))]
    pub flit_replay: Option<FlitReplay>,
    /// In flit mode, flits that a port keeps until they are acknowledged, and waits beyond; absent: no limit. Sequence
    /// numbers allow 511.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 511))]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = more(Who::SlotAndDevice)))]
    pub replay_buffer_flits: Option<u32>,
    /// Without flits, the probability that a TLP arrives with a bad LCRC, so that it and all behind it are sent again;
    /// absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 0.5))]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = without(Who::Slot)))]
    pub tlp_error_rate: Option<f64>,
    /// Of the damaged TLPs, the share that no Nak announces, so that the replay timer ends the wait; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<quantity::Share>")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = without(Who::Slot)))]
    pub nak_loss_share: Option<f64>,
    /// Without flits, from the end of a TLP until it is sent again if neither Ack nor Nak came; absent: three times the
    /// Ack latency limit up to generation 3, and 24,000 symbol times after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<quantity::StepTime>")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::SlotAndDevice)))]
    pub replay_timer_ns: Option<f64>,
    /// Without flits, bytes of TLPs that a port keeps until they are acknowledged, and waits beyond; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16777216))]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = more(Who::SlotAndDevice)))]
    pub replay_buffer_bytes: Option<u32>,
}

/// What a transmitter sends again after a damaged flit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlitReplay {
    /// It and all behind it: the receiver drops these (standard Nak).
    #[default]
    GoBackN,
    /// It alone: the receiver keeps those behind it (selective Nak).
    Selective,
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
            ide_tlps: (self.ide == Some(true)).then_some(1),
        }
    }
}

/// The default read completion boundary of a root port (PCI Express Base Specification, section 7.5.3.7).
fn least_boundary() -> u32 {
    64
}
