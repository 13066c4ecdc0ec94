//! Ports, queues and credits: how TLPs get from node to node.

use std::collections::{HashMap, VecDeque};

use pcie_time::{EventQueue, Picoseconds};
use serde::Deserialize;

use crate::topology::{EdgeId, NodeId, Topology};

/// Buffer beyond what the loop of a credit needs, TLPs.
const SPARE_TLPS: u64 = 4;

/// What has queues and credits of its own at every port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Every flow.
    PerFlow,
    /// Every destination, on every link.
    PerDestination,
    /// Every link: what waits for a busy port holds up what is behind it.
    Fifo,
}

/// What PCIe counts credits for separately, so that answers are never held up by requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CreditKind {
    /// Writes.
    Posted,
    /// Read requests.
    NonPosted,
    /// Answers to them.
    Completion,
}

/// The edge that fills a queue, the node that does where it is a source, and what has it for itself.
type QueueKey = (Option<EdgeId>, NodeId, (u32, CreditKind));

/// A TLP on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tlp {
    pub path: u32,
    /// How many edges it has crossed.
    pub hop: u32,
    /// Payload.
    pub bytes: u32,
    /// What it is about; the network does not look at this and the next two.
    pub request: u32,
    /// What it is.
    pub message: Message,
    /// Bytes that it carries or asks for.
    pub length: u32,
}

/// What a TLP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// A command for an engine.
    Command,
    /// A read request.
    Ask,
    /// Data: posted, or the answer to a read request.
    Data,
    /// The note that a command is done.
    Completion,
}

/// What happens in the network.
#[derive(Debug, Clone, Copy)]
pub(super) enum NetworkEvent {
    /// A port may be able to send.
    Wake(EdgeId),
    /// A TLP reaches a queue.
    Arrive(Tlp),
}

/// What the network tells those who use it.
pub(super) trait Listener {
    /// The event type of the whole simulation.
    type Event: From<NetworkEvent>;
    /// A TLP will be at its destination at `at`.
    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut EventQueue<Self::Event>);
    /// A TLP has left the queue of its source.
    fn left(&mut self, now: Picoseconds, path: u32, events: &mut EventQueue<Self::Event>);
}

#[derive(Debug)]
struct Hop {
    edge: EdgeId,
    /// The queue that the TLP waits in before this edge.
    queue: u32,
    /// From the start of sending to the arrival of the first byte behind the next node.
    delay: Picoseconds,
    picoseconds_per_byte: f64,
}

#[derive(Debug, Default)]
struct Queue {
    tlps: VecDeque<Tlp>,
    /// The edge that fills it, and so needs its credits; none at a source.
    filled_by: Option<EdgeId>,
    /// Places taken by TLPs that are in it, on their way to it, or whose credits are on their way back.
    taken: u64,
    places: u64,
    credits_back: VecDeque<Picoseconds>,
    credit_delay: Picoseconds,
    /// Whether the port before it waits for a credit.
    waited_for: bool,
    /// Number of the last service, for least-recently-served arbitration.
    served: u64,
}

#[derive(Debug, Default)]
struct Port {
    free_at: Picoseconds,
    wake_at: Option<Picoseconds>,
    /// Queues whose first TLP goes through here.
    wanting: Vec<u32>,
    sent_bytes: u64,
}

/// All ports and queues.
#[derive(Debug)]
pub(super) struct Network {
    ports: Vec<Port>,
    queues: Vec<Queue>,
    paths: Vec<Vec<Hop>>,
    by_key: HashMap<QueueKey, u32>,
    discipline: Discipline,
    services: u64,
    pub hops: u64,
    counting_from: Picoseconds,
}

impl Network {
    pub fn new(topology: &Topology, discipline: Discipline, counting_from: Picoseconds) -> Self {
        Self {
            ports: (0..topology.edge_count()).map(|_| Port::default()).collect(),
            queues: vec![],
            paths: vec![],
            by_key: HashMap::new(),
            discipline,
            services: 0,
            hops: 0,
            counting_from,
        }
    }

    /// Adds the way from one node to another for TLPs of one kind of a flow.
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
        let class = (class, kind);
        let mut hops = Vec::with_capacity(edges.len());
        for (place, edge) in edges.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| edges[place]);
            let link = &topology.links()[*edge as usize / 2];
            let turned = before.is_some_and(|before| !before.is_multiple_of(2)) && edge.is_multiple_of(2);
            let capacity = match link.peer_down_gbytes_per_s {
                Some(peer) if turned => peer,
                _ => topology.capacities()[*edge as usize],
            };
            let mut delay_ns = link.latency_ns + delay_after(topology, *edge, edges.get(place + 1).copied());
            if place == 0 {
                delay_ns += topology.nodes()[source as usize].delay_ns;
            }
            let queue = self.queue((before, if before.is_none() { source } else { 0 }, class));
            hops.push(Hop {
                edge: *edge,
                queue,
                delay: Picoseconds::from_ns(delay_ns),
                picoseconds_per_byte: 1e3 / capacity,
            });
        }
        self.provide_buffers(topology, &hops);
        self.paths.push(hops);
        self.paths.len() as u32 - 1
    }

    fn queue(&mut self, key: QueueKey) -> u32 {
        let next = self.queues.len() as u32;
        let queue = *self.by_key.entry(key).or_insert(next);
        if queue == next {
            self.queues.push(Queue { filled_by: key.0, ..Queue::default() });
        }
        queue
    }

    /// A port's buffer holds what its link sends until a credit comes round, and a few TLPs more.
    fn provide_buffers(&mut self, topology: &Topology, hops: &[Hop]) {
        for pair in hops.windows(2) {
            let [hop, next] = pair else { continue };
            let credit_delay = Picoseconds::from_ns(topology.links()[hop.edge as usize / 2].latency_ns);
            let round = (hop.delay + credit_delay).0 as f64 / hop.picoseconds_per_byte;
            let queue = &mut self.queues[next.queue as usize];
            queue.places =
                queue.places.max((round / f64::from(topology.mps_bytes())).ceil() as u64 + SPARE_TLPS);
            queue.credit_delay = credit_delay;
        }
    }

    /// Bytes that each edge has sent since counting began.
    pub fn sent_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ports.iter().map(|port| port.sent_bytes)
    }

    /// Puts a TLP into the queue of its source.
    pub fn inject<L: Listener>(
        &mut self,
        now: Picoseconds,
        tlp: Tlp,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        self.enqueue(now, tlp, listener, events);
    }

    pub fn handle<L: Listener>(
        &mut self,
        now: Picoseconds,
        event: NetworkEvent,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        match event {
            NetworkEvent::Arrive(tlp) => self.enqueue(now, tlp, listener, events),
            NetworkEvent::Wake(edge) => {
                if self.ports[edge as usize].wake_at == Some(now) {
                    self.ports[edge as usize].wake_at = None;
                    self.send(now, edge, listener, events);
                }
            }
        }
    }

    fn enqueue<L: Listener>(
        &mut self,
        now: Picoseconds,
        tlp: Tlp,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        let hop = &self.paths[tlp.path as usize][tlp.hop as usize];
        let queue = &mut self.queues[hop.queue as usize];
        queue.tlps.push_back(tlp);
        if queue.tlps.len() == 1 {
            let edge = hop.edge;
            self.ports[edge as usize].wanting.push(hop.queue);
            self.send(now, edge, listener, events);
        }
    }

    /// Sends what a port can send now, and notes when it can send more.
    fn send<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        loop {
            let port = &self.ports[edge as usize];
            if port.wanting.is_empty() {
                return;
            }
            if port.free_at > now {
                return self.wake(edge, port.free_at, events);
            }
            let Some(place) = self.choose(now, edge, events) else { return };
            self.send_from(now, edge, place, listener, events);
        }
    }

    /// Of the queues that want a port and have a credit, the one that was served least recently.
    fn choose<E: From<NetworkEvent>>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        events: &mut EventQueue<E>,
    ) -> Option<usize> {
        let mut chosen: Option<(u64, usize)> = None;
        let mut credit_at: Option<Picoseconds> = None;
        for place in 0..self.ports[edge as usize].wanting.len() {
            let queue = self.ports[edge as usize].wanting[place];
            let served = self.queues[queue as usize].served;
            if chosen.is_some_and(|(least, _)| least <= served) {
                continue;
            }
            let Some(next) = self.next_queue(queue) else {
                chosen = Some((served, place));
                continue;
            };
            match self.credit(now, next) {
                Credit::Now => chosen = Some((served, place)),
                Credit::At(at) => credit_at = Some(credit_at.map_or(at, |first| first.min(at))),
                Credit::WhenSent => self.queues[next as usize].waited_for = true,
            }
        }
        if chosen.is_none()
            && let Some(at) = credit_at
        {
            self.wake(edge, at, events);
        }
        chosen.map(|(_, place)| place)
    }

    /// The queue that the first TLP of a queue goes to next; None if it leaves the network.
    fn next_queue(&self, queue: u32) -> Option<u32> {
        let tlp = self.queues[queue as usize].tlps.front()?;
        self.paths[tlp.path as usize].get(tlp.hop as usize + 1).map(|hop| hop.queue)
    }

    fn credit(&mut self, now: Picoseconds, queue: u32) -> Credit {
        let queue = &mut self.queues[queue as usize];
        while queue.credits_back.front().is_some_and(|at| *at <= now) {
            queue.credits_back.pop_front();
            queue.taken -= 1;
        }
        if queue.taken < queue.places {
            return Credit::Now;
        }
        queue.credits_back.front().map_or(Credit::WhenSent, |at| Credit::At(*at))
    }

    fn send_from<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        place: usize,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        let from = self.ports[edge as usize].wanting[place];
        self.services += 1;
        self.hops += 1;
        let queue = &mut self.queues[from as usize];
        queue.served = self.services;
        let Some(tlp) = queue.tlps.pop_front() else { return };
        let filled_by = queue.filled_by;
        let follower = queue.tlps.front().map(|next| self.paths[next.path as usize][next.hop as usize].edge);
        if filled_by.is_some() {
            let back = now + queue.credit_delay;
            queue.credits_back.push_back(back);
        }
        let credit_wanted = std::mem::take(&mut queue.waited_for).then_some(now + queue.credit_delay);
        if follower != Some(edge) {
            self.ports[edge as usize].wanting.swap_remove(place);
        }
        self.transmit(now, edge, tlp, listener, events);
        if let (Some(before), Some(at)) = (filled_by, credit_wanted) {
            self.wake(before, at, events);
        }
        if let Some(other) = follower.filter(|other| *other != edge) {
            self.ports[other as usize].wanting.push(from);
            self.wake(other, now, events);
        }
        if filled_by.is_none() {
            listener.left(now, tlp.path, events);
        }
    }

    fn transmit<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        tlp: Tlp,
        listener: &mut L,
        events: &mut EventQueue<L::Event>,
    ) {
        let path = &self.paths[tlp.path as usize];
        let hop = &path[tlp.hop as usize];
        let sending = Picoseconds((f64::from(tlp.bytes) * hop.picoseconds_per_byte).round() as u64);
        let port = &mut self.ports[edge as usize];
        port.free_at = now + sending;
        if now >= self.counting_from {
            port.sent_bytes += u64::from(tlp.bytes);
        }
        match path.get(tlp.hop as usize + 1) {
            Some(next) => {
                self.queues[next.queue as usize].taken += 1;
                events.push(now + hop.delay, NetworkEvent::Arrive(Tlp { hop: tlp.hop + 1, ..tlp }).into());
            }
            None => listener.delivered(now + hop.delay + sending, tlp, events),
        }
    }

    fn wake<E: From<NetworkEvent>>(&mut self, edge: EdgeId, at: Picoseconds, events: &mut EventQueue<E>) {
        let port = &mut self.ports[edge as usize];
        let at = at.max(port.free_at);
        if port.wake_at.is_none_or(|noted| noted > at) {
            port.wake_at = Some(at);
            events.push(at, NetworkEvent::Wake(edge).into());
        }
    }
}

enum Credit {
    Now,
    At(Picoseconds),
    WhenSent,
}

/// What the node behind an edge takes: less where the TLP turns to another lower port, or stays.
fn delay_after(topology: &Topology, edge: EdgeId, next: Option<EdgeId>) -> f64 {
    let link = &topology.links()[edge as usize / 2];
    let upwards = !edge.is_multiple_of(2);
    let behind = topology.node(if upwards { &link.upper } else { &link.lower });
    let Some(node) = behind.map(|node| &topology.nodes()[node as usize]) else { return 0.0 };
    match (upwards, next) {
        (true, Some(next)) if next.is_multiple_of(2) => node.turn_ns.unwrap_or(node.delay_ns),
        _ => node.delay_ns,
    }
}
