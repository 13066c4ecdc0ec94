//! `fpga`: the FPGA core on a board, driven by the driver that drives its RTL. The core knows no vendor, so that it is told by its
//! registers, and not by numbers of its board.
//!
//! This has been compiled and tried on registers without a core behind them; on a board it has not run yet.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod pattern;

use crate::address::Address;
use crate::options::{VfioHostOptions, described};
use crate::origin::origin;
use crate::refusal::Refusal;
use crate::tree::Tree;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A board with the core.
#[derive(Clone, Debug)]
pub struct Fpga {
    address: Address,
    host: VfioHostOptions,
    tree: Tree,
    origin: Origin,
}

impl Fpga {
    /// A back end for the core at an address.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        let tree = Tree::here();
        let origin = origin(&tree.function(address)?);
        Ok(Self { address, host, tree, origin })
    }
}

impl Backend for Fpga {
    fn kind(&self) -> &str {
        "fpga"
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn options(&self) -> Map<String, Value> {
        described(self.address, json!({}), json!(self.host))
    }

    fn open(&self) -> Result<Bench, OpenError> {
        self.open_here().map_err(|refusal| OpenError::Unavailable(refusal.to_string()))
    }
}

impl Fpga {
    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        use crate::host::{VfioHost, opened};
        use pcie_host::Topology;
        let topology = Topology::here();
        let (inner, buffer) = opened(&self.tree, self.address, &self.host, &topology)?;
        let device = device::FpgaDevice::open(&self.tree, self.address, &self.host, &buffer)?;
        let socket = device.function().node.and_then(|node| topology.socket_of_node(node));
        let host = VfioHost::new(inner, buffer, self.host.iommu_page_bytes, socket, device.contents());
        Ok(Bench { device: Box::new(device), host: Box::new(host) })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Bench, Refusal> {
        let _ = &self.tree;
        Err(Refusal::NotLinux)
    }
}
