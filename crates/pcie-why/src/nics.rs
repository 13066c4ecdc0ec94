//! A NIC at a line rate: simulated on a system, or in closed form on a bare link.

use crate::changes::{
    Change, LINK, NIC, changed_link, changed_nic, changed_system, further, json_of, of_link, of_nic,
    of_system,
};
use crate::search::{Engine, Length};
use pcie_model::{Answer, Ethernet, Interactions, Limits, Model, ModelParameters, Nic};
use pcie_refusal::{Refusal, Unfinished};
use pcie_schema::Fitting as _;
use pcie_sim::nic::{Direction, NicSet, Traffic};
use pcie_sim::profile::{Link, System};
use pcie_sim::{Machine, TestKey};
use pcie_wire::{Accounting, LinkParameters};
use std::ops::ControlFlow;

/// Packets counted by a short simulation.
const SHORT_PACKETS: u32 = 1_000;
/// Rings of packets before the counted ones of a short simulation. A full one waits until every queue is full.
const SHORT_RINGS: u32 = 2;
const KEY: TestKey = TestKey { seed: 1, test: 0 };

/// A NIC, its frames, and what it is attached to.
#[derive(Debug)]
pub struct NicQuestion {
    nic: Interactions,
    ground: Ground,
    traffic: Traffic,
    changes: Vec<Change>,
}

/// What a NIC is attached to.
#[derive(Debug)]
enum Ground {
    /// A simulated machine.
    System(Box<System>),
    /// A bare link, in closed form.
    Link(LinkParameters),
}

impl NicQuestion {
    /// A NIC that is simulated on a system; `traffic` has the packets of a full simulation.
    ///
    /// # Errors
    /// The NIC or the system has no JSON.
    pub fn on_system(nic: &Nic, system: System, traffic: Traffic) -> Result<Self, Refusal> {
        let changes = of_system(&system)?;
        Self::new(nic, Ground::System(Box::new(system)), traffic, changes)
    }

    /// A NIC on a bare link, in closed form.
    ///
    /// # Errors
    /// As [`NicQuestion::on_system`].
    pub fn on_link(nic: &Nic, link: LinkParameters, traffic: Traffic) -> Result<Self, Refusal> {
        Self::new(nic, Ground::Link(link), traffic, of_link(&json_of(&link)?))
    }

    fn new(nic: &Nic, ground: Ground, traffic: Traffic, of_ground: Vec<Change>) -> Result<Self, Refusal> {
        let changes = [of_nic(nic, traffic.frame_bytes)?, of_ground].concat();
        let nic = nic.for_frames(Some(traffic.frame_bytes)).into_owned();
        Ok(Self { nic, ground, traffic, changes })
    }

    fn value(
        &self,
        change: &Change,
        length: Length,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<f64>, Unfinished> {
        let Ok(nic) = changed_nic(&self.nic, change) else { return Ok(None) };
        match &self.ground {
            Ground::Link(link) => {
                let link = changed_link(link, change);
                Ok(link.and_then(|link| self.in_closed_form(&nic, link)).ok())
            }
            Ground::System(system) => match changed_system(system, change) {
                Ok(system) => self.simulated(&nic, system, length, stopped),
                Err(_) => Ok(None),
            },
        }
    }

    fn in_closed_form(&self, nic: &Interactions, link: LinkParameters) -> Result<f64, Refusal> {
        let (accounting, limits) = (Accounting::Spec, Limits::default());
        let model = Model::try_from(ModelParameters { link, accounting, limits })?;
        let found = model.nic(nic, self.traffic.ethernet, self.traffic.frame_bytes)?;
        let answer: Option<Answer> = match self.traffic.direction {
            Direction::Both => Some(found.bi),
            Direction::Tx => found.tx,
            Direction::Rx => found.rx,
        };
        let answer = answer.ok_or_else(|| Refusal::new("the NIC has no steps for this direction"))?;
        Ok(answer.gbps.min(found.line_gbps))
    }

    fn simulated(
        &self,
        nic: &Interactions,
        system: System,
        length: Length,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<f64>, Unfinished> {
        let traffic = match length {
            Length::Full => self.traffic,
            Length::Short => {
                let rings = nic.queues.ring_descriptors.saturating_mul(nic.queues.pairs);
                let warm_up_packets = self.traffic.warm_up_packets.min(rings.saturating_mul(SHORT_RINGS));
                Traffic { packets: SHORT_PACKETS, warm_up_packets, ..self.traffic }
            }
        };
        let bits = 8.0 * Ethernet::transferred_bytes(traffic.frame_bytes)? as f64;
        let Ok(machine) = Machine::new(system) else { return Ok(None) };
        let Ok(set) = NicSet::new(&machine, nic, traffic, KEY) else { return Ok(None) };
        match set.run(stopped) {
            Ok(outcome) => Ok(Some(outcome.packets_per_s * bits / 1e9)),
            Err(Unfinished::Refused(_)) => Ok(None),
            Err(stopped) => Err(stopped),
        }
    }
}

impl Engine for NicQuestion {
    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn values(
        &mut self,
        changes: &[Change],
        length: Length,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Option<Vec<f64>>>, Unfinished> {
        let mut found = Vec::with_capacity(changes.len());
        for (done, change) in changes.iter().enumerate() {
            let value = self.value(change, length, &mut || progress(done).is_break())?;
            found.push(value.map(|value| vec![value]));
        }
        Ok(found)
    }

    fn further(&self, change: &Change) -> Option<Change> {
        let nic = (NIC, Interactions::shape(), json_of(&self.nic).ok()?);
        let ground = match &self.ground {
            Ground::System(system) => ("", System::shape(), json_of(&**system).ok()?),
            Ground::Link(link) => (LINK, Link::shape(), json_of(link).ok()?),
        };
        further(change, &[nic, ground])
    }

    fn raised(&self, changes: &[Change]) -> Vec<f64> {
        vec![1.0; changes.len()]
    }

    fn is_latency(&self) -> bool {
        false
    }
}
