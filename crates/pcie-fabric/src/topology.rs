//! The validated tree: nodes, directed edges with capacities, and routes.

use std::collections::{HashMap, HashSet};

use pcie_refusal::{Kind, Refusal};
use pcie_schema::Shape;
use pcie_wire::{LinkConfiguration, LinkParameters as WireParameters};

use crate::description::{
    BarParameters, DeviceParameters, FabricParameters, LimitParameters, LinkParameters, MemoryParameters,
    NodeKind, NodeParameters, PeersParameters,
};
use crate::extra_edges::ExtraEdges;

/// A node, by its index in the description.
pub type NodeId = u32;
/// One direction of a link: link `k` is `2 k` downwards and `2 k + 1` upwards. Limits and links beside PCIe follow.
pub type EdgeId = u32;

/// Sentinel: no link upwards.
pub(crate) const ROOT: u32 = u32::MAX;
/// Most levels below the root: every link is a bus, and there are 256 (PCIe Base Specification).
const LEVELS_MAX: u32 = 255;
/// Most node names in a message.
const SHOWN_NAMES: usize = 24;
/// Bytes of a data TLP beside its payload: framing, sequence number, 3 DW header, LCRC (PCIe Base
/// Specification).
const TLP_OVERHEAD_BYTES: f64 = 20.0;

/// A validated fabric.
#[derive(Debug, Clone)]
pub struct Topology {
    name: String,
    mps_bytes: u32,
    nodes: Vec<NodeParameters>,
    links: Vec<LinkParameters>,
    by_name: HashMap<String, NodeId>,
    extra: ExtraEdges,
    /// The node at which flows between lower ports of each turn.
    turns_at: Vec<NodeId>,
    /// The link upwards of each node; [`ROOT`] for the root.
    link_up: Vec<u32>,
    parent: Vec<NodeId>,
    depth: Vec<u32>,
    link_capacity: Vec<f64>,
    capacity: Vec<f64>,
}

impl Topology {
    /// Checks a description and finds its root.
    ///
    /// # Errors
    /// Names the node or link that violates the tree, or the key out of range.
    pub fn new(parameters: FabricParameters) -> Result<Self, Refusal> {
        let FabricParameters { name, mps_bytes, nodes, links, limits, peers } = parameters;
        let by_name = names(&nodes)?;
        check_keys(&nodes, &links)?;
        let (parent, link_up) = parents(&nodes, &links, &by_name)?;
        let depth = depths(&nodes, &parent, &link_up)?;
        nodes.iter().try_for_each(|node| check_node(node, mps_bytes))?;
        check_bars(&nodes)?;
        let turns_at = turns(&nodes, &by_name, &parent, &depth)?;
        let mut link_capacity = link_capacities(&links, mps_bytes)?;
        let extra = ExtraEdges::new(limits, peers, &nodes, &by_name, &link_up, link_capacity.len())?;
        link_capacity.extend(extra.capacities());
        let capacity = link_capacity.clone();
        let mut topology = Self {
            name,
            mps_bytes,
            nodes,
            links,
            by_name,
            extra,
            turns_at,
            link_up,
            parent,
            depth,
            link_capacity,
            capacity,
        };
        topology.capacity = topology.limited_by_devices(topology.link_capacity.clone());
        Ok(topology)
    }

    /// Short name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Maximum Payload Size, bytes.
    #[must_use]
    pub fn mps_bytes(&self) -> u32 {
        self.mps_bytes
    }

    /// The nodes, by [`NodeId`].
    #[must_use]
    pub fn nodes(&self) -> &[NodeParameters] {
        &self.nodes
    }

    /// The links; their two directions are the edges.
    #[must_use]
    pub fn links(&self) -> &[LinkParameters] {
        &self.links
    }

    /// The limits that flows share beside those of links.
    #[must_use]
    pub fn limits(&self) -> &[LimitParameters] {
        self.extra.limits()
    }

    /// The devices that links beside PCIe connect.
    #[must_use]
    pub fn peers(&self) -> &[PeersParameters] {
        self.extra.peers()
    }

    /// The link of an edge; None of an edge that is no direction of a link.
    #[must_use]
    pub fn link(&self, edge: EdgeId) -> Option<&LinkParameters> {
        self.links.get(edge as usize / 2)
    }

    /// Whether an edge is one of a link beside PCIe.
    #[must_use]
    pub fn is_beside_pcie(&self, edge: EdgeId) -> bool {
        self.extra.is_of_peers(edge)
    }

    /// The first edge of a route whose rate nobody knows.
    #[must_use]
    pub fn unknown_in(&self, route: &[EdgeId]) -> Option<EdgeId> {
        route.iter().copied().find(|edge| self.extra.is_unknown(*edge))
    }

    /// Number of edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.capacity.len()
    }

    /// The capacity of each edge for streams, GB/s: that of its link, or of the engine of the device at its end.
    #[must_use]
    pub fn capacities(&self) -> &[f64] {
        &self.capacity
    }

    /// The capacity of each edge's link, GB/s, whatever the device at its end moves.
    #[must_use]
    pub fn link_capacities(&self) -> &[f64] {
        &self.link_capacity
    }

    /// The capacities for streams if the link of one edge had twice its capacity.
    #[must_use]
    pub fn doubled(&self, edge: EdgeId) -> Vec<f64> {
        let mut capacities = self.link_capacity.clone();
        capacities[edge as usize] *= 2.0;
        self.limited_by_devices(capacities)
    }

    /// Capacities, or the rate of the device's engine where that is lower: it writes what leaves the device, and
    /// reads what arrives. The fixed time of each command is left out, because a stream has none.
    fn limited_by_devices(&self, mut capacities: Vec<f64>) -> Vec<f64> {
        for (node, link) in self.nodes.iter().zip(&self.link_up) {
            let Some(device) = node.device.as_ref().filter(|_| *link != ROOT) else { continue };
            let (down, up) = (2 * *link as usize, 2 * *link as usize + 1);
            capacities[down] = capacities[down].min(device.engine.read.bytes_per_ns);
            capacities[up] = capacities[up].min(device.engine.write.bytes_per_ns);
        }
        capacities
    }

    /// An edge as `from->to`, or the name of a limit.
    #[must_use]
    pub fn edge_name(&self, edge: EdgeId) -> String {
        let Some(link) = self.link(edge) else { return self.extra.name(edge) };
        if edge.is_multiple_of(2) {
            format!("{}->{}", link.upper, link.lower)
        } else {
            format!("{}->{}", link.lower, link.upper)
        }
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The refusal of an unknown node.
    pub(crate) fn unknown_node(&self, key: &str, name: &str) -> Refusal {
        unknown_node(&self.nodes, key, name)
    }

    /// The edges from one node to another, in order, appended to `edges`.
    ///
    /// A limit is between the links upwards and those downwards.
    pub fn route(&self, source: NodeId, destination: NodeId, edges: &mut Vec<EdgeId>) {
        if self.extra.between_peers(source, destination, edges) {
            return;
        }
        let start = edges.len();
        let (mut left, mut right) = (source as usize, destination as usize);
        while left != right {
            if self.depth[left] >= self.depth[right] {
                edges.push(2 * self.link_up[left] + 1);
                left = self.parent[left] as usize;
            } else {
                right = self.parent[right] as usize;
            }
        }
        if left != source as usize && left != destination as usize {
            let turn = self.turns_at[left] as usize;
            while left != turn {
                edges.push(2 * self.link_up[left] + 1);
                left = self.parent[left] as usize;
            }
        }
        let turn = edges.len();
        let mut below = destination as usize;
        while below != left {
            edges.push(2 * self.link_up[below]);
            below = self.parent[below] as usize;
        }
        edges[turn..].reverse();
        self.extra.insert_limits(edges, start, turn);
    }
}

pub(crate) fn unknown_node(nodes: &[NodeParameters], key: &str, name: &str) -> Refusal {
    let shown: Vec<&str> = nodes.iter().take(SHOWN_NAMES).map(|node| node.name.as_str()).collect();
    let more = nodes.len().saturating_sub(SHOWN_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let known = format!("known: {}{more}", shown.join(", "));
    Refusal::of(key, name, known).kind(Kind::NotFound).problem("unknown node")
}

fn names(nodes: &[NodeParameters]) -> Result<HashMap<String, NodeId>, Refusal> {
    if nodes.is_empty() {
        return Err(Refusal::new("there are none")
            .kind(Kind::Missing)
            .key("nodes")
            .remedy("give at least one"));
    }
    let mut by_name = HashMap::with_capacity(nodes.len());
    for (id, node) in (0..).zip(nodes) {
        if by_name.insert(node.name.clone(), id).is_some() {
            return Err(same_name("unique").about(format!("node {}", node.name)));
        }
    }
    Ok(by_name)
}

fn link_name(link: &LinkParameters) -> String {
    format!("link {}-{}", link.upper, link.lower)
}

fn parents(
    nodes: &[NodeParameters],
    links: &[LinkParameters],
    by_name: &HashMap<String, NodeId>,
) -> Result<(Vec<NodeId>, Vec<u32>), Refusal> {
    let find = |link: &LinkParameters, key, name: &str| {
        let known = by_name.get(name).copied();
        known.ok_or_else(|| unknown_node(nodes, key, name).about(link_name(link)))
    };
    let (mut parent, mut link_up) = (vec![0; nodes.len()], vec![ROOT; nodes.len()]);
    for (number, link) in (0..).zip(links) {
        let upper = find(link, "upper", &link.upper)?;
        let lower = find(link, "lower", &link.lower)? as usize;
        if link_up[lower] != ROOT {
            let first = &nodes[parent[lower] as usize].name;
            let twice = Refusal::new(format!("is below both {first} and {}", link.upper));
            let remedy = "give it one link upwards: upper is the end nearer to the host";
            return Err(twice.about(format!("node {}", link.lower)).remedy(remedy));
        }
        (parent[lower], link_up[lower]) = (upper, number);
    }
    let mut roots = nodes.iter().zip(&link_up).filter(|(_, link)| **link == ROOT).map(|(node, _)| node);
    match (roots.next(), roots.next()) {
        (Some(first), Some(second)) => {
            let roots = Refusal::new("no link leads up from either of them")
                .kind(Kind::NotFound)
                .about(format!("nodes {} and {}", first.name, second.name));
            Err(roots.remedy("link one below the other or both below a switch, as a fabric is one tree"))
        }
        (None, _) => Err(cycle(&nodes[0])),
        (Some(_), None) => Ok((parent, link_up)),
    }
}

/// Levels below the root; a node that never reaches it is on or below a cycle.
fn depths(nodes: &[NodeParameters], parent: &[NodeId], link_up: &[u32]) -> Result<Vec<u32>, Refusal> {
    const UNKNOWN: u32 = u32::MAX;
    let mut depth: Vec<u32> = link_up.iter().map(|link| if *link == ROOT { 0 } else { UNKNOWN }).collect();
    let mut path = Vec::new();
    for start in 0..nodes.len() {
        let mut node = start;
        while depth[node] == UNKNOWN {
            if path.len() == nodes.len() {
                return Err(cycle(&nodes[node]));
            }
            path.push(node);
            node = parent[node] as usize;
        }
        let mut level = depth[node];
        while let Some(passed) = path.pop() {
            level += 1;
            if level > LEVELS_MAX {
                let deep = Refusal::new(format!("is {level} levels below the root"));
                let remedy = format!("a fabric has at most {LEVELS_MAX}, as a tree has 256 buses");
                return Err(deep.about(format!("node {}", nodes[passed].name)).remedy(remedy));
            }
            depth[passed] = level;
        }
    }
    Ok(depth)
}

/// The node at which flows between lower ports of each node turn: itself, or a node above.
fn turns(
    nodes: &[NodeParameters],
    by_name: &HashMap<String, NodeId>,
    parent: &[NodeId],
    depth: &[u32],
) -> Result<Vec<NodeId>, Refusal> {
    let of = |(id, node): (NodeId, &NodeParameters)| {
        let Some(name) = &node.turns_at else { return Ok(id) };
        let turn = by_name.get(name).copied();
        let turn = turn.ok_or_else(|| unknown_node(nodes, "turns_at", name))?;
        let mut above = id;
        while depth[above as usize] > depth[turn as usize] {
            above = parent[above as usize];
        }
        let beside = Refusal::of("turns_at", name, "give a node above it");
        if above == turn { Ok(turn) } else { Err(beside) }
    };
    let turn = |(id, node)| of((id, node)).map_err(|wrong| wrong.about(format!("node {}", node.name)));
    (0..).zip(nodes).map(turn).collect()
}

/// Checks the ranges of the keys of nodes and links.
fn check_keys(nodes: &[NodeParameters], links: &[LinkParameters]) -> Result<(), Refusal> {
    let (node_shape, link_shape) = (Shape::of::<NodeParameters>(), Shape::of::<LinkParameters>());
    for node in nodes {
        node_shape.check(node).map_err(|unfit| unfit.about(format!("node {}", node.name)))?;
    }
    links.iter().try_for_each(|link| link_shape.check(link).map_err(|unfit| unfit.about(link_name(link))))
}

fn check_node(node: &NodeParameters, mps_bytes: u32) -> Result<(), Refusal> {
    let item = format!("node {}", node.name);
    let kind = |remedy: &str| Refusal::default().about(&item).remedy(remedy);
    match (node.kind, &node.host, &node.device) {
        (NodeKind::Host, Some(_), None) => Ok(()),
        (NodeKind::Device, None, Some(device)) => check_device(&item, node, device, mps_bytes),
        // Estimates need no tables; `simulate::traffic` refuses flows that need a missing one.
        (_, None, None) => Ok(()),
        _ => Err(kind("only a host has the key host, and only a device has the key device")),
    }
}

fn check_device(
    item: &str,
    node: &NodeParameters,
    device: &DeviceParameters,
    mps_bytes: u32,
) -> Result<(), Refusal> {
    let engine = &device.engine;
    if engine.completion_bytes > mps_bytes {
        let remedy = format!("give at most {mps_bytes}, the MPS");
        let long = Refusal::of("engine.completion_bytes", engine.completion_bytes, remedy);
        return Err(long.problem("it is one TLP").about(item));
    }
    let mut seen = HashSet::new();
    for memory in &device.memories {
        if !seen.insert(&memory.name) {
            return Err(same_name("unique on a device").about(format!("{item}: memory {}", memory.name)));
        }
        check_bar(node, memory)?;
    }
    Ok(())
}

fn check_bar(node: &NodeParameters, memory: &MemoryParameters) -> Result<(), Refusal> {
    let Some(bar) = memory.bar else { return Ok(()) };
    if bar.size_bytes > memory.size_bytes {
        return Err(beyond_memory(&node.name, memory, bar));
    }
    if bar.address.checked_add(bar.size_bytes).is_none() {
        return Err(beyond_addresses(&node.name, &memory.name, bar.address));
    }
    Ok(())
}

fn cycle(node: &NodeParameters) -> Refusal {
    let leads_back = Refusal::new("its links upwards lead back to itself");
    leads_back.about(format!("node {}", node.name)).remedy("a fabric is a tree, without a cycle")
}

pub(crate) fn same_name(unique: &str) -> Refusal {
    Refusal::new("there are two of this name").remedy(format!("names are {unique}"))
}

/// The refusal of a BAR larger than its memory.
pub(crate) fn beyond_memory(node: &str, memory: &MemoryParameters, bar: BarParameters) -> Refusal {
    let (wide, room) = (bar.size_bytes, memory.size_bytes);
    let larger = Refusal::new(format!("its BAR of {wide} bytes is larger than the memory of {room}"));
    larger.about(format!("node {node}: memory {}", memory.name)).remedy("map at most its size")
}

/// The refusal of a BAR that ends beyond the address space.
pub(crate) fn beyond_addresses(node: &str, memory: &str, address: u64) -> Refusal {
    let beyond = Refusal::new(format!("its BAR at {address:#x} ends beyond 2^64"));
    beyond.about(format!("node {node}: memory {memory}")).remedy("give a lower address")
}

/// Checks that BARs do not overlap: all devices share one address space, so that each can access each other.
fn check_bars(nodes: &[NodeParameters]) -> Result<(), Refusal> {
    let mut bars: Vec<_> = nodes
        .iter()
        .filter_map(|node| node.device.as_ref().map(|device| (node, device)))
        .flat_map(|(node, device)| device.memories.iter().map(move |memory| (node, memory)))
        .filter_map(|(node, memory)| memory.bar.map(|bar| (bar, node, memory)))
        .collect();
    bars.sort_by_key(|(bar, ..)| bar.address);
    for pair in bars.windows(2) {
        let [(low, low_node, low_memory), (high, high_node, high_memory)] = pair else { continue };
        if high.address - low.address < low.size_bytes {
            let (first, second) = (low.address, high.address);
            let other = format!("{} {} at {first:#x}", low_node.name, low_memory.name);
            let item = format!("BAR of {} {} at {second:#x}", high_node.name, high_memory.name);
            let overlap = Refusal::new(format!("overlaps the BAR of {other}"));
            return Err(overlap.about(item).remedy("move one of them"));
        }
    }
    Ok(())
}

fn link_capacities(links: &[LinkParameters], mps_bytes: u32) -> Result<Vec<f64>, Refusal> {
    let mut capacities = Vec::with_capacity(2 * links.len());
    for link in links {
        let wire = wire_capacity(link, mps_bytes)?;
        let (down, up) = (link.down_gbytes_per_s.unwrap_or(wire), link.up_gbytes_per_s.unwrap_or(wire));
        for (key, rate) in [("down_gbytes_per_s", down), ("up_gbytes_per_s", up)] {
            // JSON has no infinity; to a shape it looks like an absent key.
            if !rate.is_finite() {
                return Err(Refusal::of(key, rate, "give a finite number").about(link_name(link)));
            }
        }
        capacities.extend([down, up]);
    }
    Ok(capacities)
}

/// Payload of full TLPs at the rate of the link; in flit mode the headers' share is the same to within a percent.
fn wire_capacity(link: &LinkParameters, mps_bytes: u32) -> Result<f64, Refusal> {
    let wire = LinkConfiguration::try_from(WireParameters {
        generation: link.generation,
        lanes: link.lanes,
        mps_bytes,
        mrrs_bytes: mps_bytes,
        rcb_bytes: 64,
        address_bits: 64,
        ecrc: false,
        completion_ecrc: None,
        flit_mode: None,
        ide_tlps: None,
    })
    .map_err(|wrong| wrong.about(link_name(link)))?;
    let byte_time = wire.byte_time();
    let bytes_per_ns = 1e3 * byte_time.denominator as f64 / byte_time.numerator as f64;
    Ok(bytes_per_ns * f64::from(mps_bytes) / (f64::from(mps_bytes) + TLP_OVERHEAD_BYTES))
}

#[cfg(test)]
mod tests;
