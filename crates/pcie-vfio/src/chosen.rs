//! A device that was chosen by its address to be measured through VFIO, and how the host's side is set up for it: what back ends over
//! VFIO have in common.

use crate::address::Address;
use crate::options::{VfioHostOptions, described};
use crate::origin::origin;
use crate::tree::{Function, Tree};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// The device.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) address: Address,
    pub(crate) host: VfioHostOptions,
    pub(crate) tree: Tree,
    pub(crate) origin: Origin,
}

impl Chosen {
    /// Looks at what is there, and opens nothing.
    ///
    /// # Errors
    /// Nothing is there.
    pub(crate) fn new(address: Address, host: VfioHostOptions) -> Result<(Self, Function), Refusal> {
        let tree = Tree::here();
        let function = tree.function(address)?;
        Ok((Self { address, host, origin: origin(&function), tree }, function))
    }

    /// What it was asked for, as the manifest has it.
    pub(crate) fn options(&self, device: Value) -> Map<String, Value> {
        described(self.address, device, json!(self.host))
    }
}

#[cfg(target_os = "linux")]
mod opened {
    use super::{Chosen, Function, Refusal};
    use crate::host::{SharedContents, VfioHost, opened};
    use pcie_bench::{Bench, Device};
    use pcie_host::{SharedBuffer, Topology};

    /// A device that shares the buffer with its host.
    pub(crate) trait OnBus: Device {
        /// Where it is.
        fn function(&self) -> &Function;

        /// What the window has to hold for it.
        fn contents(&self) -> SharedContents;
    }

    /// What a device is opened beside.
    pub(crate) struct Beside<'a> {
        pub(crate) chosen: &'a Chosen,
        pub(crate) topology: &'a Topology,
        /// The core that the program is pinned to.
        pub(crate) core: u32,
        pub(crate) buffer: &'a SharedBuffer,
    }

    impl Chosen {
        /// Opens the host's side, and the device on it.
        pub(crate) fn bench<D: OnBus + 'static>(
            &self,
            open: impl FnOnce(Beside<'_>) -> Result<D, Refusal>,
        ) -> Result<Bench, Refusal> {
            let topology = Topology::here();
            let (inner, buffer) = opened(&self.tree, self.address, &self.host, &topology)?;
            let core = inner.core();
            let device = open(Beside { chosen: self, topology: &topology, core, buffer: &buffer })?;
            let socket = device.function().node.and_then(|node| topology.socket_of_node(node));
            let host = VfioHost::new(inner, buffer, self.host.iommu_page_bytes, socket, device.contents());
            Ok(Bench { device: Box::new(device), host: Box::new(host) })
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use opened::{Beside, OnBus};
