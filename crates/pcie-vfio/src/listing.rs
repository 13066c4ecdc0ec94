//! What could be measured on a machine, and what stands in the way of each.

use crate::obstacle;
use crate::tree::{Function, Tree};
use pcie_refusal::Refusal;
use serde::Serialize;

/// A device that could be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Where it is.
    pub address: String,
    /// Vendor and device, `8086:10d3`.
    pub identifiers: String,
    /// The back end that could measure it.
    pub kind: &'static str,
    /// The driver that has it; empty for none.
    pub driver: String,
    /// Its IOMMU group.
    pub group: Option<u32>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// What stands in the way, with what mends it; empty for nothing.
    pub missing: String,
}

/// Every endpoint that a back end could measure, once for each such back end. Opens nothing of a device.
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

/// Refuses what cannot be opened through VFIO now.
///
/// # Errors
/// Says what stands in the way: what is used is not to be bound, so that comes before how to bind it.
pub fn ready_for_vfio(tree: &Tree, function: &Function) -> Result<(), Refusal> {
    let address = function.address;
    tree.check_unused(function)?;
    let group = tree.check_group(function)?;
    // vfio-pci itself has devices sleep until they are opened.
    if function.driver.as_deref() != Some("vfio-pci") {
        function.check_awake()?;
        return Err(obstacle::not_bound(address, function.driver.as_deref()));
    }
    let path = tree.path(&format!("dev/vfio/{group}"));
    match path.exists() && !is_ours(&path) {
        true => Err(obstacle::no_permission(address, &path)),
        false => Ok(()),
    }
}

/// Refuses what cannot be stored into now.
///
/// # Errors
/// Says what stands in the way.
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
            (path.exists() && !is_ours(&path)).then_some(path)
        });
    match theirs {
        Some(path) => Err(obstacle::no_stores(address, &path)),
        None => Ok(()),
    }
}

/// Whether this process may read and write a file, by the kernel's own account.
#[cfg(target_os = "linux")]
fn is_ours(path: &std::path::Path) -> bool {
    crate::kernel::may_write(path)
}

#[cfg(not(target_os = "linux"))]
fn is_ours(_path: &std::path::Path) -> bool {
    false
}
