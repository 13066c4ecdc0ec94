//! Every holder that the kernel shows prevents a binding, and so does everything that cannot be read: on
//! made-up machines, which are free without the holder.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machine;

use machine::{DISPLAY, DRIVE, Machine, NIC, ROUTES, address};
use pcie_vfio::{Purpose, bind, survey};
use std::fs;
use std::path::Path;

/// Address of a function that [`gpu`] and [`infiniband`] add.
const OTHER: &str = "0000:05:00.0";

/// Makes a machine without a holder.
type Base = fn() -> Machine;

/// Checks that a device with a holder is refused, and that a survey for the other purpose says so, too. Without the
/// holder it is bound: [`machines_without_a_holder_are_free`].
fn held(base: Base, device: &str, words: &str, hold: impl Fn(&Machine)) {
    let machine = base();
    hold(&machine);
    let error = bind(&machine.tree(), address(device), Purpose::Vfio, None).unwrap_err().to_string();
    assert!(error.starts_with(device) && error.contains(words), "{error}");
    assert_eq!(machine.unbound(), "", "{words}: something was unbound");
    let surveyed = survey(&machine.tree(), address(device), Purpose::Stores).unwrap();
    assert_eq!(surveyed.refusal, Some(error));
}

#[test]
fn machines_without_a_holder_are_free() {
    let bases: [(Base, &str); 7] = [
        (Machine::new, NIC),
        (drive, DRIVE),
        (paths, DRIVE),
        (intel, OTHER),
        (radeon, OTHER),
        (nvidia, OTHER),
        (infiniband, OTHER),
    ];
    for (base, device) in bases {
        let machine = base();
        machine.bind_for_stores(device);
        assert_eq!(machine.unbound(), device);
    }
}

/// A machine whose drive has a disk with a partition, and character nodes.
fn drive() -> Machine {
    let machine = Machine::new();
    machine.disk();
    let nvme = "nvme/nvme0";
    machine.set(DRIVE, &format!("{nvme}/dev"), "241:0\n");
    machine.set(DRIVE, &format!("{nvme}/uevent"), "MAJOR=241\nMINOR=0\nDEVNAME=nvme0\n");
    machine.set(DRIVE, &format!("{nvme}/ng0n1/dev"), "242:0\n");
    machine.set(DRIVE, &format!("{nvme}/ng0n1/uevent"), "DEVNAME=ng0n1\n");
    machine
}

/// A machine with a second display, which shows nothing.
fn gpu(driver: &str) -> Machine {
    let machine = Machine::new();
    machine.function(OTHER, "0x030200", Some(driver), Some(12));
    machine.set(OTHER, "drm/renderD129/dev", "226:129\n");
    machine.set(OTHER, "drm/renderD129/uevent", "DEVNAME=dri/renderD129\n");
    machine
}

/// A machine whose drive is one of several paths to its disk.
fn paths() -> Machine {
    let machine = Machine::new();
    machine.set(DRIVE, "nvme/nvme3/nvme0c3n1/hidden", "1");
    machine.write("sys/class/block/nvme0n1/dev", "259:8\n");
    machine.write("dev/nvme0n1", "");
    machine
}

fn intel() -> Machine {
    gpu("i915")
}

fn radeon() -> Machine {
    let machine = gpu("amdgpu");
    machine.write("sys/class/kfd/kfd/dev", "238:0\n");
    machine
}

fn nvidia() -> Machine {
    let machine = gpu("nvidia");
    machine.write(&format!("proc/driver/nvidia/gpus/{OTHER}/information"), "Device Minor: \t 3\n");
    machine
}

/// A machine with an InfiniBand device whose port is down.
fn infiniband() -> Machine {
    let machine = Machine::new();
    machine.function(OTHER, "0x020700", Some("mlx5_core"), Some(12));
    let own = machine.class("infiniband", "mlx5_0", OTHER, "");
    machine.write(&format!("{own}/ports/1/state"), "1: DOWN\n");
    machine.interface("ib0", OTHER, "", "0x1002");
    machine.set(OTHER, "infiniband_verbs/uverbs0/dev", "231:192\n");
    machine.set(OTHER, "infiniband_verbs/uverbs0/uevent", "DEVNAME=infiniband/uverbs0\n");
    machine
}

#[test]
fn program_with_a_node_open_holds_the_drive() {
    // QEMU's host_device, SPDK and others that claim nothing.
    for (target, node) in [
        ("/dev/nvme0n1", "nvme0n1"),
        ("/dev/nvme0n1p1", "nvme0n1p1"),
        ("/dev/nvme0n1 (deleted)", "nvme0n1"),
        ("/dev/nvme0", "nvme0"),
        ("/dev/ng0n1", "ng0n1"),
        ("/dev/disk/by-id/nvme-drive", "nvme0n1"),
    ] {
        let words = format!("is in use: process 4242 (qemu) has {node} open");
        held(drive, DRIVE, &words, |machine| {
            machine.link("dev/disk/by-id/nvme-drive", &machine.path("dev/nvme0n1"));
            machine.process(4242, "qemu", &[("0", "/dev/null"), ("11", target)]);
        });
    }
}

#[test]
fn thread_with_files_of_its_own_holds_the_drive() {
    held(drive, DRIVE, "process 4242 (server) has nvme0n1 open", |machine| {
        machine.process(4242, "server", &[]);
        machine.link("proc/4242/task/4243/fd/7", Path::new("/dev/nvme0n1"));
    });
}

#[test]
fn file_registered_with_io_uring_holds_the_drive() {
    held(drive, DRIVE, "process 4242 (fio) has nvme0n1 open", |machine| {
        machine.process(4242, "fio", &[("5", "anon_inode:[io_uring]")]);
        machine.write(
            "proc/4242/task/4242/fdinfo/5",
            "SqMask:\t0x7\nUserFiles:\t1\n    0: nvme0n1\nUserBufs:\t0\n",
        );
    });
}

#[test]
fn node_of_a_container_under_another_name_is_found_by_its_number() {
    // Any machine has /dev/zero, character device 1:5.
    held(drive, DRIVE, "process 4242 (osd) has ng0n1 open", |machine| {
        machine.set(DRIVE, "nvme/nvme0/ng0n1/dev", "1:5\n");
        machine.process(4242, "osd", &[("9", "/dev/zero")]);
    });
}

#[test]
fn character_node_of_a_drive_with_several_paths_holds_it() {
    held(paths, DRIVE, "process 9 (daemon) has ng0n1 open", |machine| {
        machine.write("sys/class/nvme-generic/ng0n1/dev", "242:8\n");
        machine.process(9, "daemon", &[("3", "/dev/ng0n1")]);
    });
}

#[test]
fn volume_that_a_program_has_open_holds_the_drive() {
    held(drive, DRIVE, "nvme0n1p1 is part of dm-3", |machine| {
        machine.write("sys/class/block/dm-3/dev", "253:3");
        machine.write("sys/class/block/dm-3/slaves/nvme0n1p1", "");
        machine.process(7, "qemu", &[("3", "/dev/dm-3")]);
    });
}

#[test]
fn uio_and_vfio_nodes_hold_the_device() {
    held(Machine::new, NIC, "process 7 (dpdk) has uio4 open", |machine| {
        machine.set(NIC, "uio/uio4/dev", "243:4\n");
        machine.process(7, "dpdk", &[("8", "/dev/uio4")]);
    });
    held(Machine::new, NIC, "process 7 (qemu) has vfio/8 open", |machine| {
        machine.process(7, "qemu", &[("8", "/dev/vfio/8")]);
    });
    held(Machine::new, NIC, "process 7 (qemu) has vfio/devices/vfio2 open", |machine| {
        machine.set(NIC, "vfio-dev/vfio2/dev", "511:2\n");
        machine.set(NIC, "vfio-dev/vfio2/uevent", "DEVNAME=vfio/devices/vfio2\n");
        machine.process(7, "qemu", &[("8", "/dev/vfio/devices/vfio2")]);
    });
}

#[test]
fn open_and_mapped_bars_hold_the_device() {
    let bar = format!("/sys/devices/pci0000:00/0000:00:03.0/{NIC}/resource0");
    held(Machine::new, NIC, &format!("process 7 (driver) has {bar} open"), |machine| {
        machine.process(7, "driver", &[("8", &bar)]);
    });
    // Mapped, and the file closed.
    held(Machine::new, NIC, &format!("process 7 (driver) has {bar} mapped"), |machine| {
        machine.process(7, "driver", &[]);
        machine.write("proc/7/task/7/maps", &format!("7f00-7f01 rw-s 00000000 00:15 99       {bar}\n"));
    });
    held(Machine::new, NIC, "process 7 (driver) has uio4 mapped", |machine| {
        machine.set(NIC, "uio/uio4/dev", "243:4\n");
        machine.process(7, "driver", &[]);
        machine.write("proc/7/task/7/maps", "7f00-7f01 rw-s 00000000 00:06 99       /dev/uio4\n");
    });
}

#[test]
fn programs_that_compute_on_a_gpu_hold_it() {
    held(
        || gpu("i915"),
        OTHER,
        "process 7 (python) has dri/renderD129 open",
        |machine| {
            machine.process(7, "python", &[("8", "/dev/dri/renderD129")]);
        },
    );
    held(radeon, OTHER, "process 7 (python) has kfd open", |machine| {
        machine.process(7, "python", &[("8", "/dev/kfd")]);
    });
    held(nvidia, OTHER, "process 7 (python) has nvidia3 open", |machine| {
        machine.process(7, "python", &[("8", "/dev/nvidia3")]);
    });
    held(nvidia, OTHER, "may be in use", |machine| {
        fs::remove_dir_all(machine.path("proc/driver")).unwrap();
    });
    // The other GPU is free.
    let machine = nvidia();
    machine.process(7, "python", &[("8", "/dev/nvidia0")]);
    machine.bind_for_stores(OTHER);
}

#[test]
fn verbs_and_active_ports_hold_an_rdma_device() {
    held(infiniband, OTHER, "process 7 (mpi) has infiniband/uverbs0 open", |machine| {
        machine.process(7, "mpi", &[("8", "/dev/infiniband/uverbs0")]);
    });
    held(infiniband, OTHER, "port 1 of the RDMA device mlx5_0 is not down (4: ACTIVE)", |machine| {
        machine.set(OTHER, "infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    });
    held(infiniband, OTHER, "interface ib0 is up", |machine| {
        machine.set(OTHER, "net/ib0/flags", "0x1003\n");
    });
}

#[test]
fn targets_export_a_drive_without_an_open_file() {
    let nvmet = "sys/kernel/config/nvmet/subsystems/nqn.a";
    held(drive, DRIVE, "nvme0n1 is exported by", |machine| {
        machine.write(&format!("{nvmet}/namespaces/1/device_path"), "/dev/nvme0n1\n");
    });
    held(drive, DRIVE, "nvme0 is exported by", |machine| {
        machine.write(&format!("{nvmet}/passthru/device_path"), "/dev/nvme0\n");
    });
    let lio = "sys/kernel/config/target/core";
    held(drive, DRIVE, "nvme0n1p1 is exported by", |machine| {
        machine.write(&format!("{lio}/iblock_0/disk/udev_path"), "/dev/nvme0n1p1\n");
    });
    held(drive, DRIVE, "nvme0n1 is exported by", |machine| {
        let info = "Status: ACTIVATED  Max Queue Depth: 0\n        iBlock device: nvme0n1  UDEV PATH: N/A\n";
        machine.write(&format!("{lio}/iblock_0/disk/info"), info);
    });
    held(drive, DRIVE, "nvme0n1 is exported by", |machine| {
        let gadget = "sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file";
        machine.write(gadget, "/dev/nvme0n1\n");
    });
    for (module, folder) in
        [("nvmet", "nvmet"), ("target_core_mod", "target"), ("libcomposite", "usb_gadget")]
    {
        let words = format!("{module} is loaded, and ");
        held(drive, DRIVE, &words, |machine| machine.write(&format!("sys/module/{module}/refcnt"), "0\n"));
        held(drive, DRIVE, &format!("/sys/kernel/config/{folder} does not exist"), |machine| {
            machine.write(&format!("sys/module/{module}/refcnt"), "0\n");
        });
    }
}

#[test]
fn loop_and_zram_devices_hold_the_drive() {
    held(drive, DRIVE, "nvme0n1p1 is behind loop3; `sudo losetup -d /dev/loop3`", |machine| {
        machine.write("sys/block/loop3/loop/backing_file", "/dev/nvme0n1p1\n");
    });
    held(drive, DRIVE, "nvme0n1 is behind zram0", |machine| {
        machine.write("sys/block/zram0/backing_dev", "/dev/nvme0n1\n");
    });
}

#[test]
fn member_of_btrfs_or_bcache_holds_the_drive() {
    held(drive, DRIVE, "nvme0n1p1 is a member of the btrfs volume 1f-2e", |machine| {
        machine.write("sys/fs/btrfs/1f-2e/devices/sda1", "");
        machine.write("sys/fs/btrfs/1f-2e/devices/nvme0n1p1", "");
    });
    held(drive, DRIVE, "nvme0n1p1 is a member of the bcache volume 9a", |machine| {
        let part = machine.path(&format!("{}/nvme/nvme0/nvme0n1/nvme0n1p1/bcache", machine.folder(DRIVE)));
        machine.link("sys/fs/bcache/9a/cache0", &part);
    });
    held(drive, DRIVE, "nvme0n1 is registered with bcache", |machine| {
        machine.set(DRIVE, "nvme/nvme0/nvme0n1/bcache/state", "clean\n");
    });
}

#[test]
fn member_of_an_imported_zfs_pool_holds_the_drive() {
    let record = |label: &str| format!("S:disk/by-id/nvme\nE:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL={label}\n");
    held(drive, DRIVE, "nvme0n1p1 is part of the ZFS pool tank; `sudo zpool export tank`", |machine| {
        machine.write("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
        machine.write("run/udev/data/b259:0", "E:ID_PART_TABLE_TYPE=gpt\n");
        machine.write("run/udev/data/b259:1", &record("tank"));
    });
    held(
        drive,
        DRIVE,
        "may be in use: nvme0n1p1 is part of a ZFS pool, and pools are imported (tank)",
        |machine| {
            machine.write("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
            machine.write("run/udev/data/b259:0", "E:ID_PART_TABLE_TYPE=gpt\n");
            machine.write("run/udev/data/b259:1", "E:ID_FS_TYPE=zfs_member\n");
        },
    );
    held(
        drive,
        DRIVE,
        "may be in use: ZFS pools are imported (tank), and udev has no record of",
        |machine| {
            machine.write("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
        },
    );
    // No pool is imported.
    let machine = drive();
    machine.write("proc/spl/kstat/zfs/dbgmsg", "");
    machine.write("run/udev/data/b259:1", &record("tank"));
    machine.bind_for_stores(DRIVE);
}

#[test]
fn mount_in_a_container_holds_the_drive() {
    held(drive, DRIVE, "nvme0n1p1 is mounted at /srv by process 77, in a container", |machine| {
        machine.link("proc/self/ns/mnt", Path::new("mnt:[1]"));
        machine.link("proc/1/ns/mnt", Path::new("mnt:[1]"));
        machine.process(77, "postgres", &[]);
        machine.link("proc/77/ns/mnt", Path::new("mnt:[2]"));
        machine.write("proc/77/mountinfo", "22 1 259:1 / /srv rw - ext4 /dev/nvme0n1p1 rw\n");
    });
}

#[test]
fn missing_or_unreadable_node_of_a_disk_counts_as_in_use() {
    let node = |machine: &Machine| machine.path("dev/nvme0n1");
    held(drive, DRIVE, "may be in use", |machine| fs::remove_file(node(machine)).unwrap());
    held(drive, DRIVE, "dev/nvme0n1 cannot be read", |machine| {
        // A link to itself can be opened by nobody.
        machine.link("dev/nvme0n1", &node(machine));
    });
}

#[test]
fn what_cannot_be_read_counts_as_in_use() {
    for (file, device) in [
        ("proc/self/mountinfo", DRIVE),
        ("proc/swaps", DRIVE),
        ("proc/net/route", NIC),
        ("proc/1", NIC),
        ("proc/1", DRIVE),
    ] {
        let base: Base = if device == DRIVE { drive } else { Machine::new };
        held(base, device, &format!("{file} cannot be read"), |machine| {
            let path = machine.path(file);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        });
    }
    // A folder where the kernel has a file can be read by nobody, not even by root.
    for (file, device) in [
        ("proc/net/ipv6_route", NIC),
        ("proc/net/tcp6", NIC),
        ("proc/net/packet", NIC),
        ("proc/1/task/1/maps", NIC),
        ("sys/class/tty/console/active", DRIVE),
        ("sys/block/loop0/loop/backing_file", DRIVE),
    ] {
        let base: Base = if device == DRIVE { drive } else { Machine::new };
        held(base, device, &format!("{file} cannot be read"), |machine| {
            let _ = fs::remove_file(machine.path(file));
            fs::create_dir_all(machine.path(file)).unwrap();
        });
    }
}

#[test]
fn unreadable_folders_count_as_in_use() {
    for (folder, device) in [
        ("sys/block", DRIVE),
        ("sys/class/block", DRIVE),
        ("sys/class/net", NIC),
        ("sys/class/infiniband", NIC),
        ("sys/class/tty", NIC),
        ("sys/class/drm", NIC),
        ("proc/1/task", NIC),
        ("sys/fs/btrfs", DRIVE),
        ("proc/spl/kstat/zfs", DRIVE),
    ] {
        // A link to itself can be listed by nobody, not even by root.
        let base: Base = if device == DRIVE { drive } else { Machine::new };
        held(base, device, "cannot be read", |machine| {
            let _ = fs::remove_dir_all(machine.path(folder));
            machine.link(folder, &machine.path(folder));
        });
    }
}

#[test]
fn interface_with_unknown_flags_counts_as_up() {
    held(Machine::new, NIC, "interface eth0 is up", |machine| {
        machine.set(NIC, "net/eth0/flags", "unknown\n")
    });
}

#[test]
fn processes_outside_a_container_count_as_a_use() {
    held(Machine::new, NIC, "may be in use: processes outside this container cannot be seen", |machine| {
        machine.link("proc/self/ns/pid", Path::new("pid:[4026532201]"));
    });
    held(Machine::new, NIC, "another network namespace than the machine's first process", |machine| {
        machine.link("proc/self/ns/net", Path::new("net:[2]"));
        machine.link("proc/1/ns/net", Path::new("net:[1]"));
    });
}

#[test]
#[cfg(target_endian = "little")]
fn routes_sessions_and_sockets_hold_an_interface() {
    let route = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n";
    let put = |machine: &Machine| machine.write("proc/net/route", &format!("{ROUTES}{route}"));
    held(Machine::new, NIC, "the route to 192.168.0.0/16 goes through eth0", put);
    held(
        Machine::new,
        NIC,
        "the SSH session from 192.168.1.7 goes through eth0; reach the machine",
        |machine| {
            put(machine);
            machine.set(NIC, "net/eth0/flags", "0x1003\n");
            machine.write(
            "proc/net/tcp",
            "  sl  local_address rem_address   st\n   0: 0501A8C0:0016 0701A8C0:D431 01 00000000:00000000\n",
        );
        },
    );
    held(Machine::new, NIC, "a program listens at eth0 with a packet socket", |machine| {
        machine.set(NIC, "net/eth0/ifindex", "3\n");
        machine.write(
            "proc/net/packet",
            "sk RefCnt Type Proto Iface R Rmem User Inode\n00 3 3 0003 3 1 0 0 1\n",
        );
    });
}

#[test]
fn member_of_a_bond_or_bridge_that_is_down_is_in_use() {
    for (whole, link) in [("bond0", "upper_bond0"), ("br0", "master")] {
        held(
            Machine::new,
            NIC,
            &format!("eth0 is part of {whole}; `sudo ip link set eth0 nomaster`"),
            |machine| {
                machine.write(&format!("sys/class/net/{whole}/flags"), "0x1402\n");
                let own = format!("{}/net/eth0/{link}", machine.folder(NIC));
                machine.link(&own, &machine.path(&format!("sys/class/net/{whole}")));
            },
        );
    }
}

#[test]
fn mediated_devices_are_in_use() {
    held(
        || gpu("i915"),
        OTHER,
        "it has 1 mediated devices",
        |machine| {
            let own = format!("{}/83b8f4f2", machine.folder(OTHER));
            machine.write(&format!("{own}/uevent"), "");
            machine.link("sys/bus/mdev/devices/83b8f4f2", &machine.path(&own));
        },
    );
}

#[test]
fn virtual_functions_are_found_by_their_links() {
    held(Machine::new, NIC, "has 1 virtual functions", |machine| {
        let link = format!("{}/virtfn0", machine.folder(NIC));
        machine.link(&link, &machine.path(&machine.folder(DRIVE)));
    });
}

#[test]
fn only_known_kinds_of_devices_are_taken() {
    for (class, driver, words) in [
        (
            "0x0c0330",
            "xhci_hcd",
            "is of class 0c0330, whose uses pcielab does not know: give one of these: NVMe drives",
        ),
        ("0x010700", "mpt3sas", "is of class 010700"),
        ("0x010601", "ahci", "is of class 010601"),
        (
            "0x010802",
            "other",
            "other has it, and pcielab does not know how that driver shows the users of NVMe drives",
        ),
        (
            "0x030200",
            "other",
            "other has it, and pcielab does not know how that driver shows the users of GPUs",
        ),
        // Shared file systems and sockets of virtio, memory of CXL, and cryptography: their users are in no file.
        (
            "0xffff00",
            "virtio-pci",
            "does not know how that driver shows the users of devices of a class of their own",
        ),
        ("0x050210", "cxl_pci", "does not know how that driver shows the users of memory"),
        ("0x0b4000", "4xxx", "does not know how that driver shows the users of coprocessors"),
        ("0x020000", "xen-pciback", "xen-pciback keeps it for virtual machines"),
    ] {
        let machine = Machine::new();
        machine.function(OTHER, class, Some(driver), Some(12));
        for purpose in [Purpose::Vfio, Purpose::Stores] {
            let error = bind(&machine.tree(), address(OTHER), purpose, None).unwrap_err().to_string();
            assert!(error.contains(words), "{class}: {error}");
        }
        assert_eq!(machine.unbound(), "");
    }
}

#[test]
fn survey_names_every_place_and_changes_nothing() {
    let machine = drive();
    let free = survey(&machine.tree(), address(DRIVE), Purpose::Vfio).unwrap();
    assert_eq!(free.refusal, None);
    assert!(free.looks.iter().all(|look| look.holders.is_empty() && !look.places.is_empty()));
    machine.process(7, "qemu", &[("3", "/dev/nvme0n1")]);
    machine.write("proc/swaps", "Filename Type\n/dev/nvme0n1p1 partition 1 0 -2\n");
    let held = survey(&machine.tree(), address(DRIVE), Purpose::Vfio).unwrap();
    let holders: Vec<_> = held.looks.iter().flat_map(|look| &look.holders).collect();
    assert_eq!(holders.len(), 2, "{holders:?}");
    assert!(held.refusal.unwrap().contains("nvme0n1p1 is swap"));
    assert_eq!(machine.unbound(), "");
    assert_eq!(machine.get(DRIVE, "driver_override"), "");
    let display = survey(&machine.tree(), address(DISPLAY), Purpose::Vfio).unwrap();
    assert!(display.refusal.unwrap().contains("is the only display"));
}
