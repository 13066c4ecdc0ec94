//! Read a tree from the topology that NCCL dumps (`NCCL_TOPO_DUMP_FILE`), an XML file.
//!
//! Elements nest as the machine does: `system`, `cpu` (a NUMA node), `pci` (a switch or a device), and in it `gpu`,
//! `nic` and `net`. A `pci` element has the link above it. NCCL shows upstream ports of switches, but no other ports,
//! and no registers. A switch may stand there several times, once for each part of what is below it. `nvlink` and
//! `xgmi` are connections of their own kind. Identifiers of devices (`guid`) are not kept.
//!
//! The file is foreign: document types, and so entities, are refused, as are deep nesting and unknown structures.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use pcie_refusal::shown::named;
use pcie_refusal::{Kind as Wrong, Refusal};
use roxmltree::{Document, Error, Node, ParsingOptions};

use crate::letters::{line_count, printable};
use crate::pattern::{Pattern, compiled, first_group};
use crate::tree::{FUNCTIONS_MOST, Function, Host, Kind, LANES, LinkEnd, Peer, Piece, SPEEDS, Tree};

const DEPTH_MOST: usize = 64;
const ELEMENTS_MOST: usize = 100_000;
const BRIDGE: u32 = 0x0604;
const BRIDGE_CLASS: &str = "0x0604";
const TITLES: [(u32, &str); 4] = [
    (0x02, "Network controller"),
    (0x03, "Display controller"),
    (0x06, "PCI bridge"),
    (0x12, "Processing accelerator"),
];
const REMEDY: &str = "give the file that NCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml";

static SLOT: Pattern = Pattern::new(|| compiled(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"));
static CLASS: Pattern = Pattern::new(|| compiled("(?i)^0x([0-9a-f]{4})[0-9a-f]{2}$"));
static SPEED: Pattern = Pattern::new(|| compiled(r"^([0-9]{1,3}(?:\.[0-9])?) ?GT/s"));
static NUMBER: Pattern = Pattern::new(|| compiled("^[0-9]{1,5}$"));
static LABEL: Pattern = Pattern::new(|| compiled("^[A-Za-z0-9_.-]{1,64}$"));
static ID: Pattern = Pattern::new(|| compiled("^0x([0-9a-fA-F]{1,4})$"));

/// The attributes of an element by name.
type Attributes = BTreeMap<String, String>;

/// The tree of a text; `source` is its name in messages.
///
/// # Errors
/// It is not well-formed, or shows no device.
pub fn read_nccl(text: &str, source: &str) -> Result<Tree, Refusal> {
    read(text).map_err(|refusal| refusal.about(source)).map(|reader| tree(reader, source))
}

fn tree(reader: Reader, source: &str) -> Tree {
    let functions: Vec<_> = reader.found.iter().map(|(slot, found)| found.function(slot)).collect();
    let nodes = (!reader.nodes.is_empty()).then(|| reader.nodes.iter().copied().collect());
    let used = format!("links of {} functions", functions.len());
    let mut tree = Tree::new(source, functions).with_host(Host { nodes, ..Host::default() }).nested();
    tree.peers = reader.peers();
    tree.pieces = vec![Piece { form: "NCCL topology".into(), first_line: 1, used_for: Some(used) }];
    tree
}

fn read(text: &str) -> Result<Reader, Refusal> {
    let options = ParsingOptions { nodes_limit: u32::MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| malformed(&error, text))?;
    let mut reader = Reader::default();
    reader.take(document.root_element())?;
    if reader.found.is_empty() {
        return Err(unlike_a_topology("shows no element pci with a busid"));
    }
    Ok(reader)
}

fn malformed(error: &Error, text: &str) -> Refusal {
    let line = match error {
        Error::DtdDetected => {
            return unlike_a_topology("has a document type, which may define entities");
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream | Error::NoRootNode => line_count(text),
        _ => error.pos().row as usize,
    };
    let shown = error.to_string();
    let reason = shown.rsplit_once(" at ").map_or(&*shown, |(reason, _)| reason);
    unlike_a_topology(&format!("line {line}: not well-formed XML ({})", printable(reason)))
}

fn unlike_a_topology(problem: &str) -> Refusal {
    Refusal::new(problem).kind(Wrong::Malformed).remedy(REMEDY)
}

/// A `pci` element.
#[derive(Debug)]
struct Found {
    attributes: Attributes,
    above: Option<String>,
    node: Option<i64>,
    label: Option<String>,
}

impl Found {
    fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    fn function(&self, slot: &str) -> Function {
        let hex = |pattern: &Pattern, name: &str| {
            u32::from_str_radix(first_group(pattern, self.attribute(name))?, 16).ok()
        };
        let (class_code, vendor_id, device_id) =
            (hex(&CLASS, "class"), hex(&ID, "vendor"), hex(&ID, "device"));
        let base = class_code.unwrap_or(0) >> 8;
        let title = TITLES.iter().find(|(class, _)| *class == base).map_or("Device", |(_, title)| *title);
        let ids = vendor_id.zip(device_id).map(|(vendor, device)| format!(" [{vendor:04x}:{device:04x}]"));
        Function {
            slot: slot.to_owned(),
            title: format!("{title}: device{}", ids.unwrap_or_default()),
            vendor_id,
            device_id,
            class_code,
            kind: Some(if class_code == Some(BRIDGE) { Kind::UpstreamPort } else { Kind::Endpoint }),
            numa_node: self.node,
            link: self.link(),
            above_slot: self.above.clone(),
            label: self.label.clone(),
            ..Function::default()
        }
    }

    fn link(&self) -> Option<LinkEnd> {
        let shown: f64 = first_group(&SPEED, self.attribute("link_speed"))?.parse().ok()?;
        let speed = SPEEDS.into_iter().find(|speed| *speed == shown)?;
        let lanes = u32::try_from(number(self.attribute("link_width"))?).ok()?;
        let known = LANES.contains(&lanes);
        known.then(|| LinkEnd { speed_gtps: Some(speed), lanes: Some(lanes), ..LinkEnd::default() })
    }
}

/// Every `pci` element so far, and what connects them.
#[derive(Debug, Default)]
struct Reader {
    found: IndexMap<String, Found>,
    nodes: BTreeSet<i64>,
    elements: usize,
    connections: IndexMap<(String, String, String), u32>,
}

/// What an element inherits from those around it.
#[derive(Clone, Debug, Default)]
struct Around {
    depth: usize,
    node: Option<i64>,
    device: Option<String>,
}

impl Reader {
    /// Takes the root element and everything within, in the order of the text.
    fn take(&mut self, root: Node<'_, '_>) -> Result<(), Refusal> {
        if name(root) != Some("system") {
            let shown = named(root.tag_name().name());
            return Err(unlike_a_topology(&format!("the outermost element is {shown}, not system")));
        }
        let mut waiting = vec![(root, Around::default())];
        while let Some((element, around)) = waiting.pop() {
            let inner = self.element(element, around)?;
            let children = element.children().filter(Node::is_element);
            waiting.extend(children.rev().map(|child| (child, inner.clone())));
        }
        Ok(())
    }

    /// Takes one element; what it hands to those within.
    fn element(&mut self, element: Node<'_, '_>, mut around: Around) -> Result<Around, Refusal> {
        self.elements += 1;
        if around.depth >= DEPTH_MOST || self.elements > ELEMENTS_MOST {
            let problem = format!("more than {DEPTH_MOST} levels and {ELEMENTS_MOST} elements");
            return Err(Refusal::new(problem).kind(Wrong::TooLarge).remedy(REMEDY));
        }
        around.depth += 1;
        match name(element) {
            Some("cpu") => {
                around.node = element.attribute("numaid").and_then(number);
                self.nodes.extend(around.node);
            }
            Some("pci") => around.device = Some(self.device(element, &around)?),
            Some(name @ ("gpu" | "net")) => self.label(name, element, around.device.as_deref()),
            Some(kind @ ("nvlink" | "xgmi")) => self.connect(kind, element, around.device.as_deref()),
            _ => {}
        }
        Ok(around)
    }

    fn device(&mut self, element: Node<'_, '_>, around: &Around) -> Result<String, Refusal> {
        let slot = element.attribute("busid").unwrap_or_default().to_lowercase();
        if !SLOT.is_match(&slot) {
            return Err(unlike_a_topology(&format!("busid is {}", named(&slot))));
        }
        let attributes = element.attributes();
        let attributes = attributes.map(|one| (one.name().to_owned(), one.value().to_owned())).collect();
        if let Some(known) = self.found.get(&slot) {
            if known.attributes != attributes || !known.attribute("class").starts_with(BRIDGE_CLASS) {
                let problem = format!("busid {slot} is there twice");
                let remedy = "give the topology of one machine";
                return Err(Refusal::new(problem).kind(Wrong::Conflict).remedy(remedy));
            }
            return Ok(slot);
        }
        if self.found.len() >= FUNCTIONS_MOST {
            let problem = format!("more than {FUNCTIONS_MOST} PCI functions");
            return Err(Refusal::new(problem).kind(Wrong::TooLarge).remedy("give one machine"));
        }
        let found = Found { attributes, above: around.device.clone(), node: around.node, label: None };
        self.found.insert(slot.clone(), found);
        Ok(slot)
    }

    fn connect(&mut self, kind: &str, element: Node<'_, '_>, device: Option<&str>) {
        let target = element.attribute("target").unwrap_or_default().to_lowercase();
        let Some(device) = device.filter(|device| SLOT.is_match(&target) && target != **device) else {
            return;
        };
        let count = element.attribute("count").and_then(number).and_then(|count| u32::try_from(count).ok());
        if self.connections.len() < FUNCTIONS_MOST {
            self.connections.insert((kind.to_owned(), device.to_owned(), target), count.unwrap_or(0));
        }
    }

    fn label(&mut self, name: &str, element: Node<'_, '_>, device: Option<&str>) {
        let number = element.attribute("dev").and_then(number).filter(|_| name == "gpu");
        let given = || element.attribute("name").unwrap_or_default().to_owned();
        let label = number.map_or_else(given, |number| format!("gpu{number}"));
        let device = device.and_then(|slot| self.found.get_mut(slot));
        if let Some(device) = device.filter(|device| device.label.is_none() && LABEL.is_match(&label)) {
            device.label = Some(label);
        }
    }

    /// The connections between functions that are no PCIe links; both ends may show one.
    fn peers(&self) -> Vec<Peer> {
        let mut found: IndexMap<(&str, &str, &str), u32> = IndexMap::new();
        for ((kind, one, other), count) in &self.connections {
            let (first, second) = if one <= other { (one, other) } else { (other, one) };
            found.insert((kind, first, second), *count);
        }
        let peer = |((kind, one, other), count): ((&str, &str, &str), u32)| Peer {
            kind: kind.to_owned(),
            ends: (one.to_owned(), other.to_owned()),
            links: (count > 0).then_some(count),
        };
        found.into_iter().map(peer).collect()
    }
}

/// The name of an element without a namespace.
fn name<'a>(element: Node<'a, '_>) -> Option<&'a str> {
    element.tag_name().namespace().is_none().then(|| element.tag_name().name())
}

fn number(text: &str) -> Option<i64> {
    NUMBER.is_match(text).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = r#"<pci busid="0000:01:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">"#;

    fn refused(text: &str) -> String {
        read_nccl(text, "a.xml").unwrap_err().to_string()
    }

    #[test]
    fn devices_nest_below_switches_on_nodes() {
        let gpu = r#"<pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s" link_width="8"><gpu dev="3"><nvlink target="0000:03:00.0" count="4"/></gpu></pci>"#;
        let nic = r#"<pci busid="0000:03:00.0" class="0x020000" link_speed="none"><nic><net name="mlx5_0" dev="0"/></nic></pci>"#;
        let text =
            format!(r#"<system><cpu numaid="1">{SWITCH}{gpu}</pci>{SWITCH}{nic}</pci></cpu></system>"#);
        let tree = read_nccl(&text, "a.xml").unwrap();
        let shown: Vec<_> = tree
            .functions()
            .iter()
            .map(|one| (&*one.slot, one.above_slot.as_deref(), one.label.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                ("0000:01:00.0", None, None),
                ("0000:02:00.0", Some("0000:01:00.0"), Some("gpu3")),
                ("0000:03:00.0", Some("0000:01:00.0"), Some("mlx5_0")),
            ]
        );
        assert_eq!(tree.functions()[1].link.as_ref().unwrap().lanes, Some(8));
        assert_eq!((tree.functions()[2].link.clone(), tree.functions()[2].numa_node), (None, Some(1)));
        assert_eq!(&*tree.functions()[0].title, "PCI bridge: device [1000:c030]");
        let peer = Peer {
            kind: "nvlink".into(),
            ends: ("0000:02:00.0".into(), "0000:03:00.0".into()),
            links: Some(4),
        };
        assert_eq!(tree.peers, [peer]);
        assert_eq!(tree.host().nodes, Some(vec![1]));
    }

    #[test]
    fn foreign_files_are_refused() {
        let gpu = r#"<pci busid="0000:02:00.0" class="0x030200"/>"#;
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        for (text, problem) in [
            ("<a/>".to_owned(), "the outermost element is a, not system"),
            ("<system/>".to_owned(), "shows no element pci with a busid"),
            ("<system><pci busid=\"1\"/></system>".to_owned(), "busid is 1"),
            (format!("<system>{gpu}{gpu}</system>"), "busid 0000:02:00.0 is there twice"),
            ("<!DOCTYPE a><system/>".to_owned(), "has a document type, which may define entities"),
            (format!("<system>{deep}</system>"), "more than 64 levels and 100000 elements"),
            ("<system>\n<a></b></system>".to_owned(), "line 2: not well-formed XML ("),
        ] {
            assert!(refused(&text).starts_with(&format!("a.xml: {problem}")), "{}", refused(&text));
        }
    }
}
