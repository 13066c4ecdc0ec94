//! What TLPs occupy on the link: whole units of its ports, and the DLLPs that are asked for besides.

use super::Machine;
use crate::link::asked_for::{AskedFor, lacking_bytes};
use crate::link::port::Port;
use pcie_wire::{Piece, TlpKind};

impl Machine {
    /// The two directions of the link, idle: the card's port, and the root port.
    pub(crate) fn ports(&self) -> (Port, Port) {
        let (device, root) = (&self.system.device, &self.system.host.root_complex);
        let AskedFor { uplink_stretch, downlink_stretch, .. } = self.asked_for;
        let uplink = Port::new(self.link(), device.uplink_quantum_bytes, uplink_stretch);
        let downlink = Port::new(self.link(), root.downlink_quantum_bytes, downlink_stretch);
        (uplink.with_gap(device.uplink_gap_bytes), downlink)
    }

    /// Bytes of whole units that a read request occupies on the uplink, and the DLLPs that its completions ask for where
    /// the card's own are fewer.
    pub(crate) fn request_units(&self, uplink: &Port, request: Piece) -> u64 {
        let sent_bytes = self.tlp_bytes(TlpKind::MemoryRead, request);
        let units = uplink.in_units(sent_bytes);
        let AskedFor { dllp_share, covered_upstream, uplink_dllp_bytes, card_sends_enough, .. } =
            self.asked_for;
        if card_sends_enough {
            return units;
        }
        let (mut completions, mut received_bytes) = (0, 0);
        for completion in self.completions(request) {
            completions += 1;
            received_bytes += u64::from(self.tlp_bytes(TlpKind::CompletionWithData, completion));
        }
        let asked_bytes = f64::from(sent_bytes) + received_bytes as f64 * dllp_share;
        let gap_bytes = u64::from(self.system.device.uplink_gap_bytes);
        let taken_bytes = units + gap_bytes + u64::from(uplink_dllp_bytes) * completions;
        units + lacking_bytes(asked_bytes, taken_bytes, covered_upstream)
    }

    /// Bytes of whole units that a completion for a request occupies on the downlink; with the last one the DLLPs that the
    /// request asks for, where the root port's times do not cover them.
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
        let AskedFor { dllp_share, covered_downstream, .. } = self.asked_for;
        let asked_bytes = f64::from(self.tlp_bytes(TlpKind::MemoryRead, request)) * dllp_share;
        // Mostly the last completion covers that by itself.
        if units as f64 * covered_downstream >= f64::from(own_bytes) + asked_bytes {
            return units;
        }
        let (mut taken_bytes, mut sent_bytes) = (0, 0);
        for completion in self.completions(request) {
            taken_bytes += downlink.in_units(bytes(completion));
            sent_bytes += bytes(completion);
        }
        units + lacking_bytes(f64::from(sent_bytes) + asked_bytes, taken_bytes, covered_downstream)
    }

    /// Bytes of DLLPs that the card sends for each completion that arrives.
    #[inline]
    pub(crate) fn uplink_dllp_bytes(&self) -> u32 {
        self.asked_for.uplink_dllp_bytes
    }

    /// Bytes of DLLPs that the root port sends for each write that arrives: as many at least as the longest asks for.
    #[inline]
    pub(crate) fn downlink_dllp_bytes(&self) -> u32 {
        self.asked_for.downlink_dllp_bytes
    }
}
