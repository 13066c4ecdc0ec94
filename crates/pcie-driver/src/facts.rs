//! What a core says of itself.

/// What a core says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// Bytes of a beat of its data path.
    pub data_bytes: u32,
    /// Reads in flight at most: what it was built with, or what the link lets it have.
    pub tags: u32,
    /// Latencies that it keeps one by one.
    pub records: u32,
    /// Length of a clock, ps.
    pub clock_ps: u32,
}
