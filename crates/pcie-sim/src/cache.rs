//! The host's state: cache lines, last-level cache, IO-TLB, and how they carry over from test to test.

pub(crate) mod advances;
pub(crate) mod history;
pub(crate) mod io_tlb;
pub(crate) mod last_level;
pub(crate) mod lines;
pub(crate) mod traces;
