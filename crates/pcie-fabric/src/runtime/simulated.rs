//! The simulator of the fabric as a carrier.

use std::collections::HashMap;
use std::sync::Arc;

use pcie_refusal::Refusal;
use pcie_time::Picoseconds;

use super::carrier::{Carrier, Finished};
use super::contents::Contents;
use super::transfer::Transfer;
use crate::simulate::machine::{Arrival, Machine};
use crate::simulate::traffic::Placed;
use crate::simulate::{Discipline, Primitive, Served};
use crate::topology::{NodeId, Topology};

/// The simulator, and the requests that it carries out.
#[derive(Debug)]
pub(super) struct Simulated {
    topology: Arc<Topology>,
    machine: Machine,
    /// Numbers of its flows.
    flows: HashMap<Placed, u32>,
    /// Reusable requests that are done, by flow.
    idle: HashMap<u32, Vec<u32>>,
    in_flight: HashMap<u32, (Placed, Vec<Transfer>)>,
}

impl Simulated {
    pub fn new(topology: Arc<Topology>, discipline: Discipline) -> Self {
        let mut machine = Machine::new(&topology, discipline);
        machine.note_arrivals();
        Self { topology, machine, flows: HashMap::new(), idle: HashMap::new(), in_flight: HashMap::new() }
    }

    fn flow(&mut self, placed: &Placed) -> u32 {
        let (machine, topology) = (&mut self.machine, &self.topology);
        *self.flows.entry(*placed).or_insert_with(|| machine.add_flow(topology, placed))
    }

    /// Copies data that has arrived into its destination.
    fn carry(&mut self, contents: &mut Contents) {
        for Arrival { request, offset, bytes } in self.machine.take_arrivals() {
            let Some((placed, list)) = self.in_flight.get(&request) else { continue };
            let Placed { primitive, host, device, peer, .. } = *placed;
            let other = peer.unwrap_or(host);
            let outwards = matches!(primitive, Primitive::MmioRead | Primitive::D2h | Primitive::D2dWrite);
            let (mut first, mut left) = (offset, u64::from(bytes));
            for one in list {
                let here = left.min(one.size_bytes.saturating_sub(first));
                if here > 0 {
                    let near = (device, one.device_address + first);
                    let far = (other, one.other_address + first);
                    let (from, to) = if outwards { (near, far) } else { (far, near) };
                    contents.carry(from, to, here);
                }
                first = first.saturating_sub(one.size_bytes);
                left -= here;
            }
        }
    }
}

impl Carrier for Simulated {
    fn announce(&mut self, placed: &Placed, _: &[Transfer]) -> Result<(), Refusal> {
        self.flow(placed);
        Ok(())
    }

    fn check_contents(&self, _: NodeId) -> Result<(), Refusal> {
        Ok(())
    }

    fn submit(&mut self, at: Picoseconds, placed: &Placed, list: &[Transfer]) -> Result<u32, Refusal> {
        let flow = self.flow(placed);
        let idle = self.idle.get_mut(&flow).and_then(Vec::pop);
        let number = idle.unwrap_or_else(|| self.machine.add_request(flow));
        let sizes = || list.iter().map(|one| one.size_bytes);
        let segments = if list.len() == 1 { vec![] } else { sizes().collect() };
        self.machine.set_size(number, sizes().sum(), segments);
        self.machine.submit(at, number);
        self.in_flight.insert(number, (*placed, list.to_vec()));
        Ok(number)
    }

    fn run_unless(
        &mut self,
        end: Picoseconds,
        contents: &mut Contents,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Finished>, Refusal> {
        let done = self.machine.run_unless(end, stopped);
        self.carry(contents);
        let Some((at, number)) = done else { return Ok(None) };
        let request = self.machine.request(number);
        let Served { reached_ns, phases, .. } = Served::of(request, at);
        let finished = Finished { at, number, left: request.submitted, reached_ns, phases };
        self.idle.entry(request.flow).or_default().push(number);
        self.in_flight.remove(&number);
        Ok(Some(finished))
    }
}
