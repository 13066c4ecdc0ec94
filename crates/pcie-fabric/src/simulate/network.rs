//! Ports, queues and credits: how TLPs get from node to node.

mod paths;
mod tlp;
mod turn;

use std::collections::{HashMap, VecDeque};

use pcie_time::{CalendarQueue, Picoseconds};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) use paths::Way;
pub(super) use tlp::{Message, Tlp};

use self::turn::Turn;
use super::rate::ByteTime;
use crate::topology::{EdgeId, NodeId, Topology};

/// What ports arbitrate between. A TLP without payload takes no time on a link, whose capacity is of payload, but it
/// lets the flit go that is under way. Source: section 5.1 of the paper.
const FLIT_BYTES: u64 = 64;
/// What PCIe counts data in for credits, bytes.
const DATA_CREDIT_BYTES: u64 = 16;
/// Stands for the queue behind the last port of a way.
const OUT: u32 = u32::MAX;
/// Stands for the turn of a node that holds nothing up, or where nothing turns.
const NO_TURN: u32 = u32::MAX;

/// What has queues and credits of its own at every port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
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

/// What happens in the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NetworkEvent {
    /// A port may be able to send.
    Wake(EdgeId),
    /// A TLP reaches a queue.
    Arrive(Tlp),
}

/// What the network tells those who use it.
pub(super) trait Listener {
    /// The event type of the whole simulation.
    type Event: From<NetworkEvent> + Copy;
    /// A TLP will be at its destination at `at`.
    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<Self::Event>);
    /// A TLP has left the queue of its source.
    fn left(&mut self, now: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<Self::Event>);
}

/// A step of a way: a queue, and the port that it waits for. The steps of one way follow one another.
#[derive(Debug, Clone, Copy)]
struct Hop {
    edge: EdgeId,
    /// The queue that the TLP waits in before this edge.
    queue: u32,
    /// The queue behind it; [`OUT`] at the end of the way.
    next_queue: u32,
    /// From the start of sending to the arrival of the first byte behind the next node.
    delay: Picoseconds,
    byte_time: ByteTime,
    /// What it goes through behind that, with others one by one; [`NO_TURN`] where nothing.
    turn: u32,
}

#[derive(Debug)]
struct Queue {
    tlps: VecDeque<Tlp>,
    /// The edge that fills it, and so needs its credits; none at a source.
    filled_by: Option<EdgeId>,
    /// Data credits of TLPs that are in it, on their way to it, or whose credits are on their way back.
    taken: u32,
    credits: u32,
    /// When credits are back, and how many.
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
    /// When the TLP that is under way began, or that was last.
    began_at: Picoseconds,
    /// How long each of its flits takes.
    flit: Picoseconds,
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
    hops: Vec<Hop>,
    by_key: HashMap<QueueKey, u32>,
    turns: Vec<Turn>,
    /// The turn of each node that has one.
    turn_of: HashMap<NodeId, u32>,
    discipline: Discipline,
    services: u64,
    /// None while nothing is counted.
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

    /// Counts what edges send from a moment on.
    pub fn count_from(&mut self, from: Picoseconds) {
        self.counting_from = Some(from);
    }

    /// Bytes that each edge has sent since counting began.
    pub fn sent_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ports.iter().map(|port| port.sent_bytes)
    }

    /// TLPs times links crossed.
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

    /// Puts a TLP into the queue at which its next step begins.
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

    /// Sends what a port can send now, and notes when it can send more.
    fn send<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        while let Some(place) = self.choose(now, edge, events) {
            self.send_from(now, edge, place, listener, events);
        }
    }

    /// Of the queues that want a port and can send, the one that was served least recently. If there is none, the port
    /// is woken when there may be.
    fn choose<E: From<NetworkEvent> + Copy>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        events: &mut CalendarQueue<E>,
    ) -> Option<usize> {
        let mut chosen: Option<(u64, usize)> = None;
        let mut later = Picoseconds(u64::MAX);
        let port = &self.ports[edge as usize];
        for (place, &queue) in port.wanting.iter().enumerate() {
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
                chosen = Some((served, place));
                continue;
            }
            match self.queues[next as usize].credit(now, credits) {
                Credit::Now => chosen = Some((served, place)),
                Credit::At(at) => later = later.min(at),
                Credit::WhenSent => self.queues[next as usize].waited_for = true,
            }
        }
        if chosen.is_none() && later.0 != u64::MAX {
            self.wake(edge, later, events);
        }
        chosen.map(|(_, place)| place)
    }

    fn send_from<L: Listener>(
        &mut self,
        now: Picoseconds,
        edge: EdgeId,
        place: usize,
        listener: &mut L,
        events: &mut CalendarQueue<L::Event>,
    ) {
        let from = self.ports[edge as usize].wanting[place];
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
            self.ports[edge as usize].wanting.swap_remove(place);
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
    /// When it can begin with a TLP: with payload, when it is free; without, when the flit under way has gone.
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
    /// When it has room for another TLP, which needs so many credits.
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

/// What a TLP takes of a buffer; one without payload has a place in it, too.
#[inline]
fn data_credits(tlp: Tlp) -> u32 {
    tlp.payload().div_ceil(DATA_CREDIT_BYTES).max(1) as u32
}
