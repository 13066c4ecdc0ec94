//! What stands in the way of measuring a device, each with the command or option that mends it.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only VFIO refuses most of it"))]

use crate::address::Address;
use pcie_refusal::Refusal;
use std::fmt::Display;
use std::path::Path;

/// The device is not what it was taken for, or lacks something.
pub(crate) fn device(address: Address, problem: impl Display) -> Refusal {
    Refusal::new(problem).about(address.to_string())
}

/// The kernel refused something; `what` was asked for.
pub(crate) fn kernel(what: impl Into<String>, reason: impl Display) -> Refusal {
    Refusal::new(reason).about(what)
}

/// Nothing is there.
pub(crate) fn not_there(address: Address, nearest: &[Address]) -> Refusal {
    let texts: Vec<String> = nearest.iter().map(Address::to_string).collect();
    let near = format!("the nearest are {}", texts.join(", "));
    let near = if nearest.is_empty() { "the kernel shows none at all".to_owned() } else { near };
    device(address, "there is no such PCI function").remedy(near)
}

/// A bridge.
pub(crate) fn bridge(address: Address) -> Refusal {
    let remedy = "give a device behind it (`pcielab devices list`)";
    device(address, "is a bridge, which leads to devices").remedy(remedy)
}

/// A file system, a volume or swap is on it; `remedy` ends that.
pub(crate) fn in_use(address: Address, (use_, remedy): (String, String)) -> Refusal {
    device(address, format!("is in use: {use_}; {remedy}"))
}

/// What shows the screen.
pub(crate) fn only_display(address: Address) -> Refusal {
    let remedy = "use another display, or none, before it is taken away";
    device(address, "is the only display of this machine").remedy(remedy)
}

/// Somebody else bound it, or nobody did; `remedy` gives it back by hand.
pub(crate) fn not_ours(address: Address, driver: &str, remedy: &str) -> Refusal {
    let problem = format!("pcielab did not bind it ({driver}), so that it is not pcielab's to give back");
    device(address, problem).remedy(format!("if nobody needs it as it is, {remedy}"))
}

/// There is nowhere to write the note by which a device is given back.
pub(crate) fn unnoted(address: Address, reason: impl Display) -> Refusal {
    let problem = format!("what is bound cannot be noted ({reason})");
    device(address, problem).remedy("make /run or /var/lib writable")
}

/// Other devices would be taken along; `others` are named with their drivers.
pub(crate) fn shared_group(address: Address, group: u32, others: &str) -> Refusal {
    let problem = format!("shares IOMMU group {group} with {others}, which drivers have");
    let remedy = "bind or release all of the group (`pcielab devices bind`), or use a slot with ACS";
    device(address, problem).remedy(remedy)
}

/// Nothing translates its addresses.
pub(crate) fn no_iommu(address: Address) -> Refusal {
    let remedy = "switch the IOMMU on (VT-d or AMD-Vi in the firmware, and `intel_iommu=on` on the kernel's \
                  command line)";
    device(address, "has no IOMMU group").remedy(remedy)
}

/// The kernel does without an IOMMU.
pub(crate) fn no_iommu_mode(address: Address) -> Refusal {
    let remedy = "switch the IOMMU on, and leave enable_unsafe_noiommu_mode off";
    device(address, "is in VFIO's no-IOMMU mode, in which a device can reach all memory").remedy(remedy)
}

/// The kernel has no vfio-pci.
pub(crate) fn no_driver(address: Address) -> Refusal {
    device(address, "the kernel has no driver vfio-pci loaded").remedy("`sudo modprobe vfio-pci`")
}

/// Another driver has it, or none.
pub(crate) fn not_bound(address: Address, driver: Option<&str>) -> Refusal {
    let problem = format!("{} has it", driver.unwrap_or("no driver"));
    device(address, problem).remedy(format!("`sudo pcielab devices bind {address} --user $USER`"))
}

/// A driver has it that must not.
pub(crate) fn not_unbound(address: Address, driver: &str) -> Refusal {
    let remedy = format!("`sudo pcielab devices bind {address} --unbound --user $USER` makes them yours");
    device(address, format!("{driver} has it, and its BARs")).remedy(remedy)
}

/// The file by which it is opened is somebody else's.
pub(crate) fn no_permission(address: Address, path: &Path) -> Refusal {
    denied(path).remedy(format!("`sudo pcielab devices bind {address} --user $USER` gives it to you"))
}

/// The files of its BARs are somebody else's.
pub(crate) fn no_stores(address: Address, path: &Path) -> Refusal {
    denied(path)
        .remedy(format!("`sudo pcielab devices bind {address} --unbound --user $USER` gives it to you"))
}

/// Only root may; `what` is `bind` or `release`.
pub(crate) fn not_root(address: Address, path: &Path, what: &str) -> Refusal {
    denied(path).remedy(format!("binding is for root: `sudo pcielab devices {what} {address}`"))
}

fn denied(path: &Path) -> Refusal {
    kernel(path.display().to_string(), "permission denied")
}

/// A user that there is not.
pub(crate) fn no_such_user(name: &str) -> Refusal {
    let refusal = kernel(format!("--user {name}"), "there is no such user");
    refusal.remedy("give the name of one, as in /etc/passwd")
}

/// Another process has it, since `seconds`; 0 where it was not waited for.
pub(crate) fn busy(address: Address, path: &Path, seconds: u64) -> Refusal {
    let path = path.display();
    let waited = if seconds == 0 { String::new() } else { format!(", and was for {seconds} s") };
    let remedy = format!("end the process that has it (`sudo fuser {path}`)");
    device(address, format!("{path} is busy{waited}")).remedy(remedy)
}

/// Without power, in the power state `state`; the kernel's file `file` wakes it.
pub(crate) fn asleep(address: Address, state: &str, file: &Path) -> Refusal {
    let remedy = format!("`echo on | sudo tee {}` wakes it", file.display());
    device(address, format!("is in {state}")).remedy(remedy)
}

/// Its BARs answer nobody; the kernel's file `file` changes that.
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

/// Mappings of that size cannot be.
pub(crate) fn page_size(asked: u64, remedy: impl Into<String>) -> Refusal {
    Refusal::of("host.iommu_page_bytes", asked, remedy)
}

/// No room for its bus addresses.
pub(crate) fn no_room(bytes: u64) -> Refusal {
    let problem = format!("{bytes} bytes of bus addresses: the IOMMU leaves no such range free");
    Refusal::new(problem).remedy("give a smaller host.buffer_bytes")
}

/// Not a system that this is made for.
#[cfg(not(target_os = "linux"))]
pub(crate) fn not_linux() -> Refusal {
    let problem = "devices are reached through VFIO, which is there on Linux only";
    Refusal::new(problem).remedy("give --device sim")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;

    #[test]
    fn who_is_in_the_way_is_named_with_what_ends_it() {
        let address: Address = "0000:3b:00.0".parse().unwrap();
        let busy = |seconds| busy(address, Path::new("/dev/vfio/9"), seconds).to_string();
        assert_eq!(
            busy(0),
            "0000:3b:00.0: /dev/vfio/9 is busy: end the process that has it (`sudo fuser /dev/vfio/9`)"
        );
        assert!(busy(10).contains("is busy, and was for 10 s: end the process that has it"));
        let theirs = no_stores(address, Path::new("/sys/resource2")).to_string();
        assert!(
            theirs.contains(
                "permission denied: `sudo pcielab devices bind 0000:3b:00.0 --unbound --user $USER`"
            )
        );
        assert!(no_room(4096).to_string().contains("give a smaller host.buffer_bytes"));
    }
}
