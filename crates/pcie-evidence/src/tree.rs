//! A machine's PCIe tree as it was read: functions, the links between them, and their settings.
//!
//! The data do not depend on the source; a value that could not be read is `None`, never a guess. The bridge above a
//! function follows from bus numbers alone, which every source shows. A tree has no serial numbers and no MAC
//! addresses. Its JSON has the fields of these types in their order, absent values as `null`.

mod function;
mod host;
mod index;
mod link_end;
mod log;

use serde::{Deserialize, Serialize};

pub use function::{Control, ErrorReporting, Function, Kind, ResizableBar, short_slot};
pub use host::{Host, IommuPages};
use index::Index;
pub use link_end::LinkEnd;
pub use log::{LogEvent, LogKind, Peer, Piece};

/// Lanes a link may have.
pub const LANES: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];
/// Payload sizes and read request sizes, bytes.
pub const PAYLOADS: [u32; 6] = [128, 256, 512, 1024, 2048, 4096];
/// Speed of a lane of each generation, GT/s.
pub const SPEEDS: [f64; 7] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0];
/// Domain of functions whose slot the source does not show; no machine has it.
pub const UNNAMED_DOMAIN: &str = "fffffffe";
/// Most functions of a machine: sixteen devices with 512 virtual functions each.
pub const FUNCTIONS_MOST: usize = 8192;

const HOST_BRIDGE: u32 = 0x0600;

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The file, folder or machine that was read.
    pub source: String,
    functions: Vec<Function>,
    #[serde(default)]
    host: Host,
    /// Registers and files that could not be read, and how to show them.
    #[serde(default)]
    pub unseen: Vec<String>,
    #[serde(default)]
    is_nested: bool,
    /// What a kernel's log beside the registers says, in the order of the source.
    #[serde(default)]
    pub log: Vec<LogEvent>,
    /// Connections between devices that are no PCIe links.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// The forms that the source has.
    #[serde(default)]
    pub pieces: Vec<Piece>,
    /// Later readings of the same machine in the same source.
    #[serde(default)]
    pub later: Vec<Tree>,
    #[serde(skip)]
    index: Index,
}

/// A link with both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Link<'a> {
    /// The port above; None if it was not read.
    pub port: Option<&'a Function>,
    /// The function of the lower end with the lowest number.
    pub device: &'a Function,
    /// The functions of the device or switch below, `device` first.
    pub functions: Vec<&'a Function>,
}

/// Walks from a function up to its root port.
#[derive(Clone, Debug)]
pub struct Bridges<'a> {
    tree: &'a Tree,
    next: Option<&'a Function>,
}

impl<'a> Iterator for Bridges<'a> {
    type Item = &'a Function;

    fn next(&mut self) -> Option<&'a Function> {
        let function = self.next?;
        self.next = self.tree.parent(function);
        Some(function)
    }
}

impl Tree {
    /// A machine whose source numbers the buses below bridges.
    #[must_use]
    pub fn new(source: impl Into<String>, functions: Vec<Function>) -> Self {
        Self { source: source.into(), functions, ..Self::default() }
    }

    /// The same machine with these settings.
    #[must_use]
    pub fn with_host(self, host: Host) -> Self {
        Self { host, index: Index::default(), ..self }
    }

    /// The same machine from a source that nests functions instead of numbering buses ([`Function::above_slot`]).
    #[must_use]
    pub fn nested(self) -> Self {
        Self { is_nested: true, index: Index::default(), ..self }
    }

    /// The functions, in the order of the source.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Settings of the machine as a whole.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Whether the source nests functions instead of numbering the buses below bridges.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// Whether it holds some devices without any port above them, as `lspci -s SLOT` prints them.
    ///
    /// Of a whole machine there are host bridges or ports; virtual machines have devices on bus 0.
    #[must_use]
    pub fn is_selection(&self) -> bool {
        let alone = |one: &Function| {
            one.secondary_bus.is_none()
                && !one.is_port()
                && one.class_code != Some(HOST_BRIDGE)
                && (one.bus() != 0 || one.is_unnamed())
        };
        self.host.hypervisor.is_none() && self.functions.iter().all(alone)
    }

    /// The function of a slot; None if there is none.
    #[must_use]
    pub fn function(&self, slot: &str) -> Option<&Function> {
        self.functions.get(self.index().position(slot)?)
    }

    /// The title of the function of a slot; empty if there is none.
    #[must_use]
    pub fn title(&self, slot: &str) -> &str {
        self.function(slot).map_or("", |found| &found.title)
    }

    /// The bridge above a function; None on a root bus, or if it was not read.
    #[must_use]
    pub fn parent(&self, function: &Function) -> Option<&Function> {
        self.functions.get(self.index().parent(&function.slot)?)
    }

    /// The functions on the bus below a bridge; bus numbers rise downwards, so walks end.
    #[must_use]
    pub fn children(&self, bridge: &Function) -> Vec<&Function> {
        self.at(self.index().children(&bridge.slot))
    }

    /// The function and every bridge above it, up to the root port.
    #[must_use]
    pub fn path<'a>(&'a self, function: &'a Function) -> Bridges<'a> {
        Bridges { tree: self, next: Some(function) }
    }

    /// Every link with something on its lower end, in the order of the lower ends.
    ///
    /// The link of an endpoint or switch whose port was not read has no port.
    pub fn links(&self) -> impl Iterator<Item = Link<'_>> {
        (0..self.index().links().len()).filter_map(|number| self.link(number))
    }

    /// The link above a function, if it is on the lower end of one.
    #[must_use]
    pub fn link_of(&self, function: &Function) -> Option<Link<'_>> {
        self.link(self.index().link_of(&function.slot)?)
    }

    fn link(&self, number: usize) -> Option<Link<'_>> {
        let members = self.at(self.index().links().get(number)?);
        let device = *members.first()?;
        Some(Link { port: self.parent(device), device, functions: members })
    }

    fn at(&self, positions: &[usize]) -> Vec<&Function> {
        positions.iter().filter_map(|position| self.functions.get(*position)).collect()
    }

    fn index(&self) -> &index::Found {
        self.index.of(self)
    }
}

#[cfg(test)]
mod tests;
