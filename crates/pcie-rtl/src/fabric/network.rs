//! The links and nodes between cores and host: the delays and capacities of a fabric's description.
//!
//! As in the fabric simulator, links carry payload at their capacity, and TLPs without payload take no time on
//! them. Buffers are unlimited, which makes no difference while one sender uses each link.

use pcie_fabric::{EdgeId, NodeId, Topology};
use pcie_time::Picoseconds;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// A TLP underway. It arrives at `destination` as `message`.
#[derive(Debug)]
struct Underway<M> {
    route: (NodeId, NodeId),
    hop: usize,
    payload_bytes: u64,
    message: M,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    edge: EdgeId,
    delay: Picoseconds,
    byte_ps: f64,
}

/// TLPs underway, and the time at which each link is free.
#[derive(Debug)]
pub(super) struct Network<M> {
    routes: HashMap<(NodeId, NodeId), Vec<Hop>>,
    free_at: Vec<Picoseconds>,
    due: BinaryHeap<Reverse<(Picoseconds, u64)>>,
    underway: BTreeMap<u64, Underway<M>>,
    sent: u64,
}

impl<M> Network<M> {
    /// The network between some nodes of a fabric.
    pub(super) fn new(topology: &Topology, nodes: &[NodeId]) -> Self {
        let pairs = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
        let routes = pairs.filter(|(from, to)| from != to);
        Self {
            routes: routes.map(|(from, to)| ((from, to), route(topology, from, to))).collect(),
            free_at: vec![Picoseconds::ZERO; topology.edge_count()],
            due: BinaryHeap::new(),
            underway: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Delay of a TLP without payload.
    pub(super) fn delay(&self, from: NodeId, to: NodeId) -> Picoseconds {
        let hops = self.routes.get(&(from, to)).into_iter().flatten();
        hops.fold(Picoseconds::ZERO, |sum, hop| sum + hop.delay)
    }

    /// The shortest time that a TLP of some nodes takes to its second link, or to its destination if it has none.
    pub(super) fn shortest_hop(&self, from: &[NodeId]) -> Picoseconds {
        let routes = self.routes.iter().filter(|((sender, _), _)| from.contains(sender));
        let first = routes.filter_map(|(_, hops)| hops.first());
        first.map(|hop| hop.delay).min().unwrap_or(Picoseconds::ZERO)
    }

    /// Sends a TLP at `at`.
    pub(super) fn send(&mut self, at: Picoseconds, route: (NodeId, NodeId), payload_bytes: u64, message: M) {
        self.put(at, Underway { route, hop: 0, payload_bytes, message });
    }

    /// Time of the next step of a TLP.
    pub(super) fn next_at(&self) -> Option<Picoseconds> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Moves the next TLP; returns its message if it arrives now, whole.
    pub(super) fn step(&mut self) -> Option<(Picoseconds, M)> {
        let Reverse((at, number)) = self.due.pop()?;
        let mut tlp = self.underway.remove(&number)?;
        let Some(&Hop { edge, delay, byte_ps }) = self.routes.get(&tlp.route)?.get(tlp.hop) else {
            return Some((at, tlp.message));
        };
        let free_at = &mut self.free_at[edge as usize];
        let starts = if tlp.payload_bytes > 0 { at.max(*free_at) } else { at };
        let sending = Picoseconds((tlp.payload_bytes as f64 * byte_ps).round() as u64);
        *free_at = (*free_at).max(starts + sending);
        tlp.hop += 1;
        let is_last = self.routes.get(&tlp.route).is_some_and(|hops| hops.len() == tlp.hop);
        // The first byte goes on at once; a destination takes whole TLPs.
        let there = starts + delay + if is_last { sending } else { Picoseconds::ZERO };
        self.put(there, tlp);
        None
    }

    fn put(&mut self, at: Picoseconds, tlp: Underway<M>) {
        self.due.push(Reverse((at, self.sent)));
        self.underway.insert(self.sent, tlp);
        self.sent += 1;
    }
}

fn route(topology: &Topology, from: NodeId, to: NodeId) -> Vec<Hop> {
    let mut edges = vec![];
    topology.route(from, to, &mut edges);
    let between_devices = [from, to].iter().all(|&node| topology.nodes()[node as usize].host.is_none());
    let hop = |(index, &edge): (usize, &EdgeId)| {
        let link = topology.link(edge);
        let behind = link.map(|link| if edge.is_multiple_of(2) { &link.lower } else { &link.upper });
        let node = behind.and_then(|name| topology.node(name)).map(|node| &topology.nodes()[node as usize]);
        let delay_ns = node.map_or(0.0, |node| match node.turn_ns {
            Some(turn_ns) if between_devices && index + 1 < edges.len() => turn_ns,
            _ => node.delay_ns,
        });
        let start_ns = if index == 0 { topology.nodes()[from as usize].delay_ns } else { 0.0 };
        Hop {
            edge,
            delay: Picoseconds::from_ns(link.map_or(0.0, |link| link.latency_ns) + delay_ns + start_ns),
            byte_ps: 1e3 / topology.link_capacities()[edge as usize],
        }
    };
    edges.iter().enumerate().map(hop).collect()
}
