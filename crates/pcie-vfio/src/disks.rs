//! Uses of the disks below a function: mounts, swap, and volumes made of them.
//!
//! The kernel's files name the common uses; its exclusive claim on the disk finds any other.

use crate::tree::{Function, Tree, names, text};
use crate::usage::Use;
use std::collections::BTreeSet;
use std::path::Path;

/// Most levels of stacked volumes that are followed.
const LEVELS_MOST: u32 = 8;

impl Tree {
    /// The first use of a disk below a function.
    pub(crate) fn block_use(&self, function: &Function) -> Option<Use> {
        let disks = self.disks(function);
        let stack: BTreeSet<String> =
            disks.iter().flat_map(|disk| self.built_upon(disk, LEVELS_MOST)).collect();
        self.mounted(&stack)
            .or_else(|| self.swapped_to(&stack))
            .or_else(|| self.held(&disks, &stack))
            .or_else(|| {
                let claimed = disks.iter().find(|disk| self.is_claimed(disk))?;
                let remedy = format!("`lsblk /dev/{claimed}` shows more");
                Some((format!("something has claimed {claimed}"), remedy))
            })
    }

    /// Names of a function's disks and of their partitions, whole disks first.
    fn disks(&self, function: &Function) -> Vec<String> {
        let folder = function.folder.canonicalize().unwrap_or_else(|_| function.folder.clone());
        let block = self.path("sys/block");
        let belongs =
            |name: &String| block.join(name).canonicalize().is_ok_and(|path| path.starts_with(&folder));
        let own = names(&block).into_iter().filter(belongs).chain(self.names_below(function, "block"));
        // The disk of a multipath drive is elsewhere: nvme0c1n1 is a path to nvme0n1.
        let mut disks: Vec<String> = own.chain(hidden_paths(&folder)).map(|name| whole_disk(&name)).collect();
        // Messages name the first: a whole disk before its partitions.
        disks.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        disks.dedup();
        disks
    }

    /// A disk, its partitions, and the volumes built on them.
    fn built_upon(&self, name: &str, levels: u32) -> BTreeSet<String> {
        let folder = self.path(&format!("sys/class/block/{name}"));
        let mut found = BTreeSet::from([name.to_owned()]);
        if levels == 0 {
            return found;
        }
        let partitions =
            names(&folder).into_iter().filter(|inner| folder.join(inner).join("partition").exists());
        for upon in partitions.chain(names(&folder.join("holders"))) {
            found.extend(self.built_upon(&upon, levels - 1));
        }
        found
    }

    fn mounted(&self, stack: &BTreeSet<String>) -> Option<Use> {
        let mounts = text(&self.path("proc/self/mountinfo")).unwrap_or_default();
        let numbers: Vec<(String, &String)> = stack
            .iter()
            .filter_map(|name| Some((text(&self.path(&format!("sys/class/block/{name}/dev")))?, name)))
            .collect();
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let (number, mount) = (words.get(2)?, words.get(4)?);
            let source = words.iter().skip_while(|word| **word != "-").nth(2)?;
            let by_number = numbers.iter().find(|(one, _)| one == number).map(|(_, name)| *name);
            let name = by_number.or_else(|| stack.get(&self.device_name(source)?))?;
            Some((format!("{name} is mounted at {mount}"), format!("`sudo umount {mount}`")))
        })
    }

    fn swapped_to(&self, stack: &BTreeSet<String>) -> Option<Use> {
        let swaps = text(&self.path("proc/swaps")).unwrap_or_default();
        let used = |line: &str| {
            let path = line.split_whitespace().next()?;
            stack.contains(&self.device_name(path)?).then(|| path.to_owned())
        };
        let path = swaps.lines().find_map(used)?;
        Some((format!("{path} is swap"), format!("`sudo swapoff {path}`")))
    }

    /// A volume, RAID or cache built on a disk or partition, mounted or not.
    fn held(&self, disks: &[String], stack: &BTreeSet<String>) -> Option<Use> {
        let holder = |name: &String| {
            let holders = names(&self.path(&format!("sys/class/block/{name}/holders")));
            Some((name.clone(), holders.into_iter().next()?))
        };
        let (part, whole) = stack.iter().find_map(holder)?;
        let remedy = match whole.get(..2) {
            Some("dm") => format!("`sudo dmsetup remove /dev/{whole}`"),
            Some("md") => format!("`sudo mdadm --stop /dev/{whole}`"),
            _ => format!("`lsblk /dev/{}` shows more", disks.first()?),
        };
        Some((format!("{part} is part of {whole}"), remedy))
    }

    /// The kernel's name of the device at a path: `dm-3` for `/dev/mapper/data`.
    fn device_name(&self, path: &str) -> Option<String> {
        let short = path.strip_prefix("/dev/")?;
        let leads = self.path(&format!("dev/{short}")).canonicalize().ok();
        let name = leads.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        Some(name.map_or_else(|| short.to_owned(), str::to_owned))
    }

    fn is_claimed(&self, disk: &str) -> bool {
        claims(&self.path(&format!("dev/{disk}")))
    }
}

#[cfg(target_os = "linux")]
fn claims(device: &Path) -> bool {
    use std::fs::OpenOptions;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let is_block = device.metadata().is_ok_and(|data| data.file_type().is_block_device());
    let opened = || OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device);
    is_block && opened().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

#[cfg(not(target_os = "linux"))]
fn claims(_device: &Path) -> bool {
    false
}

/// Names of the hidden block devices of an NVMe drive's paths.
fn hidden_paths(folder: &Path) -> Vec<String> {
    let controllers = names(&folder.join("nvme"));
    let below = |name: String| -> Vec<String> { names(&folder.join("nvme").join(name)) };
    controllers.into_iter().flat_map(below).filter(|name| name.starts_with("nvme")).collect()
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
