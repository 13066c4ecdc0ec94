//! Intel 82574 NICs in MAC loopback as DMA engines: a frame is read from host memory, goes through the MAC, and is written to host
//! memory again, so that each frame is one DMA read and one DMA write, with descriptors beside.
//!
//! Nothing here waits for a frame: whoever measures asks again and again ([`Nic::completions`]), by a clock of its own. Facts are
//! those of the *Intel 82574 GbE Controller Family Datasheet*, chapters 7 (descriptors) and 10 (registers). Other NICs that
//! Linux's driver of this name knows are set up otherwise, and are not for this one.

mod error;
mod nic;
mod registers;

pub use error::NicError;
pub use nic::{DEPTH_MOST, FRAME_BYTES_LEAST, FRAME_BYTES_MOST, Frame, HEADER_BYTES, Nic, QUEUE_BYTES};
