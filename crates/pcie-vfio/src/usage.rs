//! What a device is used for at this moment: file systems, volumes, swap, interfaces, the screen.
//!
//! What can be named is named from the kernel's files; and whatever else has a disk, the kernel's own exclusive claim finds.

use crate::refusal::Refusal;
use crate::tree::{Function, Tree, names, text};
use std::collections::BTreeSet;
use std::path::Path;

/// Volumes upon volumes that are followed at most.
const LEVELS_MOST: u32 = 8;

impl Tree {
    /// Refuses a device that something is done with.
    ///
    /// # Errors
    /// Says what, and what ends it.
    pub fn check_unused(&self, function: &Function) -> Result<(), Refusal> {
        let address = function.address;
        if function.is_bridge() {
            return Err(Refusal::Bridge(address));
        }
        if function.is_display() && self.functions().iter().filter(|other| other.is_display()).count() == 1 {
            return Err(Refusal::OnlyDisplay(address));
        }
        let refuse = |(use_, remedy)| Err(Refusal::InUse { address, use_, remedy });
        self.interface_up(function).or_else(|| self.block_use(function)).map_or(Ok(()), refuse)
    }

    fn interface_up(&self, function: &Function) -> Option<(String, String)> {
        let folder = function.folder.join("net");
        let up = |name: &String| {
            let flags = text(&folder.join(name).join("flags")).unwrap_or_default();
            u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 1)
        };
        let name = names(&folder).into_iter().find(up)?;
        Some((format!("interface {name} is up"), format!("`sudo ip link set {name} down`")))
    }

    fn block_use(&self, function: &Function) -> Option<(String, String)> {
        let disks = self.disks(function);
        let stack: BTreeSet<String> =
            disks.iter().flat_map(|disk| self.built_upon(disk, LEVELS_MOST)).collect();
        self.mounted(&stack).or_else(|| self.swapped_to(&stack)).or_else(|| {
            let held = disks.iter().find(|disk| self.is_claimed(disk))?;
            let upon: Vec<&str> =
                stack.iter().filter(|name| !name.starts_with(held.as_str())).map(String::as_str).collect();
            let upon = if upon.is_empty() { String::new() } else { format!(" (below {})", upon.join(", ")) };
            Some((format!("something has claimed {held}{upon}"), format!("`lsblk /dev/{held}` shows what")))
        })
    }

    /// Names of the whole disks of a device.
    pub(crate) fn disks(&self, function: &Function) -> Vec<String> {
        let Ok(folder) = function.folder.canonicalize() else { return Vec::new() };
        let block = self.path("sys/block");
        let belongs =
            |name: &String| block.join(name).canonicalize().is_ok_and(|path| path.starts_with(&folder));
        let own = names(&block).into_iter().filter(belongs);
        // A drive with several ways to it shows its disk elsewhere: nvme0c1n1 is a way to nvme0n1.
        let mut disks: Vec<String> = own.chain(hidden_paths(&folder)).map(|name| whole_disk(&name)).collect();
        disks.sort();
        disks.dedup();
        disks
    }

    /// A disk, its partitions, and the volumes made of any of them.
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

    fn mounted(&self, stack: &BTreeSet<String>) -> Option<(String, String)> {
        let mounts = text(&self.path("proc/self/mountinfo")).unwrap_or_default();
        let numbers: Vec<(String, &String)> = stack
            .iter()
            .filter_map(|name| Some((text(&self.path(&format!("sys/class/block/{name}/dev")))?, name)))
            .collect();
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let (number, place) = (words.get(2)?, words.get(4)?);
            let source = words.iter().skip_while(|word| **word != "-").nth(2)?;
            let by_name = |name: &&String| source.strip_prefix("/dev/") == Some(name.as_str());
            let by_number = numbers.iter().find(|(one, _)| one == number).map(|(_, name)| *name);
            let name = by_number.or_else(|| stack.iter().find(by_name))?;
            Some((format!("{name} is mounted at {place}"), format!("`sudo umount {place}`")))
        })
    }

    fn swapped_to(&self, stack: &BTreeSet<String>) -> Option<(String, String)> {
        let swaps = text(&self.path("proc/swaps")).unwrap_or_default();
        let used = |line: &str| {
            let path = line.split_whitespace().next()?;
            stack.contains(path.strip_prefix("/dev/")?).then(|| path.to_owned())
        };
        let path = swaps.lines().find_map(used)?;
        Some((format!("{path} is swap"), format!("`sudo swapoff {path}`")))
    }

    /// Whether anything has the disk for itself: a file system, a volume, swap, or a pool that leaves no other trace.
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

/// Names of block devices below a device, which the kernel does not list.
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
