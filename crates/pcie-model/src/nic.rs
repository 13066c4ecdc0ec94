//! The packet rate of a device whose interactions are known: section 3 of the 2018 paper.

use pcie_refusal::Refusal;
use pcie_wire::Accounting;
use schemars::JsonSchema;
use serde::Serialize;

use crate::checks::no_steps;
use crate::interactions::{Interactions, Kind, Path, Step, StepBytes};
use crate::moderation::settled_rate;
use crate::{Answer, Ethernet, Load, Model};

/// The rates that a NIC reaches with frames of one size, and the line rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NicThroughput {
    /// Bytes of a frame, FCS included.
    pub frame_bytes: u64,
    /// Sending and receiving at the same rate; the rate of one direction.
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
    ) -> Result<NicThroughput, Refusal> {
        device.check()?;
        ethernet.check()?;
        let packet_bytes = Ethernet::transferred_bytes(frame_bytes)?;
        let tx = |rate| self.path_load(device, Path::Tx, packet_bytes, rate);
        let rx = |rate| self.path_load(device, Path::Rx, packet_bytes, rate);
        let bi = self.settled_answer(|rate| tx(rate) + rx(rate), packet_bytes);
        Ok(NicThroughput {
            frame_bytes,
            bi: bi.ok_or_else(no_steps)?,
            tx: self.settled_answer(tx, packet_bytes),
            rx: self.settled_answer(rx, packet_bytes),
            line_gbps: ethernet.data_gbps(frame_bytes, self.accounting),
        })
    }

    /// The answer for a load that depends on the packet rate, as interrupts moderated by time do.
    fn settled_answer(&self, load: impl Fn(f64) -> Load, packet_bytes: u64) -> Option<Answer> {
        let answer = |rate| self.answer(&load(rate), packet_bytes);
        answer(0.0)?;
        answer(settled_rate(|rate| answer(rate).map_or(0.0, |found| found.millions_per_s * 1e6)))
    }

    fn path_load(&self, device: &Interactions, path: Path, packet_bytes: u64, packets_per_s: f64) -> Load {
        let mut load = Load::default();
        for step in device.steps.iter().filter(|step| step.path == path) {
            if self.accounting == Accounting::Sigcomm18 && receives_packet(step) {
                // The published programs assign here instead of adding, and lose the header of the free-list
                // read before it.
                load.upstream_bytes = 0.0;
            }
            let header_bytes = device.queues.split_bytes(step, packet_bytes);
            let once = match header_bytes {
                0 => self.step_load(step, packet_bytes),
                _ => self.step_load(step, header_bytes) + self.step_load(step, packet_bytes - header_bytes),
            };
            load = load + once * step.per_packet(packets_per_s);
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
