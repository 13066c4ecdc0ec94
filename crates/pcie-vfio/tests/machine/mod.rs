//! Made-up machines in a folder: PCI functions with drivers, groups and files in the kernel's layout.

#![allow(dead_code, reason = "each test program uses a part of it")]

use pcie_vfio::{Address, Purpose, Tree, bind, release};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A machine with a drive, a NIC and a display in groups of their own; a bridge shares the drive's.
pub struct Machine {
    directory: tempfile::TempDir,
}

pub const DRIVE: &str = "0000:02:00.0";
pub const NIC: &str = "0000:03:00.0";
pub const BRIDGE: &str = "0000:00:01.0";
pub const DISPLAY: &str = "0000:00:02.0";

/// Heading of `/proc/net/route`.
pub const ROUTES: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";

impl Machine {
    pub fn new() -> Self {
        let machine = Self { directory: tempfile::tempdir().unwrap() };
        machine.function(DRIVE, "0x010802", Some("nvme"), Some(7));
        machine.function(NIC, "0x020000", Some("e1000e"), Some(8));
        machine.function(BRIDGE, "0x060400", Some("pcieport"), Some(7));
        machine.function(DISPLAY, "0x030000", Some("i915"), Some(9));
        for driver in ["vfio-pci", "nvme", "e1000e"] {
            machine.write(&format!("sys/bus/pci/drivers/{driver}/unbind"), "");
        }
        machine.write("sys/bus/pci/drivers_probe", "");
        machine.write("proc/sys/kernel/random/boot_id", "boot-1\n");
        machine.interface("eth0", NIC, "", "0x1002");
        machine.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        machine.write("proc/swaps", "Filename Type Size Used Priority\n");
        machine.write("proc/net/route", ROUTES);
        machine.link("proc/self/ns/pid", Path::new("pid:[4026531836]"));
        machine.process(1, "init", &[("0", "/dev/null")]);
        machine.write("etc/passwd", "root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n");
        machine
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn link(&self, path: &str, to: &Path) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(to, path).unwrap();
    }

    pub fn function(&self, address: &str, class: &str, driver: Option<&str>, group: Option<u32>) {
        let folder = format!("sys/bus/pci/devices/{address}");
        let resource = "0xe0000000 0xe000ffff 0x14220c\n".to_owned() + &"0x0 0x0 0x0\n".repeat(5);
        for (name, content) in [
            ("vendor", "0x8086"),
            ("device", "0x10d3"),
            ("class", class),
            ("power_state", "D0"),
            ("driver_override", ""),
            ("resource", resource.as_str()),
        ] {
            self.set(address, name, content);
        }
        fs::write(self.path(&format!("{folder}/config")), [0, 0, 0, 0, 2, 0]).unwrap();
        if let Some(driver) = driver {
            let unbind = format!("sys/bus/pci/drivers/{driver}/unbind");
            if !self.path(&unbind).exists() {
                self.write(&unbind, "");
            }
            self.link(&format!("{folder}/driver"), &self.path(&format!("sys/bus/pci/drivers/{driver}")));
        }
        if let Some(group) = group {
            let of_group = format!("sys/kernel/iommu_groups/{group}");
            self.link(&format!("{folder}/iommu_group"), &self.path(&of_group));
            self.link(&format!("{of_group}/devices/{address}"), &self.path(&folder));
        }
    }

    /// Adds a process of one thread, with its open files: number and target of the link.
    pub fn process(&self, number: u32, name: &str, files: &[(&str, &str)]) {
        let folder = format!("proc/{number}");
        self.write(&format!("{folder}/comm"), &format!("{name}\n"));
        let thread = format!("{folder}/task/{number}");
        self.write(&format!("{thread}/maps"), "00400000-00401000 r-xp 00000000 08:01 7 /bin/program\n");
        fs::create_dir_all(self.path(&format!("{thread}/fd"))).unwrap();
        for (file, target) in files {
            self.link(&format!("{thread}/fd/{file}"), Path::new(target));
        }
    }

    /// Adds a disk with a partition to the drive, and their nodes.
    pub fn disk(&self) {
        self.write("dev/nvme0n1", "");
        self.write("dev/nvme0n1p1", "");
        let disk = format!("sys/bus/pci/devices/{DRIVE}/nvme/nvme0/nvme0n1");
        self.write(&format!("{disk}/dev"), "259:0");
        self.write(&format!("{disk}/nvme0n1p1/dev"), "259:1");
        self.write(&format!("{disk}/nvme0n1p1/partition"), "1");
        self.link("sys/block/nvme0n1", &self.path(&disk));
        self.link("sys/class/block/nvme0n1", &self.path(&disk));
        self.link("sys/class/block/nvme0n1p1", &self.path(&format!("{disk}/nvme0n1p1")));
    }

    pub fn tree(&self) -> Tree {
        Tree::at(self.directory.path())
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The kernel's folder of a function.
    pub fn folder(&self, address: &str) -> String {
        format!("sys/bus/pci/devices/{address}")
    }

    /// Writes a file of a function.
    pub fn set(&self, address: &str, file: &str, content: &str) {
        self.write(&format!("{}/{file}", self.folder(address)), content);
    }

    /// The content of a file of a function.
    pub fn get(&self, address: &str, file: &str) -> String {
        self.text(&format!("{}/{file}", self.folder(address)))
    }

    /// Adds a device of a class, `between` below a function; returns its folder.
    pub fn class(&self, class: &str, name: &str, address: &str, between: &str) -> String {
        let parent = format!("{}{between}", self.folder(address));
        let own = format!("{parent}/{class}/{name}");
        self.write(&format!("{own}/uevent"), "");
        self.link(&format!("{own}/device"), &self.path(&parent));
        self.link(&format!("sys/class/{class}/{name}"), &self.path(&own));
        own
    }

    /// Adds a network interface with its flags.
    pub fn interface(&self, name: &str, address: &str, between: &str, flags: &str) {
        let own = self.class("net", name, address, between);
        self.write(&format!("{own}/flags"), flags);
    }

    /// Binds a function to a driver, or to none, as the kernel does.
    pub fn takes(&self, address: &str, driver: Option<&str>) {
        let link = format!("{}/driver", self.folder(address));
        let _ = fs::remove_file(self.path(&link));
        if let Some(driver) = driver {
            self.link(&link, &self.path(&format!("sys/bus/pci/drivers/{driver}")));
        }
    }

    /// Everything written to the `unbind` files of all drivers.
    pub fn unbound(&self) -> String {
        let drivers = fs::read_dir(self.path("sys/bus/pci/drivers")).unwrap();
        let texts = drivers.flatten().map(|one| fs::read_to_string(one.path().join("unbind")));
        texts.map(Result::unwrap_or_default).collect()
    }

    pub fn bind_for_stores(&self, address: &str) {
        bind(&self.tree(), address.parse().unwrap(), Purpose::Stores, None).unwrap();
    }

    pub fn release(&self, address: &str) {
        release(&self.tree(), address.parse().unwrap()).unwrap();
    }

    /// The error of releasing a function.
    pub fn release_error(&self, address: &str) -> String {
        release(&self.tree(), address.parse().unwrap()).unwrap_err().to_string()
    }

    /// The error of binding a function.
    pub fn bind_error(&self, address: &str) -> String {
        bind(&self.tree(), address.parse().unwrap(), Purpose::Vfio, None).unwrap_err().to_string()
    }
}

pub fn address(text: &str) -> Address {
    text.parse().unwrap()
}
