//! Refusals to bind and open a device, on made-up machines: each names its fix.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machine;

use machine::{BRIDGE, DISPLAY, DRIVE, Machine, NIC, address};
use pcie_vfio::{Opened, Purpose, Tree, bind, devices};
use std::fs;

#[test]
fn unknown_address_is_refused_with_the_nearest() {
    let machine = Machine::new();
    assert_eq!(
        machine.bind_error("0000:02:00.1"),
        "0000:02:00.1: no PCI function has this address: the nearest are 0000:02:00.0, 0000:03:00.0, 0000:00:01.0"
    );
    let nothing = tempfile::tempdir().unwrap();
    let error = bind(&Tree::at(nothing.path()), address(DRIVE), Purpose::Vfio, None).unwrap_err();
    assert!(error.to_string().ends_with("the kernel lists no PCI function"));
}

#[test]
fn bridges_displays_and_interfaces_that_are_up_are_refused() {
    let machine = Machine::new();
    assert_eq!(
        machine.bind_error(BRIDGE),
        "0000:00:01.0: is a bridge: give a device behind it (`pcielab devices list`)"
    );
    assert!(machine.bind_error(DISPLAY).contains("is the only display of this machine"));
    machine.set(NIC, "net/eth7/flags", "0x1003");
    assert_eq!(
        machine.bind_error(NIC),
        "0000:03:00.0: is in use: interface eth7 is up; `sudo ip link set eth7 down`"
    );
    machine.set(NIC, "net/eth7/flags", "0x1002");
    assert!(machine.bind_error(NIC).contains("the driver did not take it"));
}

#[test]
fn drive_mounted_anywhere_in_a_stack_is_refused() {
    let machine = Machine::new();
    machine.disk();
    machine
        .write("proc/self/mountinfo", "22 1 259:1 / /home rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n");
    assert_eq!(
        machine.bind_error(DRIVE),
        "0000:02:00.0: is in use: nvme0n1p1 is mounted at /home; `sudo umount /home`"
    );
    // A volume on the partition.
    machine.write("sys/class/block/dm-3/dev", "253:3");
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/nvme/nvme0/nvme0n1/nvme0n1p1/holders/dm-3"), "");
    machine.write("proc/self/mountinfo", "22 1 253:3 / /srv rw - xfs /dev/mapper/data rw\n");
    assert!(machine.bind_error(DRIVE).contains("dm-3 is mounted at /srv; `sudo umount /srv`"));
    // A file system with a device number of its own, which names its device.
    machine.write("proc/self/mountinfo", "22 1 0:44 / /data rw - btrfs /dev/nvme0n1p1 rw\n");
    assert!(machine.bind_error(DRIVE).contains("nvme0n1p1 is mounted at /data"));
    machine.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1p1 partition 1 0 -2\n");
    assert!(machine.bind_error(DRIVE).contains("/dev/nvme0n1p1 is swap; `sudo swapoff /dev/nvme0n1p1`"));
    machine.write("proc/swaps", "Filename Type Size Used Priority\n");
    assert!(machine.bind_error(DRIVE).contains("nvme0n1p1 is part of dm-3"));
    let holders = format!("{}/nvme/nvme0/nvme0n1/nvme0n1p1/holders", machine.folder(DRIVE));
    fs::remove_dir_all(machine.path(&holders)).unwrap();
    assert!(machine.bind_error(DRIVE).contains("the driver did not take it"));
}

#[test]
fn multipath_drive_is_found_by_its_disk() {
    let machine = Machine::new();
    machine.set(DRIVE, "nvme/nvme3/nvme0c3n1/hidden", "1");
    machine.write("sys/class/block/nvme0n1/dev", "259:8");
    machine.write("proc/self/mountinfo", "22 1 259:8 / / rw - ext4 /dev/nvme0n1 rw\n");
    assert!(machine.bind_error(DRIVE).contains("nvme0n1 is mounted at /"));
}

#[test]
fn shared_missing_and_untranslated_groups_are_refused() {
    let machine = Machine::new();
    machine.function("0000:02:00.1", "0x020000", Some("e1000e"), Some(7));
    assert_eq!(
        machine.bind_error(DRIVE),
        "0000:02:00.0: shares IOMMU group 7 with 0000:02:00.1 (e1000e), bound to drivers: bind or release all of the \
         group (`pcielab devices bind`), or use a slot with ACS"
    );
    machine.function("0000:02:00.1", "0x020000", Some("vfio-pci"), Some(7));
    // Bridges and devices on vfio-pci may share the group.
    assert!(machine.bind_error(DRIVE).contains("the driver did not take it"));
    machine.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
    assert!(machine.bind_error(DRIVE).contains("no-IOMMU mode, in which a device can reach all memory"));
    fs::remove_file(machine.path(&format!("sys/bus/pci/devices/{NIC}/iommu_group"))).unwrap();
    let error = machine.bind_error(NIC);
    assert!(error.contains("has no IOMMU group: switch the IOMMU on") && error.contains("intel_iommu=on"));
}

#[test]
fn sleeping_or_disabled_device_is_refused_with_the_file_that_wakes_it() {
    let machine = Machine::new();
    machine.set(DRIVE, "power_state", "D3cold\n");
    let error = machine.bind_error(DRIVE);
    assert!(error.contains("is in D3cold: `echo on | sudo tee"), "{error}");
    assert!(error.contains("power/control` wakes it"), "{error}");
    fs::remove_file(machine.path(&format!("sys/bus/pci/devices/{NIC}/driver"))).unwrap();
    fs::write(machine.path(&format!("sys/bus/pci/devices/{NIC}/config")), [0; 6]).unwrap();
    let rows = devices(&machine.tree());
    let nic = rows.iter().find(|row| row.address == NIC && row.kind == "pio").unwrap();
    assert!(nic.missing.contains("does not decode memory: `echo 1 | sudo tee"), "{}", nic.missing);
}

#[test]
fn devices_are_listed_with_the_command_that_prepares_them() {
    let machine = Machine::new();
    let rows = devices(&machine.tree());
    let missing = |address: &str, kind: &str| {
        rows.iter().find(|row| row.address == address && row.kind == kind).unwrap().missing.clone()
    };
    assert_eq!(
        missing(DRIVE, "nvme"),
        "0000:02:00.0: nvme has it: `sudo pcielab devices bind 0000:02:00.0 --user $USER`"
    );
    assert_eq!(
        missing(NIC, "pio"),
        "0000:03:00.0: e1000e has it, and its BARs: `sudo pcielab devices bind 0000:03:00.0 --unbound --user $USER` makes \
         them yours"
    );
    assert!(missing(NIC, "e1000e").contains("e1000e has it: `sudo pcielab devices bind 0000:03:00.0"));
    assert!(rows.iter().all(|row| row.address != BRIDGE));
    machine.function(DRIVE, "0x010802", Some("vfio-pci"), Some(7));
    assert_eq!(devices(&machine.tree()).iter().find(|row| row.kind == "nvme").unwrap().missing, "");
}

#[test]
fn failed_binding_restores_the_device() {
    let machine = Machine::new();
    let folder = format!("sys/bus/pci/devices/{DRIVE}");
    assert!(
        machine.bind_error(DRIVE).contains("giving it to vfio-pci: the driver did not take it: see dmesg")
    );
    assert_eq!(machine.text("sys/bus/pci/drivers/nvme/unbind"), DRIVE);
    assert_eq!(machine.text(&format!("{folder}/driver_override")), "\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), DRIVE);
    let error = bind(&machine.tree(), address(DRIVE), Purpose::Vfio, Some("bob")).unwrap_err().to_string();
    assert_eq!(error, "--user bob: unknown user: give a name in /etc/passwd");
    fs::remove_dir_all(machine.path("sys/bus/pci/drivers/vfio-pci")).unwrap();
    assert!(machine.bind_error(DRIVE).contains("`sudo modprobe vfio-pci`"));
}

#[test]
fn binding_for_stores_twice_enables_the_device_once() {
    let machine = Machine::new();
    let enable = format!("sys/bus/pci/devices/{NIC}/enable");
    machine.write(&enable, "0\n");
    machine.bind_for_stores(NIC);
    assert_eq!(machine.text(&enable), "1");
    // As the kernel shows it: with a newline, unlike the written text.
    machine.write(&enable, "1\n");
    machine.bind_for_stores(NIC);
    assert_eq!(machine.text(&enable), "1\n");
}

#[test]
fn release_lets_the_kernel_choose_the_driver() {
    let machine = Machine::new();
    machine.bind_for_stores(DRIVE);
    // The state that binding to vfio-pci leaves.
    for folder in ["run/pcielab/bound", "var/lib/pcielab/bound"] {
        let note = format!("{folder}/{DRIVE}.json");
        machine.write(&note, &machine.text(&note).replace("\"stores\"", "\"vfio\""));
    }
    machine.takes(DRIVE, Some("vfio-pci"));
    machine.set(DRIVE, "driver_override", "vfio-pci");
    machine.release(DRIVE);
    assert_eq!(machine.text("sys/bus/pci/drivers/vfio-pci/unbind"), DRIVE);
    assert_eq!(machine.get(DRIVE, "driver_override"), "\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), DRIVE);
    // A device of another driver is untouched.
    machine.release(NIC);
    assert_eq!(machine.text("sys/bus/pci/drivers/e1000e/unbind"), "");
}

#[test]
fn a_kernel_without_containers_needs_iommufd_for_the_devices_own_node() {
    let machine = Machine::new();
    machine.function(DRIVE, "0x010802", Some("vfio-pci"), Some(7));
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/vfio-dev/vfio3/dev"), "511:3\n");
    machine.write("dev/vfio/devices/vfio3", "");
    let tree = Tree::at(machine.path(""));
    let function = tree.function(address(DRIVE)).unwrap();
    assert_eq!(tree.device_node(&function), Some(machine.path("dev/vfio/devices/vfio3")));
    let refused = Opened::open(&tree, address(DRIVE)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("dev/iommu: "), "{refused}");
    // With a container, the group is opened as ever.
    machine.write("dev/vfio/vfio", "");
    let refused = Opened::open(&tree, address(DRIVE)).map(drop).unwrap_err().to_string();
    assert!(!refused.contains("dev/iommu"), "{refused}");
}
