//! Bytes that TLPs occupy on the link: whole units of its ports, and demanded DLLPs.

use super::Machine;
use crate::link::overhead::{LinkOverhead, missing_bytes};
use crate::link::port::Port;
use pcie_time::Picoseconds;
use pcie_wire::{Piece, TlpKind};

impl Machine {
    /// The idle ports of device and root complex.
    pub(crate) fn ports(&self) -> (Port, Port) {
        let (device, root) = (&self.system.device, &self.system.host.root_complex);
        let LinkOverhead { uplink_stretch, downlink_stretch, .. } = self.overhead;
        let uplink = Port::new(self.link(), device.uplink_quantum_bytes, uplink_stretch);
        let downlink = Port::new(self.link(), root.downlink_quantum_bytes, downlink_stretch);
        let uplink = uplink.with_gap(device.uplink_gap_bytes);
        if !self.link().flit_mode() {
            return (uplink, downlink);
        }
        let entry = self.system.link.flit_entry.unwrap_or_default();
        (uplink.in_flits(entry), downlink.in_flits(entry))
    }

    /// Time from when a TLP has left a port until the other end has it: in flit mode, until it has checked its flit.
    pub(crate) fn flight_ns(&self) -> f64 {
        let check_ns = if self.link().flit_mode() { self.system.link.flit_check_ns() } else { 0.0 };
        self.system.host.root_complex.flight_ns + check_ns
    }

    /// [`Machine::flight_ns`] in whole picoseconds.
    pub(crate) fn flight(&self) -> Picoseconds {
        Picoseconds::from_ns(self.flight_ns())
    }

    /// Bytes that a read request occupies on the uplink: whole units, and the DLLPs for its completions
    /// beyond those that the device sends.
    pub(crate) fn request_units(&self, uplink: &Port, request: Piece) -> u64 {
        let sent_bytes = self.tlp_bytes(TlpKind::MemoryRead, request);
        let units = uplink.in_units(sent_bytes);
        let LinkOverhead { dllp_share, covered_upstream, uplink_dllp_bytes, card_sends_enough, .. } =
            self.overhead;
        if card_sends_enough {
            return units;
        }
        let (mut completions, mut received_bytes) = (0, 0);
        for completion in self.completions(request) {
            completions += 1;
            received_bytes += u64::from(self.tlp_bytes(TlpKind::CompletionWithData, completion));
        }
        let demanded_bytes = f64::from(sent_bytes) + received_bytes as f64 * dllp_share;
        let gap_bytes = u64::from(self.system.device.uplink_gap_bytes);
        let taken_bytes = units + gap_bytes + u64::from(uplink_dllp_bytes) * completions;
        units + missing_bytes(demanded_bytes, taken_bytes, covered_upstream)
    }

    /// Bytes that a completion occupies on the downlink: whole units, and with the last one the DLLPs for its
    /// request that the root port's times do not cover.
    pub(crate) fn completion_units(
        &self,
        downlink: &Port,
        request: Piece,
        completion: Piece,
        last: bool,
    ) -> u64 {
        let bytes = |completion| self.tlp_bytes(TlpKind::CompletionWithData, completion);
        let own_bytes = bytes(completion);
        let units = downlink.in_units(own_bytes);
        if !last {
            return units;
        }
        let LinkOverhead { dllp_share, covered_downstream, .. } = self.overhead;
        let demanded_bytes = f64::from(self.tlp_bytes(TlpKind::MemoryRead, request)) * dllp_share;
        // Usually the last completion covers them by itself.
        if units as f64 * covered_downstream >= f64::from(own_bytes) + demanded_bytes {
            return units;
        }
        let (mut taken_bytes, mut sent_bytes) = (0, 0);
        for completion in self.completions(request) {
            taken_bytes += downlink.in_units(bytes(completion));
            sent_bytes += bytes(completion);
        }
        units + missing_bytes(f64::from(sent_bytes) + demanded_bytes, taken_bytes, covered_downstream)
    }

    /// Bytes of DLLPs that the device sends for each completion that arrives.
    #[inline]
    pub(crate) fn uplink_dllp_bytes(&self) -> u32 {
        self.overhead.uplink_dllp_bytes
    }

    /// Bytes of DLLPs that the root port sends for each write that arrives: enough for the longest write.
    #[inline]
    pub(crate) fn downlink_dllp_bytes(&self) -> u32 {
        self.overhead.downlink_dllp_bytes
    }
}
