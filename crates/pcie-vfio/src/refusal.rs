//! What stands in the way of measuring a device, each with the command or option that mends it.

use crate::address::{Address, NoAddress};
use pcie_host::HostError;
use thiserror::Error;

/// Why a device is not bound, opened or measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The text is no address.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
    /// Nothing is there.
    #[error("{address}: there is no such PCI function{}", names_of(.nearest))]
    NotThere {
        /// Where.
        address: Address,
        /// What is near it.
        nearest: Vec<Address>,
    },
    /// A bridge.
    #[error("{0}: is a bridge, which leads to devices: give a device behind it (`pcielab devices list`)")]
    Bridge(Address),
    /// A file system, a volume or swap is on it.
    #[error("{address}: is in use: {use_}; {remedy}")]
    InUse {
        /// Which.
        address: Address,
        /// What for.
        use_: String,
        /// What ends that.
        remedy: String,
    },
    /// What shows the screen.
    #[error(
        "{0}: is the only display of this machine: use another display, or none, before it is taken away"
    )]
    OnlyDisplay(Address),
    /// Somebody else bound it, or nobody did.
    #[error(
        "{address}: pcielab did not bind it ({driver}), so that it is not pcielab's to give back: if nobody needs it as it \
         is, {remedy}"
    )]
    NotOurs {
        /// Which.
        address: Address,
        /// What has it.
        driver: String,
        /// The commands that give it back by hand.
        remedy: String,
    },
    /// There is no place for the note by which a device is given back.
    #[error("{address}: what is bound cannot be noted ({reason}): make /run or /var/lib writable")]
    Unnoted {
        /// Which.
        address: Address,
        /// Why not.
        reason: String,
    },
    /// Other devices would be taken along.
    #[error(
        "{address}: shares IOMMU group {group} with {others}, which drivers have: bind or release all of the group \
         (`pcielab devices bind`), or use a slot with ACS"
    )]
    SharedGroup {
        /// Which.
        address: Address,
        /// Its group.
        group: u32,
        /// The others, with their drivers.
        others: String,
    },
    /// Nothing translates its addresses.
    #[error(
        "{0}: has no IOMMU group: switch the IOMMU on (VT-d or AMD-Vi in the firmware, and `intel_iommu=on` on the \
         kernel's command line)"
    )]
    NoIommu(Address),
    /// The kernel was told to do without.
    #[error(
        "{0}: is in VFIO's no-IOMMU mode, in which a device can reach all memory: switch the IOMMU on, and leave \
         enable_unsafe_noiommu_mode off"
    )]
    NoIommuMode(Address),
    /// The kernel has no vfio-pci.
    #[error("{0}: the kernel has no driver vfio-pci loaded: `sudo modprobe vfio-pci`")]
    NoDriver(Address),
    /// Another driver has it.
    #[error("{address}: {driver} has it: `sudo pcielab devices bind {address} --user $USER`")]
    NotBound {
        /// Which.
        address: Address,
        /// The driver, or that there is none.
        driver: String,
    },
    /// A driver has it that must not.
    #[error(
        "{address}: {driver} has it, and its BARs: `sudo pcielab devices bind {address} --unbound --user $USER` makes them yours"
    )]
    NotUnbound {
        /// Which.
        address: Address,
        /// The driver.
        driver: String,
    },
    /// The file is somebody else's.
    #[error("{path}: permission denied: `sudo pcielab devices bind {address} --user $USER` gives it to you")]
    NoPermission {
        /// Which.
        address: Address,
        /// The kernel's file.
        path: String,
    },
    /// The files of its BARs are somebody else's.
    #[error(
        "{path}: permission denied: `sudo pcielab devices bind {address} --unbound --user $USER` gives it to you"
    )]
    NoStores {
        /// Which.
        address: Address,
        /// The kernel's file.
        path: String,
    },
    /// Only root may.
    #[error("{path}: permission denied: binding is for root: `sudo pcielab devices {what} {address}`")]
    NotRoot {
        /// Which.
        address: Address,
        /// The kernel's file.
        path: String,
        /// `bind` or `release`.
        what: &'static str,
    },
    /// A user that there is not.
    #[error("--user {0}: there is no such user: give the name of one, as in /etc/passwd")]
    NoSuchUser(String),
    /// Another process has it.
    #[error(
        "{address}: {path} is busy{}: end the process that has it (`sudo fuser {path}`)",
        waited(*.seconds)
    )]
    Busy {
        /// Which.
        address: Address,
        /// The kernel's file.
        path: String,
        /// How long it was waited for; 0 where it was not.
        seconds: u64,
    },
    /// Without power.
    #[error("{address}: is in {state}: `echo on | sudo tee {file}` wakes it")]
    Asleep {
        /// Which.
        address: Address,
        /// The power state.
        state: String,
        /// The kernel's file that wakes it.
        file: String,
    },
    /// Its BARs answer nobody.
    #[error("{address}: does not decode memory: `echo 1 | sudo tee {file}` switches that on")]
    NoDecoding {
        /// Which.
        address: Address,
        /// The kernel's file that switches it on.
        file: String,
    },
    /// Too many mappings.
    #[error(
        "host.iommu_page_bytes = {page_bytes}: the buffer takes {needed} mappings, the kernel allows {available}: give larger \
         pages, a smaller host.buffer_bytes, or raise vfio_iommu_type1's dma_entry_limit"
    )]
    TooManyMappings {
        /// Bytes of each.
        page_bytes: u64,
        /// What it takes.
        needed: u64,
        /// What there may be.
        available: u64,
    },
    /// Mappings of that size cannot be.
    #[error("host.iommu_page_bytes = {asked}: {reason}")]
    PageSize {
        /// The size asked for.
        asked: u64,
        /// Why not, and what can be.
        reason: String,
    },
    /// No room for its bus addresses.
    #[error(
        "{bytes} bytes of bus addresses: the IOMMU leaves no such range free: give a smaller host.buffer_bytes"
    )]
    NoRoom {
        /// What was looked for.
        bytes: u64,
    },
    /// An option that cannot be.
    #[error("{0}")]
    Option(String),
    /// The device is not what it was taken for, or lacks something.
    #[error("{address}: {reason}")]
    Device {
        /// Which.
        address: Address,
        /// Why.
        reason: String,
    },
    /// The kernel refused something.
    #[error("{what}: {reason}")]
    Kernel {
        /// What was asked for.
        what: String,
        /// What it said.
        reason: String,
    },
    /// The host's side.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Not a system that this is made for.
    #[error("devices are reached through VFIO, which is there on Linux only: give --device sim")]
    NotLinux,
}

fn waited(seconds: u64) -> String {
    if seconds == 0 { String::new() } else { format!(", and was for {seconds} s") }
}

fn names_of(addresses: &[Address]) -> String {
    if addresses.is_empty() {
        return ": the kernel shows none at all".to_owned();
    }
    let texts: Vec<String> = addresses.iter().map(Address::to_string).collect();
    format!(": the nearest are {}", texts.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;

    #[test]
    fn who_is_in_the_way_is_named_with_what_ends_it() {
        let address: Address = "0000:3b:00.0".parse().unwrap();
        let busy = |seconds| Refusal::Busy { address, path: "/dev/vfio/9".into(), seconds }.to_string();
        assert_eq!(
            busy(0),
            "0000:3b:00.0: /dev/vfio/9 is busy: end the process that has it (`sudo fuser /dev/vfio/9`)"
        );
        assert!(busy(10).contains("is busy, and was for 10 s: end the process that has it"));
        let theirs = Refusal::NoStores { address, path: "/sys/resource2".into() }.to_string();
        assert!(
            theirs.contains(
                "permission denied: `sudo pcielab devices bind 0000:3b:00.0 --unbound --user $USER`"
            )
        );
        assert!(Refusal::NoRoom { bytes: 4096 }.to_string().contains("give a smaller host.buffer_bytes"));
        assert!(Refusal::NotLinux.to_string().contains("give --device sim"));
    }
}
