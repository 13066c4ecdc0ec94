//! Edges that are no direction of a link of the tree: limits that flows share, and links beside PCIe.

use std::collections::{HashMap, HashSet};

use pcie_refusal::Refusal;
use pcie_schema::Shape;

use crate::description::{LimitParameters, NodeParameters, PeersParameters};
use crate::topology::{EdgeId, NodeId, ROOT, same_name, unknown_node};

/// Stands for a rate that nobody knows: flows over it are refused.
const UNKNOWN_GBYTES_PER_S: f64 = 1e6;

/// The edges that flows go up and down; none: any.
type Way = (Option<EdgeId>, Option<EdgeId>);

/// The extra edges of a fabric, numbered behind those of its links: the limits in order, then for each group of peers
/// the edges out of each device, those into each, and those of each pair.
#[derive(Debug, Clone)]
pub(crate) struct ExtraEdges {
    limits: Vec<LimitParameters>,
    peers: Vec<PeersParameters>,
    /// The number of the first limit.
    first: EdgeId,
    /// Of each limit, the edges that its flows go up and down.
    ways: Vec<Vec<Way>>,
    /// Of each device with peers, its group, its number there, and the first edge of the group.
    groups: HashMap<NodeId, Member>,
    first_of_peers: EdgeId,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    group: usize,
    number: u32,
    first: EdgeId,
}

impl ExtraEdges {
    /// Checks limits and peers of a tree; `first` is the number of the first edge behind those of its links.
    pub fn new(
        limits: Vec<LimitParameters>,
        peers: Vec<PeersParameters>,
        nodes: &[NodeParameters],
        by_name: &HashMap<String, NodeId>,
        link_up: &[u32],
        first: usize,
    ) -> Result<Self, Refusal> {
        let ways = ways_of(&limits, nodes, by_name, link_up)?;
        let first = first as EdgeId;
        let first_of_peers = first + limits.len() as EdgeId;
        let groups = groups_of(&peers, nodes, by_name, first_of_peers)?;
        Ok(Self { limits, peers, first, ways, groups, first_of_peers })
    }

    pub fn limits(&self) -> &[LimitParameters] {
        &self.limits
    }

    pub fn peers(&self) -> &[PeersParameters] {
        &self.peers
    }

    pub fn is_of_peers(&self, edge: EdgeId) -> bool {
        edge >= self.first_of_peers
    }

    /// Whether nobody knows what an edge carries.
    pub fn is_unknown(&self, edge: EdgeId) -> bool {
        let mut first = self.first_of_peers;
        edge >= first
            && self.peers.iter().any(|peers| {
                let edges = first..first + edges_of_group(peers.devices.len()) as EdgeId;
                first = edges.end;
                peers.gbytes_per_s.is_none() && edges.contains(&edge)
            })
    }

    /// The capacity of each edge, GB/s.
    pub fn capacities(&self) -> impl Iterator<Item = f64> + '_ {
        let of_peers = self.peers.iter().flat_map(|peers| {
            let count = peers.devices.len();
            let all = peers.gbytes_per_s.unwrap_or(UNKNOWN_GBYTES_PER_S);
            let pair = peers.pair_gbytes_per_s.unwrap_or(all);
            let ends = std::iter::repeat_n(all, 2 * count);
            ends.chain(std::iter::repeat_n(pair, count * count))
        });
        self.limits.iter().map(|limit| limit.gbytes_per_s).chain(of_peers)
    }

    /// The name of an edge.
    pub fn name(&self, edge: EdgeId) -> String {
        if let Some(limit) = self.limits.get((edge - self.first) as usize) {
            return limit.name.clone();
        }
        let mut number = (edge - self.first_of_peers) as usize;
        for PeersParameters { kind, devices, .. } in &self.peers {
            let count = devices.len();
            match number {
                out if out < count => return format!("{kind} of {}, outwards", devices[out]),
                into if into < 2 * count => return format!("{kind} of {}, inwards", devices[into - count]),
                pair if pair < edges_of_group(count) => {
                    let pair = pair - 2 * count;
                    return format!("{kind} of {}>{}", devices[pair / count], devices[pair % count]);
                }
                _ => number -= edges_of_group(count),
            }
        }
        format!("edge {edge}")
    }

    /// Appends the edges between two devices that links beside PCIe connect; returns whether there are any.
    pub fn between_peers(&self, source: NodeId, destination: NodeId, edges: &mut Vec<EdgeId>) -> bool {
        let (Some(one), Some(other)) = (self.groups.get(&source), self.groups.get(&destination)) else {
            return false;
        };
        if one.group != other.group || source == destination {
            return false;
        }
        let count = self.peers[one.group].devices.len() as u32;
        let pair = one.first + 2 * count + one.number * count + other.number;
        edges.extend([pair, one.first + one.number, one.first + count + other.number]);
        true
    }

    /// Inserts the limits of a route, whose links go up from `start` to `turn` and then down.
    pub fn insert_limits(&self, edges: &mut Vec<EdgeId>, start: usize, turn: usize) {
        if self.limits.is_empty() {
            return;
        }
        let (up, down) = (&edges[start..turn], &edges[turn..]);
        let passes = |edge: &Option<EdgeId>, links: &[EdgeId]| edge.is_none_or(|edge| links.contains(&edge));
        let shared = (self.first..).zip(&self.ways);
        let shared =
            shared.filter(|(_, ways)| ways.iter().any(|way| passes(&way.0, up) && passes(&way.1, down)));
        let shared: Vec<EdgeId> = shared.map(|(limit, _)| limit).collect();
        edges.splice(turn..turn, shared);
    }
}

fn edges_of_group(count: usize) -> usize {
    2 * count + count * count
}

fn ways_of(
    limits: &[LimitParameters],
    nodes: &[NodeParameters],
    by_name: &HashMap<String, NodeId>,
    link_up: &[u32],
) -> Result<Vec<Vec<Way>>, Refusal> {
    let shape = Shape::of::<LimitParameters>();
    let mut seen = HashSet::new();
    let of = |limit: &LimitParameters| {
        shape.check(limit)?;
        let edge = |key: &str, name: &Option<String>, is_down: bool| {
            let Some(name) = name else { return Ok(None) };
            let node = by_name.get(name).copied().ok_or_else(|| unknown_node(nodes, key, name))?;
            match link_up[node as usize] {
                ROOT => Err(Refusal::of(key, name, "give a node that has a link upwards")),
                link => Ok(Some(2 * link + u32::from(!is_down))),
            }
        };
        let way =
            limit.ways.iter().map(|way| Ok((edge("up", &way.up, false)?, edge("down", &way.down, true)?)));
        way.collect::<Result<Vec<_>, Refusal>>()
    };
    let mut named = |limit: &LimitParameters| {
        if !seen.insert(limit.name.clone()) {
            return Err(same_name("unique"));
        }
        of(limit)
    };
    limits
        .iter()
        .map(|limit| named(limit).map_err(|wrong| wrong.about(format!("limit {}", limit.name))))
        .collect()
}

fn groups_of(
    peers: &[PeersParameters],
    nodes: &[NodeParameters],
    by_name: &HashMap<String, NodeId>,
    mut first: EdgeId,
) -> Result<HashMap<NodeId, Member>, Refusal> {
    let shape = Shape::of::<PeersParameters>();
    let mut groups = HashMap::new();
    for (group, one) in peers.iter().enumerate() {
        shape.check(one).map_err(|wrong| wrong.about(format!("peers {}", one.kind)))?;
        for (number, name) in (0..).zip(&one.devices) {
            let node = by_name.get(name).copied();
            let node = node
                .ok_or_else(|| unknown_node(nodes, "devices", name).about(format!("peers {}", one.kind)))?;
            if groups.insert(node, Member { group, number, first }).is_some() {
                let twice = Refusal::of("devices", name, "name a device in one group alone");
                return Err(twice.about(format!("peers {}", one.kind)));
            }
        }
        first += edges_of_group(one.devices.len()) as EdgeId;
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
