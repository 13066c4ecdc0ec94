//! Drivers of devices that run the micro-benchmarks, over a [`Transport`]: one driver serves the FPGA core in
//! simulation and on a board. NVMe drives ([`nvme`]) and NICs ([`e1000e`]) also need [`Queues`].

mod commands;
mod core;
pub mod e1000e;
mod messages;
pub mod nvme;
mod queues;
#[allow(dead_code, reason = "the generated list has every register")]
mod registers;
mod settings;
mod transport;

pub use commands::{COMMAND_ALIGNMENT, Command, CommandLimits, Commands, Notice};
pub use core::{Core, CoreFacts, DriverError, Progress};
pub use messages::{Left, Messages};
pub use queues::Queues;
pub use settings::{Settings, Unsupported};
pub use transport::{Transport, TransportError};
