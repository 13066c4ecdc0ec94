//! What replays cost a direction of a link that is never idle, in closed form.
//!
//! Each time that a flit, or without flits a TLP, arrives damaged, its transmitter sends again: with go-back-n all that
//! it has sent from the damaged item on until the Nak arrived, with a selective Nak the damaged flit alone.

use pcie_wire::{DLLP_BYTES, DllpIntervals, FLIT_BYTES, FLIT_TLP_BYTES, Generation, LinkConfiguration};
use schemars::JsonSchema;
use serde::Serialize;

/// Symbol times of the replay timer from 16 GT/s on: the specification asks for 24,000 to 31,000 (PCI Express Base
/// Specification 5.0, section 3.6.2.1).
const REPLAY_TIMER_SYMBOLS: f64 = 24_000.0;
/// Ack latency limits of the replay timer at lower rates.
const REPLAY_TIMER_LIMITS: f64 = 3.0;

/// The cost of replays on one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReplayLoss {
    /// The probability that a flit, or without flits a TLP, arrives damaged.
    pub error_rate: f64,
    /// From when it is sent until it can be sent again, in ns.
    pub round_trip_ns: f64,
    /// Time of the direction that one replay takes, in ns.
    pub lost_ns: f64,
    /// The share of its time that all replays take, 0 to 1.
    pub share: f64,
}

/// The cost of replays on both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LinkReplays {
    /// From the device to the host.
    pub upstream: ReplayLoss,
    /// From the host to the device.
    pub downstream: ReplayLoss,
}

impl ReplayLoss {
    /// Replays of flits that are damaged at a rate below 1, on a link where a TLP takes `flight_ns` from port to port,
    /// the check of its flit included.
    ///
    /// A flit is whole after its own time. Its Nak rides in the next flit back whose DLLP bytes have not been sent, the
    /// flits of both directions having the same boundaries, and the replay starts with a flit.
    pub fn of_flits(link: &LinkConfiguration, error_rate: f64, selective: bool, flight_ns: f64) -> Self {
        let flit_ns = FLIT_BYTES as f64 * 8.0 / link.raw_gbps();
        let round_trip_ns = flits_of_a_round_trip(flight_ns / flit_ns) * flit_ns;
        let lost_ns = if selective { flit_ns } else { round_trip_ns };
        Self::new(error_rate, round_trip_ns, lost_ns, flit_ns)
    }

    /// Replays of TLPs of `tlp_ns`, a share of whose Naks is lost, so that the replay timer starts the replay.
    pub fn of_tlps(error_rate: f64, tlp_ns: f64, nak_ns: f64, timer_ns: f64, naks_lost: f64) -> Self {
        let wait_ns = nak_ns * (1.0 - naks_lost) + timer_ns * naks_lost;
        Self::new(error_rate, tlp_ns + wait_ns, tlp_ns + wait_ns, tlp_ns)
    }

    /// An item takes `item_ns`, and is damaged any number of times.
    fn new(error_rate: f64, round_trip_ns: f64, lost_ns: f64, item_ns: f64) -> Self {
        let replays_ns = error_rate / (1.0 - error_rate) * lost_ns;
        Self { error_rate, round_trip_ns, lost_ns, share: replays_ns / (item_ns + replays_ns) }
    }
}

/// From the end of a TLP until its Nak or Ack is back, without flits: two flights and the DLLP itself, in ns.
pub fn nak_ns(link: &LinkConfiguration, flight_ns: f64) -> f64 {
    2.0 * flight_ns + f64::from(DLLP_BYTES) * 8.0 / link.raw_gbps()
}

/// The longest time that the specification allows a receiver without flits to leave a TLP unacknowledged, in ns.
pub fn ack_limit_ns(link: &LinkConfiguration) -> f64 {
    f64::from(DllpIntervals::limits(link).ack_symbols) * symbol_ns(link)
}

/// The specification's replay timer of a link without flits, in ns: how long a transmitter waits for an Ack or a Nak.
pub fn replay_timer_ns(link: &LinkConfiguration) -> f64 {
    match link.generation {
        Generation::Gen1 | Generation::Gen2 | Generation::Gen3 => REPLAY_TIMER_LIMITS * ack_limit_ns(link),
        _ => REPLAY_TIMER_SYMBOLS * symbol_ns(link),
    }
}

/// A symbol time: that of a byte on one lane.
fn symbol_ns(link: &LinkConfiguration) -> f64 {
    8.0 * f64::from(link.lanes.count()) / link.raw_gbps()
}

/// Flits from the start of a damaged one until it is sent again, and from the start of a good one until its Ack frees
/// the replay buffer: `flight` is the time from port to port in flits, the check included.
pub fn flits_of_a_round_trip(flight: f64) -> f64 {
    // Less than nothing where the Nak still catches the flit that is under way.
    let missed = (flight - FLIT_TLP_BYTES as f64 / FLIT_BYTES as f64).ceil().max(0.0);
    2.0 + missed + flight.ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_wire::LinkParameters;

    #[test]
    fn go_back_n_costs_a_round_trip_and_a_selective_nak_one_flit() {
        let link = LinkConfiguration::try_from(LinkParameters::new(6, 16, 256, 512)).unwrap();
        // A flit takes 2 ns. A Nak waits 22.5 ns for the flight there, which is 11.25 flits: it leaves with the flit
        // that ends after 12, and is back 11.25 later.
        let standard = ReplayLoss::of_flits(&link, 1e-3, false, 22.5);
        let selective = ReplayLoss::of_flits(&link, 1e-3, true, 22.5);
        assert_eq!((standard.round_trip_ns, standard.lost_ns), (2.0 * 25.0, 50.0));
        assert_eq!((selective.round_trip_ns, selective.lost_ns), (50.0, 2.0));
        // 25 flits for 999 that arrive.
        assert!((standard.share - 25.0 / (999.0 + 25.0)).abs() < 1e-12);
        assert!((selective.share - 1e-3).abs() < 1e-12);
        // At x1 a flit takes 32 ns, so a Nak catches the flit that is under way.
        let narrow = LinkConfiguration::try_from(LinkParameters::new(6, 1, 256, 512)).unwrap();
        assert_eq!(ReplayLoss::of_flits(&narrow, 1e-3, false, 22.5).round_trip_ns, 3.0 * 32.0);
    }

    #[test]
    fn timers_count_in_symbol_times() {
        let link =
            |generation| LinkConfiguration::try_from(LinkParameters::new(generation, 8, 256, 512)).unwrap();
        // 128b/130b: a symbol time of 8 GT/s is 8 bits and an eighth.
        assert!((ack_limit_ns(&link(3)) - 203.0 * 1.015_625).abs() < 1e-9);
        assert!((replay_timer_ns(&link(3)) - 3.0 * 203.0 * 1.015_625).abs() < 1e-9);
        assert!((replay_timer_ns(&link(4)) - 24_000.0 * 0.507_812_5).abs() < 1e-6);
    }

    #[test]
    fn a_lost_nak_costs_the_replay_timer() {
        let answered = ReplayLoss::of_tlps(0.01, 35.0, 65.0, 1000.0, 0.0);
        assert_eq!((answered.lost_ns, answered.share), (100.0, (100.0 / 99.0) / (35.0 + 100.0 / 99.0)));
        let lost = ReplayLoss::of_tlps(0.01, 35.0, 65.0, 1000.0, 1.0);
        assert_eq!(lost.lost_ns, 1035.0);
    }
}
