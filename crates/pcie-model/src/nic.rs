//! The packet rate of a device whose interactions are known: section 3 of the 2018 paper.

use pcie_wire::Accounting;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interactions::{Interactions, Kind, Path, Step, StepBytes};
use crate::{Answer, Ethernet, Load, Model, ModelError};

/// What a NIC reaches with frames of one size, and what the line asks for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NicThroughput {
    /// Bytes of a frame, FCS included.
    pub frame_bytes: u64,
    /// Sending and receiving at the same rate; the rate is that of one direction.
    pub bi: Answer,
    /// Sending alone; `None` if the device only receives.
    pub tx: Option<Answer>,
    /// Receiving alone; `None` if the device only sends.
    pub rx: Option<Answer>,
    /// The full line's rate, counted the same way: frames less their FCS.
    pub line_gbps: f64,
}

impl Model {
    /// The rates that `device` reaches with frames of `frame_bytes`, FCS included.
    ///
    /// # Errors
    /// A frame or a line rate that Ethernet does not have, or a step that cannot happen.
    pub fn nic(
        &self,
        device: &Interactions,
        ethernet: Ethernet,
        frame_bytes: u64,
    ) -> Result<NicThroughput, ModelError> {
        device.check()?;
        ethernet.check()?;
        let packet_bytes = Ethernet::transferred_bytes(frame_bytes)?;
        let tx = self.path_load(device, Path::Tx, packet_bytes);
        let rx = self.path_load(device, Path::Rx, packet_bytes);
        Ok(NicThroughput {
            frame_bytes,
            bi: self.answer(&(tx + rx), packet_bytes).ok_or(ModelError::NoSteps)?,
            tx: self.answer(&tx, packet_bytes),
            rx: self.answer(&rx, packet_bytes),
            line_gbps: ethernet.data_gbps(frame_bytes, self.accounting),
        })
    }

    fn path_load(&self, device: &Interactions, path: Path, packet_bytes: u64) -> Load {
        let mut load = Load::default();
        for step in device.steps.iter().filter(|step| step.path == path) {
            if self.accounting == Accounting::Sigcomm18 && receives_packet(step) {
                // The published programs assign here where they add everywhere else, and so lose the header of the
                // free-list read before it.
                load.upstream_bytes = 0.0;
            }
            load = load + self.step_load(step, packet_bytes) * step.per_packet();
        }
        load
    }

    fn step_load(&self, step: &Step, packet_bytes: u64) -> Load {
        let load = match step.kind {
            Kind::MmioRead => Load::mmio_read,
            Kind::MmioWrite => Load::mmio_write,
            Kind::DmaRead => Load::dma_read,
            Kind::DmaWrite => Load::dma_write,
            Kind::Msi => Load::message,
        };
        load(&self.link, self.accounting, 0, step.access_bytes(packet_bytes))
    }
}

fn receives_packet(step: &Step) -> bool {
    step.path == Path::Rx && step.kind == Kind::DmaWrite && matches!(step.bytes, StepBytes::Packet(_))
}

#[cfg(test)]
pub(crate) mod tests;
