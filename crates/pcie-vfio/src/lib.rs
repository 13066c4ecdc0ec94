//! Real devices on Linux: bound, opened and measured through VFIO and through their BARs.
//!
//! [`bind`] and [`release`] give a device to vfio-pci and back, and are for root. Running is not: it opens what its user was
//! given, lets the device reach the buffers of the run and nothing else, and leaves it reset. Whatever stands in the way is a
//! a refusal, which says what mends it. Drivers sit above, in pcie-driver, on [`Vfio`].
//!
//! This crate and pcie-host are the only ones with unsafe code. On other systems than Linux everything is refused.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "what only Linux can do is refused elsewhere")
)]

mod address;
mod below;
mod binding;
mod chosen;
mod disks;
mod e1000e;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod facts;
mod fpga;
#[cfg(target_os = "linux")]
mod host;
mod interfaces;
#[cfg(target_os = "linux")]
mod iova;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod limits;
mod listing;
mod notes;
mod nvme;
mod obstacle;
#[cfg(target_os = "linux")]
mod opened;
mod options;
mod origin;
pub mod pio;
mod purpose;
#[cfg(target_os = "linux")]
mod space;
#[cfg(target_os = "linux")]
mod transport;
mod tree;
mod usage;
#[cfg(target_os = "linux")]
mod window;

pub use address::Address;
pub use binding::{bind, release};
pub use e1000e::E1000e;
pub use fpga::Fpga;
pub use listing::{Listed, devices};
pub use nvme::{Nvme, NvmeOptions};
#[cfg(target_os = "linux")]
pub use opened::{Interrupt, Opened};
pub use options::VfioHostOptions;
pub use origin::origin;
pub use pio::{Pio, PioHostOptions, PioOptions};
pub use purpose::Purpose;
#[cfg(target_os = "linux")]
pub use space::{Mapped, Space};
#[cfg(target_os = "linux")]
pub use transport::Vfio;
pub use tree::{Bar, Function, Tree};
#[cfg(target_os = "linux")]
pub use window::Window;
