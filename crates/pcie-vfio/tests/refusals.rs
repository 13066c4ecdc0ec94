//! What stands in the way of binding and opening a device, on made-up machines: each refusal names what mends it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machine;

use machine::{BRIDGE, DISPLAY, DRIVE, Machine, NIC, address};
use pcie_vfio::{Purpose, Tree, bind, devices, release};
use std::fs;

#[test]
fn an_address_that_does_not_exist_is_refused_with_the_nearest() {
    let machine = Machine::new();
    assert_eq!(
        machine.told("0000:02:00.1"),
        "0000:02:00.1: there is no such PCI function: the nearest are 0000:02:00.0, 0000:03:00.0, 0000:00:01.0"
    );
    let nothing = tempfile::tempdir().unwrap();
    let told = bind(&Tree::at(nothing.path()), address(DRIVE), Purpose::Vfio, None).unwrap_err();
    assert!(told.to_string().ends_with("the kernel shows none at all"));
}

#[test]
fn bridges_displays_and_interfaces_that_are_up_are_refused() {
    let machine = Machine::new();
    assert_eq!(
        machine.told(BRIDGE),
        "0000:00:01.0: is a bridge, which leads to devices: give a device behind it (`pcielab devices list`)"
    );
    assert!(machine.told(DISPLAY).contains("is the only display of this machine"));
    machine.write(&format!("sys/bus/pci/devices/{NIC}/net/eth7/flags"), "0x1003");
    assert_eq!(
        machine.told(NIC),
        "0000:03:00.0: is in use: interface eth7 is up; `sudo ip link set eth7 down`"
    );
    machine.write(&format!("sys/bus/pci/devices/{NIC}/net/eth7/flags"), "0x1002");
    assert!(machine.told(NIC).contains("the driver did not take it"));
}

#[test]
fn a_drive_that_is_mounted_anywhere_in_a_stack_is_refused() {
    let machine = Machine::new();
    machine.disk();
    machine
        .write("proc/self/mountinfo", "22 1 259:1 / /home rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n");
    assert_eq!(
        machine.told(DRIVE),
        "0000:02:00.0: is in use: nvme0n1p1 is mounted at /home; `sudo umount /home`"
    );
    // A volume upon the partition.
    machine.write("sys/class/block/dm-3/dev", "253:3");
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/nvme/nvme0/nvme0n1/nvme0n1p1/holders/dm-3"), "");
    machine.write("proc/self/mountinfo", "22 1 253:3 / /srv rw - xfs /dev/mapper/data rw\n");
    assert!(machine.told(DRIVE).contains("dm-3 is mounted at /srv; `sudo umount /srv`"));
    // A file system whose number is its own, and which names its device.
    machine.write("proc/self/mountinfo", "22 1 0:44 / /data rw - btrfs /dev/nvme0n1p1 rw\n");
    assert!(machine.told(DRIVE).contains("nvme0n1p1 is mounted at /data"));
    machine.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1p1 partition 1 0 -2\n");
    assert!(machine.told(DRIVE).contains("/dev/nvme0n1p1 is swap; `sudo swapoff /dev/nvme0n1p1`"));
    machine.write("proc/swaps", "Filename Type Size Used Priority\n");
    assert!(machine.told(DRIVE).contains("nvme0n1p1 is part of dm-3"));
    let disk = format!("sys/bus/pci/devices/{DRIVE}/nvme/nvme0/nvme0n1");
    fs::remove_dir_all(machine.path(&format!("{disk}/nvme0n1p1/holders"))).unwrap();
    assert!(machine.told(DRIVE).contains("the driver did not take it"));
}

#[test]
fn a_drive_with_several_ways_to_it_is_known_by_its_disk() {
    let machine = Machine::new();
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/nvme/nvme3/nvme0c3n1/hidden"), "1");
    machine.write("sys/class/block/nvme0n1/dev", "259:8");
    machine.write("proc/self/mountinfo", "22 1 259:8 / / rw - ext4 /dev/nvme0n1 rw\n");
    assert!(machine.told(DRIVE).contains("nvme0n1 is mounted at /"));
}

#[test]
fn groups_that_cannot_be_given_away_are_refused() {
    let machine = Machine::new();
    machine.function("0000:02:00.1", "0x020000", Some("e1000e"), Some(7));
    assert_eq!(
        machine.told(DRIVE),
        "0000:02:00.0: shares IOMMU group 7 with 0000:02:00.1 (e1000e), which drivers have: bind or release all of the \
         group (`pcielab devices bind`), or use a slot with ACS"
    );
    machine.function("0000:02:00.1", "0x020000", Some("vfio-pci"), Some(7));
    assert!(
        machine.told(DRIVE).contains("the driver did not take it"),
        "what is ours, and bridges, may be there"
    );
    machine.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu\n");
    assert!(machine.told(DRIVE).contains("no-IOMMU mode, in which a device can reach all memory"));
    fs::remove_file(machine.path(&format!("sys/bus/pci/devices/{NIC}/iommu_group"))).unwrap();
    assert!(
        machine.told(NIC).contains("has no IOMMU group: switch the IOMMU on")
            && machine.told(NIC).contains("intel_iommu=on")
    );
}

#[test]
fn what_sleeps_or_does_not_decode_is_refused_with_the_file_that_mends_it() {
    let machine = Machine::new();
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/power_state"), "D3cold\n");
    let told = machine.told(DRIVE);
    assert!(
        told.contains("is in D3cold: `echo on | sudo tee") && told.contains("power/control` wakes it"),
        "{told}"
    );
    fs::remove_file(machine.path(&format!("sys/bus/pci/devices/{NIC}/driver"))).unwrap();
    fs::write(machine.path(&format!("sys/bus/pci/devices/{NIC}/config")), [0; 6]).unwrap();
    let rows = devices(&machine.tree());
    let nic = rows.iter().find(|row| row.address == NIC && row.kind == "pio").unwrap();
    assert!(nic.missing.contains("does not decode memory: `echo 1 | sudo tee"), "{}", nic.missing);
}

#[test]
fn what_is_not_ready_is_listed_with_the_command_that_makes_it_so() {
    let machine = Machine::new();
    let rows = devices(&machine.tree());
    let missing = |address: &str, kind: &str| {
        rows.iter()
            .find(|row| row.address == address && row.kind == kind)
            .map(|row| row.missing.clone())
            .unwrap()
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
fn a_binding_that_fails_leaves_everything_as_it_was() {
    let machine = Machine::new();
    let folder = format!("sys/bus/pci/devices/{DRIVE}");
    assert!(machine.told(DRIVE).contains("giving it to vfio-pci: the driver did not take it: see dmesg"));
    assert_eq!(machine.text("sys/bus/pci/drivers/nvme/unbind"), DRIVE);
    assert_eq!(machine.text(&format!("{folder}/driver_override")), "\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), DRIVE);
    let told = bind(&machine.tree(), address(DRIVE), Purpose::Vfio, Some("bob")).unwrap_err().to_string();
    assert_eq!(told, "--user bob: there is no such user: give the name of one, as in /etc/passwd");
    fs::remove_dir_all(machine.path("sys/bus/pci/drivers/vfio-pci")).unwrap();
    assert!(machine.told(DRIVE).contains("`sudo modprobe vfio-pci`"));
}

#[test]
fn what_is_made_ready_for_stores_twice_is_switched_on_once() {
    let machine = Machine::new();
    let enable = format!("sys/bus/pci/devices/{NIC}/enable");
    machine.write(&enable, "0\n");
    let ready = || bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap();
    ready();
    assert_eq!(machine.text(&enable), "1");
    // As the kernel shows it, told apart from what is written.
    machine.write(&enable, "1\n");
    ready();
    assert_eq!(machine.text(&enable), "1\n");
}

#[test]
fn a_device_is_given_back_to_whatever_driver_the_kernel_chooses() {
    let machine = Machine::new();
    bind(&machine.tree(), address(DRIVE), Purpose::Stores, None).unwrap();
    // As binding it to vfio-pci leaves it, which no folder does by itself.
    for folder in ["run/pcielab/bound", "var/lib/pcielab/bound"] {
        let note = format!("{folder}/{DRIVE}.json");
        machine.write(&note, &machine.text(&note).replace("\"stores\"", "\"vfio\""));
    }
    machine.takes(DRIVE, Some("vfio-pci"));
    machine.write(&format!("sys/bus/pci/devices/{DRIVE}/driver_override"), "vfio-pci");
    release(&machine.tree(), address(DRIVE)).unwrap();
    assert_eq!(machine.text("sys/bus/pci/drivers/vfio-pci/unbind"), DRIVE);
    assert_eq!(machine.text(&format!("sys/bus/pci/devices/{DRIVE}/driver_override")), "\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), DRIVE);
    // Another driver's device is left alone.
    release(&machine.tree(), address(NIC)).unwrap();
    assert_eq!(machine.text("sys/bus/pci/drivers/e1000e/unbind"), "");
}
