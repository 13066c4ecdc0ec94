//! NVMe drives as DMA engines: reset, identify, one queue pair, and commands on the test's addresses.
//!
//! A *read* of the drive writes host memory; a *compare* or a write reads it; a *verify* reads blocks and moves
//! no data. Nothing here waits for a command: the caller polls [`Drive::completions`] by its own clock. Source: NVM
//! Express base specification, revision 1.4, sections 3.1 (registers), 4 (queues, PRPs, SGLs), 5 and 6 (commands).

mod command;
mod controller;
mod drive;
mod error;
mod identity;
mod registers;

pub use command::{Data, Kind, Pointers};
pub use controller::{Cmb, Controller};
pub use drive::{Completion, DEPTH_MOST, Drive, QUEUE_BYTES, QueueLocation};
pub use error::NvmeError;
pub use identity::{DeallocatedReads, Identity};
