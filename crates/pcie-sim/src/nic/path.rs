//! How far the steps of one direction have come.
//!
//! A step that happens once every so many packets goes on in groups of them; an interrupt that is moderated by time, in
//! groups of as many as wait for it. Groups of a step begin in order and may come to their ends in any; what a step has
//! behind it counts up to the first group that has not.

use super::moderation::Moderation;
use pcie_model::{Interactions, Kind, Path, Step, StepBytes};
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// Groups that are over, counted up to the first that is not.
#[derive(Clone, Debug, Default)]
struct Prefix {
    groups: u64,
    packets: u64,
    /// From that one on, the packets of each and whether it is over.
    ahead: VecDeque<(u64, bool)>,
}

impl Prefix {
    /// A group of so many packets begins; returns its number.
    fn begin(&mut self, packets: u64) -> u64 {
        self.ahead.push_back((packets, false));
        self.groups + self.ahead.len() as u64 - 1
    }

    fn mark(&mut self, group: u64) {
        let place = (group - self.groups) as usize;
        if let Some((_, over)) = self.ahead.get_mut(place) {
            *over = true;
        }
        while let Some(&(packets, true)) = self.ahead.front() {
            self.ahead.pop_front();
            self.groups += 1;
            self.packets += packets;
        }
    }
}

/// What a step is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Its number among all steps of the NIC.
    pub(super) step: usize,
    pub(super) kind: Kind,
    /// It happens once every so many packets, unless time moderates it.
    pub(super) period: u64,
    /// Bytes that an access moves; none for the packet.
    pub(super) bytes: Option<u64>,
    /// Whether the packet crosses the link by it.
    pub(super) moves_packet: bool,
}

impl Shape {
    pub(super) fn new(number: usize, step: &Step) -> Self {
        let bytes = match step.bytes {
            StepBytes::Number(_) => Some(step.access_bytes(0)),
            StepBytes::Packet(_) => None,
        };
        Self {
            step: number,
            kind: step.kind,
            period: u64::from(step.group_packets()),
            bytes,
            moves_packet: step.moves_packet(),
        }
    }

    /// Whether it is a write of the NIC: it leaves, and comes to its end later.
    pub(super) fn is_posted(&self) -> bool {
        matches!(self.kind, Kind::DmaWrite | Kind::Msi)
    }
}

/// How far a step has come.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) shape: Shape,
    /// Packets for which it has begun.
    pub(super) begun: u64,
    pub(super) moderation: Option<Moderation>,
    over: Prefix,
}

impl Stage {
    fn new(number: usize, step: &Step) -> Self {
        let (shape, moderation) = (Shape::new(number, step), Moderation::of(step));
        Self { shape, begun: 0, moderation, over: Prefix::default() }
    }

    /// Packets of its next group, where `ready` have everything before it behind them; none if it is not its turn.
    pub(super) fn next_group(&self, ready: u64, now: Picoseconds) -> Option<u64> {
        let waiting = ready.saturating_sub(self.begun);
        match &self.moderation {
            None => (waiting >= self.shape.period).then_some(self.shape.period),
            Some(moderation) => moderation.is_due(waiting, now).then_some(waiting),
        }
    }

    /// A group begins; returns its number.
    pub(super) fn begin(&mut self, packets: u64, now: Picoseconds) -> u64 {
        self.begun += packets;
        if let Some(moderation) = &mut self.moderation {
            moderation.interrupts(now);
        }
        self.over.begin(packets)
    }

    /// Packets for which the next step may follow: writes stay in order, so that what follows one is sent right behind it.
    pub(super) fn passed(&self) -> u64 {
        if self.shape.is_posted() { self.begun } else { self.over() }
    }

    /// Packets for which it is over.
    pub(super) fn over(&self) -> u64 {
        self.over.packets
    }
}

/// The steps of one direction.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) stages: Vec<Stage>,
    /// The stage by which packets cross the link.
    pub(super) packet_stage: usize,
}

impl Progress {
    /// The steps of a direction; none if the NIC has none.
    pub(super) fn new(nic: &Interactions, path: Path) -> Option<Self> {
        let steps = nic.steps.iter().enumerate().filter(|(_, step)| step.path == path);
        let stages: Vec<Stage> = steps.map(|(number, step)| Stage::new(number, step)).collect();
        let packet_stage = stages.iter().position(|stage| stage.shape.moves_packet)?;
        Some(Self { stages, packet_stage })
    }

    /// Packets that are done with.
    pub(super) fn finished(&self) -> u64 {
        self.stages.last().map_or(0, Stage::over)
    }

    /// Packets that have crossed the link.
    pub(super) fn crossed(&self) -> u64 {
        self.stages[self.packet_stage].over()
    }

    /// Packets for which everything before a stage has happened.
    pub(super) fn ready_for(&self, stage: usize) -> Option<u64> {
        stage.checked_sub(1).map(|before| self.stages[before].passed())
    }

    pub(super) fn done(&mut self, stage: usize, group: u64) {
        self.stages[stage].over.mark(group);
    }
}
