//! Hardware facts of a device over VFIO.

use crate::tree::Function;
use pcie_bench::DeviceHardware;

/// Hardware facts of a function that runs all five tests by DMA: `driver` names our driver, `deadline_ms` is
/// the silence after which the device counts as lost.
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
