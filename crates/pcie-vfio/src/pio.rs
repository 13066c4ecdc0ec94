//! `pio`: a core stores messages into a prefetchable BAR, uncached and through write-combining buffers.
//!
//! The BAR is mapped through the kernel's `resourceN` or `resourceN_wc` of a device without a driver, one at a
//! time, because the kernel gives simultaneous mappings one memory type. Times end with a fence of the core;
//! only the device knows when stores arrive.

#[cfg(target_os = "linux")]
mod buffers;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod loads;
#[cfg(target_os = "linux")]
mod mapping;
#[cfg(target_os = "linux")]
mod memory_type;
mod options;
#[cfg(target_os = "linux")]
mod range;
#[cfg(target_os = "linux")]
pub mod stores;

use crate::address::Address;
use crate::options::described;
use crate::origin::origin;
use crate::tree::Tree;
pub use options::{PioHostOptions, PioOptions};
use pcie_bench::{Backend, MessageDevice, OpenError};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A device whose BAR is stored into.
#[derive(Clone, Debug)]
pub struct Pio {
    address: Address,
    options: PioOptions,
    host: PioHostOptions,
    tree: Tree,
    origin: Origin,
}

impl Pio {
    /// A back end for the device at an address; an error if there is none.
    pub fn new(address: Address, options: PioOptions, host: PioHostOptions) -> Result<Self, Refusal> {
        let tree = Tree::here();
        let origin = origin(&tree.function(address)?);
        Ok(Self { address, options, host, tree, origin })
    }
}

impl Backend<Box<dyn MessageDevice>> for Pio {
    fn kind(&self) -> &str {
        "pio"
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn options(&self) -> Map<String, Value> {
        described(self.address, json!(self.options), json!(self.host))
    }

    fn open(&self) -> Result<Box<dyn MessageDevice>, OpenError> {
        #[cfg(target_os = "linux")]
        let opened = device::PioDevice::open(&self.tree, self.address, &self.options, &self.host);
        #[cfg(target_os = "linux")]
        return Ok(Box::new(opened?));
        #[cfg(not(target_os = "linux"))]
        Err(crate::obstacle::not_linux().into())
    }
}
