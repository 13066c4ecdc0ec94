//! A machine of several devices: hosts, switches and devices of a fabric, whose devices are simulated elsewhere.
//!
//! [`Machine`] is the fabric simulator's network ([`pcie_fabric::simulate::Stepped`]) with what programs on it need:
//! addresses, tags, credits, completions in parts, and events in the order of time. A device that a program
//! [stands for](Machine::attach) is asked for the data of its BAR, and sees what is written there. Hosts, and devices
//! that nobody stands for, have the memories of the description.
//!
//! Time is the caller's. [`Machine::advance`] moves it, [`Machine::take`] gives the events up to then; a TLP is ready
//! at the present time at the earliest. As in the fabric simulator, capacities are of payload: TLPs without any take no
//! time on links, and the three classes of TLPs do not wait for each other.

mod described;
mod end;
mod error;
mod event;
mod presets;
mod regions;
mod transfers;

pub use described::read_description;
pub use error::MachineError;
pub use event::Event;
pub use pcie_fabric::NodeId;
pub use pcie_fabric::simulate::Discipline;

use crate::endpoint::Units;
use crate::port::Completion;
use crate::tlp::{Kind, Outcome, TAGS, TIME_MOST, Tlp, TlpError};
use end::End;
use pcie_fabric::Topology;
use pcie_fabric::simulate::{Class, Step, Stepped};
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::PAGE_BYTES;
use regions::{Regions, Target};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Most bytes of a read request (PCIe Base Specification).
pub const READ_MOST: u32 = 4096;

/// What the description does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Own credits at each port for flows, destinations or none, as in the fabric simulator.
    pub discipline: Discipline,
    /// Most bytes of a read request, MRRS; none: MPS, as in the fabric simulator.
    pub mrrs_bytes: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { discipline: Discipline::PerDestination, mrrs_bytes: None }
    }
}

/// A TLP on its way.
#[derive(Clone, Copy, Debug)]
enum Underway {
    /// A write or a message, with its target; `transfer` is that of the machine's own engine.
    Posted { from: NodeId, tlp: Tlp, target: Target, transfer: Option<u64> },
    /// A read request.
    Read { from: NodeId, request: u64, is_of_transfer: bool },
    /// A part of an answer.
    Completion { request: u64, length: u32, outcome: Outcome },
}

/// A read in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    from: NodeId,
    tag: u16,
    /// Of the machine's own engine.
    transfer: Option<u64>,
    target: Target,
    address: u64,
    length: u32,
    /// Bytes that have not been answered.
    to_answer: u32,
    /// Bytes that have not arrived.
    to_arrive: u32,
    /// Whether it is at its completer.
    is_there: bool,
    /// Whether its completer lets it fall.
    is_lost: bool,
    /// Whether the reader has given it up.
    is_given_up: bool,
}

impl Request {
    /// Takes the next part of an answer: whole if one completion can carry it, else up to a multiple of MPS. Returns
    /// its bytes.
    fn part(&mut self, mps: u32) -> u32 {
        let at = self.address + u64::from(self.length - self.to_answer);
        let most = if self.to_answer <= mps { mps } else { mps - (at % u64::from(mps)) as u32 };
        let part = self.to_answer.min(most);
        self.to_answer -= part;
        part
    }
}

/// Something at a time that is no event.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The next transfer of a node may be ready.
    Pump(NodeId),
    /// Data are in a memory of the description.
    Written { from: NodeId, tlp: Tlp, node: NodeId, transfer: Option<u64> },
}

/// Several devices, and the fabric between them.
#[derive(Debug)]
pub struct Machine {
    fabric: Stepped,
    options: Options,
    /// Hosts and devices, by node.
    ends: Vec<Option<End>>,
    regions: Regions,
    underway: Vec<Underway>,
    free: Vec<u32>,
    requests: BTreeMap<u64, Request>,
    next_request: u64,
    next_transfer: u64,
    timers: EventQueue<Timer>,
    /// In the order of time, none later than the present.
    events: VecDeque<Event>,
    now: Picoseconds,
}

impl Machine {
    /// A machine with nothing on its way, at time 0.
    ///
    /// # Errors
    /// A host is not described, there is none, or MRRS is no size of a request.
    pub fn new(topology: Topology, options: Options) -> Result<Self, Refusal> {
        if let Some(mrrs) =
            options.mrrs_bytes.filter(|mrrs| !mrrs.is_power_of_two() || !(128..=READ_MOST).contains(mrrs))
        {
            return Err(Refusal::of("mrrs_bytes", mrrs, "give 128, 256, 512, 1024, 2048 or 4096"));
        }
        let regions = Regions::of(&topology)?;
        let fabric = Stepped::new(Arc::new(topology), options.discipline);
        let ends = (0..).zip(fabric.topology().nodes()).map(|(node, _)| End::of(&fabric, node)).collect();
        Ok(Self {
            fabric,
            options,
            ends,
            regions,
            underway: vec![],
            free: vec![],
            requests: BTreeMap::new(),
            next_request: 0,
            next_transfer: 0,
            timers: EventQueue::default(),
            events: VecDeque::new(),
            now: Picoseconds::ZERO,
        })
    }

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.fabric.topology()
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        self.now
    }

    /// Most bytes of a read.
    #[must_use]
    pub fn mrrs_bytes(&self) -> u32 {
        self.options.mrrs_bytes.unwrap_or(self.topology().mps_bytes())
    }

    /// The host or device of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn node(&self, name: &str) -> Result<NodeId, Refusal> {
        let node = self.topology().node(name);
        node.filter(|&node| self.end(node).is_some()).ok_or_else(|| {
            let nodes = self.topology().nodes().iter().zip(&self.ends);
            let names: Vec<&str> =
                nodes.filter_map(|(node, end)| end.as_ref().map(|_| node.name.as_str())).collect();
            let remedy = pcie_refusal::unknown::suggestion(name, &names);
            Refusal::new(format!("no host or device is named {}", pcie_refusal::shown::quoted(name)))
                .kind(RefusalKind::NotFound)
                .remedy(remedy)
        })
    }

    /// First bus address and bytes of a host's memory or a device's first BAR; None of a device without one.
    #[must_use]
    pub fn region(&self, node: NodeId) -> Option<(u64, u64)> {
        self.regions.of_node(node)
    }

    /// Lets the caller stand for a device: reads of its BARs become [`Event::Read`], which [`Machine::complete`]
    /// answers, writes [`Event::Write`] as soon as they arrive. `bar_bytes`, unless 0, gives a BAR to a device without
    /// one.
    ///
    /// # Errors
    /// The node is no device, has a BAR already, or the BAR has no room.
    pub fn attach(&mut self, node: NodeId, bar_bytes: u64) -> Result<(), Refusal> {
        let name = self
            .topology()
            .nodes()
            .get(node as usize)
            .map_or_else(|| node.to_string(), |node| node.name.clone());
        let Some(end) = self.ends.get_mut(node as usize).and_then(Option::as_mut).filter(|end| !end.is_host)
        else {
            return Err(Refusal::new("no device")
                .about(name)
                .remedy("attach to a device of the description"));
        };
        if bar_bytes > 0 {
            self.regions.add(node, bar_bytes).map_err(|refusal| refusal.about(name))?;
        }
        end.is_attached = true;
        Ok(())
    }

    fn end(&self, node: NodeId) -> Option<&End> {
        self.ends.get(node as usize)?.as_ref()
    }

    /// Credits that a node has left: its port's room for TLPs that have not left.
    ///
    /// # Errors
    /// There is no such host or device.
    pub fn credits(&self, node: NodeId) -> Result<Units, MachineError> {
        Ok(self.end(node).ok_or(MachineError::Node(node))?.credits)
    }

    /// Reads of a node in flight, those of its transfers included.
    ///
    /// # Errors
    /// There is no such host or device.
    pub fn reads_in_flight(&self, node: NodeId) -> Result<u32, MachineError> {
        let end = self.end(node).ok_or(MachineError::Node(node))?;
        Ok(end.tags.len() as u32 + end.engine.reads)
    }

    /// Whether a tag and credits are free for a TLP of a node.
    #[must_use]
    pub fn has_room(&self, node: NodeId, tlp: &Tlp) -> bool {
        let has_tag = |end: &End| tlp.kind != Kind::Read || !end.tags.contains_key(&tlp.tag);
        self.end(node).is_some_and(|end| has_tag(end) && end.credits.lacking(&Units::of(tlp)).is_none())
    }

    /// Sends a TLP of a node that is complete at `ready`: at the present time or later. A message goes to the node that
    /// has its address, with address 0 to the nearest host, and so do interrupts.
    ///
    /// # Errors
    /// Names what the TLP violates; nothing is changed.
    pub fn submit(&mut self, node: NodeId, tlp: &Tlp, ready: Picoseconds) -> Result<(), MachineError> {
        self.check_time(ready)?;
        let target = self.target(node, tlp)?;
        let end = self.ends[node as usize].as_ref().ok_or(MachineError::Node(node))?;
        if let Some(name) = end.credits.lacking(&Units::of(tlp)) {
            return Err(TlpError::NoCredits(name).into());
        }
        if tlp.kind == Kind::Read && end.tags.contains_key(&tlp.tag) {
            return Err(TlpError::TagInUse(tlp.tag).into());
        }
        self.send(node, *tlp, target, ready, None);
        Ok(())
    }

    fn check_time(&self, ready: Picoseconds) -> Result<(), MachineError> {
        if ready < self.now {
            return Err(TlpError::Past { ready, passed: self.now }.into());
        }
        if ready > TIME_MOST { Err(TlpError::Late(ready).into()) } else { Ok(()) }
    }

    /// Checks a TLP of a node, and finds who has its address.
    fn target(&self, node: NodeId, tlp: &Tlp) -> Result<Target, MachineError> {
        let end = self.end(node).ok_or(MachineError::Node(node))?;
        if tlp.is_signal() {
            tlp.check_signal()?;
            if tlp.kind == Kind::Message && tlp.address > 0 {
                return self.owner(node, tlp.address, 1);
            }
            let host = end.host.filter(|&host| host != node);
            return host.map(Target::signal).ok_or(MachineError::Route { from: node, to: node });
        }
        if tlp.kind == Kind::Read && tlp.tag >= TAGS {
            return Err(TlpError::Tag(tlp.tag).into());
        }
        let (most, limit) = if tlp.kind == Kind::Read {
            (self.mrrs_bytes(), "MRRS")
        } else {
            (self.topology().mps_bytes(), "MPS")
        };
        let Tlp { address, length, .. } = *tlp;
        if length == 0 || u64::from(length) + address % 4 > u64::from(most) {
            return Err(TlpError::Length { length, most, limit }.into());
        }
        if address % u64::from(PAGE_BYTES) + u64::from(length) > u64::from(PAGE_BYTES) {
            return Err(TlpError::CrossesPage { address, length }.into());
        }
        self.owner(node, address, length.into())
    }

    /// Who has some addresses, for a node that is not itself the owner.
    fn owner(&self, node: NodeId, address: u64, length: u64) -> Result<Target, MachineError> {
        let target = self.regions.target(address, length).ok_or(MachineError::Address { address })?;
        let mut edges = vec![];
        if target.node != node {
            self.topology().route(node, target.node, &mut edges);
        }
        if edges.is_empty() || edges.iter().any(|&edge| self.topology().is_beside_pcie(edge)) {
            return Err(MachineError::Route { from: node, to: target.node });
        }
        Ok(target)
    }

    /// Sends a TLP that has been checked.
    fn send(&mut self, node: NodeId, tlp: Tlp, target: Target, ready: Picoseconds, transfer: Option<u64>) {
        let Some(end) = self.ends[node as usize].as_mut() else { return };
        end.credits = end.credits.without(&Units::of(&tlp));
        let (class, payload, underway) = if tlp.kind == Kind::Read {
            let request = self.next_request;
            self.next_request += 1;
            match transfer {
                Some(_) => end.engine.reads += 1,
                None => {
                    end.tags.insert(tlp.tag, request);
                }
            }
            let Tlp { tag, address, length, .. } = tlp;
            let read = Request {
                from: node,
                tag,
                transfer,
                target,
                address,
                length,
                to_answer: length,
                to_arrive: length,
                is_there: false,
                is_lost: false,
                is_given_up: false,
            };
            self.requests.insert(request, read);
            (Class::NonPosted, 0, Underway::Read { from: node, request, is_of_transfer: transfer.is_some() })
        } else {
            let payload = if tlp.kind == Kind::Message { 0 } else { tlp.length as u16 };
            (Class::Posted, payload, Underway::Posted { from: node, tlp, target, transfer })
        };
        self.launch(ready, (node, target.node), class, payload, underway);
    }

    fn launch(
        &mut self,
        at: Picoseconds,
        route: (NodeId, NodeId),
        class: Class,
        payload: u16,
        underway: Underway,
    ) {
        let number = self.free.pop().unwrap_or(self.underway.len() as u32);
        match self.underway.get_mut(number as usize) {
            Some(slot) => *slot = underway,
            None => self.underway.push(underway),
        }
        self.fabric.send(at, route, class, payload, number);
    }

    /// Answers a read at its completer with the next `length` bytes, which are ready at `ready`. The outcomes
    /// `Unsupported`, `Aborted` and `Lost` answer all of it and have no bytes: give 0.
    ///
    /// # Errors
    /// The node has no such read to answer, the bytes are none or more than are left, or the time has passed.
    pub fn complete(
        &mut self,
        node: NodeId,
        request: u64,
        length: u32,
        ready: Picoseconds,
        outcome: Outcome,
    ) -> Result<(), MachineError> {
        self.check_time(ready)?;
        let is_attached = self.end(node).is_some_and(|end| end.is_attached);
        let mps = self.topology().mps_bytes();
        let read = self.requests.get_mut(&request);
        let read = read
            .filter(|read| is_attached && read.target.node == node && read.is_there && read.to_answer > 0);
        let Some(read) = read else { return Err(MachineError::Request(request)) };
        let has_data = matches!(outcome, Outcome::Data | Outcome::Poisoned);
        let fits = if has_data { (1..=read.to_answer).contains(&length) } else { length == 0 };
        if !fits {
            return Err(TlpError::Length { length, most: read.to_answer, limit: "rest of the read" }.into());
        }
        let route = (node, read.from);
        if !has_data {
            let length = std::mem::take(&mut read.to_answer);
            if outcome == Outcome::Lost {
                read.is_lost = true;
            } else {
                let underway = Underway::Completion { request, length, outcome };
                self.launch(ready, route, Class::Completion, 0, underway);
            }
            return Ok(());
        }
        let after = read.to_answer - length;
        let mut parts = vec![];
        while read.to_answer > after {
            let before = read.to_answer;
            let part = read.part(mps).min(before - after);
            read.to_answer = before - part;
            parts.push(part);
        }
        for length in parts {
            let underway = Underway::Completion { request, length, outcome };
            self.launch(ready, route, Class::Completion, length as u16, underway);
        }
        Ok(())
    }

    /// Gives up a read, as a device does after its completion timeout: its tag is free, and completions that still come
    /// are no events.
    ///
    /// # Errors
    /// No read in flight has the tag.
    pub fn give_up(&mut self, node: NodeId, tag: u16) -> Result<(), MachineError> {
        let end =
            self.ends.get_mut(node as usize).and_then(Option::as_mut).ok_or(MachineError::Node(node))?;
        let request = end.tags.remove(&tag).ok_or(TlpError::NoRead(tag))?;
        let is_lost = self.requests.get_mut(&request).is_some_and(|read| {
            read.is_given_up = true;
            read.is_lost
        });
        if is_lost {
            self.requests.remove(&request);
        }
        Ok(())
    }

    /// Moves time on. An earlier time changes nothing.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn advance(&mut self, to: Picoseconds) -> Result<(), MachineError> {
        if to > TIME_MOST {
            return Err(TlpError::Late(to).into());
        }
        while self.progress(to) {}
        self.now = self.now.max(to);
        Ok(())
    }

    /// Handles the next thing up to a time; returns whether there was one.
    fn progress(&mut self, to: Picoseconds) -> bool {
        let timer = self.timers.next_time().filter(|at| *at <= to);
        let until = timer.map_or(to, |at| at.min(to));
        if let Some((now, step)) = self.fabric.step(until) {
            self.now = self.now.max(now);
            match step {
                Step::Left(number) => self.left(number),
                Step::Arrived(number) => self.arrived(number),
            }
            return true;
        }
        let Some((now, timer)) = timer.and_then(|_| self.timers.pop()) else { return false };
        self.now = self.now.max(now);
        match timer {
            Timer::Pump(node) => self.pump(node),
            Timer::Written { from, tlp, node, transfer } => self.written(from, node, &tlp, transfer),
        }
        true
    }

    /// Gives a port its room back.
    fn left(&mut self, number: u32) {
        let (node, units, is_own) = match self.underway[number as usize] {
            Underway::Posted { from, tlp, transfer, .. } => (from, Units::of(&tlp), transfer.is_some()),
            Underway::Read { from, is_of_transfer, .. } => {
                (from, Units { non_posted_headers: 1, ..Units::default() }, is_of_transfer)
            }
            Underway::Completion { .. } => return,
        };
        if let Some(end) = self.ends[node as usize].as_mut() {
            end.credits = end.credits.with(&units);
        }
        if !is_own {
            self.events.push_back(Event::Credits { at: self.now, node, units });
        }
        self.pump(node);
    }

    /// A TLP is at its destination.
    fn arrived(&mut self, number: u32) {
        self.free.push(number);
        match self.underway[number as usize] {
            Underway::Posted { from, tlp, target, transfer } => self.posted(from, tlp, target, transfer),
            Underway::Read { request, .. } => self.asked(request),
            Underway::Completion { request, length, outcome } => self.answered(request, length, outcome),
        }
    }

    /// A write or a message is at its destination.
    fn posted(&mut self, from: NodeId, tlp: Tlp, target: Target, transfer: Option<u64>) {
        let (node, at) = (target.node, self.now);
        if tlp.is_signal() {
            self.events.push_back(Event::Message { at, node, from, address: tlp.address, tag: tlp.tag });
            return;
        }
        if self.end(node).is_some_and(|end| end.is_attached || end.is_host) {
            return self.written(from, node, &tlp, transfer);
        }
        let at = self.fabric.write(at, target.memory, tlp.length.into());
        self.timers.push(at, Timer::Written { from, tlp, node, transfer });
    }

    /// The data of a write are in memory, or at whoever stands for the device.
    fn written(&mut self, from: NodeId, node: NodeId, tlp: &Tlp, transfer: Option<u64>) {
        if transfer.is_none() || self.end(node).is_some_and(|end| end.is_attached) {
            let Tlp { address, length, tag, .. } = *tlp;
            self.events.push_back(Event::Write { at: self.now, node, from, address, length, tag, transfer });
        }
        if let Some(transfer) = transfer {
            self.moved(from, transfer, tlp.length);
        }
    }

    /// A read request is at its completer.
    fn asked(&mut self, request: u64) {
        let (at, mps) = (self.now, self.topology().mps_bytes());
        let Some(read) = self.requests.get_mut(&request) else { return };
        read.is_there = true;
        let Request { from, address, length, target, .. } = *read;
        let of = |node: NodeId| self.ends.get(node as usize).and_then(Option::as_ref);
        if of(target.node).is_some_and(|end| end.is_attached) {
            self.events.push_back(Event::Read { at, node: target.node, from, request, address, length });
            return;
        }
        let for_device = of(from).is_some_and(|end| !end.is_host);
        let mut parts = vec![];
        while read.to_answer > 0 {
            parts.push(read.part(mps));
        }
        for length in parts {
            let ready = self.fabric.read(at, target.memory, length.into(), for_device);
            let underway = Underway::Completion { request, length, outcome: Outcome::Data };
            self.launch(ready, (target.node, from), Class::Completion, length as u16, underway);
        }
    }

    /// A completion is at the reader.
    fn answered(&mut self, request: u64, length: u32, outcome: Outcome) {
        let Some(read) = self.requests.get_mut(&request) else { return };
        let byte_count = read.to_arrive;
        read.to_arrive -= length;
        let (last, read) = (read.to_arrive == 0, *read);
        if last {
            self.requests.remove(&request);
        }
        let Some(end) = self.ends[read.from as usize].as_mut() else { return };
        if let Some(transfer) = read.transfer {
            end.engine.reads -= u32::from(last);
            self.moved(read.from, transfer, length);
            return self.pump(read.from);
        }
        if read.is_given_up {
            return;
        }
        if last {
            end.tags.remove(&read.tag);
        }
        let has_data = matches!(outcome, Outcome::Data | Outcome::Poisoned);
        let completion = Completion {
            at: self.now,
            tag: read.tag,
            offset: u64::from(read.length - byte_count),
            address: read.address + u64::from(read.length - byte_count),
            length: if has_data { length } else { 0 },
            byte_count,
            last,
            outcome,
        };
        self.events.push_back(Event::Completion { node: read.from, from: read.target.node, completion });
    }

    /// The next event up to the present time.
    pub fn take(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Moves time on to the next event, at most to `until`, and takes it. Without `until`, time stays where it is if
    /// nothing is under way.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn wait(&mut self, until: Option<Picoseconds>) -> Result<Option<Event>, MachineError> {
        if let Some(late) = until.filter(|until| *until > TIME_MOST) {
            return Err(TlpError::Late(late).into());
        }
        loop {
            if let Some(event) = self.take() {
                return Ok(Some(event));
            }
            if !self.progress(until.unwrap_or(TIME_MOST)) {
                self.now = self.now.max(until.unwrap_or(self.now));
                return Ok(None);
            }
        }
    }

    /// Time before which there is no event without further TLPs; `None` if nothing is under way. Advancing to it makes
    /// progress, but may bring no event yet.
    pub fn next_at(&mut self) -> Option<Picoseconds> {
        let waiting = self.events.front().map(|_| self.now);
        [waiting, self.timers.next_time(), self.fabric.next_at()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = include_str!("../../../profiles/fabrics/two-cores.toml");

    fn machine() -> (Machine, [NodeId; 3]) {
        let machine = Machine::new(read_description(TWO.as_bytes()).unwrap(), Options::default()).unwrap();
        let nodes = ["host", "A", "B"].map(|name| machine.node(name).unwrap());
        (machine, nodes)
    }

    fn tlp(kind: Kind, address: u64, length: u32, tag: u16) -> Tlp {
        Tlp { kind, tag, address, length, relaxed: false }
    }

    fn drain(machine: &mut Machine) -> Vec<Event> {
        std::iter::from_fn(|| machine.wait(None).unwrap()).collect()
    }

    #[test]
    fn completions_cover_a_read_in_order_and_everything_comes_back() {
        let (mut machine, [host, a, b]) = machine();
        let before = machine.credits(a).unwrap();
        let options = Options { mrrs_bytes: Some(1024), ..Options::default() };
        let mut larger = Machine::new(machine.topology().clone(), options).unwrap();
        larger.submit(a, &tlp(Kind::Read, 4096 + 60, 900, 7), Picoseconds::ZERO).unwrap();
        let mut next = 4096 + 60;
        for event in drain(&mut larger) {
            let Event::Completion { node, from, completion } = event else { continue };
            assert_eq!((node, from, completion.tag, completion.address), (a, host, 7, next));
            assert_eq!(u64::from(completion.byte_count), 4096 + 960 - next);
            next += u64::from(completion.length);
            assert_eq!(completion.last, next == 4096 + 960);
        }
        assert_eq!((next, larger.reads_in_flight(a)), (4096 + 960, Ok(0)));
        let bar = machine.region(b).unwrap().0;
        for number in 0..4 {
            machine
                .submit(a, &tlp(Kind::Write, bar + 256 * number, 256, number as u16), Picoseconds::ZERO)
                .unwrap();
        }
        assert!(machine.credits(a).unwrap().posted_data < before.posted_data);
        machine.submit(a, &tlp(Kind::Write, 0xfee0_0000, 4, 9), Picoseconds::ZERO).unwrap();
        let events = drain(&mut machine);
        assert!(events.is_sorted_by_key(Event::at));
        let writes = events.iter().filter(|event| matches!(event, Event::Write { node, .. } if *node == b));
        assert_eq!(writes.count(), 4);
        assert!(
            events.iter().any(|event| matches!(event, Event::Message { node, tag: 9, .. } if *node == host))
        );
        assert_eq!((machine.credits(a), machine.next_at()), (Ok(before), None));
    }

    #[test]
    fn a_device_answers_for_itself_with_data_errors_or_nothing() {
        let (mut machine, [_, a, b]) = machine();
        machine.attach(b, 0).unwrap();
        let bar = machine.region(b).unwrap().0;
        for (tag, outcome) in [Outcome::Data, Outcome::Unsupported, Outcome::Lost].into_iter().enumerate() {
            let tag = tag as u16;
            machine.submit(a, &tlp(Kind::Read, bar, 256, tag), machine.now()).unwrap();
            let asked = std::iter::from_fn(|| machine.wait(None).unwrap());
            let asked =
                asked.filter_map(
                    |event| if let Event::Read { request, .. } = event { Some(request) } else { None },
                );
            let [request] = asked.collect::<Vec<_>>()[..] else { panic!("no read") };
            assert_eq!(
                machine.complete(a, request, 4, machine.now(), outcome),
                Err(MachineError::Request(request))
            );
            if outcome == Outcome::Data {
                machine.complete(b, request, 100, machine.now(), outcome).unwrap();
                machine.complete(b, request, 157, machine.now(), outcome).unwrap_err();
                machine.complete(b, request, 156, machine.now(), outcome).unwrap();
            } else {
                machine.complete(b, request, 0, machine.now(), outcome).unwrap();
            }
            machine.complete(b, request, 1, machine.now(), outcome).unwrap_err();
            let answers = drain(&mut machine).into_iter().filter_map(|event| {
                if let Event::Completion { completion, .. } = event {
                    Some((completion.length, completion.last))
                } else {
                    None
                }
            });
            let expected = match outcome {
                Outcome::Data => vec![(100, false), (156, true)],
                Outcome::Lost => vec![],
                _ => vec![(0, true)],
            };
            assert_eq!(answers.collect::<Vec<_>>(), expected, "{outcome:?}");
            assert_eq!(machine.reads_in_flight(a), Ok(u32::from(outcome == Outcome::Lost)));
        }
        machine.give_up(a, 2).unwrap();
        assert_eq!(machine.give_up(a, 2), Err(TlpError::NoRead(2).into()));
        assert_eq!(machine.reads_in_flight(a), Ok(0));
    }

    #[test]
    fn events_do_not_depend_on_the_steps_of_time() {
        let run = |step: Option<u64>| {
            let (mut machine, [_, a, b]) = machine();
            let bar = machine.region(b).unwrap().0;
            for (number, kind) in [Kind::Write, Kind::Read, Kind::Write].into_iter().enumerate() {
                let at = Picoseconds(20_000 * number as u64);
                machine.transfer(a, kind, bar + 100, 100_000, at).unwrap();
                machine.transfer(b, kind, 5, 5_000, at).unwrap();
            }
            let Some(step) = step else { return drain(&mut machine) };
            let mut found = vec![];
            while machine.next_at().is_some() {
                machine.advance(machine.now() + Picoseconds(step)).unwrap();
                found.extend(std::iter::from_fn(|| machine.take()));
            }
            found
        };
        let whole = run(None);
        assert_eq!(whole.iter().filter(|event| matches!(event, Event::Done { .. })).count(), 6);
        assert_eq!(whole, run(Some(777)));
        assert_eq!(whole, run(Some(1 << 40)));
    }

    #[test]
    fn what_is_wrong_is_refused_and_changes_nothing() {
        let (mut machine, [host, a, b]) = machine();
        let bar = machine.region(b).unwrap().0;
        let (before, zero) = (machine.credits(a).unwrap(), Picoseconds::ZERO);
        for wrong in [
            tlp(Kind::Write, bar, 257, 0),
            tlp(Kind::Write, bar, 0, 0),
            tlp(Kind::Write, bar + 4090, 16, 0),
            tlp(Kind::Write, machine.region(a).unwrap().0, 16, 0),
            tlp(Kind::Read, bar + (2 << 20) - 4, 8, 0),
            tlp(Kind::Read, u64::MAX, 1, 0),
            tlp(Kind::Read, bar, 4, TAGS),
            tlp(Kind::Message, 8, 4, 0),
        ] {
            machine.submit(a, &wrong, zero).unwrap_err();
        }
        let good = tlp(Kind::Read, bar, 64, 1);
        assert_eq!(machine.submit(99, &good, zero), Err(MachineError::Node(99)));
        machine.transfer(a, Kind::Write, bar, 3 << 20, zero).unwrap_err();
        machine.attach(host, 0).unwrap_err();
        machine.attach(b, 4096).unwrap_err();
        assert!(machine.node("switch").unwrap_err().to_string().contains("no host or device"));
        assert_eq!((machine.credits(a), machine.next_at()), (Ok(before), None));
        machine.submit(a, &good, zero).unwrap();
        assert_eq!(machine.submit(a, &good, zero), Err(TlpError::TagInUse(1).into()));
        machine.advance(Picoseconds(5)).unwrap();
        assert!(matches!(
            machine.submit(a, &tlp(Kind::Read, bar, 64, 2), zero),
            Err(MachineError::Tlp(TlpError::Past { .. }))
        ));
    }

    #[test]
    fn a_described_machine_has_routes_between_its_devices() {
        let text = "kind = \"machine\"\nname = \"box\"\nsockets = 2\n[[switch]]\nname = \"sw\"\nlink = \"gen5x16\"\nsocket = 1\n\
            [[device]]\nname = \"gpu0..1\"\nkind = \"gpu\"\nlink = \"gen5x16\"\nbelow = \"sw\"\n[[device]]\nname = \"odd\"\n\
            kind = \"device\"\nlink = \"gen4x4\"\nsocket = 0\n[[peers]]\nkind = \"nvlink\"\ndevices = \"gpu0..1\"\n";
        let mut machine =
            Machine::new(read_description(text.as_bytes()).unwrap(), Options::default()).unwrap();
        let [gpu0, gpu1, odd] = ["gpu0", "gpu1", "odd"].map(|name| machine.node(name).unwrap());
        machine.attach(odd, 1 << 20).unwrap();
        let second = machine.region(machine.node("host1").unwrap()).unwrap().0;
        for (from, to) in
            [(gpu0, machine.region(gpu1).unwrap().0), (odd, second), (gpu1, machine.region(odd).unwrap().0)]
        {
            machine.transfer(from, Kind::Write, to, 10_000, Picoseconds::ZERO).unwrap();
        }
        assert_eq!(drain(&mut machine).iter().filter(|event| matches!(event, Event::Done { .. })).count(), 3);
        let refused =
            read_description(text.replace("gen5x16", "gen9x16").as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("link") && refused.contains("gen5x16"), "{refused}");
    }
}
