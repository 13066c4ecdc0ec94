//! What the specification asks of a link, held by the simulated one.
//!
//! A profile says what its ports were seen to send besides TLPs: on the link that was measured. On another link more may
//! be asked for, because the receiver of as many bytes sends its DLLPs more often there. What a profile leaves out of
//! that is sent with the TLPs, so that no simulated link carries more than the specification's accounting says it can.

use crate::profile::{Card, RootComplex};
use pcie_wire::{Accounting, DllpIntervals, LinkConfiguration};

/// Bytes that the longest TLP has besides its data: a write with a 64-bit address and an ECRC.
const TLP_OVERHEAD_BYTES: u32 = 28;

/// What is asked of a link, and how much of it its ports' times cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedFor {
    /// Bytes of DLLPs for each byte of TLPs that comes the other way; none of their own in flit mode.
    pub(crate) dllp_share: f64,
    /// Time over the raw line rate of the two ports: what SKPs take, at least.
    pub(crate) uplink_stretch: f64,
    pub(crate) downlink_stretch: f64,
    /// Bytes that are covered for each byte that a port sends.
    pub(crate) covered_upstream: f64,
    pub(crate) covered_downstream: f64,
    /// Bytes of DLLPs that the ports send for each TLP that arrives.
    pub(crate) uplink_dllp_bytes: u32,
    pub(crate) downlink_dllp_bytes: u32,
    /// Whether the card's own DLLPs are as many as the longest completion asks for.
    pub(crate) card_sends_enough: bool,
}

impl AskedFor {
    pub(crate) fn of(link: &LinkConfiguration, card: &Card, root: &RootComplex) -> Self {
        let byte_time = link.byte_time();
        let raw_ps = byte_time.numerator as f64 / byte_time.denominator as f64;
        let skp_stretch = 8_000.0 / (Accounting::Spec.tlp_gbps(link) * raw_ps);
        let uplink_stretch = root.uplink_stretch.max(skp_stretch);
        let downlink_stretch = root.downlink_stretch.max(skp_stretch);
        let dllp_share = DllpIntervals::limits(link).bytes_per_received_byte(link);
        let longest_asks_for = f64::from(link.mps.bytes() + TLP_OVERHEAD_BYTES) * dllp_share;
        // In flits DLLPs have a place of their own.
        let own = |bytes| if link.flit_mode() { 0 } else { bytes };
        let uplink_dllp_bytes = own(card.uplink_dllp_bytes);
        Self {
            dllp_share,
            uplink_dllp_bytes,
            downlink_dllp_bytes: own(root.downlink_dllp_bytes.max(longest_asks_for.ceil() as u32)),
            card_sends_enough: f64::from(uplink_dllp_bytes) >= longest_asks_for,
            uplink_stretch,
            downlink_stretch,
            covered_upstream: uplink_stretch / skp_stretch,
            covered_downstream: downlink_stretch / skp_stretch,
        }
    }
}

/// Bytes that a port sends on top of `taken_bytes`, each of which covers `covered`, to cover those that are asked for.
pub(crate) fn lacking_bytes(asked_bytes: f64, taken_bytes: u64, covered: f64) -> u64 {
    // A cast of what is below zero gives zero.
    (asked_bytes / covered - taken_bytes as f64).ceil() as u64
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
    fn on_the_link_that_was_measured_nothing_is_lacking() {
        let machine = on_a_link(3, 8, 16);
        let (uplink, downlink) = machine.ports();
        assert_eq!(machine.request_units(&uplink, REQUEST), 24);
        assert_eq!(machine.completion_units(&downlink, REQUEST, REQUEST, true), 288);
        assert_eq!((machine.uplink_dllp_bytes(), machine.downlink_dllp_bytes()), (16, 16));
    }

    #[test]
    fn a_card_that_answers_no_completions_sends_the_dllps_that_a_narrow_link_asks_for() {
        let machine = on_a_link(1, 1, 0);
        let (uplink, _) = machine.ports();
        // An Ack and an UpdateFC in 416 symbol times: 16/416 of the completion's 276 B are 10.6 B; less the gap of 12 B
        // behind each TLP, and what the stretch of 1.0146 leaves over the 0.26 % of SKPs, nothing is lacking.
        assert_eq!(machine.request_units(&uplink, REQUEST), 24);
        let mut system = machine.system().clone();
        system.device.uplink_gap_bytes = 0;
        let machine = Machine::new(system).unwrap();
        assert_eq!(machine.request_units(&uplink, REQUEST), 24 + 11);
        assert_eq!(machine.downlink_dllp_bytes(), 11);
    }

    #[test]
    fn in_flits_dllps_take_nothing() {
        let machine = on_a_link(6, 8, 16);
        let (uplink, _) = machine.ports();
        assert_eq!((machine.uplink_dllp_bytes(), machine.downlink_dllp_bytes()), (0, 0));
        assert_eq!(machine.request_units(&uplink, REQUEST), 16);
    }
}
