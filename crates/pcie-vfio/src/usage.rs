//! Current uses of a device: anything below its function that people or the machine depend on.

use crate::obstacle;
use crate::tree::{Function, Tree, names, number, text};
use pcie_refusal::Refusal;
use std::path::{Path, PathBuf};

/// A use of a device, and the command that ends it.
pub(crate) type Use = (String, String);

impl Tree {
    /// Folders of the devices of a class (`net`) below a function, at any depth.
    pub(crate) fn below(&self, function: &Function, class: &str) -> Vec<PathBuf> {
        let folder = function.folder.canonicalize().unwrap_or_else(|_| function.folder.clone());
        let all = self.path(&format!("sys/class/{class}"));
        let is_below = |entry: &PathBuf| {
            let leads = |path: PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(&folder));
            leads(entry.clone()) || leads(entry.join("device"))
        };
        let mut found: Vec<PathBuf> =
            names(&all).into_iter().map(|name| all.join(name)).filter(is_below).collect();
        // The kernel may list no classes; devices directly below the function are found anyway.
        let own = function.folder.join(class);
        for name in names(&own) {
            if !found.iter().any(|entry| entry.ends_with(&name)) {
                found.push(own.join(name));
            }
        }
        found
    }

    pub(crate) fn names_below(&self, function: &Function, class: &str) -> Vec<String> {
        self.below(function, class).iter().filter_map(|entry| name_of(entry)).collect()
    }

    /// Refuses a device in use; the error names the use and the command that ends it.
    pub fn check_unused(&self, function: &Function) -> Result<(), Refusal> {
        let address = function.address;
        function.check_no_bridge()?;
        if function.is_display() && self.functions().iter().filter(|other| other.is_display()).count() == 1 {
            return Err(obstacle::only_display(address));
        }
        let refuse = |found| Err(obstacle::in_use(address, found));
        self.console_use(function).or_else(|| self.use_below(function)).map_or(Ok(()), refuse)
    }

    /// The first use of a device below a function, displays aside.
    pub(crate) fn use_below(&self, function: &Function) -> Option<Use> {
        virtual_functions(function)
            .or_else(|| self.interface_use(function))
            .or_else(|| self.block_use(function))
            .or_else(|| self.depended_on(function))
    }

    /// The use of a function as console or active display.
    fn console_use(&self, function: &Function) -> Option<Use> {
        let remedy = || "use another display, or none, before binding it".to_owned();
        if number(&function.folder.join("boot_vga")) == Some(1) {
            return Some(("it shows the console (boot_vga)".to_owned(), remedy()));
        }
        let console = self.path("sys/class/vtconsole");
        let is_drawn = names(&console).iter().any(|name| {
            let of = |file: &str| text(&console.join(name).join(file)).unwrap_or_default();
            of("name").contains("frame buffer") && of("bind") == "1"
        });
        if let Some(name) = self.names_below(function, "graphics").first().filter(|_| is_drawn) {
            return Some((format!("it shows the console ({name})"), remedy()));
        }
        let shown = self.below(function, "drm").into_iter().find(|connector| {
            let of = |file: &str| text(&connector.join(file)).unwrap_or_default();
            of("status") == "connected" && of("enabled") == "enabled"
        });
        Some((format!("a screen is shown at {}", name_of(&shown?)?), remedy()))
    }

    /// The use of a console, watchdog, keyboard, pointer or sound card below a function.
    fn depended_on(&self, function: &Function) -> Option<Use> {
        let consoles = text(&self.path("sys/class/tty/console/active")).unwrap_or_default();
        let terminals = self.names_below(function, "tty");
        let is_console = |name: &&String| consoles.split_whitespace().any(|one| one == *name);
        if let Some(name) = terminals.iter().find(is_console) {
            let remedy = format!("remove `console={name}` from the kernel command line");
            return Some((format!("{name} is the kernel's console"), remedy));
        }
        let runs = |watchdog: &String| {
            text(&self.path(&format!("sys/class/watchdog/{watchdog}/state"))).as_deref() == Some("active")
        };
        if let Some(name) = self.names_below(function, "watchdog").into_iter().find(runs) {
            let use_ = format!("{name} runs, and would restart the machine");
            return Some((use_, format!("end the process that feeds it (`sudo fuser /dev/{name}`)")));
        }
        let keys = |input: &PathBuf| {
            let bits = text(&input.join("capabilities/key")).unwrap_or_default();
            bits.chars().any(|digit| !matches!(digit, '0' | ' '))
        };
        if let Some(input) = self.below(function, "input").into_iter().find(keys) {
            let use_ = format!("a keyboard or pointer is attached to it ({})", name_of(&input)?);
            return Some((use_, "attach it to another controller".to_owned()));
        }
        let sounds = |card: &String| self.sounds(card);
        let name = self.names_below(function, "sound").into_iter().find(sounds)?;
        let remedy =
            format!("end that process (`sudo fuser /dev/snd/*{}*`)", name.trim_start_matches("card"));
        Some((format!("sound plays or is recorded on {name}"), remedy))
    }

    /// Whether any stream of a sound card is open.
    fn sounds(&self, card: &str) -> bool {
        let folder = self.path(&format!("proc/asound/{card}"));
        let streams = names(&folder).into_iter().filter(|name| name.starts_with("pcm"));
        let streams = streams.map(|name| folder.join(name));
        let mut states = streams.flat_map(|stream| {
            names(&stream).into_iter().filter_map(move |sub| text(&stream.join(sub).join("status")))
        });
        states.any(|state| !state.is_empty() && !state.starts_with("closed"))
    }
}

pub(crate) fn name_of(folder: &Path) -> Option<String> {
    folder.file_name()?.to_str().map(str::to_owned)
}

/// The use by SR-IOV virtual functions, which virtual machines may have.
fn virtual_functions(function: &Function) -> Option<Use> {
    let file = function.folder.join("sriov_numvfs");
    let count = number(&file).filter(|count| *count > 0)?;
    Some((format!("it has {count} virtual functions"), format!("`echo 0 | sudo tee {}`", file.display())))
}
