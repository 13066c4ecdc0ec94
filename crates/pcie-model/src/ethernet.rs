//! Ethernet line rates, to compare a device's rate with. Source: IEEE 802.3, clauses 3 and 4.4.2.

use pcie_refusal::{Refusal, in_range};
use pcie_wire::Accounting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Supported Ethernet rates, in Gb/s.
pub const LINE_RATES_GBPS: [f64; 11] = [1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0];

/// Those that a link is compared with.
const COMMON_RATES_GBPS: [f64; 6] = [10.0, 40.0, 100.0, 200.0, 400.0, 800.0];

/// Bytes of the frame check sequence, which a NIC strips on receipt and adds on sending.
pub const FCS_BYTES: u64 = 4;

/// A line is compared with a link whose capacity is less than this multiple of it.
const SPARED: f64 = 4.0;

const MIN_FRAME_BYTES: u64 = 64;
const MAX_FRAME_BYTES: u64 = 65_535;
const PREAMBLE_BYTES: u64 = 8;
const VLAN_TAG_BYTES: u64 = 4;

/// The idle time between two packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InterpacketGap {
    /// 12 bytes, as senders leave on average.
    #[default]
    Standard,
    /// Smallest gap that a receiver must accept after clock compensation: 8 bytes at 1 Gb/s, 5 up to 25 Gb/s,
    /// 1 above.
    Minimum,
}

/// An Ethernet line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ethernet {
    /// Gb/s: 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 or 800.
    #[serde(default = "forty")]
    pub line_gbps: f64,
    /// Whether frames carry a VLAN tag on the line, which the NIC strips and adds: 4 bytes more than the frame.
    #[serde(default)]
    pub vlan: bool,
    /// The gap between packets.
    #[serde(default)]
    #[schemars(extend("default" = "standard"))]
    pub gap: InterpacketGap,
}

const fn forty() -> f64 {
    40.0
}

impl Ethernet {
    /// Bytes of a frame, FCS included, that cross PCIe.
    ///
    /// # Errors
    /// A frame that Ethernet does not have.
    pub fn transferred_bytes(frame_bytes: u64) -> Result<u64, Refusal> {
        let remedy = "give an Ethernet frame with its FCS, 64 to 65535 bytes";
        in_range("frame_bytes", frame_bytes, MIN_FRAME_BYTES..=MAX_FRAME_BYTES, remedy)?;
        Ok(frame_bytes - FCS_BYTES)
    }

    /// Check the rate.
    ///
    /// # Errors
    /// It is none of [`LINE_RATES_GBPS`].
    pub fn check(&self) -> Result<(), Refusal> {
        if LINE_RATES_GBPS.contains(&self.line_gbps) {
            Ok(())
        } else {
            let remedy = "give 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 or 800";
            Err(Refusal::of("line_gbps", self.line_gbps, remedy))
        }
    }

    /// Nanoseconds from one frame to the next on a full line.
    pub fn interval_ns(&self, frame_bytes: u64) -> f64 {
        (frame_bytes + self.around_bytes()) as f64 * 8.0 / self.line_gbps
    }

    /// The data rate across PCIe of a full line, in Gb/s. `sigcomm18` counts the frame on the line without
    /// its FCS, and as 64 bytes at least.
    pub(crate) fn data_gbps(&self, frame_bytes: u64, accounting: Accounting) -> f64 {
        let data_bytes = frame_bytes - FCS_BYTES;
        let counted_bytes = match accounting {
            Accounting::Spec => frame_bytes,
            Accounting::Sigcomm18 => data_bytes.max(MIN_FRAME_BYTES),
        };
        self.line_gbps * data_bytes as f64 / (counted_bytes + self.around_bytes()) as f64
    }

    /// The bandwidth that DMA of a size needs to keep up with the full line, in Gb/s. A transfer is a frame without
    /// its FCS; shorter ones are padded to the smallest frame.
    pub fn needed_gbps(&self, size_bytes: u64) -> f64 {
        let frame_bytes = (size_bytes + FCS_BYTES).max(MIN_FRAME_BYTES);
        self.line_gbps * size_bytes as f64 / (frame_bytes + self.around_bytes()) as f64
    }

    /// The common lines of 10 Gb/s and more that suit a link's capacity for TLPs, slowest first: it carries them,
    /// but not several times over.
    pub fn suiting(capacity_gbps: f64) -> impl Iterator<Item = Self> {
        let suits = move |rate: &f64| *rate <= capacity_gbps && capacity_gbps < SPARED * rate;
        let lines = COMMON_RATES_GBPS.into_iter().filter(suits);
        lines.map(|line_gbps| Self { line_gbps, vlan: false, gap: InterpacketGap::Standard })
    }

    fn around_bytes(&self) -> u64 {
        let gap_bytes = match self.gap {
            InterpacketGap::Standard => 12,
            InterpacketGap::Minimum if self.line_gbps <= 1.0 => 8,
            InterpacketGap::Minimum if self.line_gbps <= 25.0 => 5,
            InterpacketGap::Minimum => 1,
        };
        PREAMBLE_BYTES + gap_bytes + if self.vlan { VLAN_TAG_BYTES } else { 0 }
    }
}
