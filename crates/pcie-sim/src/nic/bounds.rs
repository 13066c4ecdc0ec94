//! The bound that a machine's link sets to a NIC's packet rate, in closed form: the ports' time for a packet.
//!
//! The ports are those of the machine, with their units and gaps, so this is the simulated rate where only
//! the link binds. `pcie_model` has the bound of the bare link, which is higher.

use super::layout::Layout;
use super::path::Shape;
use super::{Direction, PATHS, Traffic};
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::machine::Machine;
use pcie_model::{Ethernet, Interactions, Kind, Path, settled_rate};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_wire::TlpKind;
use serde::Serialize;

/// Time for each packet on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkBound {
    /// On the link from the NIC to the host.
    pub upstream_ns: f64,
    /// On the link from the host to the NIC.
    pub downstream_ns: f64,
}

impl LinkBound {
    /// The bound of a NIC on a machine, at the rate that follows from it.
    ///
    /// # Errors
    /// The frame or the NIC's queues are invalid.
    pub fn of(machine: &Machine, nic: &Interactions, traffic: &Traffic) -> Result<Self, Refusal> {
        let packet_bytes = Ethernet::transferred_bytes(traffic.frame_bytes)?;
        let system = machine.system();
        let layout = Layout::new(nic, system, TestKey { seed: 0, test: 0 }, 0)?;
        let at = |rate| Self::at_rate(machine, &layout, nic, traffic.direction, packet_bytes, rate);
        Ok(at(settled_rate(|rate| at(rate).packets_per_s())))
    }

    /// The times at a packet rate, on which interrupts moderated by time depend.
    fn at_rate(
        machine: &Machine,
        layout: &Layout,
        nic: &Interactions,
        direction: Direction,
        packet_bytes: u64,
        packets_per_s: f64,
    ) -> Self {
        let mut bound = Self::default();
        for (number, step) in nic.steps.iter().enumerate() {
            let wanted = match direction {
                Direction::Both => true,
                Direction::Tx => step.path == Path::Tx,
                Direction::Rx => step.path == Path::Rx,
            };
            if wanted {
                let path = PATHS[usize::from(step.path == Path::Rx)];
                let (up, down) = machine.access_bytes(layout, path, Shape::new(number, step), packet_bytes);
                bound.upstream_ns += up * step.per_packet(packets_per_s);
                bound.downstream_ns += down * step.per_packet(packets_per_s);
            }
        }
        let (uplink, downlink) = machine.ports();
        bound.upstream_ns *= byte_ns(&uplink);
        bound.downstream_ns *= byte_ns(&downlink);
        bound
    }

    /// Packets per second.
    #[must_use]
    pub fn packets_per_s(&self) -> f64 {
        1e9 / self.upstream_ns.max(self.downstream_ns)
    }
}

fn byte_ns(port: &Port) -> f64 {
    const MANY: u64 = 1 << 24;
    let mut idle = port.clone();
    idle.send_units(Picoseconds::ZERO, MANY).as_ns() / MANY as f64
}

impl Machine {
    /// Bytes that the ports send for an access, upstream and downstream.
    fn access_bytes(&self, layout: &Layout, path: Path, shape: Shape, packet_bytes: u64) -> (f64, f64) {
        let (uplink, downlink) = self.ports();
        let gap = u64::from(self.system.device.uplink_gap_bytes);
        let register = |kind| self.register_tlp_bytes(kind);
        let (up, down) = match shape.kind {
            Kind::MmioWrite => (0, downlink.in_units(register(TlpKind::MemoryWrite))),
            Kind::MmioRead => (
                uplink.in_units(register(TlpKind::CompletionWithData)) + gap,
                downlink.in_units(register(TlpKind::MemoryRead)),
            ),
            Kind::DmaRead => self.read_bytes(&layout.pieces(path, shape, 0, packet_bytes)),
            Kind::DmaWrite | Kind::Msi => self.write_bytes(&layout.pieces(path, shape, 0, packet_bytes)),
        };
        (up as f64, down as f64)
    }

    fn read_bytes(&self, pieces: &[pcie_wire::Piece]) -> (u64, u64) {
        let (uplink, downlink) = self.ports();
        let gap = u64::from(self.system.device.uplink_gap_bytes);
        let (mut up, mut down) = (0, 0);
        for request in pieces.iter().flat_map(|one| self.read_requests(one.address, u64::from(one.length))) {
            up += self.request_units(&uplink, request) + gap;
            let mut completions = self.completions(request).peekable();
            while let Some(completion) = completions.next() {
                up += u64::from(self.uplink_dllp_bytes());
                down += self.completion_units(&downlink, request, completion, completions.peek().is_none());
            }
        }
        (up, down)
    }

    fn write_bytes(&self, pieces: &[pcie_wire::Piece]) -> (u64, u64) {
        let (uplink, _) = self.ports();
        let gap = u64::from(self.system.device.uplink_gap_bytes);
        let (mut up, mut down) = (0, 0);
        for tlp in pieces.iter().flat_map(|one| self.write_tlps(one.address, u64::from(one.length))) {
            up += uplink.in_units(self.tlp_bytes(TlpKind::MemoryWrite, tlp)) + gap;
            down += u64::from(self.downlink_dllp_bytes());
        }
        (up, down)
    }
}
