//! The overhead (DLLPs and SKPs) that the specification demands of a link.
//!
//! A profile states the overhead that was observed on the measured link. Another link may demand more,
//! because its receivers send DLLPs more often for the same bytes. The difference is charged to the TLPs, so
//! that no simulated link carries more than the specification's accounting allows.

use crate::profile::{Card, RootComplex};
use pcie_wire::{Accounting, DllpIntervals, LinkConfiguration};

/// Greatest overhead of a TLP: a write with a 64-bit address and an ECRC; IDE adds its own.
const TLP_OVERHEAD_BYTES: u32 = 28;

/// The overhead that a link demands, and the part that its ports' times cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkOverhead {
    /// Bytes of DLLPs demanded for each received byte of TLPs; 0 in flit mode.
    pub(crate) dllp_share: f64,
    /// Serialisation time over the raw line rate: at least that of SKPs.
    pub(crate) uplink_stretch: f64,
    pub(crate) downlink_stretch: f64,
    /// Demanded bytes that each sent byte covers.
    pub(crate) covered_upstream: f64,
    pub(crate) covered_downstream: f64,
    /// Bytes of DLLPs that the ports send for each TLP that arrives.
    pub(crate) uplink_dllp_bytes: u32,
    pub(crate) downlink_dllp_bytes: u32,
    /// Whether the device's own DLLPs suffice for the longest completion.
    pub(crate) card_sends_enough: bool,
}

impl LinkOverhead {
    pub(crate) fn of(link: &LinkConfiguration, card: &Card, root: &RootComplex) -> Self {
        let byte_time = link.byte_time();
        let raw_ps = byte_time.numerator as f64 / byte_time.denominator as f64;
        let skp_stretch = 8_000.0 / (Accounting::Spec.tlp_gbps(link) * raw_ps);
        let uplink_stretch = root.uplink_stretch.max(skp_stretch);
        let downlink_stretch = root.downlink_stretch.max(skp_stretch);
        let dllp_share = DllpIntervals::limits(link).bytes_per_received_byte(link);
        let longest = link.mps.bytes() + TLP_OVERHEAD_BYTES + link.ide_bytes();
        let longest_needs = f64::from(longest) * dllp_share;
        // Flits have fixed bytes for DLLPs.
        let own = |bytes| if link.flit_mode() { 0 } else { bytes };
        let uplink_dllp_bytes = own(card.uplink_dllp_bytes);
        Self {
            dllp_share,
            uplink_dllp_bytes,
            downlink_dllp_bytes: own(root.downlink_dllp_bytes.max(longest_needs.ceil() as u32)),
            card_sends_enough: f64::from(uplink_dllp_bytes) >= longest_needs,
            uplink_stretch,
            downlink_stretch,
            covered_upstream: uplink_stretch / skp_stretch,
            covered_downstream: downlink_stretch / skp_stretch,
        }
    }
}

/// Bytes to send besides `sent_bytes`, each of which covers `covered`, to cover `demanded_bytes`.
pub(crate) fn missing_bytes(demanded_bytes: f64, sent_bytes: u64, covered: f64) -> u64 {
    // The cast turns negative values into 0.
    (demanded_bytes / covered - sent_bytes as f64).ceil() as u64
}

#[cfg(test)]
mod tests {
    use crate::Machine;
    use crate::test_systems::snb;
    use pcie_wire::Piece;

    const REQUEST: Piece = Piece { address: 0, length: 256 };

    fn on_a_link(generation: u32, lanes: u32, dllp_bytes: u32) -> Machine {
        let mut system = snb().system().clone();
        (system.link.generation, system.link.lanes) = (generation, lanes);
        system.link.flit = generation >= 6;
        system.device.uplink_dllp_bytes = dllp_bytes;
        system.host.root_complex.downlink_dllp_bytes = dllp_bytes;
        Machine::new(system).unwrap()
    }

    #[test]
    fn measured_link_needs_no_more_overhead() {
        let machine = on_a_link(3, 8, 16);
        let (uplink, downlink) = machine.ports();
        assert_eq!(machine.request_units(&uplink, REQUEST), 24);
        assert_eq!(machine.completion_units(&downlink, REQUEST, REQUEST, true), 288);
        assert_eq!((machine.uplink_dllp_bytes(), machine.downlink_dllp_bytes()), (16, 16));
    }

    #[test]
    fn requests_carry_the_dllps_of_a_narrow_link_for_a_device_without_dllps() {
        let machine = on_a_link(1, 1, 0);
        let (uplink, _) = machine.ports();
        // An Ack and an UpdateFC in 416 symbol times: 16/416 of the completion's 276 B are 10.6 B. The gap of
        // 12 B behind each TLP and the stretch of 1.0146, less the 0.26 % of SKPs, cover them.
        assert_eq!(machine.request_units(&uplink, REQUEST), 24);
        let mut system = machine.system().clone();
        system.device.uplink_gap_bytes = 0;
        let machine = Machine::new(system).unwrap();
        assert_eq!(machine.request_units(&uplink, REQUEST), 24 + 11);
        assert_eq!(machine.downlink_dllp_bytes(), 11);
    }

    #[test]
    fn dllps_are_free_in_flit_mode() {
        let machine = on_a_link(6, 8, 16);
        let (uplink, _) = machine.ports();
        assert_eq!((machine.uplink_dllp_bytes(), machine.downlink_dllp_bytes()), (0, 0));
        assert_eq!(machine.request_units(&uplink, REQUEST), 16);
    }
}
