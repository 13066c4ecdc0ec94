//! Disks that the kernel itself reads and writes for others, without an open file of any process: NVMe targets
//! (nvmet), SCSI targets (LIO), USB gadgets, and loop and compressed devices.

use crate::nodes::Node;
use crate::survey::{Kind, Look};
use crate::tree::{Function, Tree};
use std::path::Path;

pub(crate) const TARGETS: Kind = Kind {
    subject: "nvmet, LIO and USB gadgets",
    places: "/sys/kernel/config/nvmet, target and usb_gadget",
    look: targets,
};
pub(crate) const LOOPS: Kind = Kind {
    subject: "loop and zram devices",
    places: "/sys/block/*/loop/backing_file, /sys/block/zram*/backing_dev",
    look: loops,
};

/// Modules with their folder in configfs, and where it is mounted.
const MODULES: [(&str, &str); 3] =
    [("nvmet", "nvmet"), ("target_core_mod", "target"), ("libcomposite", "usb_gadget")];
const CONFIGURATION: &str = "sys/kernel/config";
/// Files that name a disk: of nvmet, of LIO's back ends, of a gadget's mass storage.
const FILES: [&str; 4] = ["device_path", "udev_path", "info", "file"];
/// Depth of the deepest of them, below their module's folder.
const LEVELS_MOST: u32 = 8;

fn targets(tree: &Tree, function: &Function, look: &mut Look) {
    for (module, folder) in MODULES {
        let configured = tree.path(CONFIGURATION).join(folder);
        if configured.exists() {
            let nodes = tree.nodes(function, look);
            search(tree, &configured, &nodes, LEVELS_MOST, look);
        } else if tree.path(&format!("sys/module/{module}")).exists() {
            look.doubts(
                format!("{module} is loaded, and {} does not exist", configured.display()),
                format!("`sudo mount -t configfs configfs /{CONFIGURATION}`"),
            );
        }
    }
}

/// Searches a folder of the configuration for files that name one of the nodes.
fn search(tree: &Tree, folder: &Path, nodes: &[Node], levels: u32, look: &mut Look) {
    if levels == 0 {
        return;
    }
    for name in look.names(folder) {
        let path = folder.join(&name);
        let Ok(kind) = path.symlink_metadata() else { continue };
        if kind.is_dir() {
            search(tree, &path, nodes, levels - 1, look);
        } else if FILES.contains(&name.as_str()) {
            let content = look.text(&path).unwrap_or_default();
            if let Some(node) = named(tree, &content, nodes) {
                let remedy = "remove it from that target (`sudo nvmetcli`, `sudo targetcli`)";
                look.holds(format!("{} is exported by {}", node.name, folder.display()), remedy);
            }
        }
    }
}

fn loops(tree: &Tree, function: &Function, look: &mut Look) {
    let block = tree.path("sys/block");
    let nodes = tree.nodes(function, look);
    for name in look.names(&block) {
        for file in ["loop/backing_file", "backing_dev"] {
            let content = look.text(&block.join(&name).join(file)).unwrap_or_default();
            if let Some(node) = named(tree, &content, &nodes) {
                let remedy = match file {
                    "backing_dev" => format!("`echo 1 | sudo tee /sys/block/{name}/reset`"),
                    _ => format!("`sudo losetup -d /dev/{name}`"),
                };
                look.holds(format!("{} is behind {name}", node.name), remedy);
            }
        }
    }
}

/// The node that a text names by its path, or as a word of its own.
fn named<'a>(tree: &Tree, text: &str, nodes: &'a [Node]) -> Option<&'a Node> {
    let words = || text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '"' | '='));
    words().find_map(|word| {
        let name = tree.device_name(word).unwrap_or_else(|| word.to_owned());
        nodes.iter().find(|node| node.name == name || node.name == word.trim_start_matches("/dev/"))
    })
}
