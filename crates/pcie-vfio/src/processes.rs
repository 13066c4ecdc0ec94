//! Processes that have a node or a register of a device open or mapped: virtual machines, storage daemons and
//! programs that claim nothing.

use crate::nodes::Node;
use crate::survey::{Kind, Look};
use crate::tree::{Function, Tree};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub(crate) const OPEN_FILES: Kind = Kind {
    subject: "open device nodes (block, nvme, ng, uio, vfio, dri, nvidia, infiniband, others)",
    places: "/proc/*/task/*/fd and fdinfo",
    look: open_files,
};
pub(crate) const MAPPINGS: Kind =
    Kind { subject: "mapped BARs and nodes", places: "/proc/*/task/*/maps", look: mappings };
pub(crate) const STUBS: Kind = Kind {
    subject: "drivers that keep it for a virtual machine",
    places: "the driver that is bound",
    look: stubs,
};

/// Link of the first namespace of processes, `PROC_PID_INIT_INO` of the kernel.
const ALL_PROCESSES: &str = "pid:[4026531836]";

/// Major and minor as the kernel's files show them.
#[cfg(target_os = "linux")]
pub(crate) fn device_number(number: u64) -> String {
    format!("{}:{}", libc::major(number), libc::minor(number))
}

/// Numbers of all processes of the machine; it counts as a use if some cannot be seen from here.
pub(crate) fn numbers(tree: &Tree, look: &mut Look) -> Vec<u32> {
    let listed: Vec<u32> =
        look.names(&tree.path("proc")).iter().filter_map(|name| name.parse().ok()).collect();
    let namespace = look.link(&tree.path("proc/self/ns/pid"));
    if namespace.is_some_and(|namespace| namespace != Path::new(ALL_PROCESSES)) {
        let doubt = "processes outside this container cannot be seen";
        look.doubts(doubt, "run it outside the container");
    }
    // Every machine has process 1; it is hidden from users where /proc has the option hidepid.
    if !listed.contains(&1) {
        look.unread(&tree.path("proc/1"), &io::Error::from(ErrorKind::NotFound));
    }
    listed
}

/// Folders of the threads of a process: each may have files of its own.
fn threads(tree: &Tree, process: u32, look: &mut Look) -> Vec<PathBuf> {
    let tasks = tree.path(&format!("proc/{process}/task"));
    look.names(&tasks).iter().map(|name| tasks.join(name)).collect()
}

fn open_files(tree: &Tree, function: &Function, look: &mut Look) {
    let nodes = tree.nodes(function, look);
    for process in numbers(tree, look) {
        let mut held: Vec<String> = Vec::new();
        for thread in threads(tree, process, look) {
            for file in look.names(&thread.join("fd")) {
                held.extend(opened(tree, function, &nodes, &thread, &file, look));
            }
        }
        report(tree, process, held, "open", look);
    }
}

/// What of a function an open file is.
fn opened(
    tree: &Tree,
    function: &Function,
    nodes: &[Node],
    thread: &Path,
    file: &str,
    look: &mut Look,
) -> Option<String> {
    let link = thread.join("fd").join(file);
    let target = look.link(&link)?;
    let target = target.to_string_lossy();
    if target == "anon_inode:[io_uring]" {
        // Files that are registered with a ring may be closed and stay in use.
        let registered = look.text(&thread.join("fdinfo").join(file)).unwrap_or_default();
        let mut names =
            registered.lines().filter_map(|line| line.rsplit_once(": ")).map(|(_, name)| name.trim());
        return names
            .find_map(|name| nodes.iter().find(|node| is_last(&node.name, name)))
            .map(|node| node.name.clone());
    }
    by_path(tree, function, nodes, &target).or_else(|| by_number(nodes, &link, look))
}

fn is_last(path: &str, name: &str) -> bool {
    path.rsplit('/').next() == Some(name)
}

/// What of a function a path is: one of its nodes, or a file below its folder in sysfs.
fn by_path(tree: &Tree, function: &Function, nodes: &[Node], path: &str) -> Option<String> {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    if let Some(short) = path.strip_prefix("/dev/") {
        let resolved = tree.device_name(path);
        let is_node = |node: &&Node| node.name == short || Some(&node.name) == resolved.as_ref();
        return nodes.iter().find(is_node).map(|node| node.name.clone());
    }
    let address = function.address.to_string();
    (path.starts_with("/sys/") && path.split('/').any(|piece| piece == address)).then(|| path.to_owned())
}

/// The node that an open file is, whatever its path: containers have nodes of their own.
#[cfg(target_os = "linux")]
fn by_number(nodes: &[Node], link: &Path, look: &mut Look) -> Option<String> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let data = match fs::metadata(link) {
        Ok(data) => data,
        Err(error) => {
            // A file of a network that has failed is no node of this machine.
            if error.kind() == ErrorKind::PermissionDenied {
                look.unread(link, &error);
            }
            return None;
        }
    };
    let kind = data.file_type();
    if !kind.is_block_device() && !kind.is_char_device() {
        return None;
    }
    let number = device_number(data.rdev());
    let is_node = |node: &&Node| {
        node.number.as_ref() == Some(&number)
            && node.is_block.is_none_or(|block| block == kind.is_block_device())
    };
    nodes.iter().find(is_node).map(|node| node.name.clone())
}

#[cfg(not(target_os = "linux"))]
fn by_number(_nodes: &[Node], _link: &Path, _look: &mut Look) -> Option<String> {
    None
}

fn mappings(tree: &Tree, function: &Function, look: &mut Look) {
    let nodes = tree.nodes(function, look);
    for process in numbers(tree, look) {
        // Threads share their memory; the first may have ended before the others.
        let table = threads(tree, process, look)
            .into_iter()
            .find_map(|thread| look.text(&thread.join("maps")).filter(|table| !table.is_empty()));
        // Address, access, offset, device, inode, path.
        let path = |line: &str| line.splitn(6, ' ').nth(5).map(|path| path.trim_start().to_owned());
        let paths = table.iter().flat_map(|table| table.lines()).filter_map(path);
        let held = paths.filter_map(|path| by_path(tree, function, &nodes, &path)).collect();
        report(tree, process, held, "mapped", look);
    }
}

/// Adds a process with what it has `open` or `mapped`.
fn report(tree: &Tree, process: u32, mut held: Vec<String>, how: &str, look: &mut Look) {
    held.sort();
    held.dedup();
    if held.is_empty() {
        return;
    }
    let name = fs::read_to_string(tree.path(&format!("proc/{process}/comm"))).unwrap_or_default();
    let use_ = format!("process {process} ({}) has {} {how}", name.trim(), held.join(", "));
    look.holds(use_, format!("end that process, if nothing needs it (`ps -fp {process}`)"));
}

fn stubs(_tree: &Tree, function: &Function, look: &mut Look) {
    if let Some(driver @ ("xen-pciback" | "pciback")) = function.driver.as_deref() {
        look.holds(
            format!("{driver} keeps it for virtual machines"),
            "take it back from the virtual machine",
        );
    }
}
