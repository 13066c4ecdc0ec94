//! Ports, queues and credits that move TLPs from node to node.

mod paths;
mod tlp;
mod turn;

use std::collections::{HashMap, VecDeque};

use pcie_time::{CalendarQueue, Picoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use paths::{SPARE_TLPS, Way, narrowest};
pub(super) use tlp::{Message, Tlp};

use self::turn::Turn;
use super::rate::ByteTime;
use crate::topology::{EdgeId, NodeId, Topology};

/// Unit of arbitration at ports. A TLP without payload takes no time on a link, whose capacity is of payload,
/// but waits for the current flit. Source: section 5.1 of the paper.
const FLIT_BYTES: u64 = 64;
/// Unit of PCIe data credits, bytes.
pub(super) const DATA_CREDIT_BYTES: u64 = 16;
/// Sentinel: no queue behind the last port of a path.
const OUT: u32 = u32::MAX;
/// Sentinel: no turn, or one without a limit.
const NO_TURN: u32 = u32::MAX;

/// Granularity of the queues and credits of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Separate for each flow.
    PerFlow,
    /// Separate for each destination.
    PerDestination,
    /// One queue for each link: a TLP that waits for a busy port blocks those behind it.
    Fifo,
}

/// Kinds of PCIe credits. They are separate, so that requests never block completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CreditKind {
    /// Writes.
    Posted,
    /// Read requests.
    NonPosted,
    /// Completions.
    Completion,
}

/// The edge that fills a queue (none at a source), the source node, and the class and kind of its TLPs.
type QueueKey = (Option<EdgeId>, NodeId, (u32, CreditKind));

/// An event of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NetworkEvent {
    /// A port may be able to send.
    Wake(EdgeId),
    /// A TLP reaches a queue.
    Arrive(Tlp),
}

/// Notifications from the network.
pub(super) trait Listener {
    /// The event type of the whole simulation.
    type Event: From<NetworkEvent> + Copy;
    /// A TLP will be at its destination at `at`.
    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<Self::Event>);
    /// A TLP has left the queue of its source.
    fn left(&mut self, now: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<Self::Event>);
}

/// A hop of a path: a queue, and the port that it waits for. The hops of a path have consecutive numbers.
#[derive(Debug, Clone, Copy)]
struct Hop {
    edge: EdgeId,
    /// The queue before this edge.
    queue: u32,
    /// The queue behind it; [`OUT`] at the end of the path.
    next_queue: u32,
    /// From the start of sending to the arrival of the first byte past the next node.
    delay: Picoseconds,
    byte_time: ByteTime,
    /// The turn behind the edge, which TLPs pass one by one; or [`NO_TURN`].
    turn: u32,
}

#[derive(Debug)]
struct Queue {
    tlps: VecDeque<Tlp>,
    /// The edge that fills it and needs its credits; none at a source.
    filled_by: Option<EdgeId>,
    /// Data credits of TLPs in it or on their way to it, and credits on their way back.
    taken: u32,
    credits: u32,
    /// Times at which credits return, and their numbers.
    credits_back: VecDeque<(Picoseconds, u32)>,
    credit_delay: Picoseconds,
    /// Whether the port before it waits for a credit.
    waited_for: bool,
    /// Number of the last service, for least-recently-served arbitration.
    served: u64,
}

#[derive(Debug, Default)]
struct Port {
    free_at: Picoseconds,
    /// Start of the current or last TLP.
    began_at: Picoseconds,
    /// Time of each of its flits.
    flit: Picoseconds,
    wake_at: Option<Picoseconds>,
    /// Queues whose first TLP needs this port.
    wanting: Vec<u32>,
    sent_bytes: u64,
}

/// All ports and queues.
#[derive(Debug)]
pub(super) struct Network {
    ports: Vec<Port>,
    queues: Vec<Queue>,
    hops: Vec<Hop>,
    by_key: HashMap<QueueKey, u32>,
    turns: Vec<Turn>,
    /// The turn of each node that has one.
    turn_of: HashMap<NodeId, u32>,
    discipline: Discipline,
    services: u64,
    /// None before counting.
    counting_from: Option<Picoseconds>,
}

enum Credit {
    Now,
    At(Picoseconds),
    WhenSent,
}

impl Network {
    pub fn new(topology: &Topology, discipline: Discipline) -> Self {
        Self {
            ports: (0..topology.edge_count()).map(|_| Port::default()).collect(),
            queues: vec![],
            hops: vec![],
            by_key: HashMap::new(),
            turns: vec![],
            turn_of: HashMap::new(),
            discipline,
            services: 0,
            counting_from: None,
        }
    }

    /// Counts the bytes of each edge from `from` on.
    pub fn count_from(&mut self, from: Picoseconds) {
        self.counting_from = Some(from);
    }

    /// Bytes that each edge has sent since counting began.
    pub fn sent_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ports.iter().map(|port| port.sent_bytes)
    }

    /// TLP hops.
    pub fn tlp_hops(&self) -> u64 {
        self.services
    }

    pub fn handle<L: Listener>(
        &mut self,
        now: Picoseconds,
        event: NetworkEvent,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
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

    /// Appends a TLP to the queue of its next hop.
    pub fn enqueue<L: Listener>(
        &mut self,
        now: Picoseconds,
        tlp: Tlp,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        let Hop { edge, queue, .. } = self.hops[tlp.hop() as usize];
        let tlps = &mut self.queues[queue as usize].tlps;
        tlps.push_back(tlp);
        if tlps.len() == 1 {
            self.ports[edge as usize].wanting.push(queue);
            self.send(now, edge, listener, events);
        }
    }

    /// Sends all that a port can send now, and wakes it when it can send more.
    fn send<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        while let Some(index) = self.choose(now, edge, events) {
            self.send_from(now, edge, index, listener, events);
        }
    }

    /// The index of the least recently served queue that can send through a port. If there is none, wakes the
    /// port when there may be one.
    fn choose<E: From<NetworkEvent> + Copy>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        events: &mut CalendarQueue<E>,
    ) -> Option<usize> {
        let mut chosen: Option<(u64, usize)> = None;
        let mut later = Picoseconds(u64::MAX);
        let port = &self.ports[edge as usize];
        for (index, &queue) in port.wanting.iter().enumerate() {
            let queue = &self.queues[queue as usize];
            if chosen.is_some_and(|(least, _)| least <= queue.served) {
                continue;
            }
            let Some(first) = queue.tlps.front() else { continue };
            let open_at = port.open_at(now, first.payload());
            if open_at > now {
                later = later.min(open_at);
                continue;
            }
            let (served, next) = (queue.served, self.hops[first.hop() as usize].next_queue);
            let credits = data_credits(*first);
            if next == OUT {
                chosen = Some((served, index));
                continue;
            }
            match self.queues[next as usize].credit(now, credits) {
                Credit::Now => chosen = Some((served, index)),
                Credit::At(at) => later = later.min(at),
                Credit::WhenSent => self.queues[next as usize].waited_for = true,
            }
        }
        if chosen.is_none() && later.0 != u64::MAX {
            self.wake(edge, later, events);
        }
        chosen.map(|(_, index)| index)
    }

    fn send_from<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        index: usize,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        let from = self.ports[edge as usize].wanting[index];
        self.services += 1;
        let queue = &mut self.queues[from as usize];
        queue.served = self.services;
        let Some(tlp) = queue.tlps.pop_front() else { return };
        let filled_by = queue.filled_by;
        let follower = queue.tlps.front().map(|next| self.hops[next.hop() as usize].edge);
        let credit_at = now + queue.credit_delay;
        if filled_by.is_some() {
            queue.credits_back.push_back((credit_at, data_credits(tlp)));
        }
        let credit_wanted = std::mem::take(&mut queue.waited_for);
        if follower != Some(edge) {
            self.ports[edge as usize].wanting.swap_remove(index);
        }
        self.transmit(now, tlp, listener, events);
        if let Some(before) = filled_by.filter(|_| credit_wanted) {
            self.wake(before, credit_at, events);
        }
        if let Some(other) = follower.filter(|other| *other != edge) {
            self.ports[other as usize].wanting.push(from);
            self.wake(other, now, events);
        }
        if filled_by.is_none() {
            listener.left(now, tlp, events);
        }
    }

    fn transmit<L: Listener>(
        &mut self,
        now: Picoseconds,
        tlp: Tlp,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        let Hop { edge, next_queue, delay, byte_time, turn, .. } = self.hops[tlp.hop() as usize];
        let bytes = tlp.payload();
        let sending = byte_time.of(bytes);
        let port = &mut self.ports[edge as usize];
        if bytes > 0 {
            (port.began_at, port.free_at, port.flit) = (now, now + sending, byte_time.of(FLIT_BYTES));
        }
        if self.counting_from.is_some_and(|from| now >= from) {
            port.sent_bytes += bytes;
        }
        if next_queue == OUT {
            listener.delivered(now + delay + sending, tlp, events);
        } else {
            self.queues[next_queue as usize].taken += data_credits(tlp);
            let there = now + delay;
            let through = if turn == NO_TURN { there } else { self.turns[turn as usize].pass(there, bytes) };
            events.push(through, NetworkEvent::Arrive(tlp.onward()).into());
        }
    }

    fn wake<E: From<NetworkEvent> + Copy>(
        &mut self,
        edge: EdgeId,
        at: Picoseconds,
        events: &mut CalendarQueue<E>,
    ) {
        let port = &mut self.ports[edge as usize];
        if port.wake_at.is_none_or(|noted| noted > at) {
            port.wake_at = Some(at);
            events.push(at, NetworkEvent::Wake(edge).into());
        }
    }
}

impl Port {
    /// Time at which it can start a TLP: with payload, when it is free; without, after the current flit.
    #[inline]
    fn open_at(&self, now: Picoseconds, payload: u64) -> Picoseconds {
        if now >= self.free_at || payload > 0 {
            return self.free_at;
        }
        let flits = (now - self.began_at).0.div_ceil(self.flit.0.max(1));
        self.free_at.min(Picoseconds(self.began_at.0 + flits * self.flit.0))
    }
}

impl Queue {
    /// Time at which it has room for a TLP that needs `needed` credits.
    fn credit(&mut self, now: Picoseconds, needed: u32) -> Credit {
        while let Some(&(at, credits)) = self.credits_back.front() {
            if at > now {
                break;
            }
            self.credits_back.pop_front();
            self.taken -= credits;
        }
        if self.taken + needed <= self.credits {
            return Credit::Now;
        }
        self.credits_back.front().map_or(Credit::WhenSent, |&(at, _)| Credit::At(at))
    }
}

/// Data credits of a TLP; one without payload takes a credit, too.
#[inline]
fn data_credits(tlp: Tlp) -> u32 {
    tlp.payload().div_ceil(DATA_CREDIT_BYTES).max(1) as u32
}
