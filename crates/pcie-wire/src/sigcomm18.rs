//! The accounting of the 2018 paper's model, reproduced to the printed digit.
//!
//! What it does that [`Accounting::Spec`](crate::Accounting::Spec) does not, and why it is kept:
//! * Acks and UpdateFCs are charged in both directions whatever the traffic, at 8 bytes in `limit` *bytes*. The limit is
//!   in symbol times, in which N lanes move N bytes, so an xN link is over-charged N times. Measured bandwidths exceed
//!   this "bound".
//! * Two entries of its tables are typing errors.
//! * Generations 6 and 7 are a guess: 242 of 256 bytes of a flit, with DLLPs and 8 bytes for each TLP besides.
//! * Data are counted in bytes, not in the double words that TLPs carry.

use crate::dllp::latency_limit_symbols;
use crate::generation::SKP_SHARE;
use crate::{DLLP_BYTES, Generation, LinkConfiguration, TlpKind};

/// Bytes of a 256 B flit that the model guesses to be left.
const GUESSED_FLIT_SHARE: f64 = 242.0 / 256.0;

/// What the link leaves to TLPs in each direction, in Gb/s.
pub fn tlp_gbps(link: &LinkConfiguration) -> f64 {
    let flit_share = match link.generation {
        Generation::Gen6 | Generation::Gen7 => GUESSED_FLIT_SHARE,
        _ => 1.0,
    };
    let dllp = f64::from(DLLP_BYTES);
    let taken = dllp / f64::from(ack_limit(link)) + dllp / f64::from(update_fc_limit(link)) + SKP_SHARE;
    link.raw_gbps() * flit_share * (1.0 - taken)
}

/// Bytes of a TLP with `data_bytes` of data (none, in a read request).
pub fn tlp_bytes(link: &LinkConfiguration, kind: TlpKind, data_bytes: u32) -> u32 {
    crate::LINK_BYTES_PER_TLP + link.header_bytes(kind) + link.ecrc_bytes() + data_bytes
}

fn ack_limit(link: &LinkConfiguration) -> u32 {
    match (link.generation, link.lanes.count(), link.mps.bytes()) {
        // Printed so; the specification has 327.
        (Generation::Gen2, 32, 4096) => 237,
        _ => latency_limit_symbols(link),
    }
}

fn update_fc_limit(link: &LinkConfiguration) -> u32 {
    match (link.generation, link.lanes.count(), link.mps.bytes()) {
        // Printed so; the specification has 148.
        (Generation::Gen1, 32, 2048) => 248,
        _ => latency_limit_symbols(link),
    }
}
