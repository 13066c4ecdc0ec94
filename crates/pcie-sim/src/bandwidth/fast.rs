//! The fast engine: no queue of events, but a time for each step, computed from the times of the steps that it waits for.
//!
//! Almost everything in the path of a DMA happens in order, so that a resource is a ring of the times at which its parts
//! are free again: the n-th request needs the tag of the request as many before it as there are tags, and so on. A TLP
//! that is sent goes through the root complex at once, up to the time at which its data are there. What is left to order
//! are the card, which sends, and the root complex, which answers; how far each can go on before it has to look at the
//! other depends on what a test does. Steps of the same time follow the reference: completions arrive first, then
//! everything else happens that does, then card and root complex look at what they can send.

mod credits;
mod layouts;
mod planned;
mod read;
mod read_write;
mod ready;
mod ring;
mod tags;
mod write;

pub(super) use read::ReadRun;
pub(super) use read_write::ReadWriteRun;
pub(super) use write::WriteRun;

use pcie_time::Picoseconds;

/// A time that does not come.
const NEVER: Picoseconds = Picoseconds(u64::MAX);
