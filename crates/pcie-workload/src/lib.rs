//! Tests: their windows, units, lists of addresses and cache states, and suites. Data and arithmetic,
//! independent of the device that runs a test.
//!
//! Vocabulary and rules: the pcie-bench paper (SIGCOMM 2018, section 4) and the program behind its data.

mod addresses;
#[cfg(test)]
mod changed_suites;
mod chase;
mod messages;
mod published;
mod suite;
mod test;
mod units;

pub use addresses::{AddressList, LIST_LENGTH, Offsets};
pub use chase::cycle;
pub use messages::{
    BufferEviction, MessageConnection, MessagePace, MessageSuite, MessageTest, MessageTestRecord,
    QueueSharing, StoreKind, Way,
};
pub use published::{PUBLISHED, published_name, published_transactions};
pub use suite::Suite;
pub use test::{
    ADDRESS_BYTES, CacheState, LINE_BYTES, Operation, PAGE_BYTES, Path, Pattern, TRANSFER_BYTES_MOST, Test,
    TestRecord,
};
pub use units::{Units, greatest_common_divisor};
