//! The fast engine: computes each step's time from the steps that it depends on, without a queue of events.
//!
//! Almost everything in the path of a DMA happens in order, so a resource is a ring of the times at which its
//! units are free again: with N tags, request n needs the tag of request n - N. A TLP that is sent passes
//! through the root complex at once, up to the time at which its data are available. Only the device, which
//! sends, and the root complex, which answers, have to be interleaved; how far each can run ahead of the
//! other depends on the kind of test. Steps of equal time follow the reference: first completions arrive,
//! then other events occur, then device and root complex look for TLPs to send.

mod completion_buffer;
mod credits;
mod layouts;
mod packed_reads;
mod planned;
mod read;
mod read_write;
mod ring;
mod tags;
mod write;

pub(super) use read::ReadRun;
pub(super) use read_write::ReadWriteRun;
pub(super) use write::WriteRun;

use pcie_time::Picoseconds;

/// Sentinel: later than any time.
const NEVER: Picoseconds = Picoseconds(u64::MAX);
