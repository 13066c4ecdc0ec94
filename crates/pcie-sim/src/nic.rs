//! A NIC on the simulated machine: does it sustain line rate on that host?
//!
//! The steps of NIC and driver for each packet, with queues and buffers, are those of the closed-form model
//! ([`Interactions`]). Here they are simulated: doorbells and register reads cross the link, descriptors are
//! prefetched in batches, packets go both ways at once, rings and buffers have lines in the caches and pages
//! in the IO-TLB, and packets arrive at the line's pace and are dropped when the NIC's buffer is full. Ports,
//! root complex, caches, IOMMU and memory are those of benchmarks.
//!
//! The processor is not simulated: the driver responds at once, so losses are due to the NIC, the link and
//! the host's memory system. The NIC has no pipelines either: it starts each step as soon as it can.

mod bounds;
mod bus;
mod event;
mod layout;
mod moderation;
mod outcome;
mod page_pool;
mod pairs;
mod path;
mod set;

pub use bounds::LinkBound;
pub use outcome::{NicBound, NicOutcome, StepOutcome};
pub use set::NicSet;

use crate::cache::history::TestKey;
use crate::machine::Machine;
use bus::Bus;
pub(crate) use bus::REGISTER_BYTES;
use event::{Access, NicEvent, Timer};
use layout::Layout;
use moderation::Moderation;
use outcome::{Held, Measured};
use path::{Progress, Shape};
use pcie_model::{Ethernet, Interactions, Kind, Path};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Direction of a NIC's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It receives, and forwards every packet: equal numbers of packets in both directions.
    Both,
    /// It sends.
    Tx,
    /// It receives.
    Rx,
}

/// Packets on the line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// The line.
    pub ethernet: Ethernet,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: u64,
    /// Direction of the traffic.
    pub direction: Direction,
    /// Packets before the counted ones.
    pub warm_up_packets: u32,
    /// Counted packets.
    pub packets: u32,
    /// NICs of this kind below one root complex, each with a line of its own; they share pools, IOMMU and memory.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 16))]
    pub nics: u32,
}

const fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    path: usize,
    stage: usize,
    group: u64,
}

const PATHS: [Path; 2] = [Path::Tx, Path::Rx];
const TX: usize = 0;
/// The counter of bytes in the FIFO for received packets.
const RECEIVE_FIFO: &str = "bytes in the receive FIFO";
const RX: usize = 1;

/// A running NIC, one of a [`NicSet`].
#[derive(Debug)]
struct NicRun<'a> {
    nic: &'a Interactions,
    traffic: Traffic,
    bus: Bus<'a>,
    layout: Layout,
    paths: [Option<Progress>; 2],
    owners: Vec<Option<Owner>>,
    packet_bytes: u64,
    interval: Picoseconds,
    /// Packets accepted from the line, arrival times of the unfinished ones, and bytes in the FIFO.
    accepted: u64,
    arrived_at: VecDeque<Picoseconds>,
    received_bytes: u64,
    /// Packets passed to the line, packets that have left, and when the line is free.
    given: u64,
    left: u64,
    line_free: Picoseconds,
    measured: Measured,
}

impl<'a> NicRun<'a> {
    /// Attaches the nth NIC to a machine.
    fn new(
        machine: &'a Machine,
        nic: &'a Interactions,
        traffic: Traffic,
        key: TestKey,
        nth: u32,
    ) -> Result<Self, Refusal> {
        let packet_bytes = Ethernet::transferred_bytes(traffic.frame_bytes)?;
        check_queues(nic, traffic.frame_bytes, packet_bytes)?;
        let layout = Layout::new(nic, machine.system(), key, nth)?;
        let wanted = match traffic.direction {
            Direction::Both => [true, true],
            Direction::Tx => [true, false],
            Direction::Rx => [false, true],
        };
        let mut paths = [None, None];
        for (index, (path, wanted)) in PATHS.into_iter().zip(wanted).enumerate() {
            if wanted {
                paths[index] = Some(Progress::new(nic, path).ok_or_else(|| one_way(path))?);
            }
        }
        let interval = Picoseconds::from_ns(traffic.ethernet.interval_ns(traffic.frame_bytes));
        Ok(Self {
            nic,
            traffic,
            bus: Bus::new(machine, key, nic.steps.len(), layout.used_bytes()),
            layout,
            paths,
            owners: Vec::new(),
            packet_bytes,
            interval,
            accepted: 0,
            arrived_at: VecDeque::new(),
            received_bytes: 0,
            given: 0,
            left: 0,
            line_free: Picoseconds::ZERO,
            measured: Measured::new(nic.steps.len()),
        })
    }

    fn machine(&self) -> &'a Machine {
        self.bus.machine()
    }

    /// Begins with the first packet.
    fn begin_traffic(&mut self) {
        if self.paths[RX].is_some() {
            self.bus.wake_at(self.interval, Timer::Arrived);
        }
        self.begin_all();
    }

    /// Simulates up to the next event that the NIC or its driver sees.
    fn step(&mut self) -> Result<(), Refusal> {
        let event = self.bus.next().ok_or_else(stuck)?;
        self.handle(event);
        self.begin_all();
        for path in [TX, RX] {
            let (held, now) = (self.held_back(path), self.bus.now());
            self.measured.holds(path, held, now);
        }
        let first = u64::from(self.traffic.warm_up_packets);
        if !self.measured.is_counting() && self.finished() >= first {
            self.measured.start(self.bus.now(), self.finished(), self.bus.counted());
        }
        Ok(())
    }

    /// Whether all counted packets are finished.
    fn is_done(&self) -> bool {
        self.finished() >= u64::from(self.traffic.warm_up_packets) + u64::from(self.traffic.packets)
    }

    /// Whether it drops packets from the line for ever, because it is deadlocked.
    fn is_deadlocked(&self) -> bool {
        self.measured.dropped_in_a_row() > self.dropped_for_ever()
    }

    /// The results of the counted packets.
    fn outcome(&mut self) -> NicOutcome {
        let (now, finished, counted) = (self.bus.now(), self.finished(), self.bus.counted());
        let measured = std::mem::replace(&mut self.measured, Measured::new(self.nic.steps.len()));
        measured.outcome(self.nic, now, finished, &counted, self.interval)
    }

    /// More consecutive drops than a working NIC can have: many rings, and the packets between interrupts.
    fn dropped_for_ever(&self) -> u64 {
        let moderation = self.nic.steps.iter().filter_map(|step| step.moderation_ns).max().unwrap_or(0);
        let held_back = (f64::from(moderation) / self.interval.as_ns()).ceil() as u64;
        1024 * u64::from(self.nic.queues.ring_descriptors) * u64::from(self.nic.queues.pairs) + 2 * held_back
    }

    /// Finished packets: sent to the line, or received by the driver.
    fn finished(&self) -> u64 {
        match self.traffic.direction {
            Direction::Both | Direction::Tx => self.left,
            Direction::Rx => self.done_with(RX),
        }
    }

    fn done_with(&self, path: usize) -> u64 {
        self.paths[path].as_ref().map_or(0, Progress::finished)
    }

    fn handle(&mut self, event: NicEvent) {
        match event {
            NicEvent::Timer(Timer::Arrived) => self.packet_arrives(),
            NicEvent::Timer(Timer::Left) => {
                debug_assert!(self.left < self.given, "a packet leaves before it is sent");
                self.left += 1;
            }
            NicEvent::Timer(Timer::Moderated) => (),
            NicEvent::Sent(access) => {
                let Some(owner) = self.owner(access) else { return };
                if let Some(progress) = &self.paths[owner.path] {
                    let shape = progress.stages[owner.stage].shape;
                    self.leaves_the_fifo(owner.path, shape);
                }
            }
            NicEvent::Done { access, sent_at } => self.access_done(access, sent_at),
        }
    }

    fn owner(&self, access: Access) -> Option<Owner> {
        self.owners.get(access as usize).copied().flatten()
    }

    fn access_done(&mut self, access: Access, sent_at: Picoseconds) {
        let owner = self.owners[access as usize].take();
        debug_assert!(owner.is_some(), "access {access} is done before it began");
        let Some(owner) = owner else { return };
        let now = self.bus.now();
        let Some(progress) = &mut self.paths[owner.path] else { return };
        let shape = progress.stages[owner.stage].shape;
        self.measured.access(shape.step, now.since(sent_at));
        let before = progress.finished();
        progress.done(owner.stage, owner.group);
        let (finished, crossed) = (progress.finished(), progress.crossed());
        if !shape.is_posted() {
            self.leaves_the_fifo(owner.path, shape);
        }
        if owner.path == RX {
            for at in self.arrived_at.drain(..(finished - before) as usize) {
                self.measured.received(now.since(at));
            }
            return;
        }
        while self.given < crossed {
            self.given += 1;
            self.line_free = self.line_free.max(now) + self.interval;
            self.bus.wake_at(self.line_free, Timer::Left);
        }
    }

    /// A received packet leaves the FIFO once it is on its way to memory.
    fn leaves_the_fifo(&mut self, path: usize, shape: Shape) {
        if path == RX && shape.moves_packet {
            debug_assert!(self.received_bytes >= self.packet_bytes, "the FIFO underflows");
            self.received_bytes -= self.packet_bytes;
            self.bus.count(RECEIVE_FIFO, -(self.packet_bytes as i64));
        }
    }

    fn packet_arrives(&mut self) {
        self.bus.wake_at(self.bus.now() + self.interval, Timer::Arrived);
        let room = self.received_bytes + self.packet_bytes <= u64::from(self.nic.queues.receive_fifo_bytes);
        self.measured.arrived(room);
        if room {
            self.received_bytes += self.packet_bytes;
            self.bus.count(RECEIVE_FIFO, self.packet_bytes as i64);
            self.accepted += 1;
            self.arrived_at.push_back(self.bus.now());
        }
    }

    /// Begins all possible groups of all steps, last steps first: a packet's write-back follows it at once.
    fn begin_all(&mut self) {
        let mut began = true;
        while began {
            began = false;
            for path in [RX, TX] {
                let stages = self.paths[path].as_ref().map_or(0, |progress| progress.stages.len());
                for stage in (0..stages).rev() {
                    if let Some(packets) = self.next_group(path, stage) {
                        self.begin(path, stage, packets);
                        began = true;
                    }
                }
            }
        }
        self.plan_moderated();
    }

    /// Packets of the next group of a stage; `None` if it cannot begin.
    fn next_group(&self, path: usize, stage: usize) -> Option<u64> {
        let progress = self.paths[path].as_ref()?;
        let ready = progress.ready_for(stage).unwrap_or_else(|| self.supply(path));
        let packets = progress.stages[stage].next_group(ready, self.bus.now())?;
        self.has_room(path, stage, packets).then_some(packets)
    }

    /// Whether the NIC has room for the descriptors, or has the packets, of a group of a stage.
    fn has_room(&self, path: usize, stage: usize, packets: u64) -> bool {
        let Some(progress) = &self.paths[path] else { return false };
        let (begun, one) = (progress.stages[stage].begun, progress.stages[stage].shape);
        let needed = begun + packets;
        let queues = &self.nic.queues;
        let moved = &progress.stages[progress.packet_stage];
        if stage < progress.packet_stage && one.kind == Kind::DmaRead {
            return needed <= moved.begun + u64::from(queues.descriptors_held);
        }
        match (one.moves_packet, path) {
            (false, _) => true,
            (true, TX) => {
                let under_way = (begun - self.left + 1) * self.packet_bytes;
                under_way <= u64::from(queues.transmit_fifo_bytes)
            }
            (true, _) => needed <= self.accepted,
        }
    }

    /// What keeps a path from moving its next packet: looks from the step that moves packets back to the first one that
    /// could begin but for a resource. `None` where it waits for packets.
    fn held_back(&self, path: usize) -> Option<Held> {
        let progress = self.paths[path].as_ref()?;
        for stage in (0..=progress.packet_stage).rev() {
            let one = &progress.stages[stage];
            let ready = progress.ready_for(stage).unwrap_or_else(|| self.supply(path));
            if let Some(packets) = one.next_group(ready, self.bus.now()) {
                return match (self.has_room(path, stage, packets), one.shape.moves_packet, path) {
                    (false, false, _) => Some(Held::Descriptors),
                    (false, true, TX) => Some(Held::TransmitFifo),
                    _ => None,
                };
            }
            if ready > one.begun {
                return Some(if one.moderation.is_some() { Held::Moderation } else { Held::Batch });
            }
        }
        let waits_for_packets = self.traffic.direction == Direction::Both
            && path == TX
            && self.done_with(RX) <= self.supply(path);
        (!waits_for_packets).then_some(Held::Ring)
    }

    /// Packets for which the driver has supplied buffers so far.
    fn supply(&self, path: usize) -> u64 {
        let ring = u64::from(self.nic.queues.ring_descriptors) * u64::from(self.nic.queues.pairs);
        match (self.traffic.direction, path) {
            (Direction::Both, TX) => self.done_with(RX).min(self.done_with(TX) + ring),
            // A buffer is returned once its packet has been forwarded.
            (Direction::Both, _) => self.done_with(TX) + ring,
            _ => self.done_with(path) + ring,
        }
    }

    /// Plans the moderated interrupts that packets wait for.
    fn plan_moderated(&mut self) {
        for progress in self.paths.iter_mut().flatten() {
            for stage in 1..progress.stages.len() {
                let waiting = progress.ready_for(stage) > Some(progress.stages[stage].begun);
                let moderation = progress.stages[stage].moderation.as_mut().filter(|_| waiting);
                if let Some(at) = moderation.and_then(Moderation::wake_at) {
                    self.bus.wake_at(at, Timer::Moderated);
                }
            }
        }
    }

    fn begin(&mut self, path: usize, stage: usize, packets: u64) {
        let Some(progress) = &mut self.paths[path] else { return };
        let shape = progress.stages[stage].shape;
        let group = progress.stages[stage].begin(packets, self.bus.now());
        if stage == 0 {
            self.driver_writes(path, shape, group);
        }
        let pieces = self.layout.pieces(PATHS[path], shape, group, self.packet_bytes);
        let access = self.bus.begin(shape, &pieces);
        let index = access as usize;
        if index >= self.owners.len() {
            self.owners.resize(index + 1, None);
        }
        self.owners[index] = Some(Owner { path, stage, group });
    }

    /// The driver's writes before a doorbell: descriptors, packets, or the first line of forwarded packets.
    fn driver_writes(&mut self, path: usize, shape: Shape, group: u64) {
        const DESCRIPTOR_BYTES: u64 = 16;
        let bytes = DESCRIPTOR_BYTES * shape.period;
        let descriptors = self.layout.descriptors(PATHS[path], shape, bytes, group);
        self.bus.written_by_host(descriptors);
        if path == RX {
            return;
        }
        let written_bytes = match self.traffic.direction {
            Direction::Both => self.packet_bytes.min(64),
            Direction::Tx | Direction::Rx => self.packet_bytes,
        };
        for packet in group * shape.period..(group + 1) * shape.period {
            for piece in self.layout.packet(packet, written_bytes, false) {
                self.bus.written_by_host(piece);
            }
        }
    }
}

/// Whether queues and buffers are large enough.
fn check_queues(nic: &Interactions, frame: u64, packet_bytes: u64) -> Result<(), Refusal> {
    let queues = &nic.queues;
    if packet_bytes > u64::from(queues.buffer_bytes) {
        let remedy = format!("frames of {frame} B need {packet_bytes} or more");
        return Err(Refusal::of("queues.buffer_bytes", queues.buffer_bytes, remedy));
    }
    for step in &nic.steps {
        let batch = u64::from(step.group_packets());
        if u64::from(queues.ring_descriptors) < 2 * batch {
            let remedy = format!("step {} needs {} or more, two of its batches", step.what, 2 * batch);
            return Err(Refusal::of("queues.ring_descriptors", queues.ring_descriptors, remedy));
        }
        if step.kind == Kind::DmaRead && u64::from(queues.descriptors_held) < batch {
            let remedy = format!("step {} fetches {batch} at once: give {batch} or more", step.what);
            return Err(Refusal::of("queues.descriptors_held", queues.descriptors_held, remedy));
        }
    }
    Ok(())
}

fn one_way(path: Path) -> Refusal {
    let name = if path == Path::Tx { "tx" } else { "rx" };
    Refusal::new(format!("the NIC has no steps for {name}"))
        .kind(pcie_refusal::Kind::Missing)
        .remedy("choose the direction that it has")
}

fn stuck() -> Refusal {
    Refusal::new("the NIC is deadlocked")
        .remedy("its steps wait for each other: check rings, batches and buffers")
}

#[cfg(test)]
mod tests;
