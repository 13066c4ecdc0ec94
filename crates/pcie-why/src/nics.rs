//! A NIC at a line rate: simulated on a system, or in closed form on a bare link.

use crate::changes::{
    Change, LINK, NIC, changed_link, changed_nic, changed_system, further, is_of_absent_translation, json_of,
    of_link, of_nic, of_system, step_at,
};
use crate::resource::{Resource, resource_of_nic};
use crate::search::{Engine, Length};
use pcie_model::{Answer, Ethernet, Interactions, Limits, Model, ModelParameters, Nic, Path};
use pcie_refusal::{Kind, Refusal, Unfinished};
use pcie_schema::Fitting as _;
use pcie_sim::nic::{Direction, NicBound, NicSet, Traffic};
use pcie_sim::profile::{Link, System};
use pcie_sim::{Machine, TestKey};
use pcie_wire::{Accounting, Generation, Lanes, LinkParameters};
use std::ops::ControlFlow;

/// Packets counted by a short simulation.
const SHORT_PACKETS: u32 = 1_000;
/// Rings of packets before the counted ones of a short simulation. A full one waits until every queue is full.
const SHORT_RINGS: u32 = 2;
const KEY: TestKey = TestKey { seed: 1, test: 0 };

/// A rate in Gb/s, and what a simulation shows to bind it.
type Rate = (f64, Option<NicBound>);

/// A NIC, its frames, and what it is attached to.
#[derive(Debug)]
pub struct NicQuestion {
    nic: Interactions,
    ground: Ground,
    traffic: Traffic,
    changes: Vec<Change>,
    /// What binds the unchanged NIC, once it was simulated.
    bound: Option<NicBound>,
}

/// What a NIC is attached to.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    /// A simulated machine.
    System(Box<System>),
    /// A bare link, in closed form.
    Link(LinkParameters),
}

impl NicQuestion {
    /// A NIC; `traffic` has the packets of a full simulation.
    ///
    /// # Errors
    /// The NIC, the system or the link has no JSON.
    pub(crate) fn of_ground(nic: &Nic, ground: Ground, traffic: Traffic) -> Result<Self, Refusal> {
        let of_ground = match &ground {
            Ground::System(system) => of_system(system)?,
            Ground::Link(link) => of_link(&json_of(link)?),
        };
        let changes = [of_nic(nic, traffic.frame_bytes)?, of_ground].concat();
        let nic = nic.for_frames(Some(traffic.frame_bytes)).into_owned();
        Ok(Self { nic, ground, traffic, changes, bound: None })
    }

    /// The NIC with the steps that its frames take.
    pub(crate) fn nic(&self) -> &Interactions {
        &self.nic
    }

    /// What the simulation showed to bind the unchanged NIC.
    pub(crate) fn bound(&self) -> Option<NicBound> {
        self.bound
    }

    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self.ground, Ground::System(_))
    }

    /// The link as the model takes it.
    pub(crate) fn link(&self) -> LinkParameters {
        match &self.ground {
            Ground::Link(link) => *link,
            Ground::System(system) => system.link.with_addresses(64),
        }
    }

    /// The model of the bare link.
    pub(crate) fn model(&self) -> Result<Model, Refusal> {
        model_of(self.link())
    }

    /// The bounds of line and bare link in closed form, tightest first.
    pub(crate) fn bounds(&self) -> Result<Vec<(String, f64)>, Refusal> {
        let (answer, line_gbps) = self.closed_form(&self.nic, self.link())?;
        let ceilings = answer.ceilings.iter().map(|ceiling| (ceiling.bound.to_string(), ceiling.gbps));
        let mut bounds: Vec<(String, f64)> =
            [("line".to_owned(), line_gbps)].into_iter().chain(ceilings).collect();
        bounds.sort_by(|one, other| one.1.total_cmp(&other.1));
        Ok(bounds)
    }

    /// Whether a key is of a step that sends where frames are only received, or the other way round.
    fn is_of_idle_step(&self, key: &str) -> bool {
        let step = step_at(key).and_then(|nth| self.nic.steps.get(nth));
        match self.traffic.direction {
            Direction::Both => false,
            Direction::Tx => step.is_some_and(|step| step.path == Path::Rx),
            Direction::Rx => step.is_some_and(|step| step.path == Path::Tx),
        }
    }

    fn value(
        &self,
        change: &Change,
        length: Length,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Rate>, Unfinished> {
        let Ok(nic) = changed_nic(&self.nic, change) else { return Ok(None) };
        match &self.ground {
            Ground::Link(link) => {
                let link = changed_link(link, change);
                Ok(link.and_then(|link| self.in_closed_form(&nic, link)).ok().map(|gbps| (gbps, None)))
            }
            Ground::System(system) => match changed_system(system, change) {
                Ok(system) => self.simulated(&nic, system, length, stopped),
                Err(_) => Ok(None),
            },
        }
    }

    /// The raw rate of the simulated link, if one of its directions binds.
    fn binding_wire_gbps(&self) -> Option<f64> {
        match (&self.ground, self.bound) {
            (Ground::System(system), Some(NicBound::WireUpstream | NicBound::WireDownstream)) => {
                raw_gbps(&system.link)
            }
            _ => None,
        }
    }

    /// The bounds of the bare link, and the rate of the line.
    fn closed_form(&self, nic: &Interactions, link: LinkParameters) -> Result<(Answer, f64), Refusal> {
        let found = model_of(link)?.nic(nic, self.traffic.ethernet, self.traffic.frame_bytes)?;
        let answer: Option<Answer> = match self.traffic.direction {
            Direction::Both => Some(found.bi),
            Direction::Tx => found.tx,
            Direction::Rx => found.rx,
        };
        let answer = answer
            .ok_or_else(|| Refusal::new("the NIC has no steps for this direction").kind(Kind::Missing))?;
        Ok((answer, found.line_gbps))
    }

    fn in_closed_form(&self, nic: &Interactions, link: LinkParameters) -> Result<f64, Refusal> {
        let (answer, line_gbps) = self.closed_form(nic, link)?;
        Ok(answer.gbps.min(line_gbps))
    }

    fn simulated(
        &self,
        nic: &Interactions,
        system: System,
        length: Length,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Rate>, Unfinished> {
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
            Ok(outcome) => Ok(Some((outcome.packets_per_s * bits / 1e9, Some(outcome.bound)))),
            Err(Unfinished::Refused(_)) => Ok(None),
            Err(stopped) => Err(stopped),
        }
    }
}

fn raw_gbps(link: &Link) -> Option<f64> {
    Some(Generation::try_from(link.generation).ok()?.raw_gbps(Lanes::try_from(link.lanes).ok()?))
}

fn model_of(link: LinkParameters) -> Result<Model, Refusal> {
    Model::try_from(ModelParameters { link, accounting: Accounting::Spec, limits: Limits::default() })
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
            let rate = self.value(change, length, &mut || progress(done).is_break())?;
            if change.keys.is_empty() && length == Length::Full {
                self.bound = rate.and_then(|(_, bound)| bound);
            }
            found.push(rate.map(|(gbps, _)| vec![gbps]));
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

    /// A NIC's bound has no closed form: where a wire binds, a link is taken to raise it as much as its raw rate grows;
    /// else the key of its resource alone, as much as it grows.
    fn raised(&self, changes: &[Change]) -> Vec<f64> {
        let resource = self.resources().into_iter().next().flatten();
        let wire_gbps = self.binding_wire_gbps();
        let raised = |change: &Change| {
            if let (Some(before_gbps), Ground::System(system)) = (wire_gbps, &self.ground) {
                return Some(raw_gbps(&changed_system(system, change).ok()?.link)? / before_gbps);
            }
            let (key, value) = change.only_key()?;
            let resource = resource.as_ref().filter(|resource| resource.key == key)?;
            Some(value.as_f64()? / resource.value)
        };
        changes.iter().map(|change| raised(change).unwrap_or(1.0)).collect()
    }

    /// Changes of an IOMMU that is off, and of steps of the direction that no frame takes.
    fn is_without_effect(&self, change: &Change) -> bool {
        let is_absent =
            matches!(&self.ground, Ground::System(system) if is_of_absent_translation(change, system));
        is_absent || (!change.keys.is_empty() && change.keys.keys().all(|key| self.is_of_idle_step(key)))
    }

    fn is_latency(&self) -> bool {
        false
    }

    fn resources(&self) -> Vec<Option<Resource>> {
        match (&self.ground, self.bound) {
            (Ground::System(system), Some(bound)) => vec![resource_of_nic(bound, &self.nic, system)],
            _ => Vec::new(),
        }
    }
}
