//! Ways through the network: which ports and queues a TLP passes from one node to another, and how long that takes.

use std::collections::VecDeque;

use pcie_time::Picoseconds;

use super::{CreditKind, Discipline, Hop, Network, OUT, Queue, QueueKey};
use crate::simulate::rate::ByteTime;
use crate::topology::{EdgeId, NodeId, Topology};

/// Buffer beyond what the loop of a credit needs, TLPs.
const SPARE_TLPS: u32 = 4;

impl Network {
    /// Adds the way from one node to another for TLPs of one kind of a flow; returns its first step.
    pub fn add_path(
        &mut self,
        topology: &Topology,
        flow: u32,
        kind: CreditKind,
        source: NodeId,
        destination: NodeId,
    ) -> u32 {
        let mut edges = vec![];
        topology.route(source, destination, &mut edges);
        let class = match self.discipline {
            Discipline::PerFlow => flow,
            Discipline::PerDestination => destination,
            Discipline::Fifo => 0,
        };
        let hosts = [source, destination].map(|node| topology.nodes()[node as usize].host.is_some());
        let between_devices = hosts == [false, false];
        let start = self.hops.len();
        for (place, edge) in edges.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| edges[place]);
            let mut delay_ns = topology.links()[*edge as usize / 2].latency_ns
                + delay_after(topology, *edge, edges.get(place + 1).copied(), between_devices);
            if place == 0 {
                delay_ns += topology.nodes()[source as usize].delay_ns;
            }
            // Memory is no FIFO: at its source, every flow has a queue.
            let key =
                if before.is_some() { (before, 0, (class, kind)) } else { (None, source, (flow, kind)) };
            let queue = self.queue(key);
            if place > 0 {
                self.hops[start + place - 1].next_queue = queue;
            }
            self.hops.push(Hop {
                edge: *edge,
                queue,
                next_queue: OUT,
                delay: Picoseconds::from_ns(delay_ns),
                byte_time: ByteTime::at(capacity(topology, before, *edge)),
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
                places: 0,
                credits_back: VecDeque::new(),
                credit_delay: Picoseconds::ZERO,
                waited_for: false,
                served: 0,
            });
        }
        queue
    }

    /// A port's buffer holds what its link sends until a credit comes round, and a few TLPs more.
    fn provide_buffers(&mut self, topology: &Topology, start: usize) {
        for hop in &self.hops[start..] {
            if hop.next_queue == OUT {
                continue;
            }
            let credit_delay = Picoseconds::from_ns(topology.links()[hop.edge as usize / 2].latency_ns);
            let round_bytes = (hop.delay + credit_delay).0 as f64 / hop.byte_time.picoseconds();
            let round_tlps = (round_bytes / f64::from(topology.mps_bytes())).ceil() as u32;
            let queue = &mut self.queues[hop.next_queue as usize];
            queue.places = queue.places.max(round_tlps.saturating_add(SPARE_TLPS));
            queue.credit_delay = credit_delay;
        }
    }
}

/// What an edge carries of what comes from the edge before it.
fn capacity(topology: &Topology, before: Option<EdgeId>, edge: EdgeId) -> f64 {
    let turned = before.is_some_and(|before| !before.is_multiple_of(2)) && edge.is_multiple_of(2);
    match topology.links()[edge as usize / 2].peer_down_gbytes_per_s {
        Some(peer) if turned => peer,
        _ => topology.capacities()[edge as usize],
    }
}

/// What the node behind an edge takes: its turn where a TLP between devices goes on to another lower port.
fn delay_after(topology: &Topology, edge: EdgeId, next: Option<EdgeId>, between_devices: bool) -> f64 {
    let link = &topology.links()[edge as usize / 2];
    let upwards = !edge.is_multiple_of(2);
    let behind = topology.node(if upwards { &link.upper } else { &link.lower });
    let Some(node) = behind.map(|node| &topology.nodes()[node as usize]) else { return 0.0 };
    match (upwards, next) {
        (true, Some(next)) if between_devices && next.is_multiple_of(2) => {
            node.turn_ns.unwrap_or(node.delay_ns)
        }
        _ => node.delay_ns,
    }
}
