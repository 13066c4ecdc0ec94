//! What the host remembers: the cache lines that the card can reach, which of them are in the last-level cache, which
//! translations are in the IO-TLB, and how all of that carries over from test to test.

pub(crate) mod history;
pub(crate) mod io_tlb;
pub(crate) mod last_level;
pub(crate) mod lines;
