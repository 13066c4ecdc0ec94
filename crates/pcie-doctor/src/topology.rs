//! The topology of a tree: sockets, stacks of the root complex, root ports, switches, devices, and their links.
//!
//! A *stack* is what one host bridge serves: a domain and its root bus. A switch is one position, its upstream and
//! downstream ports together. Findings name links by the same edges as a fabric file of the machine. Links that are
//! left out are counted, and what no source shows is listed as assumed: nothing is guessed silently.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;
use pcie_evidence::{Function, Host, Kind, LinkEnd, Tree};
use serde::Serialize;

use crate::machine::{Link, Machine};

const FPGA_VENDORS: [u32; 2] = [0x10EE, 0x1172];
/// Stacks without a node that a note names.
const STACKS_NAMED: usize = 4;

/// What a position is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The connection between sockets.
    Sockets,
    /// A processor.
    Socket,
    /// The memory of a socket.
    Memory,
    /// What one host bridge serves.
    Stack,
    /// A root port.
    RootPort,
    /// A switch, with all of its ports.
    Switch,
    /// A device, with all of its functions.
    Device,
}

/// A node of the topology, with the link above it if there is one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Position {
    /// Unique name: `gpu0`, `switch1`, `root port 0000:40:01.1`. Devices and switches are numbered in the order of
    /// slots.
    pub name: String,
    /// What it is.
    pub part: Part,
    /// The name of the position above; None at the top.
    pub upper: Option<String>,
    /// The slots of the functions on the lower end of its link; of a root port, that of the port.
    pub functions: Vec<String>,
    /// The slot of the port on the upper end of its link.
    pub port: Option<String>,
    /// The trained link above: its speed and lanes are known.
    pub end: Option<LinkEnd>,
    /// NUMA node; None if no source shows it.
    pub node: Option<i64>,
    /// Of a device: its kind, from its class.
    pub kind: Option<&'static str>,
}

impl Position {
    /// A position inside the processor.
    fn inside(name: String, part: Part, upper: Option<String>, node: Option<i64>) -> Self {
        Self { name, part, upper, functions: Vec::new(), port: None, end: None, node, kind: None }
    }
}

/// The positions of a machine, each after the one above it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topology {
    /// The positions.
    pub positions: Vec<Position>,
    /// Reasons why links are left out, with how many.
    pub left_out: Vec<String>,
    /// What no source shows.
    pub assumed: Vec<String>,
}

/// The topology of a tree.
#[must_use]
pub fn topology(tree: &Tree) -> Topology {
    topology_of(&Machine::of(tree))
}

/// The edge above each device or switch, `upper->lower`, by the slots of its functions and of its port.
pub(crate) fn edges(machine: &Machine<'_>) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for position in topology_of(machine).positions {
        let (Some(upper), Some(_)) = (position.upper, position.end) else { continue };
        let edge = format!("{upper}->{}", position.name);
        found.extend(position.functions.into_iter().chain(position.port).map(|slot| (slot, edge.clone())));
    }
    found
}

fn topology_of(machine: &Machine<'_>) -> Topology {
    let mut builder = Builder { machine, nodes: BTreeMap::new(), left_out: BTreeMap::new() };
    let mut links: Vec<_> = machine.links().iter().collect();
    links.sort_by_cached_key(|link| (machine.tree.path(link.device).count(), link.device.slot.as_str()));
    for link in links {
        if let Err(reason) = builder.take(link) {
            builder.leave_out(&reason);
        }
    }
    builder.leave_out_empty_switches();
    for peer in &machine.tree.peers {
        builder.leave_out(&format!("{} between devices, which is no PCIe link", peer.kind));
    }
    builder.built()
}

/// A root port, switch or device before it has a name.
struct Node<'tree> {
    part: Part,
    /// The key of the node above; None at the top.
    upper: Option<String>,
    functions: Vec<&'tree Function>,
    port: Option<&'tree Function>,
    end: Option<&'tree LinkEnd>,
    numa_node: Option<i64>,
    kind: Option<&'static str>,
}

/// Nodes by the slot of their device, or of their root port, and why links are left out.
struct Builder<'machine, 'tree> {
    machine: &'machine Machine<'tree>,
    nodes: BTreeMap<String, Node<'tree>>,
    left_out: BTreeMap<String, usize>,
}

impl<'tree> Builder<'_, 'tree> {
    fn leave_out(&mut self, reason: &str) {
        *self.left_out.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds the node below a link, and its root port; an error is the reason why it is left out.
    fn take(&mut self, link: &Link<'tree>) -> Result<(), String> {
        let (is_nested, device) = (self.machine.tree.is_nested(), link.device);
        if let Some(reason) = unreal(link).filter(|_| !is_nested) {
            return Err(reason.to_owned());
        }
        // In a nested source, what is above is a switch with an uplink of its own, and no port.
        let port = if is_nested { None } else { link.port };
        // The nominal link inside a card does not limit it: the link of the card does.
        let uplink = self.machine.on_card_uplink(link).map(|uplink| uplink.device);
        let ends = [uplink, Some(device), port].into_iter().flatten();
        let end = ends.filter_map(|one| one.link.as_ref()).find(|end| end.is_up());
        let end = end.ok_or("speed or width of the link is not shown")?;
        let mut upper = None;
        if let Some(above) = link.port {
            upper = Some(self.upper(above).ok_or("what is above its port is not shown, or is left out")?);
        }
        let is_switch = device.kind == Some(Kind::UpstreamPort)
            || (device.kind.is_none() && device.secondary_bus.is_some());
        let node = Node {
            part: if is_switch { Part::Switch } else { Part::Device },
            upper,
            functions: link.functions.clone(),
            port,
            end: Some(end),
            numa_node: numa_node(&link.functions),
            kind: (!is_switch).then(|| device_kind(&link.functions)),
        };
        self.nodes.insert(key(device), node);
        Ok(())
    }

    /// The key of the node above a port; None if it is not shown.
    fn upper(&mut self, port: &'tree Function) -> Option<String> {
        let tree = self.machine.tree;
        if tree.is_nested() {
            return Some(key(port)).filter(|key| self.nodes.contains_key(key));
        }
        if let Some(above) = tree.parent(port) {
            let is_ours = self.nodes.get(&key(above)).is_some_and(|one| one.part == Part::Switch);
            let is_below = matches!(port.kind, Some(Kind::DownstreamPort) | None);
            return (is_ours && is_below).then(|| key(above));
        }
        if !matches!(port.kind, Some(Kind::RootPort) | None) {
            return None;
        }
        // Ports of one device have its slot but for the function.
        self.nodes.entry(port.slot.clone()).or_insert_with(|| Node {
            part: Part::RootPort,
            upper: None,
            functions: vec![port],
            port: None,
            end: None,
            numa_node: numa_node(&[port]),
            kind: None,
        });
        Some(port.slot.clone())
    }

    /// Leaves out switches and root ports without a device below.
    fn leave_out_empty_switches(&mut self) {
        loop {
            let uppers: HashSet<&str> =
                self.nodes.values().filter_map(|node| node.upper.as_deref()).collect();
            let is_empty = |key: &str, node: &Node<'_>| node.part != Part::Device && !uppers.contains(key);
            let empty: Vec<String> = self
                .nodes
                .iter()
                .filter(|(key, node)| is_empty(key, node))
                .map(|(key, _)| key.clone())
                .collect();
            if empty.is_empty() {
                return;
            }
            for key in &empty {
                if self.nodes.remove(key).is_some_and(|node| node.part == Part::Switch) {
                    self.leave_out("nothing is shown below the switch");
                }
            }
        }
    }

    fn built(&self) -> Topology {
        let named = self.named();
        let (mut positions, assumed) = self.tops(&named);
        positions.extend(named);
        let left_out = self.left_out.iter().map(|(reason, count)| format!("{count} x {reason}")).collect();
        Topology { positions, left_out, assumed }
    }

    /// The positions of the nodes, in the order of slots; uppers come first.
    fn named(&self) -> Vec<Position> {
        let names = self.names();
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by_cached_key(|(key, _)| (self.depth(key), key.as_str()));
        let name = |key: &str| names.get(key).cloned().unwrap_or_default();
        let slots = |functions: &[&Function]| functions.iter().map(|one| one.slot.clone()).collect();
        nodes
            .into_iter()
            .map(|(key, node)| Position {
                name: name(key),
                part: node.part,
                upper: Some(node.upper.as_deref().map_or_else(|| self.top(node), name)),
                functions: slots(&node.functions),
                port: node.port.map(|port| port.slot.clone()),
                end: node.end.cloned(),
                node: node.numa_node,
                kind: node.kind,
            })
            .collect()
    }

    fn depth(&self, key: &str) -> usize {
        let above = |key: &str| self.nodes.get(key)?.upper.as_deref();
        std::iter::successors(above(key), |upper| above(upper)).count()
    }

    /// The name of each node, numbered in the order of slots.
    fn names(&self) -> HashMap<&str, String> {
        let labels = |node: &Node<'tree>| {
            node.functions.iter().filter_map(|one| one.label.as_deref()).find(|label| !label.is_empty())
        };
        let taken: HashSet<&str> = self
            .nodes
            .values()
            .flat_map(|node| node.functions.iter().filter_map(|one| one.label.as_deref()))
            .collect();
        let mut used_labels = HashSet::new();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut found = HashMap::new();
        for (key, node) in &self.nodes {
            let label = labels(node).filter(|label| used_labels.insert(*label));
            let name = match (label, node.part, node.functions.first()) {
                (Some(label), _, _) => label.to_owned(),
                (None, Part::RootPort, Some(port)) => format!("root port {}", port.slot),
                (None, ..) => {
                    let stem = node.kind.unwrap_or("switch");
                    let count = counts.entry(stem).or_default();
                    while taken.contains(format!("{stem}{count}").as_str()) {
                        *count += 1;
                    }
                    *count += 1;
                    format!("{stem}{}", *count - 1)
                }
            };
            found.insert(key.as_str(), name);
        }
        found
    }

    /// The name of the stack above a root port, or of the socket above a device of a nested source.
    fn top(&self, node: &Node<'_>) -> String {
        match node.functions.first().filter(|_| node.part == Part::RootPort) {
            Some(port) => format!("stack {}:{:02x}", port.domain(), port.bus()),
            None => socket_name(self.socket(node.numa_node)),
        }
    }

    /// Sockets with their memory, and stacks; and what no source shows of them.
    fn tops(&self, named: &[Position]) -> (Vec<Position>, Vec<String>) {
        let stacks = nodes_of_stacks(named);
        let is_on_socket =
            |one: &&Position| one.upper.as_ref().is_some_and(|upper| upper.starts_with("socket"));
        let nodes = stacks.values().copied().chain(named.iter().filter(is_on_socket).map(|one| one.node));
        let sockets: BTreeSet<i64> = nodes.map(|node| self.socket(node)).collect();
        let has_several = sockets.len() > 1;
        let upper = has_several.then(|| "sockets".to_owned());
        let mut found = Vec::new();
        found.extend(upper.iter().map(|name| Position::inside(name.clone(), Part::Sockets, None, None)));
        for socket in sockets {
            let name = socket_name(socket);
            found.push(Position::inside(name.clone(), Part::Socket, upper.clone(), None));
            found.push(Position::inside(format!("host{socket}"), Part::Memory, Some(name), None));
        }
        let assumed = self.assumed(&stacks, has_several);
        let sorted: BTreeMap<_, _> = stacks.into_iter().collect();
        found.extend(sorted.into_iter().map(|(name, node)| {
            let socket = socket_name(self.socket(node));
            Position::inside(name.to_owned(), Part::Stack, Some(socket), node)
        }));
        (found, assumed)
    }

    fn socket(&self, node: Option<i64>) -> i64 {
        let host: &Host = self.machine.tree.host();
        match (node, host.node_sockets.as_ref()) {
            (Some(node), Some(sockets)) => sockets.get(&node).copied().unwrap_or(node),
            (Some(node), None) => node,
            (None, sockets) => sockets.and_then(|sockets| sockets.values().copied().min()).unwrap_or(0),
        }
    }

    fn assumed(&self, stacks: &IndexMap<&str, Option<i64>>, has_several: bool) -> Vec<String> {
        let tree = self.machine.tree;
        let unknown: Vec<_> =
            stacks.iter().filter(|(_, node)| node.is_none()).map(|(name, _)| *name).collect();
        let mut found = Vec::new();
        if !unknown.is_empty() && has_several {
            let named = unknown[..unknown.len().min(STACKS_NAMED)].join(", ");
            found.push(format!("no source shows the NUMA node of {named}: the first socket"));
        } else if !unknown.is_empty() {
            found.push("no source shows NUMA nodes: one socket".to_owned());
        }
        if has_several && tree.host().node_sockets.is_none() {
            found.push("no source shows sockets: each NUMA node is one".to_owned());
        }
        if tree.is_nested() {
            found.push(
                "the source shows no root ports: devices of a socket that share no switch are on different stacks"
                    .to_owned(),
            );
        }
        found
    }
}

/// The NUMA node of each stack: the first that a function on or below one of its root ports has.
fn nodes_of_stacks(named: &[Position]) -> IndexMap<&str, Option<i64>> {
    let uppers: HashMap<&str, &str> =
        named.iter().filter_map(|one| Some((one.name.as_str(), one.upper.as_deref()?))).collect();
    let mut found: IndexMap<&str, Option<i64>> = IndexMap::new();
    for position in named {
        let above = |name: &&str| uppers.get(name).copied();
        let top = std::iter::successors(Some(position.name.as_str()), above).last().unwrap_or_default();
        if top.starts_with("stack") {
            let node = found.entry(top).or_default();
            *node = node.or(position.node);
        }
    }
    found
}

/// Why a link is not one between two chips, or does not show both ends; None if it is and does.
fn unreal<'link>(link: &'link Link<'_>) -> Option<&'link str> {
    if link.internal.is_some() {
        return Some("link inside a chip");
    }
    if link.port.is_none() {
        return Some("the port above is not shown");
    }
    link.made_up.as_deref().map(|reason| reason.split_once(" (").map_or(reason, |(first, _)| first))
}

fn socket_name(socket: i64) -> String {
    format!("socket{socket}")
}

fn key(function: &Function) -> String {
    function.device_slot().to_owned()
}

fn numa_node(functions: &[&Function]) -> Option<i64> {
    functions.iter().filter_map(|one| one.numa_node).find(|node| *node >= 0)
}

/// The kind of a device: that of its first function with a known class.
fn device_kind(functions: &[&Function]) -> &'static str {
    let is_fpga = |one: &&Function| one.vendor_id.is_some_and(|vendor| FPGA_VENDORS.contains(&vendor));
    if functions.first().is_some_and(is_fpga) {
        return "fpga";
    }
    let kind = |one: &&Function| match (one.class_code?, one.base_class()?) {
        (0x0108, _) => Some("nvme"),
        (0x0502, _) => Some("cxl"),
        (_, 0x01) => Some("storage"),
        (_, 0x02) => Some("nic"),
        (_, 0x03) => Some("gpu"),
        (_, 0x12) => Some("accelerator"),
        _ => None,
    };
    functions.iter().find_map(kind).unwrap_or("device")
}
