//! Intel 82574 NICs in MAC loopback as DMA engines: one DMA read and one write a frame, plus descriptors.
//!
//! Nothing here waits for a frame: the caller polls [`Nic::completions`] by its own clock. Source: *Intel
//! 82574 GbE Controller Family Datasheet*, chapters 7 (descriptors) and 10 (registers). Other e1000e NICs are
//! unsupported.

mod error;
mod nic;
mod registers;

pub use error::NicError;
pub use nic::{DEPTH_MOST, FRAME_BYTES_LEAST, FRAME_BYTES_MOST, Frame, HEADER_BYTES, Nic, QUEUE_BYTES};
