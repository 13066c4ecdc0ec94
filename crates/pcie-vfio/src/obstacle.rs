//! Refusals of a device, each with the command or option that fixes it.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "most refusals concern VFIO"))]

use crate::address::Address;
use crate::survey::Holder;
use pcie_refusal::{Kind, Refusal};
use std::fmt::Display;
use std::path::Path;

pub(crate) fn device(address: Address, problem: impl Display) -> Refusal {
    Refusal::new(problem).about(address.to_string())
}

pub(crate) fn kernel(request: impl Into<String>, reason: impl Display) -> Refusal {
    Refusal::new(reason).about(request)
}

pub(crate) fn not_there(address: Address, nearest: &[Address]) -> Refusal {
    let texts: Vec<String> = nearest.iter().map(Address::to_string).collect();
    let near = match nearest {
        [] => "the kernel lists no PCI function".to_owned(),
        _ => format!("the nearest are {}", texts.join(", ")),
    };
    device(address, "no PCI function has this address").remedy(near)
}

pub(crate) fn bridge(address: Address) -> Refusal {
    device(address, "is a bridge").remedy("give a device behind it (`pcielab devices list`)")
}

/// The device is in use, or may be, where that cannot be read.
pub(crate) fn in_use(address: Address, holder: &Holder) -> Refusal {
    let Holder { holder, remedy, is_seen } = holder;
    let counts = if *is_seen { "is in use" } else { "may be in use" };
    device(address, format!("{counts}: {holder}; {remedy}"))
}

/// Uses of this class are unknown; `names` lists the known kinds of devices.
pub(crate) fn not_takeable(address: Address, class: u32, names: &str) -> Refusal {
    let problem = format!("is of class {class:06x}, whose uses pcielab does not know");
    device(address, problem).remedy(format!("give one of these: {names}"))
}

/// The driver may give the device to programs in ways that are not looked for.
pub(crate) fn unknown_driver(address: Address, driver: &str, kind: &str) -> Refusal {
    let problem =
        format!("{driver} has it, and pcielab does not know how that driver shows the users of {kind}");
    let remedy =
        format!("if nothing uses it, `echo {address} | sudo tee /sys/bus/pci/drivers/{driver}/unbind`");
    device(address, problem).remedy(remedy)
}

pub(crate) fn only_display(address: Address) -> Refusal {
    let remedy = "use another display, or none, before binding it";
    device(address, "is the only display of this machine").remedy(remedy)
}

/// pcielab did not bind it; `remedy` releases it by hand.
pub(crate) fn not_ours(address: Address, driver: &str, remedy: &str) -> Refusal {
    let problem = format!("pcielab did not bind it ({driver}), so pcielab does not release it");
    device(address, problem).remedy(format!("if nothing needs it bound, {remedy}"))
}

pub(crate) fn unnoted(address: Address, reason: impl Display) -> Refusal {
    let problem = format!("the binding cannot be noted ({reason})");
    device(address, problem).remedy("make /run or /var/lib writable")
}

/// The group has `others` with drivers.
pub(crate) fn shared_group(address: Address, group: u32, others: &str) -> Refusal {
    let problem = format!("shares IOMMU group {group} with {others}, bound to drivers");
    let remedy = "bind or release all of the group (`pcielab devices bind`), or use a slot with ACS";
    device(address, problem).remedy(remedy)
}

pub(crate) fn no_iommu(address: Address) -> Refusal {
    let remedy = "switch the IOMMU on (VT-d or AMD-Vi in the firmware, and `intel_iommu=on` on the kernel command line)";
    device(address, "has no IOMMU group").remedy(remedy)
}

pub(crate) fn no_iommu_mode(address: Address) -> Refusal {
    let remedy = "switch the IOMMU on, and leave enable_unsafe_noiommu_mode off";
    device(address, "is in VFIO's no-IOMMU mode, in which a device can reach all memory").remedy(remedy)
}

pub(crate) fn no_driver(address: Address) -> Refusal {
    device(address, "the driver vfio-pci is not loaded").remedy("`sudo modprobe vfio-pci`")
}

pub(crate) fn not_bound(address: Address, driver: Option<&str>) -> Refusal {
    let problem = format!("{} has it", driver.unwrap_or("no driver"));
    device(address, problem).remedy(format!("`sudo pcielab devices bind {address} --user $USER`"))
}

/// Stores need a device without a driver.
pub(crate) fn not_unbound(address: Address, driver: &str) -> Refusal {
    let remedy = format!("`sudo pcielab devices bind {address} --unbound --user $USER` makes them yours");
    device(address, format!("{driver} has it, and its BARs")).remedy(remedy)
}

/// This user may not open its group.
pub(crate) fn no_permission(address: Address, path: &Path) -> Refusal {
    denied(path).remedy(format!("`sudo pcielab devices bind {address} --user $USER` gives it to you"))
}

/// This user may not use iommufd.
pub(crate) fn no_iommufd(address: Address, path: &Path) -> Refusal {
    let remedy =
        format!("{address} needs it: `sudo setfacl -m u:$USER:rw {}` gives it to you", path.display());
    denied(path).remedy(remedy)
}

/// The kernel exports no BARs for iommufd.
pub(crate) fn no_peer_export(peer: Address, reason: impl Display) -> Refusal {
    device(peer, format!("its BAR cannot be mapped through iommufd ({reason})"))
        .kind(Kind::Unsupported)
        .remedy("use Linux 6.19 or later, or load the container (`sudo modprobe vfio_iommu_type1`)")
}

/// This user may not open the files of its BARs.
pub(crate) fn no_stores(address: Address, path: &Path) -> Refusal {
    denied(path)
        .remedy(format!("`sudo pcielab devices bind {address} --unbound --user $USER` gives it to you"))
}

/// Only root may; `command` is `bind` or `release`.
pub(crate) fn not_root(address: Address, path: &Path, command: &str) -> Refusal {
    denied(path).remedy(format!("binding is for root: `sudo pcielab devices {command} {address}`"))
}

fn denied(path: &Path) -> Refusal {
    kernel(path.display().to_string(), "permission denied")
}

pub(crate) fn unknown_user(name: &str) -> Refusal {
    kernel(format!("--user {name}"), "unknown user").kind(Kind::NotFound).remedy("give a name in /etc/passwd")
}

/// Another process has it open, still after `seconds`; 0 without waiting.
pub(crate) fn busy(address: Address, path: &Path, seconds: u64) -> Refusal {
    let path = path.display();
    let waited = if seconds == 0 { String::new() } else { format!(", and was for {seconds} s") };
    let remedy = format!("end the process that has it (`sudo fuser {path}`)");
    device(address, format!("{path} is busy{waited}")).remedy(remedy)
}

/// It is in the power state `state`; the kernel's file `file` wakes it.
pub(crate) fn asleep(address: Address, state: &str, file: &Path) -> Refusal {
    let remedy = format!("`echo on | sudo tee {}` wakes it", file.display());
    device(address, format!("is in {state}")).remedy(remedy)
}

/// Its BARs do not answer; the kernel's file `file` enables them.
pub(crate) fn no_decoding(address: Address, file: &Path) -> Refusal {
    let remedy = format!("`echo 1 | sudo tee {}` switches that on", file.display());
    device(address, "does not decode memory").remedy(remedy)
}

/// The kernel allows `available` mappings.
pub(crate) fn too_many_mappings(page_bytes: u64, needed: u64, available: u64) -> Refusal {
    let problem = format!("the buffer takes {needed} mappings, the kernel allows {available}");
    let remedy =
        "give larger pages, a smaller host.buffer_bytes, or raise vfio_iommu_type1's dma_entry_limit";
    page_size(page_bytes, remedy).problem(problem)
}

pub(crate) fn page_size(asked: u64, remedy: impl Into<String>) -> Refusal {
    Refusal::of("host.iommu_page_bytes", asked, remedy)
}

pub(crate) fn no_room(bytes: u64) -> Refusal {
    let problem = format!("{bytes} bytes of bus addresses: the IOMMU has no free range of this size");
    Refusal::new(problem).kind(Kind::TooLarge).remedy("give a smaller host.buffer_bytes")
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn not_linux() -> Refusal {
    Refusal::new("devices need VFIO, which only Linux has")
        .kind(Kind::Unsupported)
        .remedy("give --device sim")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_fix() {
        let address: Address = "0000:3b:00.0".parse().unwrap();
        let busy = |seconds| busy(address, Path::new("/dev/vfio/9"), seconds).to_string();
        assert_eq!(
            busy(0),
            "0000:3b:00.0: /dev/vfio/9 is busy: end the process that has it (`sudo fuser /dev/vfio/9`)"
        );
        assert!(busy(10).contains("is busy, and was for 10 s: end the process that has it"));
        let denied = no_stores(address, Path::new("/sys/resource2")).to_string();
        let fix = "permission denied: `sudo pcielab devices bind 0000:3b:00.0 --unbound --user $USER`";
        assert!(denied.contains(fix), "{denied}");
        assert!(no_room(4096).to_string().contains("give a smaller host.buffer_bytes"));
    }
}
