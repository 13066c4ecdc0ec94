//! A device chosen by its address, and its host options: the common part of all back ends over VFIO.

use crate::address::Address;
use crate::options::{VfioHostOptions, described};
use crate::origin::origin;
use crate::tree::{Function, Tree};
use pcie_refusal::Refusal;
use pcie_store::Origin;
use serde_json::{Map, Value, json};

/// A device to be measured, and its host options.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) address: Address,
    pub(crate) host: VfioHostOptions,
    pub(crate) tree: Tree,
    pub(crate) origin: Origin,
}

impl Chosen {
    /// Looks the device up without opening it; an error if there is none.
    pub(crate) fn new(address: Address, host: VfioHostOptions) -> Result<(Self, Function), Refusal> {
        let tree = Tree::here();
        let function = tree.function(address)?;
        Ok((Self { address, host, origin: origin(&function), tree }, function))
    }

    /// The options, as the manifest stores them.
    pub(crate) fn options(&self, device: Value) -> Map<String, Value> {
        described(self.address, device, json!(self.host))
    }
}

#[cfg(target_os = "linux")]
mod opened {
    use super::{Chosen, Refusal};
    use crate::host::{SharedContents, VfioHost, opened};
    use pcie_bench::{Bench, Device};
    use pcie_host::{SharedBuffer, Topology};
    use std::rc::Rc;

    /// Arguments for opening a device.
    pub(crate) struct Beside<'a> {
        pub(crate) chosen: &'a Chosen,
        pub(crate) topology: &'a Topology,
        /// Core that the program is pinned to.
        pub(crate) core: u32,
        pub(crate) buffer: &'a SharedBuffer,
        /// Where the device leaves the data that it expects in the window.
        pub(crate) contents: SharedContents,
    }

    impl Chosen {
        pub(crate) fn bench<D: Device + 'static>(
            &self,
            open: impl FnOnce(Beside<'_>) -> Result<D, Refusal>,
        ) -> Result<Bench, Refusal> {
            let topology = Topology::here();
            let (inner, buffer, function) = opened(&self.tree, self.address, &self.host, &topology)?;
            let (core, contents) = (inner.core(), SharedContents::default());
            let shared = Rc::clone(&contents);
            let beside =
                Beside { chosen: self, topology: &topology, core, buffer: &buffer, contents: shared };
            let device = open(beside)?;
            let device_socket = function.node.and_then(|node| topology.socket_of_node(node));
            let page = self.host.iommu_page_bytes;
            let host = VfioHost { inner, buffer, page, device_socket, contents };
            Ok(Bench { device: Box::new(device), host: Box::new(host) })
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use opened::Beside;
