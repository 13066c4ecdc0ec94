//! The real host, on Linux: a buffer of 4 KiB, 2 MiB or 1 GiB pages on a chosen node, a pinned control
//! program, and warm or cold caches; and `cpu`, a core as the requester, which needs nothing else.
//!
//! This crate changes no setting of the kernel: an error names the missing resource and the command that
//! provides it. Only this crate and pcie-vfio have unsafe code. Without Linux, opening fails.

mod cpu;
mod error;
mod options;
mod root;
mod topology;

#[cfg(target_os = "linux")]
mod buffer;
#[cfg(target_os = "linux")]
mod cache_settings;
#[cfg(target_os = "linux")]
mod caches;
#[cfg(target_os = "linux")]
mod chain;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod coldness;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod preemption;
#[cfg(target_os = "linux")]
mod requester;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod whole;

#[cfg(target_os = "linux")]
pub use buffer::{Buffer, SharedBuffer};
#[cfg(target_os = "linux")]
pub use clock::Clock;
pub use cpu::Cpu;
pub use error::HostError;
#[cfg(target_os = "linux")]
pub use host::{RealHost, over_buffer};
#[cfg(target_os = "linux")]
pub use kernel::locked_memory_limit;
pub use options::{Cold, HostOptions, PageSize};
pub use root::Root;
pub use topology::{Cache, Topology};
#[cfg(target_os = "linux")]
pub use whole::WholeHost;
