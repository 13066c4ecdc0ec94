//! Data link layer packets: how often Acks and UpdateFCs are sent.
//!
//! The specification tabulates both latency limits by generation, width and MPS, in symbol times; its tables
//! are `floor((MPS + 28) * AckFactor / width) + delay`. A symbol time is per lane: in it, a link of N lanes
//! moves N bytes.

use crate::{Generation, LinkConfiguration};

/// Bytes of an Ack or UpdateFC on the link, framing included.
pub const DLLP_BYTES: u32 = 8;

/// Header, framing and CRC bytes that the specification adds to MPS in its latency formula.
const TLP_OVERHEAD_BYTES: u32 = 28;

/// Symbol times between two DLLPs of a kind while TLPs keep arriving. Receivers may send them more often than
/// the limits; for UpdateFC the limit is a guideline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DllpIntervals {
    /// Symbol times between Acks, at least 1.
    pub ack_symbols: u32,
    /// Symbol times between UpdateFCs, at least 1.
    pub update_fc_symbols: u32,
}

impl DllpIntervals {
    /// The specification's limits: the fewest DLLPs.
    pub const fn limits(link: &LinkConfiguration) -> Self {
        let symbols = latency_limit_symbols(link);
        Self { ack_symbols: symbols, update_fc_symbols: symbols }
    }

    /// Bytes of DLLPs that a receiver sends for each byte of TLPs. 0 in flit mode: flits have room for DLLPs.
    pub fn bytes_per_received_byte(&self, link: &LinkConfiguration) -> f64 {
        if link.flit_mode() {
            return 0.0;
        }
        let share =
            |symbols: u32| f64::from(DLLP_BYTES) / (f64::from(symbols) * f64::from(link.lanes.count()));
        share(self.ack_symbols) + share(self.update_fc_symbols)
    }
}

/// The Ack latency limit and UpdateFC guideline in symbol times; the two tables are the same.
pub(crate) const fn latency_limit_symbols(link: &LinkConfiguration) -> u32 {
    let lanes = link.lanes.count();
    let mps_bytes = link.mps.bytes();
    (mps_bytes + TLP_OVERHEAD_BYTES) * ack_factor_tenths(lanes, mps_bytes) / (10 * lanes)
        + internal_delay_symbols(link.generation)
}

/// The specification's AckFactor: full-size TLPs for one Ack, in tenths.
const fn ack_factor_tenths(lanes: u32, mps_bytes: u32) -> u32 {
    match (mps_bytes, lanes) {
        (..=256, ..=4) => 14,
        (..=256, ..=8) => 25,
        (..=256, _) => 30,
        (_, ..=8) => 10,
        (_, _) => 20,
    }
}

const fn internal_delay_symbols(generation: Generation) -> u32 {
    match generation {
        Generation::Gen1 => 19,
        Generation::Gen2 => 70,
        _ => 115,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Lanes, LinkConfiguration, LinkParameters, PayloadSize};

    /// The specification's Ack latency limits at 2.5 GT/s, x1 to x32 across, MPS 128 to 4096 down.
    const GEN1: [[u32; 7]; 6] = [
        [237, 128, 73, 67, 58, 48, 33],
        [416, 217, 118, 107, 90, 72, 45],
        [559, 289, 154, 86, 109, 86, 52],
        [1071, 545, 282, 150, 194, 150, 84],
        [2095, 1057, 538, 278, 365, 278, 148],
        [4143, 2081, 1050, 534, 706, 534, 276],
    ];

    #[test]
    fn formula_gives_the_specifications_tables() {
        for (row, mps) in GEN1.iter().zip(PayloadSize::ALL) {
            for (limit, lanes) in row.iter().zip(Lanes::ALL) {
                for (generation, further_delay) in [(1, 0), (2, 51), (3, 96), (4, 96), (5, 96)] {
                    let parameters = LinkParameters::new(generation, lanes.count(), mps.bytes(), 512);
                    let link = LinkConfiguration::try_from(parameters).unwrap();
                    assert_eq!(super::latency_limit_symbols(&link), limit + further_delay, "{link:?}");
                }
            }
        }
    }
}
