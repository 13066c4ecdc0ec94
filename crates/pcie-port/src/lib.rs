//! A simulated PCI Express host for a device that is simulated elsewhere: RTL, a NIC model in C, another
//! simulator. It is pcie-sim's root port with the checks and the bookkeeping that any such device needs.
//!
//! * [`Port`] takes TLPs one by one, checks them, and answers reads. The device keeps its own time.
//! * [`Endpoint`] adds flow control and hands out completions and credits in the order of time.
//! * [`Requester`] is a device that needs no tags of its own: it cuts transfers into TLPs and sends them when
//!   tags and credits are free.
//! * [`machine`] has several devices and the switches between them: the network of pcie-fabric, with tags, credits,
//!   completions and addresses.
//! * [`trace`] is a text format of transfers, which every one of these can play; [`capture`] makes one from TLPs.
//! * `simbricks` is a brick of SimBricks around a [`Requester`].
//! * `abi` is an [`Endpoint`] and a machine for C; `include/pcielab.h` documents it.
//!
//! The data of transfers are not here: a device that needs bytes keeps them beside the port, writes them when a
//! write has [arrived](Sent::arrived) and reads them when a completion comes.

pub mod abi;
mod addresses;
mod caches;
pub mod capture;
mod endpoint;
mod header;
pub mod machine;
mod port;
mod requester;
#[cfg(target_os = "linux")]
pub mod simbricks;
#[cfg(test)]
mod test_machines;
mod tlp;
pub mod trace;

pub use addresses::BufferAddresses;
pub use caches::Prepared;
pub use endpoint::{Endpoint, Event, Occupancy, Units};
pub use header::{HeaderError, parse_header};
pub use pcie_sim::Sent;
pub use port::{Completion, Port};
pub use requester::{Done, Requester};
pub use tlp::{INTERRUPTS, Kind, Outcome, TAGS, TIME_MOST, Tlp, TlpError};
