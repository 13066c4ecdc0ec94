//! Current uses of a device: anything below its function that people or the machine depend on.

use crate::disks;
use crate::exports;
use crate::interfaces;
use crate::obstacle;
use crate::processes;
use crate::survey::{self, Holder, Kind, Look};
use crate::tree::{Function, Tree, leads_below, number};
use crate::volumes;
use pcie_refusal::Refusal;
use std::path::{Path, PathBuf};

/// Uses of the console's display. A device that pcielab has bound cannot have any.
const CONSOLE: &[Kind] = &[Kind {
    subject: "console and screens",
    places: "boot_vga; /sys/class/vtconsole, graphics and drm",
    look: console,
}];
/// Uses that the kernel's files show to every user.
const BELOW: &[Kind] = &[
    Kind { subject: "virtual functions", places: "sriov_numvfs, virtfn*", look: virtual_functions },
    Kind { subject: "mediated devices", places: "/sys/bus/mdev/devices", look: mediated_devices },
    interfaces::CONNECTIONS,
    interfaces::INTERFACES,
    disks::MOUNTS,
    disks::SWAP,
    disks::HOLDERS,
    volumes::MEMBERS,
    volumes::ZFS,
    disks::CLAIMS,
    Kind {
        subject: "console, watchdog, input, sound",
        places: "/sys/class/tty, watchdog, input and sound; /proc/asound",
        look: depended_on,
    },
];
/// Uses that only root sees in full.
const DEEP: &[Kind] = &[
    disks::OTHER_MOUNTS,
    exports::TARGETS,
    exports::LOOPS,
    interfaces::RDMA,
    interfaces::SOCKETS,
    interfaces::NAMESPACE,
    processes::STUBS,
];
/// Uses by programs, which also only root sees in full.
const PROGRAMS: &[Kind] = &[processes::OPEN_FILES, processes::MAPPINGS];

impl Tree {
    /// Folders of the devices of a class (`net`) below a function, at any depth.
    pub(crate) fn below(&self, function: &Function, class: &str, look: &mut Look) -> Vec<PathBuf> {
        let folder = function.real_folder();
        let all = self.path(&format!("sys/class/{class}"));
        let is_below =
            |entry: &PathBuf| leads_below(entry, &folder) || leads_below(&entry.join("device"), &folder);
        let mut found: Vec<PathBuf> =
            look.names(&all).into_iter().map(|name| all.join(name)).filter(is_below).collect();
        // The kernel may list no classes; devices directly below the function are found anyway.
        let own = function.folder.join(class);
        for name in look.names(&own) {
            if !found.iter().any(|entry| entry.ends_with(&name)) {
                found.push(own.join(name));
            }
        }
        found
    }

    pub(crate) fn names_below(&self, function: &Function, class: &str, look: &mut Look) -> Vec<String> {
        self.below(function, class, look).iter().filter_map(|entry| name_of(entry)).collect()
    }

    /// Refuses a device of which any user sees a use; the error names the use and the command that ends it.
    /// [`survey`](Self::survey) looks further.
    pub fn check_unused(&self, function: &Function) -> Result<(), Refusal> {
        function.check_no_bridge()?;
        self.check_other_display(function)?;
        let looks = survey::carried_out(self, function, &[CONSOLE, BELOW]);
        refuse(function, survey::first_seen(&looks))
    }

    /// Everything that was looked at, with what holds the device.
    #[must_use]
    pub fn survey(&self, function: &Function) -> Vec<Look> {
        survey::carried_out(self, function, &[CONSOLE, BELOW, DEEP, PROGRAMS])
    }

    /// Refuses a device unless it is known to be free: what cannot be read counts as in use.
    pub fn check_free(&self, function: &Function, looks: &[Look]) -> Result<(), Refusal> {
        function.check_no_bridge()?;
        self.check_other_display(function)?;
        refuse(function, survey::first(looks))
    }

    /// Refuses to release a device with a visible use, displays aside. The kernel itself tells whether a device on
    /// vfio-pci is open.
    pub(crate) fn check_releasable(&self, function: &Function) -> Result<(), Refusal> {
        let programs: &[Kind] = if function.driver.is_none() { PROGRAMS } else { &[] };
        refuse(function, survey::first_seen(&survey::carried_out(self, function, &[BELOW, programs])))
    }

    fn check_other_display(&self, function: &Function) -> Result<(), Refusal> {
        let displays = || self.functions().iter().filter(|other| other.is_display()).count();
        match function.is_display() && displays() == 1 {
            true => Err(obstacle::only_display(function.address)),
            false => Ok(()),
        }
    }

    /// Whether any stream of a sound card is open.
    fn sounds(&self, card: &str, look: &mut Look) -> bool {
        let folder = self.path(&format!("proc/asound/{card}"));
        for stream in look.names(&folder).iter().filter(|name| name.starts_with("pcm")) {
            for part in look.names(&folder.join(stream)) {
                let status = look.text(&folder.join(stream).join(part).join("status")).unwrap_or_default();
                if !status.is_empty() && !status.starts_with("closed") {
                    return true;
                }
            }
        }
        false
    }
}

fn refuse(function: &Function, holder: Option<&Holder>) -> Result<(), Refusal> {
    let refused = |holder: &Holder| Err(obstacle::in_use(function.address, holder));
    holder.map_or(Ok(()), refused)
}

/// Looks for the console and active displays of a function.
fn console(tree: &Tree, function: &Function, look: &mut Look) {
    const REMEDY: &str = "use another display, or none, before binding it";
    if look.text(&function.folder.join("boot_vga")).as_deref() == Some("1") {
        look.holds("it shows the console (boot_vga)", REMEDY);
    }
    let console = tree.path("sys/class/vtconsole");
    let is_drawn = look.names(&console).iter().any(|name| {
        let mut of = |file: &str| look.text(&console.join(name).join(file)).unwrap_or_default();
        of("name").contains("frame buffer") && of("bind") == "1"
    });
    if let Some(name) = tree.names_below(function, "graphics", look).first().filter(|_| is_drawn) {
        look.holds(format!("it shows the console ({name})"), REMEDY);
    }
    for connector in tree.below(function, "drm", look) {
        let mut of = |file: &str| look.text(&connector.join(file)).unwrap_or_default();
        if of("status") == "connected" && of("enabled") == "enabled" {
            look.holds(format!("a screen is shown at {}", label(&connector)), REMEDY);
        }
    }
}

/// Looks for a console, watchdog, keyboard, pointer or sound card below a function.
fn depended_on(tree: &Tree, function: &Function, look: &mut Look) {
    let consoles = look.text(&tree.path("sys/class/tty/console/active")).unwrap_or_default();
    for name in tree.names_below(function, "tty", look) {
        if consoles.split_whitespace().any(|console| console == name) {
            let remedy = format!("remove `console={name}` from the kernel command line");
            look.holds(format!("{name} is the kernel's console"), remedy);
        }
    }
    for name in tree.names_below(function, "watchdog", look) {
        let state = look.text(&tree.path(&format!("sys/class/watchdog/{name}/state")));
        if state.as_deref() == Some("active") {
            let remedy = format!("end the process that feeds it (`sudo fuser /dev/{name}`)");
            look.holds(format!("{name} runs, and would restart the machine"), remedy);
        }
    }
    for input in tree.below(function, "input", look) {
        let bits = look.text(&input.join("capabilities/key")).unwrap_or_default();
        if bits.chars().any(|digit| !matches!(digit, '0' | ' ')) {
            let use_ = format!("a keyboard or pointer is attached to it ({})", label(&input));
            look.holds(use_, "attach it to another controller");
        }
    }
    for name in tree.names_below(function, "sound", look) {
        if !tree.sounds(&name, look) {
            continue;
        }
        let card = name.trim_start_matches("card");
        let remedy = format!("end that process (`sudo fuser /dev/snd/*{card}*`)");
        look.holds(format!("sound plays or is recorded on {name}"), remedy);
    }
}

pub(crate) fn name_of(folder: &Path) -> Option<String> {
    folder.file_name()?.to_str().map(str::to_owned)
}

fn label(folder: &Path) -> String {
    name_of(folder).unwrap_or_default()
}

/// Looks for SR-IOV virtual functions, which virtual machines may have.
fn virtual_functions(_tree: &Tree, function: &Function, look: &mut Look) {
    let file = function.folder.join("sriov_numvfs");
    look.text(&file);
    let links = look.names(&function.folder).iter().filter(|name| name.starts_with("virtfn")).count() as u64;
    let count = number(&file).unwrap_or_default().max(links);
    if count > 0 {
        let remedy = format!("`echo 0 | sudo tee {}`", file.display());
        look.holds(format!("it has {count} virtual functions"), remedy);
    }
}

/// Looks for parts of a GPU or NIC that were made for virtual machines.
fn mediated_devices(tree: &Tree, function: &Function, look: &mut Look) {
    let folder = function.real_folder();
    let all = tree.path("sys/bus/mdev/devices");
    let is_own = |name: &String| leads_below(&all.join(name), &folder);
    let own: Vec<String> = look.names(&all).into_iter().filter(is_own).collect();
    if let Some(first) = own.first() {
        let remedy = format!("`echo 1 | sudo tee {}`", all.join(first).join("remove").display());
        look.holds(format!("it has {} mediated devices", own.len()), remedy);
    }
}
