//! `pio`: messages stored into a prefetchable BAR by a core, uncached and through write-combining buffers.
//!
//! The BAR is reached through the kernel's `resourceN` and `resourceN_wc`, of a device that no driver has. What is timed is the
//! core's side: until its stores have left it, as far as a fence can tell; when they arrive, a device would have to say.

#[cfg(target_os = "linux")]
mod buffers;
#[cfg(target_os = "linux")]
mod device;
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
    /// A back end for the device at an address.
    ///
    /// # Errors
    /// Nothing is there.
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
        Ok(self.open_here()?)
    }
}

impl Pio {
    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Box<dyn MessageDevice>, Refusal> {
        let device = device::PioDevice::open(&self.tree, self.address, &self.options, &self.host)?;
        Ok(Box::new(device))
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Box<dyn MessageDevice>, Refusal> {
        Err(crate::obstacle::not_linux())
    }
}
