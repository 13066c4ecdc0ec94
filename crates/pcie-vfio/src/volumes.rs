//! Members of file systems and pools that span several disks, of which a mount names one: btrfs, bcache, ZFS.

use crate::survey::{Kind, Look};
use crate::tree::{Function, Tree};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(crate) const MEMBERS: Kind = Kind {
    subject: "members of btrfs and bcache",
    places: "/sys/fs/btrfs/*/devices, /sys/fs/bcache/*, /sys/class/block/*/bcache",
    look: members,
};
pub(crate) const ZFS: Kind =
    Kind { subject: "ZFS pools", places: "/proc/spl/kstat/zfs, /run/udev/data", look: zfs };

fn members(tree: &Tree, function: &Function, look: &mut Look) {
    let stack = tree.stack(function, look);
    let mut parts = |folder: PathBuf, system: &str, inner: &str| {
        for volume in look.names(&folder) {
            for part in look.names(&folder.join(&volume).join(inner)) {
                let entry = folder.join(&volume).join(inner).join(&part);
                if let Some(name) = in_stack(&stack, &part, &entry) {
                    let use_ = format!("{name} is a member of the {system} volume {volume}");
                    look.holds(use_, format!("unmount or stop {volume} before binding it"));
                }
            }
        }
    };
    parts(tree.path("sys/fs/btrfs"), "btrfs", "devices");
    parts(tree.path("sys/fs/bcache"), "bcache", "");
    for name in &stack {
        if tree.path(&format!("sys/class/block/{name}/bcache")).symlink_metadata().is_ok() {
            let remedy = format!("`echo 1 | sudo tee /sys/class/block/{name}/bcache/stop`");
            look.holds(format!("{name} is registered with bcache"), remedy);
        }
    }
}

/// The part of the stack that an entry is, by its name or by a folder that its link leads through.
fn in_stack<'a>(stack: &'a BTreeSet<String>, part: &str, entry: &std::path::Path) -> Option<&'a String> {
    let target = std::fs::read_link(entry).unwrap_or_default();
    let through: Vec<String> = target.iter().map(|piece| piece.to_string_lossy().into_owned()).collect();
    // The deepest folder that is a disk or partition names the member: a partition is below its disk.
    let deepest = through.iter().rev().find_map(|piece| stack.get(piece));
    stack.get(part).or(deepest)
}

/// Members of imported pools: the kernel names the pools, and udev the members of any pool.
fn zfs(tree: &Tree, function: &Function, look: &mut Look) {
    let pools = tree.path("proc/spl/kstat/zfs");
    let imported: Vec<String> =
        look.names(&pools).into_iter().filter(|name| pools.join(name).is_dir()).collect();
    if imported.is_empty() {
        return;
    }
    for name in tree.stack(function, look) {
        let number = look.needed(&tree.path(&format!("sys/class/block/{name}/dev")));
        let record = tree.path(&format!("run/udev/data/b{number}"));
        let Some(record) = look.text(&record) else {
            let doubt =
                format!("ZFS pools are imported ({}), and udev has no record of {name}", imported.join(", "));
            look.doubts(doubt, "export them (`sudo zpool export`), or run udev");
            continue;
        };
        let value = |key: &str| record.lines().find_map(|line| line.strip_prefix(key));
        if value("E:ID_FS_TYPE=") != Some("zfs_member") {
            continue;
        }
        match value("E:ID_FS_LABEL=").filter(|pool| imported.iter().any(|known| known == pool)) {
            Some(pool) => {
                look.holds(
                    format!("{name} is part of the ZFS pool {pool}"),
                    format!("`sudo zpool export {pool}`"),
                );
            }
            None => look.doubts(
                format!("{name} is part of a ZFS pool, and pools are imported ({})", imported.join(", ")),
                "`sudo zpool export` the pool that it belongs to",
            ),
        }
    }
}
