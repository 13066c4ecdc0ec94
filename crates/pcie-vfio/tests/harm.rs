//! What binding and giving back must never do, on made-up machines: cut the machine off, take a disk or a screen away from under
//! something, or change what somebody else has set up.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machine;

use machine::{BRIDGE, DISPLAY, DRIVE, Machine, NIC, address};
use pcie_vfio::{Purpose, bind, release};
use std::fs;

/// Refused for both purposes, with these words, and nothing was unbound.
fn refused(machine: &Machine, function: &str, words: &str) {
    for purpose in [Purpose::Vfio, Purpose::Stores] {
        let told = bind(&machine.tree(), address(function), purpose, None).unwrap_err().to_string();
        assert!(told.contains(words), "{purpose:?}: {told}");
        assert!(told.starts_with(function), "{told}");
    }
    assert_eq!(machine.unbound(), "", "{words}: something was unbound");
}

#[test]
fn an_interface_is_found_however_far_below_a_function_it_is() {
    for (about, between) in [
        ("a PCI NIC", ""),
        ("a virtio NIC", "/virtio0"),
        ("a USB NIC below a USB controller", "/usb2/2-1/2-1:1.0"),
        ("a USB NIC behind a hub", "/usb2/2-1/2-1.4/2-1.4:2.1"),
        ("a network device of InfiniBand", "/infiniband/mlx5_0/ports/1"),
    ] {
        let machine = Machine::new();
        machine.interface("enp9s0", NIC, between, "0x1003");
        refused(&machine, NIC, "interface enp9s0 is up; `sudo ip link set enp9s0 down`");
        println!("{about}");
    }
}

#[test]
fn an_interface_that_is_down_may_go_but_not_with_the_route_of_the_machine() {
    let machine = Machine::new();
    machine.interface("eth7", NIC, "/virtio0", "0x1002");
    bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap();
    assert_eq!(machine.unbound(), NIC);

    let routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
    let of = |name: &str, destination: &str, mask: &str| {
        format!("{routes}{name}\t{destination}\t0100A8C0\t0003\t0\t0\t100\t{mask}\t0\t0\t0\n")
    };
    for (interface, text, words) in [
        ("eth7", of("eth7", "00000000", "00000000"), "the default route goes through eth7"),
        // Halves of it, as a VPN sets them.
        ("eth7", of("eth7", "00000000", "00000080"), "the default route goes through eth7"),
        (
            "br0",
            of("br0", "00000000", "00000000"),
            "the default route goes through br0, which eth7 is part of",
        ),
    ] {
        let machine = Machine::new();
        machine.interface("eth7", NIC, "/virtio0", "0x1002");
        machine.write("sys/class/net/br0/flags", "0x1002");
        let own = machine.folder(NIC) + "/virtio0/net/eth7";
        if interface != "eth7" {
            machine.link(&format!("{own}/upper_br0"), &machine.path("sys/class/net/br0"));
        }
        machine.write("proc/net/route", &text);
        refused(&machine, NIC, words);
    }

    let machine = Machine::new();
    machine.interface("eth7", NIC, "", "0x1002");
    let zeros = "0".repeat(32);
    machine.write(
        "proc/net/ipv6_route",
        &format!("{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 1 0 00000003 eth7\n"),
    );
    refused(&machine, NIC, "the default route goes through eth7");
}

#[test]
fn a_part_of_a_bond_or_a_bridge_that_is_up_is_in_use() {
    let machine = Machine::new();
    machine.interface("eth7", NIC, "", "0x1002");
    machine.write("sys/class/net/bond0/flags", "0x1403");
    let own = machine.folder(NIC) + "/net/eth7";
    machine.link(&format!("{own}/upper_bond0"), &machine.path("sys/class/net/bond0"));
    refused(&machine, NIC, "bond0, which eth7 is part of, is up");
}

#[test]
fn a_nic_whose_interface_is_elsewhere_is_in_use() {
    // A container has it: it is listed in another network namespace alone.
    let machine = Machine::new();
    fs::remove_dir_all(machine.path(&format!("{}/net", machine.folder(NIC)))).unwrap();
    let _ = fs::remove_dir_all(machine.path("sys/class/net"));
    refused(&machine, NIC, "its interface is not among those of this network namespace");
}

#[test]
fn the_display_of_the_console_stays_though_there_is_another() {
    let machine = Machine::new();
    machine.function("0000:05:00.0", "0x030000", Some("nvidia"), Some(12));
    machine.write(&format!("{}/boot_vga", machine.folder(DISPLAY)), "1\n");
    machine.write(&format!("{}/boot_vga", machine.folder("0000:05:00.0")), "0\n");
    refused(&machine, DISPLAY, "shows the console");
    // The other one is nobody's, until somebody looks at it.
    let connector = machine.class("drm", "card1-HDMI-A-1", "0000:05:00.0", "/drm/card1");
    machine.write(&format!("{connector}/status"), "disconnected\n");
    bind(&machine.tree(), address("0000:05:00.0"), Purpose::Stores, None).unwrap();

    let machine = Machine::new();
    machine.function("0000:05:00.0", "0x038000", Some("nvidia"), Some(12));
    let connector = machine.class("drm", "card1-HDMI-A-1", "0000:05:00.0", "/drm/card1");
    machine.write(&format!("{connector}/status"), "connected\n");
    machine.write(&format!("{connector}/enabled"), "enabled\n");
    refused(&machine, "0000:05:00.0", "a screen is shown at card1-HDMI-A-1");
}

#[test]
fn a_frame_buffer_of_the_console_stays() {
    let machine = Machine::new();
    machine.function("0000:05:00.0", "0x030000", Some("ast"), Some(12));
    machine.class("graphics", "fb0", "0000:05:00.0", "");
    machine.write("sys/class/vtconsole/vtcon1/name", "(M) frame buffer device\n");
    machine.write("sys/class/vtconsole/vtcon1/bind", "1\n");
    refused(&machine, "0000:05:00.0", "shows the console (fb0)");
    machine.write("sys/class/vtconsole/vtcon1/bind", "0\n");
    bind(&machine.tree(), address("0000:05:00.0"), Purpose::Stores, None).unwrap();
}

#[test]
fn a_disk_is_found_however_far_below_a_function_it_is() {
    for (name, between) in [
        ("vda", "/virtio1/block/vda"),
        ("sdb", "/usb1/1-3/1-3:1.0/host4/target4:0:0/4:0:0:0/block/sdb"),
        ("sdc", "/ata3/host2/target2:0:0/2:0:0:0/block/sdc"),
        ("mmcblk0", "/mmc_host/mmc0/mmc0:0001/block/mmcblk0"),
    ] {
        let machine = Machine::new();
        machine.function("0000:06:00.0", "0x010000", Some("virtio-pci"), Some(13));
        let own = machine.folder("0000:06:00.0") + between;
        machine.write(&format!("{own}/dev"), "254:0");
        machine.write(&format!("{own}/{name}1/dev"), "254:1");
        machine.write(&format!("{own}/{name}1/partition"), "1");
        machine.link(&format!("sys/class/block/{name}"), &machine.path(&own));
        machine.link(&format!("sys/class/block/{name}1"), &machine.path(&format!("{own}/{name}1")));
        machine.write("proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/root rw\n");
        refused(&machine, "0000:06:00.0", &format!("{name}1 is mounted at /"));
    }
}

#[test]
fn what_is_below_a_volume_a_raid_or_a_cache_stays_though_nothing_is_mounted() {
    for (holder, remedy) in [
        ("dm-3", "`sudo dmsetup remove /dev/dm-3`"),
        ("md0", "`sudo mdadm --stop /dev/md0`"),
        ("bcache0", "`lsblk /dev/nvme0n1`"),
    ] {
        let machine = Machine::new();
        machine.disk();
        machine.write(&format!("sys/class/block/{holder}/dev"), "253:3");
        let disk = format!("{}/nvme/nvme0/nvme0n1", machine.folder(DRIVE));
        machine.write(&format!("{disk}/nvme0n1p1/holders/{holder}"), "");
        refused(&machine, DRIVE, &format!("nvme0n1p1 is part of {holder}; {remedy}"));
    }
}

#[test]
fn swap_is_known_by_any_name() {
    let machine = Machine::new();
    machine.disk();
    machine.write("dev/nvme0n1p1", "");
    machine.link("dev/disk/by-uuid/1-2", &machine.path("dev/nvme0n1p1"));
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/disk/by-uuid/1-2 partition 1 0 -2\n");
    refused(&machine, DRIVE, "/dev/disk/by-uuid/1-2 is swap; `sudo swapoff /dev/disk/by-uuid/1-2`");
}

#[test]
fn what_else_people_and_the_machine_depend_on_stays() {
    let machine = Machine::new();
    machine.function("0000:07:00.0", "0x070002", Some("serial"), Some(14));
    machine.class("tty", "ttyS4", "0000:07:00.0", "");
    machine.write("sys/class/tty/console/active", "tty0 ttyS4\n");
    refused(&machine, "0000:07:00.0", "ttyS4 is the kernel's console");

    let machine = Machine::new();
    machine.function("0000:07:00.0", "0x088000", Some("i6300esb"), Some(14));
    let own = machine.class("watchdog", "watchdog0", "0000:07:00.0", "");
    machine.write(&format!("{own}/state"), "active\n");
    refused(&machine, "0000:07:00.0", "watchdog0 runs, and would restart the machine");

    let machine = Machine::new();
    machine.function("0000:07:00.0", "0x0c0330", Some("xhci_hcd"), Some(14));
    let own = machine.class("input", "input5", "0000:07:00.0", "/usb1/1-2/1-2:1.0/0003:046D:C31C.0001");
    machine.write(&format!("{own}/capabilities/key"), "1000000000007 ff9f207ac14057ff febeffdfffefffff\n");
    refused(&machine, "0000:07:00.0", "a keyboard or pointer is attached to it (input5)");

    let machine = Machine::new();
    machine.function("0000:07:00.0", "0x040300", Some("snd_hda_intel"), Some(14));
    machine.class("sound", "card2", "0000:07:00.0", "");
    machine.write("proc/asound/card2/pcm0p/sub0/status", "state: RUNNING\n");
    refused(&machine, "0000:07:00.0", "sound plays or is recorded on card2");

    let machine = Machine::new();
    machine.write(&format!("{}/sriov_numvfs", machine.folder(NIC)), "4\n");
    machine.interface("eth7", NIC, "", "0x1002");
    refused(&machine, NIC, "has 4 virtual functions; `echo 0 | sudo tee");
}

#[test]
fn what_leads_to_other_functions_is_a_bridge_whatever_its_class() {
    let machine = Machine::new();
    machine.function("0000:0e:00.0", "0x010400", Some("vmd"), Some(15));
    fs::create_dir_all(machine.path(&format!("{}/pci10000:e0", machine.folder("0000:0e:00.0")))).unwrap();
    refused(&machine, "0000:0e:00.0", "is a bridge");
    let machine = Machine::new();
    machine.function("0000:0f:00.0", "0x088000", Some("odd"), Some(15));
    let mut config = [0; 64];
    config[14] = 1;
    fs::write(machine.path(&format!("{}/config", machine.folder("0000:0f:00.0"))), config).unwrap();
    refused(&machine, "0000:0f:00.0", "is a bridge");
}

#[test]
fn only_what_was_bound_here_is_given_back() {
    // Somebody else's virtual machine has it.
    let machine = Machine::new();
    machine.function(DRIVE, "0x010802", Some("vfio-pci"), Some(7));
    machine.write(&format!("{}/driver_override", machine.folder(DRIVE)), "vfio-pci\n");
    let told = machine.kept(DRIVE);
    assert!(told.contains("pcielab did not bind it") && told.contains("sudo tee"), "{told}");
    assert_eq!(machine.unbound(), "");
    assert_eq!(machine.text(&format!("{}/driver_override", machine.folder(DRIVE))), "vfio-pci\n");
    // One that never had a driver.
    machine.function(NIC, "0x020000", None, Some(8));
    machine.takes(NIC, None);
    machine.write(&format!("{}/enable", machine.folder(NIC)), "1\n");
    assert!(machine.kept(NIC).contains("pcielab did not bind it"));
    assert_eq!(machine.text(&format!("{}/enable", machine.folder(NIC))), "1\n");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), "");
}

#[test]
fn a_bridge_is_never_released_nor_switched_off() {
    let machine = Machine::new();
    machine.takes(BRIDGE, None);
    machine.write(&format!("{}/enable", machine.folder(BRIDGE)), "1\n");
    assert!(machine.kept(BRIDGE).contains("is a bridge"));
    assert_eq!(machine.text(&format!("{}/enable", machine.folder(BRIDGE))), "1\n");
    machine.takes(BRIDGE, Some("vfio-pci"));
    assert!(machine.kept(BRIDGE).contains("is a bridge"));
    assert_eq!(machine.unbound(), "");
}

/// Has a drive bound to vfio-pci by this crate.
fn bound() -> Machine {
    let machine = Machine::new();
    machine.takes(NIC, None);
    machine.write(&format!("{}/enable", machine.folder(NIC)), "0\n");
    bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap();
    assert_eq!(machine.text(&format!("{}/enable", machine.folder(NIC))), "1");
    machine.write(&format!("{}/enable", machine.folder(NIC)), "1\n");
    machine
}

#[test]
fn what_was_bound_is_given_back_as_it_was_and_once() {
    let machine = bound();
    release(&machine.tree(), address(NIC)).unwrap();
    assert_eq!(machine.text(&format!("{}/enable", machine.folder(NIC))), "0");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), NIC);
    assert!(machine.kept(NIC).contains("pcielab did not bind it"), "it was given back already");
    // What decoded memory before goes on doing so.
    let machine = Machine::new();
    machine.takes(NIC, None);
    machine.write(&format!("{}/enable", machine.folder(NIC)), "1\n");
    bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap();
    release(&machine.tree(), address(NIC)).unwrap();
    assert_eq!(machine.text(&format!("{}/enable", machine.folder(NIC))), "1\n");
}

#[test]
fn a_driver_override_comes_back_as_it_was() {
    let machine = Machine::new();
    machine.interface("eth7", NIC, "", "0x1002");
    machine.write(&format!("{}/driver_override", machine.folder(NIC)), "mine\n");
    bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap();
    machine.takes(NIC, None);
    release(&machine.tree(), address(NIC)).unwrap();
    assert_eq!(machine.text(&format!("{}/driver_override", machine.folder(NIC))), "mine");
}

#[test]
fn the_note_survives_where_it_can_and_a_lost_or_broken_one_is_none() {
    let copies = ["run/pcielab/bound", "var/lib/pcielab/bound"].map(|folder| format!("{folder}/{NIC}.json"));
    // Either copy will do.
    for lost in &copies {
        let machine = bound();
        fs::remove_file(machine.path(lost)).unwrap();
        release(&machine.tree(), address(NIC)).unwrap();
    }
    for broken in ["", "{", "{\"address\": 7}", "\0\0\0", "null"] {
        let machine = bound();
        machine.write(&copies[0], broken);
        release(&machine.tree(), address(NIC)).unwrap();
        let machine = bound();
        copies.iter().for_each(|copy| machine.write(copy, broken));
        let told = machine.kept(NIC);
        assert!(told.contains("pcielab did not bind it"), "{broken}: {told}");
        assert_eq!(machine.text(&format!("{}/enable", machine.folder(NIC))), "1\n");
    }
    // Of another device, and of an earlier boot.
    let machine = bound();
    let note = machine.text(&copies[0]);
    for wrong in [note.replace(NIC, DRIVE), note.replace("boot-1", "boot-0")] {
        assert_ne!(wrong, note);
        copies.iter().for_each(|copy| machine.write(copy, &wrong));
        assert!(machine.kept(NIC).contains("pcielab did not bind it"));
    }
}

#[test]
fn nothing_is_bound_that_could_not_be_noted() {
    let machine = Machine::new();
    machine.interface("eth7", NIC, "", "0x1002");
    machine.write("run", "no folder");
    machine.write("var", "no folder");
    refused(&machine, NIC, "what is bound cannot be noted");
}

#[test]
fn a_binding_for_stores_that_fails_leaves_everything_as_it_was() {
    let machine = Machine::new();
    machine.interface("eth7", NIC, "", "0x1002");
    // The kernel takes nothing there.
    fs::create_dir_all(machine.path(&format!("{}/enable", machine.folder(NIC)))).unwrap();
    let told = bind(&machine.tree(), address(NIC), Purpose::Stores, None).unwrap_err().to_string();
    assert!(told.contains("enable"), "{told}");
    assert_eq!(machine.text("sys/bus/pci/drivers_probe"), NIC, "the driver was not asked to take it back");
    assert!(!machine.path(&format!("run/pcielab/bound/{NIC}.json")).exists());
}
