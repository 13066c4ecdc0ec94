//! The cost of each step of a NIC for a packet: its accesses, and its time and bytes on the link.
//!
//! The model is asked for a NIC that moves the packet alone, and for one that makes this access beside it: the rates that
//! each direction of the link allows them are the inverses of their times there, DLLPs included.

use crate::answer::Row;
use pcie_model::{Bound, Interactions, Kind, Model, Packet, Path, Step, StepBytes};
use pcie_refusal::Refusal;
use pcie_sim::nic::{Direction, Traffic};
use serde::Serialize;

const BITS: f64 = 8.0;
const PACKET: StepBytes = StepBytes::Packet(Packet::Packet);

/// The cost of a step for an average packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepCost {
    /// Sending or receiving.
    pub path: Path,
    /// The step.
    pub step: String,
    /// The kind of cost: packet, descriptors, doorbells, interrupts or register reads.
    pub cost: &'static str,
    /// Accesses for a packet; below 1 if packets share one.
    pub accesses_per_packet: f64,
    /// Bytes on the link from the NIC to the host.
    pub upstream_bytes: f64,
    /// Bytes on the link from the host to the NIC.
    pub downstream_bytes: f64,
    /// Time on the link from the NIC to the host.
    pub upstream_ns: f64,
    /// Time on the link from the host to the NIC.
    pub downstream_ns: f64,
}

impl StepCost {
    /// A row of the table.
    pub(crate) fn row(&self) -> Row {
        serde_json::to_value(self).ok().and_then(|row| serde_json::from_value(row).ok()).unwrap_or_default()
    }
}

fn cost_of(step: &Step) -> &'static str {
    match step.kind {
        Kind::Msi => "interrupts",
        Kind::MmioRead => "register reads",
        _ if step.bytes == PACKET => "packet",
        Kind::MmioWrite => "doorbells",
        Kind::DmaRead | Kind::DmaWrite => "descriptors",
    }
}

/// The cost of every step of a direction, at a packet rate that moderates interrupts.
///
/// # Errors
/// The frame size is impossible.
pub fn step_costs(
    nic: &Interactions,
    model: &Model,
    traffic: &Traffic,
    packets_per_s: f64,
) -> Result<Vec<StepCost>, Refusal> {
    let gbps = model.bandwidth(traffic.frame_bytes, 0)?.tlp_gbps;
    let paths: &[Path] = match traffic.direction {
        Direction::Both => &[Path::Tx, Path::Rx],
        Direction::Tx => &[Path::Tx],
        Direction::Rx => &[Path::Rx],
    };
    let mut found = Vec::new();
    for path in paths {
        let steps: Vec<&Step> = nic.steps.iter().filter(|step| step.path == *path).collect();
        let packet: Vec<Step> =
            steps.iter().filter(|step| step.bytes == PACKET).map(|step| (*step).clone()).collect();
        let alone = link_ns(nic, packet.clone(), model, traffic)?;
        for step in steps {
            let (accesses, ns) = if step.bytes == PACKET {
                (1.0, alone)
            } else {
                let beside = packet.iter().cloned().chain([each_packet(step)]).collect();
                let both = link_ns(nic, beside, model, traffic)?;
                let accesses = accesses(step, packets_per_s);
                (accesses, [0, 1].map(|way| accesses * (both[way] - alone[way])))
            };
            let [upstream_ns, downstream_ns] = ns;
            found.push(StepCost {
                path: *path,
                step: step.what.clone(),
                cost: cost_of(step),
                accesses_per_packet: accesses,
                upstream_bytes: upstream_ns * gbps / BITS,
                downstream_bytes: downstream_ns * gbps / BITS,
                upstream_ns,
                downstream_ns,
            });
        }
    }
    Ok(found)
}

/// Time of a packet on the link, upstream and downstream, with only some steps.
fn link_ns(
    nic: &Interactions,
    steps: Vec<Step>,
    model: &Model,
    traffic: &Traffic,
) -> Result<[f64; 2], Refusal> {
    let some = Interactions { steps, ..nic.clone() };
    let answer = model.nic(&some, traffic.ethernet, traffic.frame_bytes)?.bi;
    let bits = answer.gbps / answer.millions_per_s * 1e3;
    let ns = |bound| {
        let ceiling = answer.ceilings.iter().find(|ceiling| ceiling.bound == bound);
        ceiling.map_or(0.0, |ceiling| bits / ceiling.gbps)
    };
    Ok([ns(Bound::WireUpstream), ns(Bound::WireDownstream)])
}

/// The step once for each packet; a batch stays one access of all its bytes.
fn each_packet(step: &Step) -> Step {
    let bytes = match &step.bytes {
        StepBytes::Number(bytes) => StepBytes::Number(bytes * step.batch),
        StepBytes::Packet(word) => StepBytes::Packet(*word),
    };
    Step { bytes, batch: 1, every_packets: None, moderation_ns: None, ..step.clone() }
}

/// Accesses for a packet, where packets come at regular times.
fn accesses(step: &Step, packets_per_s: f64) -> f64 {
    let Some(moderation_ns) = step.moderation_ns else {
        return 1.0 / f64::from(step.every_packets.unwrap_or(1).max(step.batch));
    };
    let by_count = step.every_packets.map_or(0.0, |packets| 1.0 / f64::from(packets));
    (1e9 / (f64::from(moderation_ns) * packets_per_s)).max(by_count).min(1.0)
}
