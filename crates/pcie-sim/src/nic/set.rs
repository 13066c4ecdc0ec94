//! NICs of a kind below one root complex: one event at a time, whichever NIC's is next.
//!
//! Each NIC has its own link, tags and credits. Caches, IO-TLB, page walkers, the root complex's pools and memory
//! are those of one host: they go from NIC to NIC with the events.

use super::outcome::NicOutcome;
use super::{NicRun, Traffic, stuck};
use crate::cache::history::TestKey;
use crate::machine::Machine;
use crate::record::Record;
use pcie_model::Interactions;
use pcie_refusal::{Refusal, Unfinished};
use pcie_time::Picoseconds;
use pcie_trace::Segment;

/// Events between two calls of `stopped`.
const EVENTS_BETWEEN_CALLS: u32 = 4096;

/// Running NICs.
#[derive(Debug)]
pub struct NicSet<'a> {
    nics: Vec<NicRun<'a>>,
    /// The NIC that has the host.
    holder: usize,
}

impl<'a> NicSet<'a> {
    /// Attaches `traffic.nics` NICs to a machine: `machine.system.device` has the port and tags of each, `nic`
    /// everything else.
    ///
    /// # Errors
    /// Names the key that does not fit.
    pub fn new(
        machine: &'a Machine,
        nic: &'a Interactions,
        traffic: Traffic,
        key: TestKey,
    ) -> Result<Self, Refusal> {
        nic.check()?;
        traffic.ethernet.check()?;
        // The last one first: it says whether all buffers fit.
        let nics = (0..traffic.nics).rev().map(|nth| NicRun::new(machine, nic, traffic, key, nth));
        let mut nics = nics.collect::<Result<Vec<_>, _>>()?;
        nics.reverse();
        // The last one has prepared the buffers of all.
        let holder = nics.len().saturating_sub(1);
        Ok(Self { nics, holder })
    }

    /// Simulates the traffic until every NIC has finished its counted packets; calls `stopped` from time to time.
    /// Returns the results of an average NIC, with the latencies of all.
    ///
    /// # Errors
    /// A NIC is deadlocked, or `stopped` returned true.
    pub fn run(mut self, stopped: &mut dyn FnMut() -> bool) -> Result<NicOutcome, Unfinished> {
        for nth in 0..self.nics.len() {
            self.give_host_to(nth).begin_traffic();
        }
        let mut outcomes: Vec<Option<NicOutcome>> = self.nics.iter().map(|_| None).collect();
        let mut events = 0u32;
        while outcomes.iter().any(Option::is_none) {
            let next = self.next_nic().ok_or_else(stuck)?;
            let nic = self.give_host_to(next);
            nic.step()?;
            if outcomes[next].is_none() && nic.is_done() {
                outcomes[next] = Some(nic.outcome());
            }
            events += 1;
            if events.is_multiple_of(EVENTS_BETWEEN_CALLS) {
                if stopped() {
                    return Err(Unfinished::Stopped);
                }
                if self.nics.iter().any(NicRun::is_deadlocked) {
                    return Err(stuck().into());
                }
            }
        }
        NicOutcome::average(outcomes.into_iter().flatten()).ok_or_else(|| stuck().into())
    }

    /// The trace of the first NIC, and of what the host does for it, in the first `span`; packets of the warm-up are part
    /// of it. Calls `stopped` from time to time; when it returns true, the trace ends there.
    ///
    /// # Errors
    /// A NIC is deadlocked.
    pub fn trace(
        mut self,
        span: Picoseconds,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Segment>, Refusal> {
        if let Some(first) = self.nics.first_mut() {
            let names = first.nic.steps.iter().map(|step| step.what.clone()).collect();
            let record = Record::new(first.machine(), span).with_steps(names);
            first.bus.record(record);
        }
        for nth in 0..self.nics.len() {
            self.give_host_to(nth).begin_traffic();
        }
        let mut events = 0u32;
        while self.nics.first().is_some_and(|nic| !nic.bus.is_recorded()) {
            let next = self.next_nic().ok_or_else(stuck)?;
            self.give_host_to(next).step()?;
            events = events.wrapping_add(1);
            if events.is_multiple_of(EVENTS_BETWEEN_CALLS) && (stopped() || self.nics[0].is_deadlocked()) {
                break;
            }
        }
        let record = self.nics.first_mut().and_then(|nic| nic.bus.take_record());
        Ok(record.map(Record::into_segments).unwrap_or_default())
    }

    /// The NIC whose event is next; the first one of several.
    fn next_nic(&self) -> Option<usize> {
        let times = self.nics.iter().enumerate().filter_map(|(nth, nic)| Some((nic.bus.next_time()?, nth)));
        times.min().map(|(_, nth)| nth)
    }

    fn give_host_to(&mut self, nth: usize) -> &mut NicRun<'a> {
        if nth != self.holder {
            let (low, high) = (nth.min(self.holder), nth.max(self.holder));
            let (before, from) = self.nics.split_at_mut(high);
            before[low].bus.swap_host(&mut from[0].bus);
            self.holder = nth;
        }
        &mut self.nics[nth]
    }
}
