//! Real devices on Linux: bound, opened and measured through VFIO and through their BARs.
//!
//! Root calls [`bind`] and [`release`] to give a device to vfio-pci and back. A run needs no root: it opens a
//! device that its user was given, lets it reach only the buffers of the run, and leaves it reset. Every
//! refusal names the obstacle and its fix. The drivers are in pcie-driver, on top of [`Vfio`].
//!
//! Only this crate and pcie-host have unsafe code. Systems other than Linux are refused.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux uses much of this crate"))]

mod address;
mod binding;
mod chosen;
mod disks;
mod e1000e;
#[cfg(target_os = "linux")]
mod engine;
mod exports;
#[cfg(target_os = "linux")]
mod facts;
mod fpga;
#[cfg(target_os = "linux")]
mod host;
mod interfaces;
#[cfg(target_os = "linux")]
mod iommufd;
#[cfg(target_os = "linux")]
mod iova;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod limits;
mod listing;
#[cfg(target_os = "linux")]
mod median;
mod nodes;
mod notes;
mod nvme;
mod obstacle;
#[cfg(target_os = "linux")]
mod opened;
mod options;
mod origin;
pub mod pio;
mod processes;
mod routes;
#[cfg(target_os = "linux")]
mod space;
mod survey;
mod takeable;
#[cfg(target_os = "linux")]
mod transport;
mod tree;
mod usage;
mod volumes;
#[cfg(target_os = "linux")]
mod window;

pub use address::Address;
pub use binding::{Purpose, Survey, bind, release, survey};
pub use e1000e::E1000e;
pub use fpga::Fpga;
pub use listing::{Listed, devices};
pub use nvme::{Nvme, NvmeOptions};
#[cfg(target_os = "linux")]
pub use opened::{Interrupt, Opened};
pub use options::VfioHostOptions;
pub use origin::origin;
pub use pio::{Pio, PioHostOptions, PioOptions};
#[cfg(target_os = "linux")]
pub use space::{Mapped, Peer, Space};
pub use survey::{Holder, Look};
#[cfg(target_os = "linux")]
pub use transport::Vfio;
pub use tree::{Bar, Function, Tree};
#[cfg(target_os = "linux")]
pub use window::Window;
