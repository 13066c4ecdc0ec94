//! `e1000e`: an Intel 82574 NIC in MAC loopback as the DMA engine. Every frame is read from host memory and written to host memory
//! again; the test says which side lies in its window, the other side is one buffer that is always the same.
//!
//! What a latency includes: both doorbells, the fetch of both descriptors, the frame's way from memory through the MAC, at its
//! 1 Gb/s, to memory, and the write of the descriptor being seen. A bandwidth is at most that of the MAC. So a NIC tells windows,
//! cache states, NUMA and IO-TLB apart by differences of latencies, and what PCIe could carry not at all.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod plan;

use crate::address::Address;
use crate::options::{VfioHostOptions, described};
use crate::origin::origin;
use crate::refusal::Refusal;
use crate::tree::Tree;
use pcie_bench::{Backend, Bench, OpenError};
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A NIC.
#[derive(Clone, Debug)]
pub struct E1000e {
    address: Address,
    host: VfioHostOptions,
    tree: Tree,
    origin: Origin,
}

impl E1000e {
    /// A back end for the NIC at an address.
    ///
    /// # Errors
    /// Nothing is there, or it is no such NIC.
    pub fn new(address: Address, host: VfioHostOptions) -> Result<Self, Refusal> {
        let tree = Tree::here();
        let function = tree.function(address)?;
        if !function.is_e1000e() {
            let reason = format!(
                "is no Intel 82574 (8086:10d3, 8086:10f6), but {:04x}:{:04x}: other NICs are set up otherwise; `pcielab devices \
                 list` shows what can be measured",
                function.vendor_id, function.device_id
            );
            return Err(Refusal::Device { address, reason });
        }
        Ok(Self { address, host, origin: origin(&function), tree })
    }
}

impl Backend for E1000e {
    fn kind(&self) -> &str {
        "e1000e"
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

impl E1000e {
    #[cfg(target_os = "linux")]
    fn open_here(&self) -> Result<Bench, Refusal> {
        use crate::host::{VfioHost, opened};
        use pcie_host::Topology;
        let topology = Topology::here();
        let (inner, buffer) = opened(&self.tree, self.address, &self.host, &topology)?;
        let way = link::Way { address: self.address, host: self.host.clone() };
        let device = device::NicDevice::open(&self.tree, way, &topology, inner.core(), &buffer)?;
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
