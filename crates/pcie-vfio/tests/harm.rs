//! Binding and releasing harm no network, disk, display or foreign setup, on made-up machines.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machine;

use machine::{BRIDGE, DISPLAY, DRIVE, Machine, NIC, ROUTES, address};
use pcie_vfio::{Purpose, bind};
use std::fs;

/// Checks that binding is refused for both purposes with these words, and unbinds nothing.
fn refused(machine: &Machine, function: &str, words: &str) {
    for purpose in [Purpose::Vfio, Purpose::Stores] {
        let error = bind(&machine.tree(), address(function), purpose, None).unwrap_err().to_string();
        assert!(error.starts_with(function) && error.contains(words), "{purpose:?}: {error}");
    }
    assert_eq!(machine.unbound(), "", "{words}: something was unbound");
}

/// Address of a function that [`with_other`] adds.
const OTHER: &str = "0000:05:00.0";

/// A machine with another function of a class and a driver.
fn with_other(class: &str, driver: &str) -> Machine {
    let machine = Machine::new();
    machine.function(OTHER, class, Some(driver), Some(12));
    machine
}

/// A machine whose NIC has an interface that is down, `between` below the NIC.
fn with_eth7(between: &str) -> Machine {
    let machine = Machine::new();
    machine.interface("eth7", NIC, between, "0x1002");
    machine
}

#[test]
fn interface_is_found_at_any_depth_below_a_function() {
    // PCI, virtio, USB, USB behind a hub, InfiniBand.
    let (hub, infiniband) = ("/usb2/2-1/2-1.4/2-1.4:2.1", "/infiniband/mlx5_0/ports/1");
    for between in ["", "/virtio0", "/usb2/2-1/2-1:1.0", hub, infiniband] {
        let machine = Machine::new();
        machine.interface("enp9s0", NIC, between, "0x1003");
        refused(&machine, NIC, "interface enp9s0 is up; `sudo ip link set enp9s0 down`");
    }
}

#[test]
fn interface_that_is_down_is_bound_unless_it_has_the_default_route() {
    let machine = with_eth7("/virtio0");
    machine.bind_for_stores(NIC);
    assert_eq!(machine.unbound(), NIC);

    for (interface, mask, words) in [
        ("eth7", "00000000", "the default route goes through eth7"),
        // Half of the default route, as VPNs set it.
        ("eth7", "00000080", "the default route goes through eth7"),
        ("br0", "00000000", "the default route goes through br0, which eth7 is part of"),
    ] {
        let machine = with_eth7("/virtio0");
        machine.write("sys/class/net/br0/flags", "0x1002");
        let own = machine.folder(NIC) + "/virtio0/net/eth7";
        if interface != "eth7" {
            machine.link(&format!("{own}/upper_br0"), &machine.path("sys/class/net/br0"));
        }
        let route = format!("{interface}\t00000000\t0100A8C0\t0003\t0\t0\t100\t{mask}\t0\t0\t0\n");
        machine.write("proc/net/route", &format!("{ROUTES}{route}"));
        refused(&machine, NIC, words);
    }

    let machine = with_eth7("");
    let zeros = "0".repeat(32);
    let route = format!("{zeros} 00 {zeros} 00 fe8{:028}1 00000400 1 0 00000003 eth7\n", 0);
    machine.write("proc/net/ipv6_route", &route);
    refused(&machine, NIC, "the default route goes through eth7");
}

#[test]
fn member_of_a_bond_that_is_up_is_in_use() {
    let machine = with_eth7("");
    machine.write("sys/class/net/bond0/flags", "0x1403");
    let own = machine.folder(NIC) + "/net/eth7";
    machine.link(&format!("{own}/upper_bond0"), &machine.path("sys/class/net/bond0"));
    refused(&machine, NIC, "bond0, which eth7 is part of, is up");
}

#[test]
fn nic_with_its_interface_in_another_namespace_is_in_use() {
    let machine = Machine::new();
    fs::remove_dir_all(machine.path(&format!("{}/net", machine.folder(NIC)))).unwrap();
    let _ = fs::remove_dir_all(machine.path("sys/class/net"));
    refused(&machine, NIC, "its interface is in another network namespace");
}

#[test]
fn console_and_active_displays_are_in_use() {
    let machine = with_other("0x030000", "nvidia");
    machine.set(DISPLAY, "boot_vga", "1\n");
    machine.set(OTHER, "boot_vga", "0\n");
    refused(&machine, DISPLAY, "shows the console");
    // The other display may be bound while nothing is connected.
    machine.write(&format!("proc/driver/nvidia/gpus/{OTHER}/information"), "Device Minor: \t 1\n");
    let connector = machine.class("drm", "card1-HDMI-A-1", OTHER, "/drm/card1");
    machine.write(&format!("{connector}/status"), "disconnected\n");
    machine.bind_for_stores(OTHER);

    let machine = with_other("0x038000", "nvidia");
    let connector = machine.class("drm", "card1-HDMI-A-1", OTHER, "/drm/card1");
    machine.write(&format!("{connector}/status"), "connected\n");
    machine.write(&format!("{connector}/enabled"), "enabled\n");
    refused(&machine, OTHER, "a screen is shown at card1-HDMI-A-1");
}

#[test]
fn frame_buffer_of_the_console_is_in_use() {
    let machine = with_other("0x030000", "ast");
    machine.class("graphics", "fb0", OTHER, "");
    machine.write("sys/class/vtconsole/vtcon1/name", "(M) frame buffer device\n");
    machine.write("sys/class/vtconsole/vtcon1/bind", "1\n");
    refused(&machine, OTHER, "shows the console (fb0)");
    machine.write("sys/class/vtconsole/vtcon1/bind", "0\n");
    machine.bind_for_stores(OTHER);
}

#[test]
fn disk_is_found_at_any_depth_below_a_function() {
    for (name, between) in [
        ("vda", "/virtio1/block/vda"),
        ("sdb", "/usb1/1-3/1-3:1.0/host4/target4:0:0/4:0:0:0/block/sdb"),
        ("sdc", "/ata3/host2/target2:0:0/2:0:0:0/block/sdc"),
        ("mmcblk0", "/mmc_host/mmc0/mmc0:0001/block/mmcblk0"),
    ] {
        let machine = with_other("0x010000", "virtio-pci");
        let own = machine.folder(OTHER) + between;
        machine.write(&format!("{own}/dev"), "254:0");
        machine.write(&format!("{own}/{name}1/dev"), "254:1");
        machine.write(&format!("{own}/{name}1/partition"), "1");
        machine.link(&format!("sys/class/block/{name}"), &machine.path(&own));
        machine.link(&format!("sys/class/block/{name}1"), &machine.path(&format!("{own}/{name}1")));
        machine.write("proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/root rw\n");
        refused(&machine, OTHER, &format!("{name}1 is mounted at /"));
    }
}

#[test]
fn part_of_a_volume_raid_or_cache_is_in_use_unmounted() {
    for (holder, remedy) in [
        ("dm-3", "`sudo dmsetup remove /dev/dm-3`"),
        ("md0", "`sudo mdadm --stop /dev/md0`"),
        ("bcache0", "`lsblk /dev/nvme0n1`"),
    ] {
        let machine = Machine::new();
        machine.disk();
        machine.write(&format!("sys/class/block/{holder}/dev"), "253:3");
        machine.set(DRIVE, &format!("nvme/nvme0/nvme0n1/nvme0n1p1/holders/{holder}"), "");
        refused(&machine, DRIVE, &format!("nvme0n1p1 is part of {holder}; {remedy}"));
    }
}

#[test]
fn swap_is_found_under_any_name() {
    let machine = Machine::new();
    machine.disk();
    machine.write("dev/nvme0n1p1", "");
    machine.link("dev/disk/by-uuid/1-2", &machine.path("dev/nvme0n1p1"));
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/disk/by-uuid/1-2 partition 1 0 -2\n");
    refused(&machine, DRIVE, "/dev/disk/by-uuid/1-2 is swap; `sudo swapoff /dev/disk/by-uuid/1-2`");
}

#[test]
fn consoles_watchdogs_input_sound_and_virtual_functions_are_in_use() {
    let machine = with_other("0x070002", "serial");
    machine.class("tty", "ttyS4", OTHER, "");
    machine.write("sys/class/tty/console/active", "tty0 ttyS4\n");
    refused(&machine, OTHER, "ttyS4 is the kernel's console");

    let machine = with_other("0x088000", "i6300esb");
    let own = machine.class("watchdog", "watchdog0", OTHER, "");
    machine.write(&format!("{own}/state"), "active\n");
    refused(&machine, OTHER, "watchdog0 runs, and would restart the machine");

    let machine = with_other("0x0c0330", "xhci_hcd");
    let own = machine.class("input", "input5", OTHER, "/usb1/1-2/1-2:1.0/0003:046D:C31C.0001");
    machine.write(&format!("{own}/capabilities/key"), "1000000000007 ff9f207ac14057ff febeffdfffefffff\n");
    refused(&machine, OTHER, "a keyboard or pointer is attached to it (input5)");

    let machine = with_other("0x040300", "snd_hda_intel");
    machine.class("sound", "card2", OTHER, "");
    machine.write("proc/asound/card2/pcm0p/sub0/status", "state: RUNNING\n");
    refused(&machine, OTHER, "sound plays or is recorded on card2");

    let machine = with_eth7("");
    machine.set(NIC, "sriov_numvfs", "4\n");
    refused(&machine, NIC, "has 4 virtual functions; `echo 0 | sudo tee");
}

#[test]
fn function_with_functions_below_is_a_bridge_whatever_its_class() {
    let machine = with_other("0x010400", "vmd");
    fs::create_dir_all(machine.path(&format!("{}/pci10000:e0", machine.folder(OTHER)))).unwrap();
    refused(&machine, OTHER, "is a bridge");
    let machine = with_other("0x088000", "odd");
    let mut config = [0; 64];
    config[14] = 1;
    fs::write(machine.path(&format!("{}/config", machine.folder(OTHER))), config).unwrap();
    refused(&machine, OTHER, "is a bridge");
}

#[test]
fn only_devices_bound_by_pcielab_are_released() {
    // A virtual machine has it.
    let machine = Machine::new();
    machine.function(DRIVE, "0x010802", Some("vfio-pci"), Some(7));
    machine.set(DRIVE, "driver_override", "vfio-pci\n");
    let error = machine.release_error(DRIVE);
    assert!(error.contains("pcielab did not bind it") && error.contains("sudo tee"), "{error}");
    assert_eq!(machine.unbound(), "");
    assert_eq!(machine.get(DRIVE, "driver_override"), "vfio-pci\n");
    // A device that never had a driver.
    machine.function(NIC, "0x020000", None, Some(8));
    machine.takes(NIC, None);
    machine.set(NIC, "enable", "1\n");
    assert!(machine.release_error(NIC).contains("pcielab did not bind it"));
    assert_eq!(machine.get(NIC, "enable"), "1\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), "");
}

#[test]
fn bridge_is_never_released_or_disabled() {
    let machine = Machine::new();
    machine.takes(BRIDGE, None);
    machine.set(BRIDGE, "enable", "1\n");
    assert!(machine.release_error(BRIDGE).contains("is a bridge"));
    assert_eq!(machine.get(BRIDGE, "enable"), "1\n");
    machine.takes(BRIDGE, Some("vfio-pci"));
    assert!(machine.release_error(BRIDGE).contains("is a bridge"));
    assert_eq!(machine.unbound(), "");
}

/// A machine whose NIC is bound for stores.
fn bound() -> Machine {
    let machine = Machine::new();
    machine.takes(NIC, None);
    machine.set(NIC, "enable", "0\n");
    machine.bind_for_stores(NIC);
    assert_eq!(machine.get(NIC, "enable"), "1");
    machine.set(NIC, "enable", "1\n");
    machine
}

#[test]
fn release_restores_the_device_once() {
    let machine = bound();
    machine.release(NIC);
    assert_eq!(machine.get(NIC, "enable"), "0");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), NIC);
    assert!(machine.release_error(NIC).contains("pcielab did not bind it"), "it was released already");
    // A device that was enabled before stays enabled.
    let machine = Machine::new();
    machine.takes(NIC, None);
    machine.set(NIC, "enable", "1\n");
    machine.bind_for_stores(NIC);
    machine.release(NIC);
    assert_eq!(machine.get(NIC, "enable"), "1\n");
}

#[test]
fn device_that_a_program_stores_into_is_not_released() {
    let machine = bound();
    let bar = format!("/sys/devices/pci0000:00/{NIC}/resource2");
    machine.process(7, "pcielab", &[]);
    machine.write("proc/7/task/7/maps", &format!("7f00-7f01 rw-s 00000000 00:15 99 {bar}\n"));
    let error = machine.release_error(NIC);
    assert!(error.contains(&format!("process 7 (pcielab) has {bar} mapped")), "{error}");
    assert_eq!(machine.get(NIC, "enable"), "1\n");
    fs::remove_dir_all(machine.path("proc/7")).unwrap();
    machine.release(NIC);
}

#[test]
fn release_restores_driver_override() {
    let machine = with_eth7("");
    machine.set(NIC, "driver_override", "mine\n");
    machine.bind_for_stores(NIC);
    machine.takes(NIC, None);
    machine.release(NIC);
    assert_eq!(machine.get(NIC, "driver_override"), "mine");
}

#[test]
fn one_copy_of_the_note_suffices_and_broken_ones_are_ignored() {
    let copies = ["run/pcielab/bound", "var/lib/pcielab/bound"].map(|folder| format!("{folder}/{NIC}.json"));
    for lost in &copies {
        let machine = bound();
        fs::remove_file(machine.path(lost)).unwrap();
        machine.release(NIC);
    }
    for broken in ["", "{", "{\"address\": 7}", "\0\0\0", "null"] {
        let machine = bound();
        machine.write(&copies[0], broken);
        machine.release(NIC);
        let machine = bound();
        copies.iter().for_each(|copy| machine.write(copy, broken));
        let error = machine.release_error(NIC);
        assert!(error.contains("pcielab did not bind it"), "{broken}: {error}");
        assert_eq!(machine.get(NIC, "enable"), "1\n");
    }
    // A note of another device, and one of an earlier boot.
    let machine = bound();
    let note = machine.text(&copies[0]);
    for wrong in [note.replace(NIC, DRIVE), note.replace("boot-1", "boot-0")] {
        assert_ne!(wrong, note);
        copies.iter().for_each(|copy| machine.write(copy, &wrong));
        assert!(machine.release_error(NIC).contains("pcielab did not bind it"));
    }
}

#[test]
fn nothing_is_bound_without_a_note() {
    let machine = with_eth7("");
    machine.write("run", "no folder");
    machine.write("var", "no folder");
    refused(&machine, NIC, "the binding cannot be noted");
}

#[test]
fn failed_binding_for_stores_restores_the_device() {
    let machine = with_eth7("");
    // A folder cannot be written.
    fs::create_dir_all(machine.path(&format!("{}/enable", machine.folder(NIC)))).unwrap();
    let error = bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap_err().to_string();
    assert!(error.contains("enable"), "{error}");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), NIC, "the driver was not asked to take it back");
    assert!(!machine.path(&format!("run/pcielab/bound/{NIC}.json")).exists());
}
