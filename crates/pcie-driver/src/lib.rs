//! Drivers of devices that run the micro-benchmarks, over a [`Transport`]: the same driver drives the FPGA core in
//! simulation and, once there is a transport for it, on a board.

mod core;
mod facts;
mod messages;
pub mod registers;
mod settings;
mod transport;

pub use core::{Core, DriverError, Progress};
pub use facts::CoreFacts;
pub use messages::{Left, Messages};
pub use settings::{Settings, Unsupported};
pub use transport::{Transport, TransportError};
