//! Device nodes of a function: those of everything below it, of volumes on its disks, and of its IOMMU group.

use crate::survey::Look;
use crate::tree::{Function, Tree};
use std::path::Path;

/// Most levels below a function that are searched: a disk behind hubs is some twelve levels deep.
const LEVELS_MOST: u32 = 32;

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its name below `/dev`: `nvme0n1`, `dri/renderD128`.
    pub(crate) name: String,
    /// Major and minor number; none if the kernel does not show it.
    pub(crate) number: Option<String>,
    /// Whether it is a block device; none if the kernel does not show it.
    pub(crate) is_block: Option<bool>,
}

impl Tree {
    /// All device nodes through which a program reaches a function.
    pub(crate) fn nodes(&self, function: &Function, look: &mut Look) -> Vec<Node> {
        let mut nodes = Vec::new();
        add_below(&function.folder, LEVELS_MOST, &mut nodes, look);
        for name in self.stack(function, look) {
            let number = look.needed(&self.path(&format!("sys/class/block/{name}/dev")));
            // The character node of a drive with several paths is not below the function.
            if let Some(generic) = name.strip_prefix("nvme").map(|rest| format!("ng{rest}")) {
                let number = look.text(&self.path(&format!("sys/class/nvme-generic/{generic}/dev")));
                nodes.extend(number.map(|number| character(&generic, Some(number))));
            }
            nodes.push(Node { name, number: Some(number), is_block: Some(true) });
        }
        if let Some(group) = function.group {
            let number = look.text(&self.path(&format!("sys/class/vfio/{group}/dev")));
            nodes.push(character(&format!("vfio/{group}"), number.clone()));
            nodes.push(character(&format!("vfio/noiommu-{group}"), number));
        }
        nodes.extend(self.compute_nodes(function, look));
        nodes
    }

    /// Nodes of GPUs that the kernel does not list below the function.
    fn compute_nodes(&self, function: &Function, look: &mut Look) -> Vec<Node> {
        match function.driver.as_deref() {
            Some("nvidia") => self.nvidia_node(function, look).into_iter().collect(),
            // One node for all of them: a process that has it open may use any.
            Some("amdgpu") => {
                vec![character("kfd", look.text(&self.path("sys/class/kfd/kfd/dev")))]
            }
            _ => Vec::new(),
        }
    }

    fn nvidia_node(&self, function: &Function, look: &mut Look) -> Option<Node> {
        /// Major number of the driver.
        const MAJOR: u32 = 195;
        let file = self.path(&format!("proc/driver/nvidia/gpus/{}/information", function.address));
        let information = look.needed(&file);
        let minor = information.lines().find_map(|line| line.strip_prefix("Device Minor:")).map(str::trim);
        if minor.is_none() {
            look.doubts(
                format!("{} does not name its node (Device Minor)", file.display()),
                "unload the driver nvidia",
            );
        }
        minor.map(|minor| character(&format!("nvidia{minor}"), Some(format!("{MAJOR}:{minor}"))))
    }
}

fn character(name: &str, number: Option<String>) -> Node {
    Node { name: name.to_owned(), number, is_block: Some(false) }
}

/// Adds the nodes of a folder and of all folders below it; links lead elsewhere and are not followed.
fn add_below(folder: &Path, levels: u32, nodes: &mut Vec<Node>, look: &mut Look) {
    if levels == 0 {
        return look
            .doubts(format!("{} has folders too deep to search", folder.display()), "bind nothing of it");
    }
    if let Some(number) = look.text(&folder.join("dev")) {
        let uevent = look.text(&folder.join("uevent")).unwrap_or_default();
        let named = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME=")).map(str::to_owned);
        let own = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let subsystem = look.link(&folder.join("subsystem"));
        let is_block = subsystem.map(|target| target.ends_with("block"));
        nodes.push(Node { name: named.unwrap_or_else(own), number: Some(number), is_block });
    }
    for name in look.names(folder) {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            add_below(&path, levels - 1, nodes, look);
        }
    }
}
