//! `nvme`: an NVMe drive as the DMA engine. Its reads write host memory; its compares, or its writes to a scratch range, read
//! host memory.
//!
//! What a latency includes: the doorbell, the fetch of the command, what the drive does for the blocks, the transfer, and
//! the completion being seen. No part is subtracted; those that can be told apart are reported beside.

#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod link;
mod options;
#[cfg(target_os = "linux")]
mod parts;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod scratch;

use crate::address::Address;
use crate::options::{VfioHostOptions, described};
use crate::origin::origin;
use crate::refusal::Refusal;
use crate::tree::Tree;
pub use options::NvmeOptions;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A drive.
#[derive(Clone, Debug)]
pub struct Nvme {
    address: Address,
    options: NvmeOptions,
    host: VfioHostOptions,
    tree: Tree,
    origin: Origin,
}

impl Nvme {
    /// A back end for the drive at an address.
    ///
    /// # Errors
    /// Nothing is there, or it is no drive.
    pub fn new(address: Address, options: NvmeOptions, host: VfioHostOptions) -> Result<Self, Refusal> {
        let tree = Tree::here();
        let function = tree.function(address)?;
        if !function.is_nvme() {
            let reason = format!(
                "is no NVMe drive, but of class {:06x}: `pcielab devices list` shows drives",
                function.class
            );
            return Err(Refusal::Device { address, reason });
        }
        Ok(Self { address, options, host, origin: origin(&function), tree })
    }
}

impl Backend for Nvme {
    fn kind(&self) -> &str {
        "nvme"
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn options(&self) -> Map<String, Value> {
        described(self.address, json!(self.options), json!(self.host))
    }

    fn open(&self) -> Result<Bench, OpenError> {
        self.open_here().map_err(|refusal| OpenError::Unavailable(refusal.to_string()))
    }
}

impl Nvme {
    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        use pcie_host::Topology;
        let topology = Topology::here();
        let (inner, buffer) = crate::host::opened(&self.tree, self.address, &self.host, &topology)?;
        let way = link::Way { address: self.address, options: self.options.clone(), host: self.host.clone() };
        let device = device::NvmeDevice::open(&self.tree, way, &topology, inner.core(), &buffer)?;
        let socket = device.function().node.and_then(|node| topology.socket_of_node(node));
        let host =
            crate::host::VfioHost::new(inner, buffer, self.host.iommu_page_bytes, socket, device.contents());
        Ok(Bench { device: Box::new(device), host: Box::new(host) })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_here(&self) -> Result<Bench, Refusal> {
        let _ = &self.tree;
        Err(Refusal::NotLinux)
    }
}
