//! What is asked for: tests, their windows and units, lists of addresses, cache states, suites. Data and arithmetic, no
//! behaviour: nothing here knows what carries a test out.
//!
//! The vocabulary and the rules are those of the pcie-bench paper (SIGCOMM 2018, section 4) and of the program that
//! produced its published data.

mod addresses;
mod messages;
mod suite;
mod test;
mod units;

pub use addresses::{AddressList, LIST_LENGTH, Offsets};
pub use messages::{
    BufferEviction, MessageConnection, MessagePace, MessageSuite, MessageTest, MessageTestRecord,
    QueueSharing, StoreKind, Way,
};
pub use suite::Suite;
pub use test::{
    CacheState, LINE_BYTES, Operation, PAGE_BYTES, Path, Pattern, TRANSFER_BYTES_MOST, Test, TestRecord,
};
pub use units::{Units, greatest_common_divisor};
