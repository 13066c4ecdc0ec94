//! PCIe's part in the latency of a packet that the core writes, the NIC loops back and DMA returns.
//!
//! Source: Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, section 2 and figure 2
//! (a kernel-bypass NIC; the PCIe part was measured inside its firmware).

use pcie_refusal::Refusal;
use pcie_wire::Accounting;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MessageProfile, Question};
use crate::checks::above_zero;
use crate::{Load, Model};

/// Preamble and frame check sequence, which a frame has on the line only.
const LINE_BYTES: u64 = 12;

/// The latency of a looped packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Loopback {
    /// Size of the packet, the payload of a message.
    pub packet_bytes: u64,
    /// Stores to the device and DMA back.
    pub pcie_ns: f64,
    /// The NIC and the line.
    pub nic_ns: f64,
    /// Both.
    pub total_ns: f64,
    /// PCIe's part.
    pub pcie_share: f64,
}

impl Model {
    /// The loopback latency of a packet; none where the profile has no measured loopback.
    ///
    /// # Errors
    /// A size or a value of the profile that is out of range.
    pub fn loopback(&self, profile: &MessageProfile, packet_bytes: u64) -> Result<Option<Loopback>, Refusal> {
        let Some(measured) = &profile.loopback else { return Ok(None) };
        for (key, value) in [
            ("loopback.total_ns", measured.total_ns),
            ("loopback.pcie_ns", measured.pcie_ns),
            ("loopback.line_gbps", measured.line_gbps),
        ] {
            above_zero(key, value)?;
        }
        let reference = Self::of_measured_link(profile)?;
        let measured_bytes = u64::from(measured.measured_packet_bytes);
        let fixed_pcie_ns = measured.pcie_ns - reference.moving_ns(profile, measured_bytes)?;
        let line_ns = |bytes: u64| (bytes + LINE_BYTES) as f64 * 8.0 / measured.line_gbps;
        let fixed_nic_ns = measured.total_ns - measured.pcie_ns - line_ns(measured_bytes);
        for (key, value, left_ns, remedy) in [
            (
                "loopback.pcie_ns",
                measured.pcie_ns,
                fixed_pcie_ns,
                "give at least what stores and DMA take on the link",
            ),
            (
                "loopback.total_ns",
                measured.total_ns,
                fixed_nic_ns,
                "give at least pcie_ns and the packet on the line",
            ),
        ] {
            if left_ns < 0.0 {
                return Err(Refusal::of(key, value, remedy));
            }
        }
        let pcie_ns = fixed_pcie_ns + self.moving_ns(profile, packet_bytes)?;
        let nic_ns = fixed_nic_ns + line_ns(packet_bytes);
        let total_ns = pcie_ns + nic_ns;
        Ok(Some(Loopback { packet_bytes, pcie_ns, nic_ns, total_ns, pcie_share: pcie_ns / total_ns }))
    }

    /// Time for the bytes of a packet: the stores, and then the writes of the DMA.
    fn moving_ns(&self, profile: &MessageProfile, packet_bytes: u64) -> Result<f64, Refusal> {
        let ask = Question::new(self, profile, packet_bytes)?;
        let stores_ns = ask.train(ask.layout.pieces(0)?, true).stream_ns;
        let written = Load::dma_write(&self.link, Accounting::Spec, 0, packet_bytes);
        Ok(stores_ns + ask.wire_ns(written.upstream_bytes))
    }
}
