//! The primitives of the rPCIeBench paper (its table 1) for programs, over the simulated fabric, and the
//! profiler that traces them.
//!
//! A program sets up devices and memory, adds queues, submits requests and lets time pass. A request waits in
//! its queue until the limits on outstanding requests let the scheduling policy choose it; then the simulator
//! executes it TLP by TLP, with all others in flight. Another [`Carrier`] can replace the simulator.
//! Simulated time passes in [`Runtime::run`] and [`Runtime::run_until`] only.
//!
//! | table 1 | here |
//! |---|---|
//! | `dev_init` | [`Runtime::device_init`], [`Runtime::map_bar`] |
//! | `dev_mem_init`, `dev_setup_mapping` | [`Runtime::memory_init`], [`Runtime::setup_mapping`] |
//! | `dev_mem_alloc`, `dev_mem_free` | [`Runtime::memory_alloc`], [`Runtime::memory_free`] |
//! | `dev_mem_getaddr` | [`Runtime::memory_address`], [`Runtime::device_address`] |
//! | `mmio_rd`, `mmio_wr` | [`Runtime::mmio_read`], [`Runtime::mmio_write`] |
//! | `h2d`, `d2h` | [`Runtime::h2d`], [`Runtime::d2h`] |
//! | `dev2dev_rd`, `dev2dev_wr` | [`Runtime::dev2dev_read`], [`Runtime::dev2dev_write`] |

mod address_map;
mod carrier;
mod contents;
mod memory;
mod schedule;
mod simulated;
mod trace;
mod transfer;

use std::collections::HashMap;
use std::sync::Arc;

use pcie_refusal::{Kind, Refusal, Unfinished, in_range};
use pcie_time::Picoseconds;

pub use crate::simulate::traffic::Placed;
pub use carrier::{Carrier, Finished};
pub use contents::Contents;
pub use schedule::{Choice, Fifo, Policy, RoundRobin, ShortestFirst, Waiting};
pub use trace::{Phase, Summary, Trace, Traced};
pub use transfer::{LONGEST_NS, Transfer};

use crate::simulate::{Discipline, Phases, Primitive};
use crate::topology::Topology;
use address_map::AddressMap;
use schedule::{Queued, Scheduler};
use simulated::Simulated;

/// The host side of the framework on a simulated fabric.
#[derive(Debug)]
pub struct Runtime {
    topology: Arc<Topology>,
    addresses: AddressMap,
    carrier: Box<dyn Carrier>,
    scheduler: Scheduler,
    contents: Contents,
    now: Picoseconds,
    /// Requests that the carrier has, with their queues.
    in_flight: HashMap<u32, (u32, Queued)>,
    submitted: u64,
    trace: Trace,
}

impl Runtime {
    /// A runtime whose hosts have at most `outstanding` requests in flight each, at least 1. `policy` returns
    /// a new scheduling policy for each host.
    ///
    /// # Errors
    /// A limit of 0.
    pub fn new(
        topology: Topology,
        discipline: Discipline,
        policy: impl Fn() -> Box<dyn Policy>,
        outstanding: u32,
    ) -> Result<Self, Refusal> {
        let topology = Arc::new(topology);
        let carrier = Box::new(Simulated::new(Arc::clone(&topology), discipline));
        Self::over(carrier, topology, policy, outstanding)
    }

    /// A runtime over a carrier for this fabric.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn over(
        carrier: Box<dyn Carrier>,
        topology: Arc<Topology>,
        policy: impl Fn() -> Box<dyn Policy>,
        outstanding: u32,
    ) -> Result<Self, Refusal> {
        in_range("outstanding of a host", outstanding, 1..=u32::MAX, "give 1 or more")?;
        let hosts = (0..).zip(topology.nodes()).filter(|(_, node)| node.host.is_some());
        let scheduler = Scheduler::new(hosts.map(|(id, _)| (id, policy())), outstanding);
        Ok(Self {
            addresses: AddressMap::new(&topology),
            carrier,
            topology,
            scheduler,
            contents: Contents::default(),
            now: Picoseconds::ZERO,
            in_flight: HashMap::new(),
            submitted: 0,
            trace: Trace::default(),
        })
    }

    /// Initialises a device and maps its BARs where the fabric has them.
    ///
    /// # Errors
    /// An unknown device, or an address that is in use.
    pub fn device_init(&mut self, device: &str) -> Result<(), Refusal> {
        self.addresses.device_init(device)
    }

    /// Maps a region of an initialised device at other bus addresses; before [`Self::memory_init`].
    ///
    /// # Errors
    /// An unknown region, a BAR larger than it, addresses that are in use, or a region that has its manager.
    pub fn map_bar(&mut self, device: &str, region: &str, bar: crate::BarParameters) -> Result<(), Refusal> {
        self.addresses.map_bar(device, region, bar)
    }

    /// Creates the memory manager of a region: for its BAR, or for all of a region without a BAR.
    ///
    /// # Errors
    /// An unknown region, or one that has its manager.
    pub fn memory_init(&mut self, device: &str, region: &str) -> Result<(), Refusal> {
        self.addresses.memory_init(device, region)
    }

    /// Maps the BAR of a region into a host's addresses, for MMIO and for other devices that work for the
    /// host.
    ///
    /// # Errors
    /// An unknown host or region, a region without a BAR, or addresses that are in use.
    pub fn setup_mapping(
        &mut self,
        device: &str,
        region: &str,
        host: &str,
        host_address: u64,
    ) -> Result<(), Refusal> {
        self.addresses.setup_mapping(device, region, host, host_address)
    }

    /// Allocates memory of a device; returns its bus address.
    ///
    /// # Errors
    /// An unknown region, or too little free memory.
    pub fn memory_alloc(&mut self, device: &str, region: &str, size_bytes: u64) -> Result<u64, Refusal> {
        self.addresses.region(device, region)?.segments()?.allocate(size_bytes)
    }

    /// Frees memory of a device.
    ///
    /// # Errors
    /// An address of another device, or one that is not allocated.
    pub fn memory_free(&mut self, device: &str, device_address: u64) -> Result<(), Refusal> {
        self.addresses.device_segments(device, device_address)?.free(device_address)
    }

    /// The host address of device memory.
    ///
    /// # Errors
    /// An address of another device, or of a region that is not mapped at the host.
    pub fn memory_address(&mut self, device: &str, device_address: u64, host: &str) -> Result<u64, Refusal> {
        self.addresses.seen_from(device, device_address, host)
    }

    /// The bus address of device memory at a host address: the inverse of [`Self::memory_address`].
    ///
    /// # Errors
    /// No memory of this device is mapped at the address.
    pub fn device_address(&mut self, device: &str, host_address: u64, host: &str) -> Result<u64, Refusal> {
        self.addresses.seen_by(device, host_address, host)
    }

    /// Sets bytes in allocated memory of a host, or of a device at a bus address, in no simulated time.
    ///
    /// # Errors
    /// An unknown host or device, or bytes outside an allocated segment.
    pub fn write_bytes(&mut self, node: &str, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let owner = self.addresses.check_held(node, address, bytes.len() as u64)?;
        self.carrier.check_contents(owner)?;
        self.contents.write(owner, address, bytes);
        Ok(())
    }

    /// Reads allocated memory of a host or device: its contents now, with transfers as far as their TLPs have
    /// arrived.
    ///
    /// # Errors
    /// As [`Self::write_bytes`].
    pub fn read_bytes(&mut self, node: &str, address: u64, size_bytes: u64) -> Result<Vec<u8>, Refusal> {
        let owner = self.addresses.check_held(node, address, size_bytes)?;
        self.carrier.check_contents(owner)?;
        Ok(self.contents.read(owner, address, size_bytes))
    }

    /// Allocates memory of a host, in huge pages; returns its address.
    ///
    /// # Errors
    /// An unknown host, or too little free memory.
    pub fn host_memory_alloc(&mut self, host: &str, size_bytes: u64) -> Result<u64, Refusal> {
        self.addresses.host(host)?.memory.allocate(size_bytes)
    }

    /// Frees memory of a host.
    ///
    /// # Errors
    /// An address that is not allocated.
    pub fn host_memory_free(&mut self, host: &str, host_address: u64) -> Result<(), Refusal> {
        self.addresses.host(host)?.memory.free(host_address)
    }

    /// Adds a queue at a socket of a host, with its own limit on requests in flight; returns its number.
    ///
    /// # Errors
    /// An unknown host or socket, or a limit of 0.
    pub fn add_queue(&mut self, host: &str, socket: u32, outstanding: u32) -> Result<u32, Refusal> {
        in_range("outstanding of a queue", outstanding, 1..=u32::MAX, "give 1 or more")?;
        self.addresses.host(host)?.check_socket(socket)?;
        let id = self.addresses.host_id(host)?;
        Ok(self.scheduler.add_queue(id, host.to_owned(), socket, outstanding))
    }

    /// Reads memory of a device by the processor, a cache line at a time. Like the other primitives, returns
    /// the number of the request.
    ///
    /// # Errors
    /// An unknown queue or device, addresses that are not allocated or not mapped, or an empty list; also for
    /// the others.
    pub fn mmio_read(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::MmioRead, queue, device, list)
    }

    /// Writes memory of a device by the processor.
    ///
    /// # Errors
    /// As [`Self::mmio_read`].
    pub fn mmio_write(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::MmioWrite, queue, device, list)
    }

    /// Moves data from the host to a device by its DMA engine. A list of several transfers is one
    /// scatter-gather command with one status write; also for the other DMA primitives.
    ///
    /// # Errors
    /// As [`Self::mmio_read`], or a queue whose limit exceeds the device's tags.
    pub fn h2d(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::H2d, queue, device, list)
    }

    /// Moves data from a device to the host by its DMA engine.
    ///
    /// # Errors
    /// As [`Self::h2d`].
    pub fn d2h(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::D2h, queue, device, list)
    }

    /// The engine of `device` reads from another device, whose memory must be mapped at the queue's host.
    ///
    /// # Errors
    /// As [`Self::h2d`], or a list that reads from several devices.
    pub fn dev2dev_read(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::D2dRead, queue, device, list)
    }

    /// The engine of `device` writes to another device, whose memory must be mapped at the queue's host.
    ///
    /// # Errors
    /// As [`Self::dev2dev_read`].
    pub fn dev2dev_write(&mut self, queue: u32, device: &str, list: &[Transfer]) -> Result<u64, Refusal> {
        self.submit(Primitive::D2dWrite, queue, device, list)
    }

    fn submit(
        &mut self,
        primitive: Primitive,
        queue: u32,
        device: &str,
        list: &[Transfer],
    ) -> Result<u64, Refusal> {
        let Some(found) = self.scheduler.queue(queue) else {
            let no_queue = Refusal::new("unknown queue").kind(Kind::NotFound).about(format!("queue {queue}"));
            return Err(no_queue.remedy("create it with add_queue"));
        };
        let (host, socket, outstanding) = (found.host_name.clone(), found.socket, found.outstanding);
        let placed = self.addresses.resolve(primitive, (&host, socket), queue, device, list)?;
        if !matches!(primitive, Primitive::MmioRead | Primitive::MmioWrite) {
            self.addresses.check_tags(device, queue, outstanding)?;
        }
        self.carrier.announce(&placed, list)?;
        let id = self.submitted;
        self.submitted += 1;
        let request = Queued {
            id,
            submitted: self.now,
            placed,
            primitive,
            device: device.to_owned(),
            size_bytes: list.iter().map(|one| one.size_bytes).sum(),
            list: list.to_vec(),
        };
        self.scheduler.put(queue, request);
        self.issue()?;
        Ok(id)
    }

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Time since the start, ns.
    #[must_use]
    pub fn now_ns(&self) -> f64 {
        self.now.as_ns()
    }

    /// Requests that are not done.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.scheduler.unfinished()
    }

    /// Lets time pass until every request is done.
    ///
    /// # Errors
    /// A policy that chose a missing request, or that holds all requests back while nothing is in flight.
    pub fn run(&mut self) -> Result<(), Refusal> {
        refusal_of(self.run_unless(&mut || false))
    }

    /// The same until `stopped` returns true; a later call goes on from there.
    ///
    /// # Errors
    /// As [`Self::run`], or it was stopped.
    pub fn run_unless(&mut self, stopped: &mut dyn FnMut() -> bool) -> Result<(), Unfinished> {
        while self.unfinished() > 0 && self.step(Picoseconds(u64::MAX), stopped)? {}
        match self.unfinished() {
            0 => Ok(()),
            waiting => {
                let problem = format!("holds {waiting} requests back while nothing is in flight");
                Err(Refusal::new(problem).about("policy").remedy("let one leave, or hold for a time").into())
            }
        }
    }

    /// Lets time pass until `end_ns` after the start, at most [`LONGEST_NS`].
    ///
    /// # Errors
    /// As [`Self::run`], or a time that is too late.
    pub fn run_until(&mut self, end_ns: f64) -> Result<(), Refusal> {
        refusal_of(self.run_until_unless(end_ns, &mut || false))
    }

    /// The same until `stopped` returns true; a later call goes on from there.
    ///
    /// # Errors
    /// As [`Self::run_until`], or it was stopped.
    pub fn run_until_unless(
        &mut self,
        end_ns: f64,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<(), Unfinished> {
        if end_ns.is_nan() || end_ns > LONGEST_NS {
            let remedy = format!("give at most {LONGEST_NS:e}");
            return Err(Refusal::of("end_ns", end_ns, remedy).about("run_until").into());
        }
        let end = Picoseconds::from_ns(end_ns);
        while self.step(end, stopped)? {}
        self.now = self.now.max(end);
        Ok(())
    }

    /// The requests done so far.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Advances to the next completed request or policy decision; false if there is none until `end`.
    fn step(&mut self, end: Picoseconds, stopped: &mut dyn FnMut() -> bool) -> Result<bool, Unfinished> {
        let look = self.scheduler.next_look().filter(|look| *look <= end);
        let mut is_stopped = stopped();
        let mut ask = || {
            is_stopped = is_stopped || stopped();
            is_stopped
        };
        let finished = self.carrier.run_unless(look.unwrap_or(end), &mut self.contents, &mut ask)?;
        if is_stopped && finished.is_none() {
            return Err(Unfinished::Stopped);
        }
        match (finished, look) {
            (Some(finished), _) => {
                self.now = finished.at;
                if let Some((queue, queued)) = self.in_flight.remove(&finished.number) {
                    self.finish(&finished, queue, &queued);
                }
            }
            (None, Some(look)) => self.now = look,
            (None, None) => return Ok(false),
        }
        self.issue()?;
        Ok(true)
    }

    fn finish(&mut self, finished: &Finished, queue: u32, queued: &Queued) {
        let Finished { left, reached_ns, phases, .. } = *finished;
        let waited_ns = left.since(queued.submitted).as_ns();
        let Placed { primitive, host, device, peer, .. } = queued.placed;
        self.trace.requests.push(Traced {
            request: queued.id,
            primitive,
            queue,
            host,
            device,
            peer,
            size_bytes: queued.size_bytes,
            submitted_ns: queued.submitted.as_ns(),
            reached_ns,
            phases: Phases { host_ns: phases.host_ns + waited_ns, ..phases },
        });
        self.scheduler.done(queue);
    }

    /// Submits requests to the carrier as far as the limits allow.
    fn issue(&mut self) -> Result<(), Refusal> {
        while let Some((queue, queued)) = self.scheduler.next(self.now)? {
            let number = self.carrier.submit(self.now, &queued.placed, &queued.list)?;
            self.in_flight.insert(number, (queue, queued));
        }
        Ok(())
    }
}

/// The refusal of work that nothing stops.
fn refusal_of(result: Result<(), Unfinished>) -> Result<(), Refusal> {
    match result {
        Err(Unfinished::Refused(refusal)) => Err(refusal),
        Ok(()) | Err(Unfinished::Stopped) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
