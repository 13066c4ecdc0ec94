//! Loads, stores and doorbells: what a core's access to a device's BAR costs, by instruction.
//!
//! Stores go through five steps one behind the other, and the slowest sets the pace of a stream: the core issues
//! them; write-combining buffers are freed a while after they were evicted; the port puts TLPs on the link; the
//! device has room (posted credits); the device takes them. A burst runs at the core's pace until the queue of the
//! port, and behind it the device's, are full. Uncached stores leave one at a time. A load is a round trip; uncached
//! loads of a core follow each other, streaming loads from write-combining memory overlap up to the core's buffers.
//!
//! Profiles give an interval for each value: [`Between`]. An answer is computed from the usual values, and twice more
//! from those that are fastest and slowest together.
//!
//! `pcie-sim` simulates the same accesses TLP by TLP. Not here: caches over a BAR (write-back mappings, CXL.mem) and
//! the source of a copy in memory.

mod access;
mod closed;
mod profile;

pub use access::{Access, AccessBound, AccessTimes, Instruction};
pub use profile::{
    Bar, BarReads, BarStores, Between, CoreLoads, CoreProfile, CoreRoot, CoreStores, Corner, EvictedOrder,
    LINE_BYTES, Mmio, MmioValues,
};

#[cfg(test)]
mod tests;
