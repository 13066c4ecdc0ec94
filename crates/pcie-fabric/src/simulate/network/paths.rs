//! Paths through the network: the ports and queues between two nodes, and their delays.

use std::collections::VecDeque;

use pcie_time::Picoseconds;

use super::turn::Turn;
use super::{CreditKind, DATA_CREDIT_BYTES, Discipline, Hop, NO_TURN, Network, OUT, Queue, QueueKey};
use crate::description::NodeKind;
use crate::simulate::rate::ByteTime;
use crate::topology::{EdgeId, NodeId, Topology};

/// Buffer beyond the credit loop, TLPs.
pub(in crate::simulate) const SPARE_TLPS: u32 = 4;

/// The ends of a path, for TLPs of one kind of a flow.
#[derive(Debug, Clone, Copy)]
pub(in crate::simulate) struct Way {
    pub flow: u32,
    pub kind: CreditKind,
    pub source: NodeId,
    pub destination: NodeId,
    /// Whether it is a stream: the limits of turns between lower ports do not apply, but those of the engines of
    /// its devices, which stand behind the paces of other flows.
    pub is_stream: bool,
}

impl Network {
    /// Adds a path; returns its first hop.
    pub fn add_path(&mut self, topology: &Topology, way: Way) -> u32 {
        let Way { flow, kind, source, destination, is_stream } = way;
        let mut edges = vec![];
        topology.route(source, destination, &mut edges);
        let class = match self.discipline {
            Discipline::PerFlow => flow,
            Discipline::PerDestination => destination,
            Discipline::Fifo => 0,
        };
        let hosts = [source, destination].map(|node| topology.nodes()[node as usize].kind == NodeKind::Host);
        let between_devices = hosts == [false, false];
        let start = self.hops.len();
        for (index, edge) in edges.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| edges[index]);
            let [link_before, link_after] = neighbours(topology, &edges, index);
            let mut delay_ns =
                latency_ns(topology, *edge) + delay_after(topology, *edge, link_after, between_devices);
            if index == 0 {
                delay_ns += topology.nodes()[source as usize].delay_ns;
            }
            // Memory is not a FIFO: each flow has its own queue at its source.
            let key =
                if before.is_some() { (before, 0, (class, kind)) } else { (None, source, (flow, kind)) };
            let queue = self.queue(key);
            if index > 0 {
                self.hops[start + index - 1].next_queue = queue;
            }
            let turns = !is_stream && between_devices && is_turn(topology, *edge, link_after);
            let turn = if turns { self.turn(topology, *edge) } else { NO_TURN };
            self.hops.push(Hop {
                edge: *edge,
                queue,
                next_queue: OUT,
                delay: Picoseconds::from_ns(delay_ns),
                byte_time: ByteTime::at(capacity(topology, link_before, *edge, is_stream)),
                turn,
            });
        }
        self.provide_buffers(topology, start);
        start as u32
    }

    fn queue(&mut self, key: QueueKey) -> u32 {
        let next = self.queues.len() as u32;
        let queue = *self.by_key.entry(key).or_insert(next);
        if queue == next {
            self.queues.push(Queue {
                tlps: VecDeque::new(),
                filled_by: key.0,
                taken: 0,
                credits: 0,
                credits_back: VecDeque::new(),
                credit_delay: Picoseconds::ZERO,
                waited_for: false,
                served: 0,
            });
        }
        queue
    }

    /// The turn of the node above an edge; [`NO_TURN`] without a limit.
    fn turn(&mut self, topology: &Topology, edge: EdgeId) -> u32 {
        let upper = topology.link(edge).and_then(|link| topology.node(&link.upper));
        let Some((node, turn)) =
            upper.and_then(|node| Some((node, Turn::of(&topology.nodes()[node as usize])?)))
        else {
            return NO_TURN;
        };
        let next = self.turns.len() as u32;
        let number = *self.turn_of.entry(node).or_insert(next);
        if number == next {
            self.turns.push(turn);
        }
        number
    }

    /// Sizes buffers: the bytes that a link sends during a credit loop, and a few TLPs more.
    fn provide_buffers(&mut self, topology: &Topology, start: usize) {
        for hop in &self.hops[start..] {
            if hop.next_queue == OUT {
                continue;
            }
            let credit_delay = Picoseconds::from_ns(latency_ns(topology, hop.edge));
            let round_bytes = (hop.delay + credit_delay).0 as f64 / hop.byte_time.picoseconds();
            let spare_bytes = u64::from(SPARE_TLPS) * u64::from(topology.mps_bytes());
            let bytes = (round_bytes.ceil() as u64).saturating_add(spare_bytes);
            let credits = u32::try_from(bytes.div_ceil(DATA_CREDIT_BYTES)).unwrap_or(u32::MAX / 2);
            let queue = &mut self.queues[hop.next_queue as usize];
            queue.credits = queue.credits.max(credits);
            queue.credit_delay = credit_delay;
        }
    }
}

/// The links before and after an edge of a route: limits between them are no links.
fn neighbours(topology: &Topology, edges: &[EdgeId], index: usize) -> [Option<EdgeId>; 2] {
    let is_link = |edge: &&EdgeId| topology.link(**edge).is_some();
    [edges[..index].iter().rev().find(is_link).copied(), edges[index + 1..].iter().find(is_link).copied()]
}

/// Propagation of an edge's link.
fn latency_ns(topology: &Topology, edge: EdgeId) -> f64 {
    topology.link(edge).map_or(0.0, |link| link.latency_ns)
}

/// The least capacity of the edges of a path, and of the turns that limit its flows, GB/s.
pub(in crate::simulate) fn narrowest(
    topology: &Topology,
    source: NodeId,
    destination: NodeId,
    is_stream: bool,
) -> f64 {
    let mut edges = vec![];
    topology.route(source, destination, &mut edges);
    let least = |index: usize| {
        let [before, after] = neighbours(topology, &edges, index);
        let turn =
            topology.link(edges[index]).filter(|_| !is_stream && is_turn(topology, edges[index], after));
        let turn = turn.and_then(|link| topology.node(&link.upper));
        let turn = turn.and_then(|node| topology.nodes()[node as usize].turn_gbytes_per_s);
        capacity(topology, before, edges[index], is_stream).min(turn.unwrap_or(f64::INFINITY))
    };
    (0..edges.len()).map(least).fold(f64::INFINITY, f64::min)
}

/// Whether a path goes up a link and down the next.
fn is_turn(topology: &Topology, edge: EdgeId, next: Option<EdgeId>) -> bool {
    topology.link(edge).is_some()
        && !edge.is_multiple_of(2)
        && next.is_some_and(|next| next.is_multiple_of(2))
}

/// Capacity of an edge for TLPs from the link before it.
fn capacity(topology: &Topology, before: Option<EdgeId>, edge: EdgeId, is_stream: bool) -> f64 {
    let turned = before.is_some_and(|before| is_turn(topology, before, Some(edge)));
    let link = match topology.link(edge).and_then(|link| link.peer_down_gbytes_per_s) {
        Some(peer) if turned => peer,
        _ => topology.link_capacities()[edge as usize],
    };
    let (all, alone) = (topology.capacities()[edge as usize], topology.link_capacities()[edge as usize]);
    let is_limited = is_stream && all < alone;
    if is_limited { link.min(all) } else { link }
}

/// Delay of the node behind an edge. TLPs between devices pass it without address translation. A limit has none.
fn delay_after(topology: &Topology, edge: EdgeId, next: Option<EdgeId>, between_devices: bool) -> f64 {
    let Some(link) = topology.link(edge) else { return 0.0 };
    let behind = topology.node(if edge.is_multiple_of(2) { &link.lower } else { &link.upper });
    let Some(node) = behind.map(|node| &topology.nodes()[node as usize]) else { return 0.0 };
    match (between_devices, next) {
        (true, Some(_)) => node.turn_ns.unwrap_or(node.delay_ns),
        _ => node.delay_ns,
    }
}
