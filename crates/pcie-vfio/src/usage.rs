//! What a device is used for at this moment: file systems, volumes, swap, interfaces, the screen, and what people and the
//! machine depend on. All of it is looked for below the function, however far.

use crate::below::{Use, name_of};
use crate::obstacle;
use crate::tree::{Function, Tree, names, number, text};
use pcie_refusal::Refusal;

impl Tree {
    /// Refuses a device that something is done with.
    ///
    /// # Errors
    /// Says what, and what ends it.
    pub fn check_unused(&self, function: &Function) -> Result<(), Refusal> {
        let address = function.address;
        function.check_no_bridge()?;
        if function.is_display() && self.functions().iter().filter(|other| other.is_display()).count() == 1 {
            return Err(obstacle::only_display(address));
        }
        let refuse = |found| Err(obstacle::in_use(address, found));
        self.console_use(function).or_else(|| self.use_below(function)).map_or(Ok(()), refuse)
    }

    /// What is done with anything below a function that has not to do with a screen.
    pub(crate) fn use_below(&self, function: &Function) -> Option<Use> {
        virtual_functions(function)
            .or_else(|| self.interface_use(function))
            .or_else(|| self.block_use(function))
            .or_else(|| self.depended_on(function))
    }

    /// Whether a function shows the console, or anything that somebody looks at.
    fn console_use(&self, function: &Function) -> Option<Use> {
        let remedy = || "use another display for that, or none, before it is taken away".to_owned();
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

    /// What people work with, and what keeps the machine running.
    fn depended_on(&self, function: &Function) -> Option<Use> {
        let consoles = text(&self.path("sys/class/tty/console/active")).unwrap_or_default();
        let terminals = self.names_below(function, "tty");
        if let Some(name) = terminals.iter().find(|name| consoles.split_whitespace().any(|one| one == *name))
        {
            let remedy = format!("leave `console={name}` out of the kernel's command line");
            return Some((format!("{name} is the kernel's console"), remedy));
        }
        let runs = |watchdog: &String| {
            text(&self.path(&format!("sys/class/watchdog/{watchdog}/state"))).as_deref() == Some("active")
        };
        if let Some(name) = self.names_below(function, "watchdog").into_iter().find(runs) {
            let use_ = format!("{name} runs, and would restart the machine");
            return Some((use_, format!("end what keeps it from that (`sudo fuser /dev/{name}`)")));
        }
        let keys = |input: &std::path::PathBuf| {
            let bits = text(&input.join("capabilities/key")).unwrap_or_default();
            bits.chars().any(|digit| !matches!(digit, '0' | ' '))
        };
        if let Some(input) = self.below(function, "input").into_iter().find(keys) {
            let use_ = format!("a keyboard or pointer is attached to it ({})", name_of(&input)?);
            return Some((use_, "attach that to another controller".to_owned()));
        }
        let sounds = |card: &String| self.sounds(card);
        let name = self.names_below(function, "sound").into_iter().find(sounds)?;
        let remedy = format!("end what does (`sudo fuser /dev/snd/*{}*`)", name.trim_start_matches("card"));
        Some((format!("sound plays or is recorded on {name}"), remedy))
    }

    /// Whether any stream of a sound card is open.
    fn sounds(&self, card: &str) -> bool {
        let folder = self.path(&format!("proc/asound/{card}"));
        let streams =
            names(&folder).into_iter().filter(|name| name.starts_with("pcm")).map(|name| folder.join(name));
        streams
            .flat_map(|stream| names(&stream).into_iter().map(move |sub| stream.join(sub).join("status")))
            .any(|status| {
                text(&status).is_some_and(|state| !state.is_empty() && !state.starts_with("closed"))
            })
    }
}

/// Functions that a driver has made of this one, and that go with it: virtual machines have them.
fn virtual_functions(function: &Function) -> Option<Use> {
    let file = function.folder.join("sriov_numvfs");
    let count = number(&file).filter(|count| *count > 0)?;
    Some((format!("it has {count} virtual functions"), format!("`echo 0 | sudo tee {}`", file.display())))
}
