//! Flits: what carries TLPs in generations 6 and 7, and in lower ones where both ends agree on it.

/// Bytes of a flit.
pub const FLIT_BYTES: u64 = 256;
/// Bytes of a flit that TLPs fill; the others are 6 of DLLP content, 8 of CRC and 6 of FEC.
pub const FLIT_TLP_BYTES: u64 = 236;
