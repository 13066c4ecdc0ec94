//! Drivers of devices that run the micro-benchmarks, over a [`Transport`]: the same driver drives the FPGA core in
//! simulation and on a board. NVMe drives ([`nvme`]) need memory for their queues as well, [`Queues`].

mod core;
mod messages;
pub mod nvme;
mod queues;
pub mod registers;
mod settings;
mod transport;

pub use core::{Core, CoreFacts, DriverError, Progress};
pub use messages::{Left, Messages};
pub use queues::Queues;
pub use settings::{Settings, Unsupported};
pub use transport::{Transport, TransportError};
