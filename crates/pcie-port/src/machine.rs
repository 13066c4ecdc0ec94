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
mod progress;
mod regions;
#[cfg(test)]
mod tests;
mod transfers;

pub use described::read_description;
pub use error::MachineError;
pub use event::Event;
pub use pcie_fabric::NodeId;
pub use pcie_fabric::simulate::Discipline;

use crate::endpoint::Units;
use crate::tlp::{Kind, Outcome, TAGS, TIME_MOST, Tlp, TlpError};
use end::End;
use pcie_fabric::Topology;
use pcie_fabric::simulate::{Class, Stepped};
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
}
