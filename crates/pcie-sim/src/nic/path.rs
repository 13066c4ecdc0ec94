//! How far the steps of one direction have come.
//!
//! A step that happens once every so many packets goes on in groups of them. Groups of a step begin in order and may come
//! to their ends in any; what a step has behind it counts up to the first group that has not.

use pcie_model::{Interactions, Kind, Path, Step, StepBytes};
use std::collections::VecDeque;

/// Groups that are over, counted up to the first that is not.
#[derive(Clone, Debug, Default)]
struct Prefix {
    groups: u64,
    /// From that one on, whether each is over.
    ahead: VecDeque<bool>,
}

impl Prefix {
    fn mark(&mut self, group: u64) {
        let place = (group - self.groups) as usize;
        if place >= self.ahead.len() {
            self.ahead.resize(place + 1, false);
        }
        self.ahead[place] = true;
        while self.ahead.front() == Some(&true) {
            self.ahead.pop_front();
            self.groups += 1;
        }
    }
}

/// What a step is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Its number among all steps of the NIC.
    pub(super) step: usize,
    pub(super) kind: Kind,
    /// It happens once every so many packets.
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
            period: u64::from(step.every_packets.max(step.batch)),
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
    over: Prefix,
}

impl Stage {
    fn new(number: usize, step: &Step) -> Self {
        Self { shape: Shape::new(number, step), begun: 0, over: Prefix::default() }
    }

    /// Packets for which the next step may follow: writes stay in order, so that what follows one is sent right behind it.
    pub(super) fn passed(&self) -> u64 {
        if self.shape.is_posted() { self.begun } else { self.over() }
    }

    /// Packets for which it is over.
    pub(super) fn over(&self) -> u64 {
        self.over.groups * self.shape.period
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
