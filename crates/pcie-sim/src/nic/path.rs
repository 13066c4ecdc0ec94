//! Progress of the steps of one direction.
//!
//! A step proceeds in groups of packets: of its period, or, for an interrupt moderated by time, of the
//! packets that wait for it. The groups of a step begin in order and may finish in any order; a step's
//! progress counts up to the first unfinished group.

use super::moderation::Moderation;
use pcie_model::{Interactions, Kind, Path, Step, StepBytes};
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// Finished groups, counted up to the first unfinished one.
#[derive(Clone, Debug, Default)]
struct Prefix {
    groups: u64,
    packets: u64,
    /// From the first unfinished group on, the packets of each and whether it is finished.
    ahead: VecDeque<(u64, bool)>,
}

impl Prefix {
    /// Begins a group; returns its number.
    fn begin(&mut self, packets: u64) -> u64 {
        self.ahead.push_back((packets, false));
        self.groups + self.ahead.len() as u64 - 1
    }

    fn mark(&mut self, group: u64) {
        if let Some((_, over)) = self.ahead.get_mut((group - self.groups) as usize) {
            *over = true;
        }
        while let Some(&(packets, true)) = self.ahead.front() {
            self.ahead.pop_front();
            self.groups += 1;
            self.packets += packets;
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Its number among all steps of the NIC.
    pub(super) step: usize,
    pub(super) kind: Kind,
    /// Packets of a group, unless time moderates it.
    pub(super) period: u64,
    /// Bytes that an access moves; `None` for the packet.
    pub(super) bytes: Option<u64>,
    /// Whether it moves the packet across the link.
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

    /// Whether it is a write of the NIC, which finishes some time after it has left.
    pub(super) fn is_posted(&self) -> bool {
        matches!(self.kind, Kind::DmaWrite | Kind::Msi)
    }
}

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

    /// Packets of its next group, if `ready` have passed the step before; `None` if it cannot begin yet.
    pub(super) fn next_group(&self, ready: u64, now: Picoseconds) -> Option<u64> {
        let waiting = ready.saturating_sub(self.begun);
        match &self.moderation {
            None => (waiting >= self.shape.period).then_some(self.shape.period),
            Some(moderation) => moderation.is_due(waiting, now).then_some(waiting),
        }
    }

    pub(super) fn begin(&mut self, packets: u64, now: Picoseconds) -> u64 {
        self.begun += packets;
        if let Some(moderation) = &mut self.moderation {
            moderation.interrupts(now);
        }
        self.over.begin(packets)
    }

    /// Packets for which the next step may begin. Posted writes stay in order, so it need not await their
    /// end.
    pub(super) fn passed(&self) -> u64 {
        if self.shape.is_posted() { self.begun } else { self.over() }
    }

    /// Packets for which it is finished.
    pub(super) fn over(&self) -> u64 {
        self.over.packets
    }
}

#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) stages: Vec<Stage>,
    /// The stage that moves packets across the link.
    pub(super) packet_stage: usize,
}

impl Progress {
    /// The steps of a direction; `None` if the NIC has none.
    pub(super) fn new(nic: &Interactions, path: Path) -> Option<Self> {
        let steps = nic.steps.iter().enumerate().filter(|(_, step)| step.path == path);
        let stages: Vec<Stage> = steps.map(|(number, step)| Stage::new(number, step)).collect();
        let packet_stage = stages.iter().position(|stage| stage.shape.moves_packet)?;
        Some(Self { stages, packet_stage })
    }

    pub(super) fn finished(&self) -> u64 {
        self.stages.last().map_or(0, Stage::over)
    }

    /// Packets that have crossed the link.
    pub(super) fn crossed(&self) -> u64 {
        self.stages[self.packet_stage].over()
    }

    /// Packets that have passed the stage before; `None` for the first stage.
    pub(super) fn ready_for(&self, stage: usize) -> Option<u64> {
        stage.checked_sub(1).map(|before| self.stages[before].passed())
    }

    pub(super) fn done(&mut self, stage: usize, group: u64) {
        self.stages[stage].over.mark(group);
    }
}
