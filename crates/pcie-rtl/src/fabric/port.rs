//! A core in its process, as a transport for its driver: registers are written when their time comes, and
//! requests are kept for the network.

use crate::process::{Exchanged, Process};
use crate::wire::{Access, Completion, Credit, Items, Load, Request, Store, Surroundings};
use pcie_driver::{Transport, TransportError};
use pcie_time::Picoseconds;

/// Time limit of register reads, clocks.
const ACCESS_CLOCKS_MAX: u64 = 1 << 16;
/// Credits as good as infinite.
const CREDITS: u32 = 1 << 30;
pub(super) const RING_BYTES: u64 = 4096;

/// A core, its clock, and its ring of notices in host memory.
#[derive(Debug)]
pub(super) struct Port {
    process: Process,
    surroundings: Surroundings,
    clock: u64,
    /// The clock at time 0.
    pub(super) origin: u64,
    /// Clock of the next register writes; at once where it has passed.
    pub(super) write_clock: u64,
    items: Items,
    exchanged: Exchanged,
    requests: Vec<(Request, Vec<u8>)>,
    loaded: Vec<(u64, Vec<u8>)>,
    ring_address: [u64; 1],
    ring: Vec<u8>,
}

impl Port {
    pub(super) fn new(process: Process, surroundings: Surroundings, ring_address: u64) -> Self {
        let mut items = Items::default();
        items.credits.push(Credit {
            clock: 0,
            posted_headers: CREDITS,
            posted_data: CREDITS,
            non_posted_headers: CREDITS,
        });
        Self {
            process,
            surroundings,
            clock: 0,
            origin: 0,
            write_clock: 0,
            items,
            exchanged: Exchanged::default(),
            requests: vec![],
            loaded: vec![],
            ring_address: [ring_address],
            ring: vec![0; RING_BYTES as usize],
        }
    }

    pub(super) fn clock_ps(&self) -> u64 {
        u64::from(self.process.hello().clock_ps)
    }

    pub(super) fn clock(&self) -> u64 {
        self.clock
    }

    /// The first clock that starts at a time or later.
    pub(super) fn clock_at(&self, time: Picoseconds) -> u64 {
        self.origin + time.0.div_ceil(self.clock_ps())
    }

    /// The time at which a clock starts.
    pub(super) fn time_of(&self, clock: u64) -> Picoseconds {
        Picoseconds(clock.saturating_sub(self.origin).saturating_mul(self.clock_ps()))
    }

    /// Runs until a clock.
    pub(super) fn run(&mut self, until: u64) -> Result<(), TransportError> {
        while self.clock < until {
            self.exchange(until)?;
        }
        Ok(())
    }

    /// The requests that have left since the last call, each with the data of a write.
    pub(super) fn take_requests(&mut self) -> Vec<(Request, Vec<u8>)> {
        std::mem::take(&mut self.requests)
    }

    pub(super) fn complete(&mut self, completion: Completion) {
        self.items.completions.push(completion);
    }

    pub(super) fn store_whole(&mut self, store: Store) {
        self.items.stores.push(store);
    }

    /// Loads from the core's memory at a clock.
    pub(super) fn load(&mut self, clock: u64, offset: u32, bytes: u32) {
        self.items.loads.push(Load { clock, offset, bytes });
    }

    /// The loads that have ended since the last call, in order: the clock of each, and its data.
    pub(super) fn take_loaded(&mut self) -> Vec<(u64, Vec<u8>)> {
        std::mem::take(&mut self.loaded)
    }

    /// Writes into the ring, if an address is in it; returns whether it is.
    pub(super) fn write_ring(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(at) = address.checked_sub(self.ring_address[0]).filter(|at| *at < RING_BYTES) else {
            return false;
        };
        let end = bytes.len().min((RING_BYTES - at) as usize);
        self.ring[at as usize..at as usize + end].copy_from_slice(&bytes[..end]);
        true
    }

    /// Runs once, at most until a clock; returns whether register accesses are left.
    fn exchange(&mut self, until: u64) -> Result<bool, TransportError> {
        let items = std::mem::take(&mut self.items);
        let ran = self
            .process
            .exchange(until, &self.surroundings, &items, &mut self.exchanged)
            .map_err(|error| TransportError(error.to_string()))?;
        self.clock = ran.clock;
        for (request, data) in &self.exchanged.requests {
            self.requests.push((*request, self.exchanged.data[data.clone()].to_vec()));
        }
        self.loaded.append(&mut self.exchanged.loaded);
        Ok(ran.accesses_left > 0)
    }

    fn access(&mut self, address: u32, value: Option<u32>) {
        let clock = self.write_clock.max(self.clock);
        self.items.accesses.push(Access { clock, address, value });
    }
}

impl Transport for Port {
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        let mut value = [0];
        self.read_block(address, &mut value)?;
        Ok(value[0])
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        self.access(address, Some(value));
        Ok(())
    }

    fn read_block(&mut self, address: u32, values: &mut [u32]) -> Result<(), TransportError> {
        self.write_clock = self.clock;
        (address..).step_by(4).take(values.len()).for_each(|address| self.access(address, None));
        let end = self.clock + ACCESS_CLOCKS_MAX;
        let mut read = vec![];
        loop {
            let left = self.exchange(end)?;
            read.extend(&self.exchanged.responses);
            if !left {
                break;
            }
            if self.clock >= end {
                return Err(TransportError("the core does not answer register reads".into()));
            }
        }
        values.iter_mut().zip(read).for_each(|(value, read)| *value = read);
        Ok(())
    }

    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError> {
        self.run(self.clock + (time_ns * 1000).div_ceil(self.clock_ps()))
    }

    fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let clock = self.clock;
        self.store_whole(Store { clock, bar: 2, first_be: 15, last_be: 15, offset, data: bytes.to_vec() });
        Ok(())
    }

    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        let held = self.ring.iter().skip(offset as usize);
        bytes.iter_mut().zip(held).for_each(|(byte, held)| *byte = *held);
        Ok(())
    }

    fn buffer(&self) -> (&[u64], u64) {
        (&self.ring_address, RING_BYTES)
    }
}
