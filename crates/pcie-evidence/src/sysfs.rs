//! Read a tree from sysfs: of this machine, or of a copy.
//!
//! It is read-only and wakes nothing: of a function in D3cold only the kernel's files are read. Users other than root
//! see the first 64 bytes of a configuration space; then the kernel's files are used, and `unseen` lists the gaps.

mod files;
mod folder;
mod host;

use std::path::{Path, PathBuf};

use pcie_refusal::{Kind, Refusal, Unfinished};

use crate::config_space::ConfigSpace;
use crate::pattern::{Pattern, compiled};
use crate::stop::{Stop, refusal as without_stop};
use crate::tree::{FUNCTIONS_MOST, Function, Tree};
use files::KernelFiles;
use folder::Folder;
use host::{nodes_of, read_host};

const DEVICES: &str = "bus/pci/devices";
const CLASSES: [(u32, &str); 8] = [
    (0x01, "Storage controller"),
    (0x02, "Network controller"),
    (0x03, "Display controller"),
    (0x05, "Memory controller"),
    (0x06, "Bridge"),
    (0x08, "System peripheral"),
    (0x0c, "Serial bus controller"),
    (0x12, "Processing accelerator"),
];
const KNOWN_CLASSES: [(u32, &str); 6] = [
    (0x0108, "Non-Volatile memory controller"),
    (0x0200, "Ethernet controller"),
    (0x0207, "Infiniband controller"),
    (0x0502, "CXL"),
    (0x0600, "Host bridge"),
    (0x0604, "PCI bridge"),
];
/// Links out of the folder that a note names.
const OUTSIDE_NAMED: usize = 3;

static SLOT: Pattern = Pattern::new(|| compiled(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"));

/// The tree of this machine, or of a copy: `root` is a folder with `sys` (and `proc`) in it, or a copy of `/sys`
/// itself.
///
/// # Errors
/// It has no PCI functions.
pub fn read_sysfs(root: Option<&Path>) -> Result<Tree, Refusal> {
    read_sysfs_until(root, Stop::NEVER).map_err(without_stop)
}

/// The same, unless it is stopped.
///
/// # Errors
/// It has no PCI functions, or the reading was stopped.
pub fn read_sysfs_until(root: Option<&Path>, stop: Stop<'_>) -> Result<Tree, Unfinished> {
    let source = root.map_or_else(|| "this machine".to_owned(), |root| root.display().to_string());
    read(root, &source, stop).map_err(|unfinished| unfinished.about(&source))
}

fn read(root: Option<&Path>, source: &str, stop: Stop<'_>) -> Result<Tree, Unfinished> {
    let (base, sys) = root.map_or_else(|| Ok(("/".into(), "/sys".into())), roots)?;
    let folder = Folder::new(&base);
    let devices = sys.join(DEVICES);
    let slots: Vec<_> = folder.names(&devices).into_iter().filter(|name| SLOT.is_match(name)).collect();
    if slots.len() > FUNCTIONS_MOST {
        let remedy = format!("give a machine of {FUNCTIONS_MOST} at most");
        return Err(Refusal::new(format!("{} PCI functions", slots.len()))
            .kind(Kind::TooLarge)
            .remedy(remedy)
            .into());
    }
    let host = read_host(&folder, &sys);
    let nodes = nodes_of(&folder, &sys);
    let mut reader = Reader::new(KernelFiles::new(&folder, &nodes));
    let mut functions = Vec::new();
    for slot in &slots {
        stop.check()?;
        functions.extend(reader.function(slot, &devices.join(slot)));
    }
    if functions.is_empty() {
        return Err(nothing(&devices, root.is_none()).into());
    }
    let unseen = reader.unseen(functions.len());
    let mut tree = Tree::new(source, functions).with_host(host);
    tree.unseen = unseen;
    Ok(tree)
}

/// The folder that is read, and `/sys` in it.
fn roots(root: &Path) -> Result<(PathBuf, PathBuf), Refusal> {
    if !root.is_dir() {
        let remedy = "give a copy of /sys, or a folder that has it as sys/";
        return Err(Refusal::new("not a folder").kind(Kind::NotFound).remedy(remedy));
    }
    for sys in [root.to_owned(), root.join("sys")] {
        if sys.join(DEVICES).is_dir() {
            return Ok((root.to_owned(), sys));
        }
    }
    let problem = format!("has no {DEVICES}, so it is not a copy of /sys");
    let remedy =
        "save the tree with `pcielab doctor --save FILE`, or give the text of `sudo lspci -vvv` with --lspci";
    Err(Refusal::new(problem).kind(Kind::Malformed).remedy(remedy))
}

fn nothing(devices: &Path, is_this_machine: bool) -> Refusal {
    let devices = devices.display();
    let refusal = if is_this_machine {
        Refusal::new(format!("the kernel shows no PCI function ({devices} is empty or missing)"))
    } else {
        let problem = format!("no function in {devices} leads to a folder inside it");
        Refusal::new(problem).remedy("copy with links (cp -a), or use --save")
    };
    refusal.kind(Kind::NotFound)
}

/// Reads functions one by one, and notes those that it cannot read fully.
struct Reader<'a> {
    files: KernelFiles<'a>,
    without_capabilities: usize,
    asleep: Vec<String>,
    silent: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(files: KernelFiles<'a>) -> Self {
        Self { files, without_capabilities: 0, asleep: Vec::new(), silent: Vec::new() }
    }

    /// One function; None if its link leads nowhere.
    fn function(&mut self, slot: &str, link: &Path) -> Option<Function> {
        let path = self.files.folder.inside(link).filter(|path| path.is_dir())?;
        let mut found = self.files.function(&path);
        slot.clone_into(&mut found.slot);
        if found.power_state.as_deref() == Some("D3cold") {
            self.asleep.push(slot.to_owned());
        } else {
            self.add_registers(&mut found, &path);
        }
        found.title = title(&found);
        Some(found)
    }

    fn add_registers(&mut self, found: &mut Function, path: &Path) {
        let file = self.files.folder.opened(&path.join("config"));
        let read = |offset: usize, size: usize| folder::bytes_of(file.as_ref(), offset as u64, size);
        let space = ConfigSpace::new(&read);
        if space.is_present() {
            merge(found, space.fields());
        } else {
            found.answers = Some(false);
            self.silent.push(found.slot.clone());
        }
        self.without_capabilities += usize::from(!space.is_complete);
    }

    /// Registers and files that could not be read, and how to show them.
    fn unseen(&self, count: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if self.without_capabilities > 0 {
            notes.push(format!(
                "the capabilities of {} of {count} functions, which the kernel shows to root alone: no MPS, MRRS, \
                 tags, ordering, ECRC, ACS: run it as root (it only reads)",
                self.without_capabilities
            ));
        }
        if !self.asleep.is_empty() {
            let slots = self.asleep.join(", ");
            notes.push(format!("{slots}: asleep in D3cold, and not woken: use the device and read again"));
        }
        if !self.silent.is_empty() {
            notes.push(format!(
                "{}: no answer, the configuration space cannot be read: the device is off, or off the bus: search \
                 the kernel's log for its slot",
                self.silent.join(", ")
            ));
        }
        let outside = self.files.folder.outside();
        if !outside.is_empty() {
            let paths: Vec<_> =
                outside.iter().take(OUTSIDE_NAMED).map(|path| path.display().to_string()).collect();
            let more = if outside.len() > OUTSIDE_NAMED { " and more" } else { "" };
            notes.push(format!(
                "{}{more}: a link that leads out of the folder, not followed: copy /sys/devices, too, and keep links \
                 (cp -a)",
                paths.join(", ")
            ));
        }
        notes
    }
}

/// Adds registers to what the kernel's files show: registers count, except for the power state and error counters.
fn merge(kernel: &mut Function, space: Function) {
    let mut errors = space.errors.or(kernel.errors.clone());
    if let (Some(errors), Some(counted)) = (&mut errors, kernel.errors.take()) {
        (errors.correctable, errors.fatal) = (counted.correctable, counted.fatal);
    }
    *kernel = Function {
        slot: std::mem::take(&mut kernel.slot),
        vendor_id: space.vendor_id.or(kernel.vendor_id),
        device_id: space.device_id.or(kernel.device_id),
        class_code: space.class_code.or(kernel.class_code),
        is_virtual_function: kernel.is_virtual_function,
        driver: kernel.driver.take(),
        power_state: kernel.power_state.take().or(space.power_state),
        numa_node: kernel.numa_node,
        interrupt_nodes: kernel.interrupt_nodes.take(),
        iommu_group: kernel.iommu_group,
        iommu_type: kernel.iommu_type.take(),
        link: space.link.or(kernel.link.take()),
        errors,
        ..space
    };
}

/// Class and IDs, as lspci -nn shows them without its list of names.
fn title(found: &Function) -> String {
    let code = found.class_code.unwrap_or(0);
    let known = KNOWN_CLASSES.iter().find(|(known, _)| Some(*known) == found.class_code);
    let base = || CLASSES.iter().find(|(base, _)| *base == code >> 8);
    let kind = known.or_else(base).map_or("Device", |(_, name)| *name);
    let ids =
        found.vendor_id.zip(found.device_id).map(|(vendor, device)| format!(" [{vendor:04x}:{device:04x}]"));
    format!("{kind}: device{}", ids.unwrap_or_default())
}

#[cfg(test)]
mod tests;
