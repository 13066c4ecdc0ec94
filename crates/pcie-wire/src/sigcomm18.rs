//! The accounting of the 2018 paper's model, reproduced to the printed digit.
//!
//! Differences from [`Accounting::Spec`](crate::Accounting::Spec):
//! * Acks and UpdateFCs are charged in both directions whatever the traffic, at 8 bytes in `limit` *bytes*.
//!   The limit is in symbol times, in which N lanes move N bytes: an xN link is over-charged N times, and
//!   measured bandwidths exceed this "bound".
//! * Two entries of its tables are typing errors.
//! * Generations 6 and 7 are a guess: 242 of 256 bytes of a flit, plus DLLPs and 8 bytes for each TLP.
//! * Data are counted in bytes instead of double words.

use crate::dllp::latency_limit_symbols;
use crate::generation::SKP_SHARE;
use crate::{DLLP_BYTES, Generation, LinkConfiguration, TlpKind};

/// The model's guess of the TLP share of a 256-byte flit.
const GUESSED_FLIT_SHARE: f64 = 242.0 / 256.0;

/// Rate of TLPs in each direction, Gb/s.
pub fn tlp_gbps(link: &LinkConfiguration) -> f64 {
    let flit_share = match link.generation {
        Generation::Gen6 | Generation::Gen7 => GUESSED_FLIT_SHARE,
        _ => 1.0,
    };
    let (dllp, (ack_limit, update_fc_limit)) = (f64::from(DLLP_BYTES), limits(link));
    let taken = dllp / f64::from(ack_limit) + dllp / f64::from(update_fc_limit) + SKP_SHARE;
    link.raw_gbps() * flit_share * (1.0 - taken)
}

/// Bytes of a TLP with `data_bytes` of data (0 in a read request).
pub fn tlp_bytes(link: &LinkConfiguration, kind: TlpKind, data_bytes: u32) -> u32 {
    crate::LINK_BYTES_PER_TLP + link.header_bytes(kind) + link.ecrc_bytes(kind) + data_bytes
}

/// The limits of Acks and UpdateFCs, as printed.
fn limits(link: &LinkConfiguration) -> (u32, u32) {
    let limit = latency_limit_symbols(link);
    match (link.generation, link.lanes.count(), link.mps.bytes()) {
        // The specification has 327.
        (Generation::Gen2, 32, 4096) => (237, limit),
        // The specification has 148.
        (Generation::Gen1, 32, 2048) => (limit, 248),
        _ => (limit, limit),
    }
}
