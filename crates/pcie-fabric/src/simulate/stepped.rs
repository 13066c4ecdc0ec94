//! The network of the simulator for TLPs that a caller makes: programs that stand for hosts and devices.
//!
//! Ports, queues, credits, turns and memories are those of [`simulate`](super::simulate). There are no engines and no
//! flows: the caller sends TLPs, lets time pass step by step, and answers what arrives.

use std::collections::HashMap;
use std::sync::Arc;

use pcie_time::{CalendarQueue, Picoseconds};

use super::engine::Side;
use super::event::{Event, PackedEvent};
use super::network::{
    CreditKind, DATA_CREDIT_BYTES, Discipline, Listener, Message, Network, SPARE_TLPS, Tlp, Way,
};
use super::rate::ByteTime;
use crate::description::MemoryParameters;
use crate::topology::{EdgeId, NodeId, Topology};

/// Kinds of TLPs, each with its own queues and credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Writes and messages.
    Posted,
    /// Read requests.
    NonPosted,
    /// Completions.
    Completion,
}

impl Class {
    fn credits(self) -> CreditKind {
        match self {
            Self::Posted => CreditKind::Posted,
            Self::NonPosted => CreditKind::NonPosted,
            Self::Completion => CreditKind::Completion,
        }
    }
}

/// What becomes of a TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It has begun to leave its source.
    Left(u32),
    /// It is at its destination, whole.
    Arrived(u32),
}

/// A memory at the end of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// That of a host.
    Host(NodeId),
    /// A memory of a device, by its number.
    Device(NodeId, usize),
}

/// TLPs of a caller on their way through a fabric.
#[derive(Debug)]
pub struct Stepped {
    topology: Arc<Topology>,
    network: Network,
    events: CalendarQueue<PackedEvent>,
    /// The earliest events, taken from the queue to look at: the last one is the next.
    looked_at: Vec<(Picoseconds, PackedEvent)>,
    /// First hops of the paths so far.
    paths: HashMap<(NodeId, NodeId, Class), u32>,
    /// Sources with a queue of their own: a device, or a host and a destination.
    sources: HashMap<(NodeId, Option<NodeId>), u32>,
    sides: Vec<Side>,
}

/// Turns notices of the network into events.
struct Noted;

impl Listener for Noted {
    type Event = PackedEvent;

    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<PackedEvent>) {
        events.push(at, Event::Delivered(tlp).into());
    }

    fn left(&mut self, now: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<PackedEvent>) {
        events.push(now, Event::Room(tlp.request()).into());
    }
}

impl Stepped {
    /// A fabric with nothing on its way, at time 0.
    #[must_use]
    pub fn new(topology: Arc<Topology>, discipline: Discipline) -> Self {
        Self {
            network: Network::new(&topology, discipline),
            events: CalendarQueue::default(),
            looked_at: vec![],
            paths: HashMap::new(),
            sources: HashMap::new(),
            sides: vec![Side::default(); topology.nodes().len()],
            topology,
        }
    }

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Sends a TLP from a node to another at `at`, not before the last step. `number` names it in steps;
    /// `payload_bytes` are at most MPS. TLPs of a device and a class leave in order, those of a host in order for each
    /// destination.
    pub fn send(
        &mut self,
        at: Picoseconds,
        (from, to): (NodeId, NodeId),
        class: Class,
        payload_bytes: u16,
        number: u32,
    ) {
        let hop = self.path(from, to, class);
        let message = if payload_bytes > 0 { Message::Data } else { Message::Ask };
        self.events.push(at, Event::Inject(Tlp::new(hop, number, message, payload_bytes)).into());
    }

    fn path(&mut self, from: NodeId, to: NodeId, class: Class) -> u32 {
        if let Some(&hop) = self.paths.get(&(from, to, class)) {
            return hop;
        }
        // The memory of a host is no FIFO, but what a device sends passes one.
        let is_host = self.topology.nodes()[from as usize].host.is_some();
        let next = self.sources.len() as u32;
        let flow = *self.sources.entry((from, is_host.then_some(to))).or_insert(next);
        let way = Way { flow, kind: class.credits(), source: from, destination: to, is_stream: false };
        let hop = self.network.add_path(&self.topology, way);
        self.paths.insert((from, to, class), hop);
        hop
    }

    /// Time of the next event of the network; None if nothing is on its way.
    pub fn next_at(&mut self) -> Option<Picoseconds> {
        let before = self
            .looked_at
            .last()
            .map_or(Picoseconds(u64::MAX), |(at, _)| Picoseconds(at.0.saturating_sub(1)));
        let is_first = self.looked_at.last().is_none_or(|(at, _)| at.0 > 0);
        if let Some(earlier) = is_first.then(|| self.events.pop_until(before)).flatten() {
            self.looked_at.push(earlier);
        }
        self.looked_at.last().map(|(at, _)| *at)
    }

    /// Handles events up to `until`, as far as the next step of a TLP.
    pub fn step(&mut self, until: Picoseconds) -> Option<(Picoseconds, Step)> {
        while self.next_at().is_some_and(|at| at <= until) {
            let (now, event) = self.looked_at.pop()?;
            match event.into() {
                Event::Network(event) => self.network.handle(now, event, &mut Noted, &mut self.events),
                Event::Inject(tlp) => self.network.enqueue(now, tlp, &mut Noted, &mut self.events),
                Event::Delivered(tlp) => return Some((now, Step::Arrived(tlp.request()))),
                Event::Room(number) => return Some((now, Step::Left(number))),
                Event::Submit(_)
                | Event::Command(_)
                | Event::Executed(_)
                | Event::Written(..)
                | Event::Done(_) => {
                    debug_assert!(false, "only machines have requests");
                }
            }
        }
        None
    }

    /// When the data of a read that arrives now leave their memory. `for_device`: the reader is a device, which the
    /// rate of a BAR limits.
    pub fn read(&mut self, now: Picoseconds, memory: Memory, bytes: u64, for_device: bool) -> Picoseconds {
        match memory {
            Memory::Host(node) => {
                let host = self.topology.nodes()[node as usize].host.unwrap_or_default();
                now + Picoseconds::from_ns(host.memory_read_ns)
            }
            Memory::Device(node, number) => {
                let (rate, delay_ns) =
                    self.of(node, number, |memory| (memory.bar_read_gbytes_per_s, memory.bar_read_ns));
                let there =
                    if for_device { self.sides[node as usize].read(now, rate.of(bytes)) } else { now };
                there + Picoseconds::from_ns(delay_ns)
            }
        }
    }

    /// When the data of a write that arrives now are in their memory.
    pub fn write(&mut self, now: Picoseconds, memory: Memory, bytes: u64) -> Picoseconds {
        let Memory::Device(node, number) = memory else { return now };
        let (rate, delay_ns) =
            self.of(node, number, |memory| (memory.bar_write_gbytes_per_s, memory.bar_write_ns));
        self.sides[node as usize].write(now, rate.of(bytes)) + Picoseconds::from_ns(delay_ns)
    }

    /// Rate and delay of a memory; none without a description.
    fn of(
        &self,
        node: NodeId,
        number: usize,
        of: impl Fn(&MemoryParameters) -> (f64, f64),
    ) -> (ByteTime, f64) {
        let device = self.topology.nodes()[node as usize].device.as_ref();
        let (rate, delay_ns) =
            device.and_then(|device| device.memories.get(number)).map_or((f64::INFINITY, 0.0), of);
        (ByteTime::at(rate), delay_ns)
    }

    /// Data credits of the buffer at the other end of a node's link, of a host the largest: as many as the simulator
    /// gives that buffer.
    #[must_use]
    pub fn first_credits(&self, node: NodeId) -> u32 {
        let own = &self.topology.nodes()[node as usize];
        let edges = (0..).zip(self.topology.links()).filter_map(|(number, link)| {
            let up = (link.lower == own.name).then_some((2 * number + 1, &link.upper));
            let down = (link.upper == own.name).then_some((2 * number, &link.lower));
            Some((up.or(down)?, link.latency_ns))
        });
        let bytes = edges.map(|((edge, other), latency_ns): ((EdgeId, &String), f64)| {
            let behind =
                self.topology.node(other).map_or(0.0, |node| self.topology.nodes()[node as usize].delay_ns);
            let loop_ns = own.delay_ns + behind + 2.0 * latency_ns;
            (loop_ns * self.topology.link_capacities()[edge as usize]).ceil() as u64
        });
        let spare_bytes = u64::from(SPARE_TLPS) * u64::from(self.topology.mps_bytes());
        let bytes = bytes.max().unwrap_or(0).saturating_add(spare_bytes);
        u32::try_from(bytes.div_ceil(DATA_CREDIT_BYTES)).unwrap_or(u32::MAX / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Options, Primitive, simulate};
    use crate::test_fabrics::{fabrex, traffic};

    /// The time of reads of a device from another one, each when the last is done, by hand.
    fn round_trip(
        stepped: &mut Stepped,
        from: NodeId,
        to: NodeId,
        bytes: u16,
        at: Picoseconds,
    ) -> Picoseconds {
        stepped.send(at, (from, to), Class::NonPosted, 0, 1);
        loop {
            let (now, step) = stepped.step(Picoseconds(u64::MAX)).unwrap();
            match step {
                Step::Arrived(1) => {
                    let ready = stepped.read(now, Memory::Device(to, 0), bytes.into(), true);
                    stepped.send(ready, (to, from), Class::Completion, bytes, 2);
                }
                Step::Arrived(_) => return now,
                Step::Left(_) => {}
            }
        }
    }

    #[test]
    fn a_read_takes_what_the_simulator_takes_between_command_and_status() {
        let topology = fabrex();
        let options =
            Options { warm_up_ns: Some(0.0), duration_ns: 1e5, discipline: Discipline::Fifo, seed: 1 };
        let [near, far] = [("A", "B"), ("A", "C")].map(|(reader, other)| {
            let one =
                crate::simulate::Traffic { size_bytes: 128, ..traffic(other, reader, Primitive::D2dRead) };
            let outcome = simulate(&topology, &[one], options).unwrap();
            let simulated = outcome.flows[0].requests[0].phases.fabric_ns;
            let mut stepped = Stepped::new(Arc::new(topology.clone()), Discipline::Fifo);
            let [from, to] = [reader, other].map(|name| topology.node(name).unwrap());
            let took = round_trip(&mut stepped, from, to, 128, Picoseconds::ZERO).as_ns();
            simulated - took
        });
        // What is left, command, status and the engine's memory, is the same for both.
        assert!((near - far).abs() < 0.01, "{near} {far}");
    }

    #[test]
    fn looking_ahead_changes_no_order() {
        let topology = Arc::new(fabrex());
        let [a, b] = ["A", "B"].map(|name| topology.node(name).unwrap());
        let run = |looks: bool| {
            let mut stepped = Stepped::new(Arc::clone(&topology), Discipline::PerDestination);
            let mut steps = vec![];
            for number in 0..40 {
                stepped.send(
                    Picoseconds(1_000_000 - u64::from(number) * 3_000),
                    (a, b),
                    Class::Posted,
                    128,
                    number,
                );
                if looks {
                    stepped.next_at();
                }
            }
            while let Some(step) = stepped.step(Picoseconds(u64::MAX)) {
                steps.push(step);
                if looks {
                    stepped.next_at();
                }
            }
            steps
        };
        let steps = run(true);
        assert_eq!(steps.len(), 80);
        assert!(steps.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(steps, run(false));
    }
}
