//! NVMe drives as DMA engines: reset, identify, one queue pair, and commands whose data lie where a test wants them.
//!
//! A *read* of the drive writes host memory; a *compare*, or a write, reads it. Nothing here waits for a command: whoever
//! measures asks again and again ([`Drive::completions`]), by a clock of its own. Facts are those of the NVM Express base
//! specification, revision 1.4, sections 3.1 (registers), 4 (queues, PRPs, SGLs) and 5 and 6 (commands).

mod command;
mod controller;
mod drive;
mod error;
mod identity;
mod registers;

pub use command::{Data, Kind, Pointers};
pub use controller::{Cmb, Controller};
pub use drive::{Completion, DEPTH_MOST, Drive, Place, QUEUE_BYTES};
pub use error::NvmeError;
pub use identity::Identity;
