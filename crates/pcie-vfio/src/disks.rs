//! Uses of the disks below a function: mounts, swap, and volumes made of them.
//!
//! The kernel's files name the common uses; its exclusive claim on the disk finds holders without a file.

use crate::processes;
use crate::survey::{Kind, Look};
use crate::tree::{Function, Tree, leads_below};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) const MOUNTS: Kind = Kind { subject: "mounts", places: "/proc/self/mountinfo", look: mounts };
pub(crate) const OTHER_MOUNTS: Kind = Kind {
    subject: "mounts of containers",
    places: "/proc/*/ns/mnt, /proc/*/mountinfo",
    look: mounts_of_containers,
};
pub(crate) const SWAP: Kind = Kind { subject: "swap", places: "/proc/swaps", look: swap };
pub(crate) const HOLDERS: Kind = Kind {
    subject: "volumes: device mapper, multipath, MD, bcache",
    places: "/sys/class/block/*/holders and slaves",
    look: holders,
};
pub(crate) const CLAIMS: Kind =
    Kind { subject: "exclusive claims", places: "opening the disk's node with O_EXCL", look: claims };

/// Most levels of stacked volumes that are followed.
const LEVELS_MOST: u32 = 8;

impl Tree {
    /// Names of a function's disks and of their partitions, whole disks first.
    pub(crate) fn disks(&self, function: &Function, look: &mut Look) -> Vec<String> {
        let folder = function.real_folder();
        let block = self.path("sys/block");
        let belongs = |name: &String| leads_below(&block.join(name), &folder);
        let own: Vec<String> = look.names(&block).into_iter().filter(belongs).collect();
        let below = self.names_below(function, "block", look);
        // The disk of a multipath drive is elsewhere: nvme0c1n1 is a path to nvme0n1.
        let hidden = hidden_paths(&folder, look);
        let all = own.into_iter().chain(below).chain(hidden);
        let mut disks: Vec<String> = all.map(|name| whole_disk(&name)).collect();
        // Messages name the first: a whole disk before its partitions.
        disks.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        disks.dedup();
        disks
    }

    /// The disks of a function, their partitions, and everything built on them.
    pub(crate) fn stack(&self, function: &Function, look: &mut Look) -> BTreeSet<String> {
        let mut stack = BTreeSet::new();
        for disk in self.disks(function, look) {
            self.add_built_upon(&disk, LEVELS_MOST, &mut stack, look);
        }
        stack
    }

    /// Adds a disk, its partitions, and the volumes built on them.
    fn add_built_upon(&self, name: &str, levels: u32, found: &mut BTreeSet<String>, look: &mut Look) {
        if !found.insert(name.to_owned()) {
            return;
        }
        if levels == 0 {
            let doubt = format!("more than {LEVELS_MOST} volumes are stacked on its disk, up to {name}");
            return look.doubts(doubt, "`lsblk` shows more");
        }
        let folder = self.path(&format!("sys/class/block/{name}"));
        let inner = look.names(&folder).into_iter();
        let partitions: Vec<String> =
            inner.filter(|inner| folder.join(inner).join("partition").exists()).collect();
        let above = look.names(&folder.join("holders"));
        let listing = self.built_of(name, look);
        for upon in partitions.into_iter().chain(above).chain(listing) {
            self.add_built_upon(&upon, levels - 1, found, look);
        }
    }

    /// Volumes that list a disk among their parts, whether or not the disk lists them.
    fn built_of(&self, name: &str, look: &mut Look) -> Vec<String> {
        let block = self.path("sys/class/block");
        let has_part =
            |volume: &String| block.join(volume).join("slaves").join(name).symlink_metadata().is_ok();
        look.names(&block).into_iter().filter(has_part).collect()
    }

    /// The kernel's name of the device at a path: `dm-3` for `/dev/mapper/data`.
    pub(crate) fn device_name(&self, path: &str) -> Option<String> {
        let short = path.strip_prefix("/dev/")?;
        let leads = self.path(&format!("dev/{short}")).canonicalize().ok();
        let name = leads.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        Some(name.map_or_else(|| short.to_owned(), str::to_owned))
    }

    /// The device and the folder of each mount in a table that is on the stack.
    fn mounted(&self, table: &str, stack: &BTreeSet<String>, look: &mut Look) -> Vec<(String, String)> {
        let numbers: Vec<(String, &String)> = stack
            .iter()
            .filter_map(|name| Some((look.text(&self.path(&format!("sys/class/block/{name}/dev")))?, name)))
            .collect();
        let mount = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let (number, mount) = (words.get(2)?, words.get(4)?);
            let source = words.iter().skip_while(|word| **word != "-").nth(2)?;
            let by_number = numbers.iter().find(|(of, _)| of == number).map(|(_, name)| *name);
            let name = by_number.or_else(|| stack.get(&self.device_name(source)?))?;
            Some((name.clone(), (*mount).to_owned()))
        };
        table.lines().filter_map(mount).collect()
    }
}

fn mounts(tree: &Tree, function: &Function, look: &mut Look) {
    let table = look.needed(&tree.path("proc/self/mountinfo"));
    let stack = tree.stack(function, look);
    for (name, mount) in tree.mounted(&table, &stack, look) {
        look.holds(format!("{name} is mounted at {mount}"), format!("`sudo umount {mount}`"));
    }
}

/// Mounts in the namespaces of other processes; each namespace is read once.
fn mounts_of_containers(tree: &Tree, function: &Function, look: &mut Look) {
    let stack = tree.stack(function, look);
    if stack.is_empty() {
        return;
    }
    let mut known: BTreeSet<PathBuf> = look.link(&tree.path("proc/self/ns/mnt")).into_iter().collect();
    for process in processes::numbers(tree, look) {
        let folder = tree.path(&format!("proc/{process}"));
        let Some(namespace) = look.link(&folder.join("ns/mnt")) else { continue };
        // A process may end before its table is read: another of its namespace is then read.
        let table = if known.contains(&namespace) { None } else { look.text(&folder.join("mountinfo")) };
        let Some(table) = table else { continue };
        known.insert(namespace);
        for (name, mount) in tree.mounted(&table, &stack, look) {
            let use_ = format!("{name} is mounted at {mount} by process {process}, in a container");
            look.holds(use_, format!("`sudo nsenter -t {process} -m umount {mount}`"));
        }
    }
}

fn swap(tree: &Tree, function: &Function, look: &mut Look) {
    let swaps = look.needed(&tree.path("proc/swaps"));
    let stack = tree.stack(function, look);
    let paths = swaps.lines().filter_map(|line| line.split_whitespace().next());
    for path in paths.filter(|path| tree.device_name(path).is_some_and(|name| stack.contains(&name))) {
        look.holds(format!("{path} is swap"), format!("`sudo swapoff {path}`"));
    }
}

/// A volume, RAID or cache built on a disk or partition, mounted or not.
fn holders(tree: &Tree, function: &Function, look: &mut Look) {
    let Some(disk) = tree.disks(function, look).into_iter().next() else { return };
    for part in tree.stack(function, look) {
        let above = look.names(&tree.path(&format!("sys/class/block/{part}/holders")));
        let listing = tree.built_of(&part, look);
        for whole in above.into_iter().chain(listing).collect::<BTreeSet<_>>() {
            let remedy = match whole.get(..2) {
                Some("dm") => format!("`sudo dmsetup remove /dev/{whole}`"),
                Some("md") => format!("`sudo mdadm --stop /dev/{whole}`"),
                _ => format!("`lsblk /dev/{disk}` shows more"),
            };
            look.holds(format!("{part} is part of {whole}"), remedy);
        }
    }
}

/// Exclusive claims on the disks and their partitions: of file systems, volumes, pools and programs.
fn claims(tree: &Tree, function: &Function, look: &mut Look) {
    for disk in tree.disks(function, look) {
        let node = tree.path(&format!("dev/{disk}"));
        let number = look.needed(&tree.path(&format!("sys/class/block/{disk}/dev")));
        match claim(&node, &number, tree.is_made_up()) {
            Ok(false) => {}
            Ok(true) => {
                let remedy = format!("`lsblk /dev/{disk}` shows more");
                look.holds(format!("something has claimed {disk}"), remedy);
            }
            Err(error) => look.unread(&node, &error),
        }
    }
}

/// Whether something has claimed the disk of a node. A made-up machine has files instead of nodes.
#[cfg(target_os = "linux")]
fn claim(node: &Path, number: &str, is_made_up: bool) -> std::io::Result<bool> {
    use std::fs::OpenOptions;
    use std::io::{Error, ErrorKind};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
    let data = node.metadata()?;
    let is_disk = data.file_type().is_block_device() && processes::device_number(data.rdev()) == number;
    if !is_disk && !is_made_up {
        return Err(Error::new(ErrorKind::InvalidData, format!("it is not the disk {number}")));
    }
    match OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node) {
        Ok(_) => Ok(false),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn claim(_node: &Path, _number: &str, _is_made_up: bool) -> std::io::Result<bool> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Names of the hidden block devices of an NVMe drive's paths.
fn hidden_paths(folder: &Path, look: &mut Look) -> Vec<String> {
    let controllers = folder.join("nvme");
    let mut found = Vec::new();
    for controller in look.names(&controllers) {
        let below = look.names(&controllers.join(controller));
        found.extend(below.into_iter().filter(|name| name.starts_with("nvme")));
    }
    found
}

/// `nvme0n1` for `nvme0c1n1`.
fn whole_disk(name: &str) -> String {
    let shared = || {
        let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
        let (_, namespace) = rest.split_once('n')?;
        Some(format!("nvme{subsystem}n{namespace}"))
    };
    shared().unwrap_or_else(|| name.to_owned())
}
