//! Lists the devices that could be measured, each with its obstacle.

#[cfg(target_os = "linux")]
use crate::kernel::may_write;
use crate::obstacle;
use crate::tree::{Function, Tree};
use pcie_refusal::Refusal;
use serde::Serialize;

/// A device that could be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// PCI address.
    pub address: String,
    /// Vendor and device, `8086:10d3`.
    pub identifiers: String,
    /// The back end that could measure it.
    pub kind: &'static str,
    /// Its driver; empty for none.
    pub driver: String,
    /// Its IOMMU group.
    pub group: Option<u32>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// The obstacle and its fix; empty for none.
    pub missing: String,
}

/// One row for each endpoint and each back end that could measure it. Opens no device.
#[must_use]
pub fn devices(tree: &Tree) -> Vec<Listed> {
    let mut rows = Vec::new();
    for function in tree.functions().iter().filter(|function| !function.is_bridge()) {
        if function.is_nvme() {
            rows.push(listed(function, "nvme", ready_for_vfio(tree, function)));
        }
        if function.is_e1000e() {
            rows.push(listed(function, "e1000e", ready_for_vfio(tree, function)));
        }
        if function.bars().iter().any(|bar| bar.is_memory && bar.is_prefetchable) {
            rows.push(listed(function, "pio", ready_for_stores(tree, function)));
        }
    }
    rows
}

fn listed(function: &Function, kind: &'static str, ready: Result<(), Refusal>) -> Listed {
    Listed {
        address: function.address.to_string(),
        identifiers: format!("{:04x}:{:04x}", function.vendor_id, function.device_id),
        kind,
        driver: function.driver.clone().unwrap_or_default(),
        group: function.group,
        node: function.node,
        missing: ready.map_or_else(|refusal| refusal.to_string(), |()| String::new()),
    }
}

/// Refuses a device that cannot be opened through VFIO now; a use is named before a missing binding.
pub fn ready_for_vfio(tree: &Tree, function: &Function) -> Result<(), Refusal> {
    let address = function.address;
    tree.check_unused(function)?;
    let group = tree.check_group(function)?;
    // vfio-pci lets devices sleep until they are opened, so a sleeping device is no obstacle.
    if function.driver.as_deref() != Some("vfio-pci") {
        function.check_awake()?;
        return Err(obstacle::not_bound(address, function.driver.as_deref()));
    }
    let own = tree.device_node(function).filter(|_| !tree.path("dev/vfio/vfio").exists());
    let path = own.unwrap_or_else(|| tree.path(&format!("dev/vfio/{group}")));
    match path.exists() && !may_write(&path) {
        true => Err(obstacle::no_permission(address, &path)),
        false => Ok(()),
    }
}

/// Refuses a device that cannot be stored into now; the error names the obstacle.
pub fn ready_for_stores(tree: &Tree, function: &Function) -> Result<(), Refusal> {
    let address = function.address;
    if let Some(driver) = &function.driver {
        tree.check_unused(function)?;
        return Err(obstacle::not_unbound(address, driver));
    }
    function.check_awake()?;
    function.check_decoding()?;
    let theirs =
        function.bars().into_iter().filter(|bar| bar.is_memory && bar.is_prefetchable).find_map(|bar| {
            let path = function.folder.join(format!("resource{}", bar.number));
            (path.exists() && !may_write(&path)).then_some(path)
        });
    match theirs {
        Some(path) => Err(obstacle::no_stores(address, &path)),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn may_write(_path: &std::path::Path) -> bool {
    false
}
