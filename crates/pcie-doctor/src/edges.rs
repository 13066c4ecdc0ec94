//! The links of a tree by the names that a fabric file of the machine gives them.
//!
//! Devices and switches are numbered in the order of slots: `gpu0`, `switch1`. A switch is one position, its
//! upstream and downstream ports together. What one host bridge serves is a *stack*: a domain and its root bus.

use std::collections::{BTreeMap, HashMap, HashSet};

use pcie_evidence::{Function, Host, Kind};

use crate::machine::{Link, Machine};

const FPGA_VENDORS: [u32; 2] = [0x10EE, 0x1172];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    RootPort,
    Switch,
    Device(&'static str),
}

/// A node of the topology, with the link above it if there is one.
struct Position<'tree> {
    part: Part,
    /// The key of the position above; None at the top.
    upper: Option<String>,
    /// The functions on the lower end of its link; of a root port, the port.
    functions: Vec<&'tree Function>,
    /// The port on the upper end of its link.
    port: Option<&'tree Function>,
    /// NUMA node; None if no source shows it.
    node: Option<i64>,
}

/// The edge above each device or switch, `upper->lower`, by the slots of its functions and of its port.
pub(crate) fn edges<'tree>(machine: &Machine<'tree>) -> HashMap<&'tree str, String> {
    let mut builder = Builder { machine, positions: BTreeMap::new() };
    let mut links: Vec<_> = machine.links().iter().collect();
    links.sort_by_cached_key(|link| (machine.tree.path(link.device).count(), link.device.slot.as_str()));
    for link in links {
        builder.take(link);
    }
    builder.leave_out_empty_switches();
    builder.edges()
}

/// Positions by the slot of their device, or of their root port.
struct Builder<'machine, 'tree> {
    machine: &'machine Machine<'tree>,
    positions: BTreeMap<String, Position<'tree>>,
}

impl<'tree> Builder<'_, 'tree> {
    /// Adds the position below a link, and its root port, unless the link is left out.
    fn take(&mut self, link: &Link<'tree>) {
        let is_nested = self.machine.tree.is_nested();
        // In a nested source, what is above is a switch with an uplink of its own, and no port.
        let port = if is_nested { None } else { link.port };
        let is_unreal = link.internal.is_some() || link.port.is_none() || link.made_up.is_some();
        if !is_nested && is_unreal {
            return;
        }
        let uplink = self.machine.on_card_uplink(link);
        let is_trained = [Some(link.device), port, uplink.map(|uplink| uplink.device)]
            .into_iter()
            .flatten()
            .any(|end| end.link.as_ref().is_some_and(|link| link.is_up()));
        if !is_trained {
            return;
        }
        let mut upper = None;
        if let Some(above) = link.port {
            upper = self.upper(above);
            if upper.is_none() {
                return;
            }
        }
        let device = link.device;
        let is_switch = device.kind == Some(Kind::UpstreamPort)
            || (device.kind.is_none() && device.secondary_bus.is_some());
        let part = if is_switch { Part::Switch } else { Part::Device(device_kind(&link.functions)) };
        let (functions, node) = (link.functions.clone(), node(&link.functions));
        self.positions.insert(key(device), Position { part, upper, functions, port, node });
    }

    /// The key of the position above a port; None if it is not shown.
    fn upper(&mut self, port: &'tree Function) -> Option<String> {
        let tree = self.machine.tree;
        if tree.is_nested() {
            return Some(key(port)).filter(|key| self.positions.contains_key(key));
        }
        if let Some(above) = tree.parent(port) {
            let is_ours = self.positions.get(&key(above)).is_some_and(|one| one.part == Part::Switch);
            let is_below = matches!(port.kind, Some(Kind::DownstreamPort) | None);
            return (is_ours && is_below).then(|| key(above));
        }
        if !matches!(port.kind, Some(Kind::RootPort) | None) {
            return None;
        }
        // Ports of one device have its slot but for the function.
        self.positions.entry(port.slot.clone()).or_insert_with(|| Position {
            part: Part::RootPort,
            upper: None,
            functions: vec![port],
            port: None,
            node: node(&[port]),
        });
        Some(port.slot.clone())
    }

    /// Leaves out switches and root ports without a device below.
    fn leave_out_empty_switches(&mut self) {
        loop {
            let uppers: HashSet<&str> =
                self.positions.values().filter_map(|position| position.upper.as_deref()).collect();
            let empty: Vec<String> = self
                .positions
                .iter()
                .filter(|(key, position)| {
                    !matches!(position.part, Part::Device(_)) && !uppers.contains(key.as_str())
                })
                .map(|(key, _)| key.clone())
                .collect();
            if empty.is_empty() {
                return;
            }
            for key in &empty {
                self.positions.remove(key);
            }
        }
    }

    fn edges(&self) -> HashMap<&'tree str, String> {
        let names = self.names();
        let mut keys: Vec<_> = self.positions.keys().collect();
        keys.sort_by_cached_key(|key| (self.depth(key), key.as_str()));
        let mut found = HashMap::new();
        for key in keys {
            let (Some(position), Some(name)) = (self.positions.get(key), names.get(key.as_str())) else {
                continue;
            };
            if position.part == Part::RootPort {
                continue;
            }
            let upper = position.upper.as_deref().and_then(|upper| names.get(upper));
            let upper = upper.cloned().unwrap_or_else(|| self.socket_name(position.node));
            for one in position.functions.iter().copied().chain(position.port) {
                found.insert(one.slot.as_str(), format!("{upper}->{name}"));
            }
        }
        found
    }

    fn depth(&self, key: &str) -> usize {
        let above = |key: &str| self.positions.get(key)?.upper.as_deref();
        std::iter::successors(above(key), |upper| above(upper)).count()
    }

    /// The name of each position, numbered in the order of slots.
    fn names(&self) -> HashMap<&str, String> {
        let labels = |position: &Position<'tree>| {
            position.functions.iter().filter_map(|one| one.label.as_deref()).find(|label| !label.is_empty())
        };
        let taken: HashSet<&str> = self
            .positions
            .values()
            .flat_map(|position| position.functions.iter().filter_map(|one| one.label.as_deref()))
            .collect();
        let mut used_labels = HashSet::new();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut found = HashMap::new();
        for (key, position) in &self.positions {
            let label = labels(position).filter(|label| used_labels.insert(*label));
            let name = match (label, position.part, position.functions.first()) {
                (Some(label), _, _) => label.to_owned(),
                (None, Part::RootPort, Some(port)) => format!("root port {}", port.slot),
                (None, part, _) => {
                    let stem = match part {
                        Part::Device(kind) => kind,
                        _ => "switch",
                    };
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

    /// The name of the socket of a node, above a device of a nested source.
    fn socket_name(&self, node: Option<i64>) -> String {
        let host: &Host = self.machine.tree.host();
        let known = host.node_sockets.as_ref();
        let socket = match (node, known) {
            (Some(node), Some(sockets)) => sockets.get(&node).copied().unwrap_or(node),
            (Some(node), None) => node,
            (None, Some(sockets)) => sockets.values().copied().min().unwrap_or(0),
            (None, None) => 0,
        };
        format!("socket{socket}")
    }
}

fn key(function: &Function) -> String {
    function.device_slot().to_owned()
}

fn node(functions: &[&Function]) -> Option<i64> {
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
