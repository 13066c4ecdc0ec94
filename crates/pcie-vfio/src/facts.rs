//! What is said of every device over VFIO, whatever drives it.

use crate::tree::Function;
use pcie_bench::DeviceHardware;

/// Where a function is and what, and that it carries out all five tests by DMA.
///
/// `driver` is what drives it here; `deadline_ms` the silence after which it is given up.
pub(crate) fn hardware(function: &Function, driver: &str, deadline_ms: u64) -> DeviceHardware {
    let operations = ["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"];
    DeviceHardware {
        address: Some(function.address.to_string()),
        vendor_id: Some(function.vendor_id),
        device_id: Some(function.device_id),
        driver: Some(format!("pcielab {driver}, over vfio-pci")),
        link: Some(function.link_facts()),
        operations: operations.map(|operation| format!("dma {operation}")).into(),
        deadline_ms: Some(deadline_ms),
        ..DeviceHardware::default()
    }
}
