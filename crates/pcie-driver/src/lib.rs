//! Drivers of devices that run the micro-benchmarks, over a [`Transport`]: the same driver drives the FPGA core in
//! simulation and on a board. NVMe drives ([`nvme`]) and NICs ([`e1000e`]) need memory for their queues as well, [`Queues`].

mod core;
pub mod e1000e;
mod facts;
mod messages;
pub mod nvme;
mod queues;
pub mod registers;
mod settings;
mod transport;

pub use core::{Core, DriverError, Progress};
pub use facts::CoreFacts;
pub use messages::{Left, Messages};
pub use queues::Queues;
pub use settings::{Settings, Unsupported};
pub use transport::{Transport, TransportError};
