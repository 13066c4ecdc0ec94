//! Loads, stores and doorbells of cores, TLP by TLP.
//!
//! Cores issue stores into write-combining buffers or one at a time; the root port queues them and sends each when
//! the link is free and the device has room; the device takes them one behind the other and gives the room back. Loads
//! are requests through the same port; their completions come back through the device's. A core has one load in
//! flight, or as many lines of streaming loads as it has buffers.
//!
//! Times of core, host and device are those of `pcie_model::mmio`, whose closed form this is held to.

mod loads;
mod stores;

use pcie_model::mmio::{Access, Instruction, Mmio, MmioValues};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_trace::{Recorder, Segment};
use pcie_wire::{LinkConfiguration, TlpKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::link::port::Port;
use loads::Loads;
use stores::Stores;

/// TLPs of one run at most, of all cores.
const TLPS_MOST: u64 = 1 << 20;
/// Events between two calls of `stopped`.
const EVENTS_BETWEEN_CALLS: u32 = 1024;

/// What simulated accesses took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct AccessOutcome {
    /// TLPs that carried the data of all cores.
    pub tlps: u64,
    /// Time of the core that took longest, ns.
    pub core_ns: f64,
    /// From the start until the last byte arrived, ns.
    pub done_ns: f64,
    /// Data of all cores after the first quarter of their TLPs, GB/s.
    pub gbytes_per_s: f64,
}

/// A way of simulating one event after the other.
trait Events {
    /// Handles the next event; false at the end.
    fn next_event(&mut self) -> bool;
    fn outcome(&self) -> Steps;
    /// The trace, from the start on, where one is recorded.
    fn recorder(&mut self) -> &mut Option<Box<Recorder>>;
    fn now(&self) -> Picoseconds;
}

/// When the steps of all accesses happened.
#[derive(Debug, Clone, Default)]
struct Steps {
    core: Picoseconds,
    done: Picoseconds,
    /// For each core, when the device has taken each of its stores, or starts each answer.
    moved: Vec<Vec<Picoseconds>>,
    /// TLPs that a core has under way at once: they move in bunches of as many.
    together: u64,
}

impl Steps {
    fn of(cores: u32, together: u64) -> Self {
        Self { moved: vec![Vec::new(); cores as usize], together, ..Self::default() }
    }

    /// The rate of TLPs of `bytes`, over whole bunches after the first quarter; none if there are too few.
    fn gbytes_per_s(&self, bytes: u32) -> Option<f64> {
        let together = self.together as usize;
        self.moved
            .iter()
            .map(|moved| {
                let from = moved.len() / 4 / together * together;
                let to = moved.len().checked_sub(1)? / together * together;
                let time = *moved.get(to)? - *moved.get(from)?;
                (to > from && time > Picoseconds::ZERO)
                    .then(|| f64::from(bytes) * (to - from) as f64 / time.as_ns())
            })
            .sum()
    }
}

/// Simulates the accesses of all cores, which start together on an idle machine; `None` once `stopped` is true.
///
/// # Errors
/// An access is out of range, has more than 2^20 TLPs, or the core has no such instruction.
pub fn simulate(
    mmio: &Mmio,
    access: &Access,
    values: &MmioValues,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Option<AccessOutcome>, Refusal> {
    let mut run = started(mmio, access, values)?;
    'events: while !stopped() {
        for _ in 0..EVENTS_BETWEEN_CALLS {
            if !run.next_event() {
                break 'events;
            }
        }
    }
    if stopped() {
        return Ok(None);
    }
    let steps = run.outcome();
    let before = before_ns(mmio, access, values);
    let fence = if access.fenced { values.fence_ns } else { 0.0 };
    Ok(Some(AccessOutcome {
        tlps: access.pieces(values) * u64::from(access.cores),
        core_ns: steps.core.as_ns() + before + fence,
        done_ns: steps.done.as_ns() + before,
        gbytes_per_s: steps.gbytes_per_s(access.piece_bytes(values)).unwrap_or_else(|| {
            (access.size_bytes * u64::from(access.cores)) as f64 / steps.core.as_ns().max(1e-3)
        }),
    }))
}

/// The accesses, about to begin.
fn started<'a>(
    mmio: &'a Mmio,
    access: &'a Access,
    values: &MmioValues,
) -> Result<Box<dyn Events + 'a>, Refusal> {
    access.check(mmio)?;
    let tlps = access.pieces(values) * u64::from(access.cores);
    if tlps > TLPS_MOST {
        let remedy = "give less: the accesses of all cores have 2^20 TLPs at most";
        return Err(Refusal::of("size_bytes", access.size_bytes, remedy));
    }
    Ok(match access.instruction {
        Instruction::UncachedStore | Instruction::CombinedStore | Instruction::DirectStore => {
            Box::new(Stores::new(mmio, access, values))
        }
        Instruction::Doorbell => Box::new(Stores::new(mmio, access, values)),
        _ => Box::new(Loads::new(mmio, access, values)),
    })
}

/// The trace of the first `span` of simulated accesses; ends early once `stopped` is true.
///
/// # Errors
/// Those of [`simulate`].
pub fn trace(
    mmio: &Mmio,
    access: &Access,
    values: &MmioValues,
    span: Picoseconds,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Vec<Segment>, Refusal> {
    let mut run = started(mmio, access, values)?;
    *run.recorder() = Some(Box::new(Recorder::new(span)));
    while !stopped() && run.now() < span && run.next_event() {}
    Ok(run.recorder().take().map(|recorder| recorder.into_segments()).unwrap_or_default())
}

/// A fault of the first touch, and a register that is set and read back: nothing else happens meanwhile.
fn before_ns(mmio: &Mmio, access: &Access, values: &MmioValues) -> f64 {
    let fault = if access.first_touch { values.page_fault_ns } else { 0.0 };
    if !access.window_set {
        return fault;
    }
    let read_back = Access {
        size_bytes: 4,
        width_bytes: Some(4),
        cores: 1,
        first_touch: false,
        window_set: false,
        instruction: Instruction::UncachedLoad,
        ..*access
    };
    let mut loads = Loads::new(mmio, &read_back, values);
    while loads.next_event() {}
    fault + values.uncached_ns + loads.outcome().core.as_ns()
}

/// The root port.
fn downlink(link: &LinkConfiguration, values: &MmioValues) -> Port {
    Port::new(link, values.quantum_bytes, 1.0)
}

/// The device's port.
fn uplink(link: &LinkConfiguration) -> Port {
    Port::new(link, 1, 1.0)
}

fn ns(time: f64) -> Picoseconds {
    Picoseconds::from_ns(time)
}

#[cfg(test)]
mod tests;
