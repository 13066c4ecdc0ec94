//! FPGA cores as the devices of a fabric: each in its own process, behind the links and switches of the
//! fabric's description, and driven by the driver for boards.
//!
//! Time goes on in windows, none longer than a TLP of a core takes to leave its first link, which it shares with
//! nobody. The network first carries what was sent before a window up to its end; then all cores run through it with
//! what arrives there. What they send meanwhile goes on, or arrives, after its end, so nothing is approximated.

mod mmio;
mod network;
mod port;

use crate::process::Process;
use crate::wire::{Completion, Store, Surroundings};
use mmio::HostRead;
use network::Network;
use pcie_driver::{COMMAND_ALIGNMENT, Command, Commands, Core, DriverError, Notice};
use pcie_fabric::runtime::{Carrier, Contents, Finished, Placed, Transfer};
use pcie_fabric::simulate::{Phases, Primitive};
use pcie_fabric::{NodeId, NodeKind, Topology};
use pcie_refusal::{Kind, Refusal};
use pcie_time::Picoseconds;
use port::{Port, RING_BYTES};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

/// Bus addresses of the rings of notices: above all memory of hosts.
const RINGS: u64 = 0xffff_0000_0000;
/// Transmit buffer of the hard block in link time, fs.
const BACKLOG_FS: u32 = 80_000_000;
/// Without a TLP for so long while commands are in flight, the cores have a fault, ns.
const SILENCE_NS: f64 = 1e6;
/// BAR of the core's memory.
const MEMORY_BAR: u8 = 4;

/// A TLP at its destination.
#[derive(Debug)]
enum Message {
    Read {
        core: usize,
        tag: u16,
        address: u64,
        bytes: u64,
    },
    Write {
        core: usize,
        address: u64,
        first_be: u8,
        last_be: u8,
        data: Vec<u8>,
    },
    Completion {
        core: usize,
        tag: u16,
        lower_address: u8,
        bytes: u64,
        data: Vec<u8>,
    },
    /// A read of the processor, and its answer.
    HostRead {
        number: u32,
    },
    HostCompletion {
        number: u32,
        data: Vec<u8>,
    },
}

/// A request of the runtime in flight.
#[derive(Debug)]
struct Job {
    number: u32,
    left: Picoseconds,
    command: u16,
    queue: u32,
    commands: u32,
    /// For a write to another device, the bus addresses and how many bytes have not arrived.
    to_peer: Option<(Vec<Transfer>, u64)>,
    notice: Option<(Picoseconds, Notice)>,
}

/// A read of the memory while it is loaded: of another core, or of the processor.
#[derive(Debug)]
enum Loading {
    Core { core: usize, tag: u16, lower_address: u8, bytes: u64 },
    Host { number: u32 },
}

/// A device.
#[derive(Debug)]
struct Device {
    node: NodeId,
    bar: u64,
    bytes: u64,
    commands: Commands<Port>,
    /// Command queue of each queue of the runtime.
    queues: BTreeMap<u32, u32>,
    /// Commands in each command queue.
    waiting: Vec<u32>,
    jobs: VecDeque<Job>,
    next_command: u16,
    /// Reads of its memory, in order.
    loading: VecDeque<Loading>,
}

/// The cores of a fabric.
#[derive(Debug)]
pub struct Cores {
    host: NodeId,
    software: Picoseconds,
    memory_read: Picoseconds,
    devices: Vec<Device>,
    network: Network<Message>,
    window: u64,
    clock_ps: u64,
    finished: Vec<Finished>,
    host_reads: Vec<HostRead>,
    next_number: u32,
    heard: Picoseconds,
}

impl Cores {
    /// Starts a core for each device of a fabric with one host. `program` is `pcielab-rtl`; default: that of
    /// `make rtl`.
    ///
    /// # Errors
    /// A fabric of another kind, or a program that does not start.
    pub fn start(topology: &Topology, program: Option<PathBuf>) -> Result<Self, Refusal> {
        let program = program.unwrap_or_else(|| crate::backend::BUILT_PROGRAM.into());
        let of_kind = |kind| {
            let nodes = (0..).zip(topology.nodes());
            nodes.filter(move |(_, node)| node.kind == kind).map(|(id, _)| id).collect::<Vec<NodeId>>()
        };
        let (hosts, devices) = (of_kind(NodeKind::Host), of_kind(NodeKind::Device));
        let [host] = hosts[..] else {
            let problem = format!("the fabric {} has {} hosts", topology.name(), hosts.len());
            return Err(Refusal::new(problem).remedy("give one with a single host for FPGA cores"));
        };
        let nodes: Vec<NodeId> = devices.iter().copied().chain([host]).collect();
        let network = Network::new(topology, &nodes);
        let opened = devices.iter().zip(0..).map(|(&node, number)| open(topology, &program, node, number));
        let devices = opened.collect::<Result<Vec<Device>, Refusal>>()?;
        let parameters = topology.nodes()[host as usize].host.unwrap_or_default();
        let mut cores = Self {
            host,
            software: Picoseconds::from_ns(parameters.software_ns),
            memory_read: Picoseconds::from_ns(parameters.memory_read_ns),
            window: 0,
            clock_ps: 1,
            devices,
            network,
            finished: vec![],
            host_reads: vec![],
            next_number: 0,
            heard: Picoseconds::ZERO,
        };
        cores.clock_ps = cores.devices.first_mut().map_or(1, |device| device.commands.transport().clock_ps());
        let nodes: Vec<NodeId> = cores.devices.iter().map(|device| device.node).collect();
        cores.window = cores.network.shortest_hop(&nodes).0 / cores.clock_ps;
        if cores.window == 0 {
            let problem =
                format!("a core of {} is less than one of its clocks from the next node", topology.name());
            return Err(Refusal::new(problem).remedy(format!("give a delay_ns of {}", cores.clock_ps / 1000)));
        }
        let latest = cores.devices.iter_mut().map(|device| device.commands.transport().clock()).max();
        cores.run(latest.unwrap_or(0))?;
        for device in &mut cores.devices {
            device.commands.transport().origin = latest.unwrap_or(0);
        }
        Ok(cores)
    }

    fn run(&mut self, until: u64) -> Result<(), Refusal> {
        for index in 0..self.devices.len() {
            let port = self.devices[index].commands.transport();
            port.run(until).map_err(DriverError::from).map_err(failed)?;
            for (request, data) in port.take_requests() {
                let (lead, trail) = request.left_out();
                let bytes = u64::from(request.dwords) * 4 - u64::from(lead) - u64::from(trail);
                let at = self.devices[index].commands.transport().time_of(request.last_clock + 1);
                let (core, address) = (index, request.address);
                let route = (self.devices[index].node, self.owner(address));
                if request.write {
                    let (first_be, last_be) = (request.first_be, request.last_be);
                    let message = Message::Write { core, address, first_be, last_be, data };
                    self.network.send(at, route, bytes, message);
                } else {
                    let message =
                        Message::Read { core, tag: request.tag, address: address + u64::from(lead), bytes };
                    self.network.send(at, route, 0, message);
                }
            }
            for (clock, data) in self.devices[index].commands.transport().take_loaded() {
                let device = &mut self.devices[index];
                let at = device.commands.transport().time_of(clock + 1);
                let node = device.node;
                match device.loading.pop_front() {
                    Some(Loading::Core { core, tag, lower_address, bytes }) => {
                        let route = (node, self.devices[core].node);
                        let answer = Message::Completion { core, tag, lower_address, bytes, data };
                        self.network.send(at, route, bytes, answer);
                    }
                    Some(Loading::Host { number }) => {
                        if let Some(read) = self.host_reads.iter_mut().find(|read| read.number == number) {
                            read.leaves_device(at);
                        }
                        let bytes = data.len() as u64;
                        let answer = Message::HostCompletion { number, data };
                        self.network.send(at, (node, self.host), bytes, answer);
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// The device whose memory has a bus address, or the host.
    fn owner(&self, address: u64) -> NodeId {
        let device = self.devices.iter().find(|device| device.has(address));
        device.map_or(self.host, |device| device.node)
    }

    fn device(&self, node: NodeId) -> Option<usize> {
        self.devices.iter().position(|device| device.node == node)
    }

    /// Carries TLPs up to a time.
    fn carry(&mut self, until: Picoseconds, contents: &mut Contents) -> Result<(), Refusal> {
        while self.network.next_at().is_some_and(|at| at <= until) {
            if let Some((at, message)) = self.network.step() {
                self.deliver(at, message, contents)?;
            }
        }
        Ok(())
    }

    fn deliver(&mut self, at: Picoseconds, message: Message, contents: &mut Contents) -> Result<(), Refusal> {
        self.heard = self.heard.max(at);
        match message {
            Message::Read { core, tag, address, bytes } => {
                let first = address & !3;
                let length = (address + bytes).next_multiple_of(4) - first;
                if let Some(owner) = self.devices.iter_mut().find(|device| device.has(address)) {
                    let offset = (first - owner.bar) as u32;
                    let lower_address = (address & 127) as u8;
                    owner.loading.push_back(Loading::Core { core, tag, lower_address, bytes });
                    let port = owner.commands.transport();
                    let clock = port.clock_at(at);
                    port.load(clock, offset, length as u32);
                    return Ok(());
                }
                let data = contents.read(self.host, first, length);
                let lower_address = (address & 127) as u8;
                let answer = Message::Completion { core, tag, lower_address, bytes, data };
                let route = (self.host, self.devices[core].node);
                self.network.send(at + self.memory_read, route, bytes, answer);
            }
            Message::HostRead { number } => {
                let Some(read) = self.host_reads.iter_mut().find(|read| read.number == number) else {
                    return Ok(());
                };
                read.reaches(at);
                let (device, Some(line)) = (&mut self.devices[read.core], read.line()) else { return Ok(()) };
                device.loading.push_back(Loading::Host { number });
                let offset = (line.device_address - device.bar) as u32;
                let port = device.commands.transport();
                let clock = port.clock_at(at);
                port.load(clock, offset, line.bytes as u32);
            }
            Message::HostCompletion { number, data } => {
                let Some(index) = self.host_reads.iter().position(|read| read.number == number) else {
                    return Ok(());
                };
                if let Some(line) = self.host_reads[index].line() {
                    contents.write(self.host, line.host_address, &data);
                }
                match self.host_reads[index].arrives(at) {
                    Some(done) => {
                        self.host_reads.swap_remove(index);
                        self.finished.push(done);
                    }
                    None => self.read_line(at, index),
                }
            }
            Message::Completion { core, tag, lower_address, bytes, data } => {
                let port = self.devices[core].commands.transport();
                let clock = port.clock_at(at);
                port.complete(Completion { clock, tag, byte_count: bytes as u16, lower_address, data });
            }
            Message::Write { core, address, first_be, last_be, data } => {
                if let Some(owner) = self.devices.iter().position(|device| device.has(address)) {
                    self.write_peer(at, (core, owner), address, [first_be, last_be], data);
                } else if self.devices[core].commands.transport().write_ring(address, &data) {
                    self.take_notices(at, core)?;
                } else {
                    let enables = if data.len() > 4 { last_be } else { first_be };
                    let trail = (enables & 15).leading_zeros().saturating_sub(4).min(3);
                    contents.write(self.host, address, &data[..data.len() - trail as usize]);
                }
            }
        }
        Ok(())
    }

    fn write_peer(
        &mut self,
        at: Picoseconds,
        (core, owner): (usize, usize),
        address: u64,
        be: [u8; 2],
        data: Vec<u8>,
    ) {
        let enables = if data.len() > 4 { be[1] } else { be[0] };
        let bytes = data.len() as u64 - u64::from((enables & 15).leading_zeros().saturating_sub(4).min(3));
        let offset = (address - self.devices[owner].bar) as u32;
        let port = self.devices[owner].commands.transport();
        let clock = port.clock_at(at);
        port.store_whole(Store { clock, bar: MEMORY_BAR, first_be: be[0], last_be: be[1], offset, data });
        let jobs = self.devices[core].jobs.iter_mut();
        let mut to_peer = jobs.filter_map(|job| job.to_peer.as_mut());
        let carried = to_peer.find(|(list, left)| {
            let inside =
                |one: &Transfer| (one.other_address..one.other_address + one.size_bytes).contains(&address);
            *left > 0 && list.iter().any(inside)
        });
        if let Some((_, left)) = carried {
            *left = left.saturating_sub(bytes);
        }
        self.finish(at, core);
    }

    fn take_notices(&mut self, at: Picoseconds, core: usize) -> Result<(), Refusal> {
        let device = &mut self.devices[core];
        while let Some(notice) = device.commands.take().map_err(failed)? {
            if let Some(job) = device.jobs.iter_mut().find(|job| job.command == notice.number) {
                job.notice = Some((at, notice));
            }
        }
        self.finish(at, core);
        Ok(())
    }

    /// Finishes the requests of a core whose notice and data have arrived.
    fn finish(&mut self, now: Picoseconds, core: usize) {
        let device = &mut self.devices[core];
        let mut kept = VecDeque::with_capacity(device.jobs.len());
        for job in device.jobs.drain(..) {
            let Some((at, notice)) =
                job.notice.filter(|_| job.to_peer.as_ref().is_none_or(|(_, left)| *left == 0))
            else {
                kept.push_back(job);
                continue;
            };
            device.waiting[job.queue as usize] -= job.commands;
            let at = at.max(now);
            let [arrived, started] =
                [notice.arrived, notice.started].map(|clock| device.commands.transport().time_of(clock));
            let device_ns = started.since(arrived).as_ns();
            let host_ns = self.software.as_ns();
            let fabric_ns = at.since(job.left).as_ns() - host_ns - device_ns;
            self.finished.push(Finished {
                at,
                number: job.number,
                left: job.left,
                reached_ns: arrived.as_ns(),
                phases: Phases { host_ns, fabric_ns, device_ns },
            });
        }
        device.jobs = kept;
    }

    /// Sends the next read of a line of the processor.
    fn read_line(&mut self, at: Picoseconds, index: usize) {
        let HostRead { number, core, .. } = self.host_reads[index];
        let route = (self.host, self.devices[core].node);
        self.network.send(at, route, 0, Message::HostRead { number });
    }

    fn has_jobs(&self) -> bool {
        !self.host_reads.is_empty() || self.devices.iter().any(|device| !device.jobs.is_empty())
    }
}

impl Device {
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.bar).is_some_and(|offset| offset < self.bytes)
    }
}

fn open(topology: &Topology, program: &Path, node: NodeId, number: u64) -> Result<Device, Refusal> {
    let process = Process::start(program).map_err(Refusal::new)?;
    let described = &topology.nodes()[node as usize];
    let name = &described.name;
    let code = (topology.mps_bytes().ilog2() - 7) as u8;
    let upwards = (0..).zip(topology.links()).find(|(_, link)| link.lower == *name);
    let capacity =
        upwards.map_or(f64::INFINITY, |(link, _)| topology.link_capacities()[2 * link as usize + 1]);
    let surroundings = Surroundings {
        react: u32::MAX,
        max_payload: code,
        max_read_request: code,
        byte_fs: (1e6 / capacity).round() as u32,
        read_bytes: 0,
        write_bytes: 0,
        unit_bytes: 1,
        backlog_fs: BACKLOG_FS,
    };
    let port = Port::new(process, surroundings, RINGS + number * RING_BYTES);
    let mut core = Core::open(port).map_err(failed)?;
    let parameters = described.device.as_ref();
    core.limit_tags(parameters.map_or(1, |device| device.engine.tags)).map_err(failed)?;
    let commands = Commands::open(core).map_err(failed)?;
    let limits = commands.limits();
    let memory = parameters.and_then(|device| device.memories.first());
    let Some((memory, bar)) = memory.and_then(|memory| Some((memory, memory.bar?))) else {
        return Err(Refusal::new("it has no memory with a BAR")
            .kind(Kind::Missing)
            .about(name)
            .remedy("give it one"));
    };
    if memory.size_bytes > limits.memory_bytes || u64::from(memory.alignment_bytes) < COMMAND_ALIGNMENT {
        let problem =
            format!("{} has {} bytes, aligned to {}", memory.name, memory.size_bytes, memory.alignment_bytes);
        let remedy = format!("give at most {} bytes, aligned to {COMMAND_ALIGNMENT}", limits.memory_bytes);
        return Err(Refusal::new(problem).about(name).remedy(remedy));
    }
    Ok(Device {
        node,
        bar: bar.address,
        bytes: memory.size_bytes,
        commands,
        queues: BTreeMap::new(),
        waiting: vec![0; limits.queues as usize],
        jobs: VecDeque::new(),
        next_command: 0,
        loading: VecDeque::new(),
    })
}

fn failed(error: DriverError) -> Refusal {
    Refusal::new(error).about("FPGA core")
}

impl Carrier for Cores {
    fn announce(&mut self, placed: &Placed, list: &[Transfer]) -> Result<(), Refusal> {
        let Placed { primitive, socket, queue, device, .. } = *placed;
        if !matches!(
            primitive,
            Primitive::MmioRead | Primitive::H2d | Primitive::D2h | Primitive::D2dRead | Primitive::D2dWrite
        ) {
            let problem = format!("FPGA cores do not answer {}", primitive.name());
            return Err(Refusal::new(problem)
                .kind(Kind::Unsupported)
                .remedy("use mmio_read, h2d, d2h, dev2dev_read or dev2dev_write, or simulated devices"));
        }
        if socket != 0 {
            return Err(Refusal::of("socket", socket, "give 0: cores are attached to it"));
        }
        let Some(index) = self.device(device) else {
            return Err(Refusal::new("there is no core")
                .kind(Kind::NotFound)
                .remedy("give a device of the fabric"));
        };
        if primitive == Primitive::MmioRead {
            return Ok(());
        }
        let device = &mut self.devices[index];
        let (limits, known) = (device.commands.limits(), device.queues.len() as u32);
        if known == limits.queues && !device.queues.contains_key(&queue) {
            let problem = format!("the core has {known} command queues, which other queues use");
            return Err(Refusal::new(problem).about(format!("queue {queue}")).remedy("use those"));
        }
        device.queues.entry(queue).or_insert(known);
        for one in list {
            let to_host = matches!(primitive, Primitive::H2d | Primitive::D2h);
            let wrong = to_host && !one.other_address.is_multiple_of(COMMAND_ALIGNMENT);
            if wrong || !device.has(one.device_address) {
                let at = format!("{:#x}", if wrong { one.other_address } else { one.device_address });
                let remedy = format!("give multiples of {COMMAND_ALIGNMENT} in the BAR of the description");
                return Err(Refusal::new("the core does not reach it")
                    .kind(Kind::OutOfRange)
                    .about(format!("address {at}"))
                    .remedy(remedy));
            }
        }
        if list.len() > limits.depth as usize {
            let remedy = format!("give at most {}", limits.depth);
            return Err(Refusal::of("transfers of a list", list.len(), remedy));
        }
        Ok(())
    }

    fn check_contents(&self, node: NodeId) -> Result<(), Refusal> {
        if node == self.host {
            return Ok(());
        }
        Err(Refusal::new("the memory of an FPGA core is read and written by commands only")
            .kind(Kind::Unsupported)
            .remedy("use h2d and d2h"))
    }

    fn submit(&mut self, at: Picoseconds, placed: &Placed, list: &[Transfer]) -> Result<u32, Refusal> {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let there = at + self.software + self.network.delay(self.host, placed.device);
        let index = self.device(placed.device);
        if let (Primitive::MmioRead, Some(core)) = (placed.primitive, index) {
            self.host_reads.push(HostRead::new(number, core, at, list));
            self.read_line(at, self.host_reads.len() - 1);
            self.heard = self.heard.max(at);
            return Ok(number);
        }
        let Some(device) = index.and_then(|index| self.devices.get_mut(index)) else { return Ok(number) };
        let queue = device.queues.get(&placed.queue).copied().unwrap_or_default();
        let commands = list.len() as u32;
        device.waiting[queue as usize] += commands;
        if device.waiting[queue as usize] > device.commands.limits().depth {
            let problem = format!("more than {} transfers are in flight", device.commands.limits().depth);
            let refused = Refusal::new(problem).about(format!("queue {}", placed.queue));
            return Err(refused.remedy("limit its outstanding requests"));
        }
        let port = device.commands.transport();
        port.write_clock = port.clock_at(there);
        device.next_command = device.next_command.wrapping_add(1);
        let (command, bar) = (device.next_command, device.bar);
        let writes = matches!(placed.primitive, Primitive::D2h | Primitive::D2dWrite);
        for (nth, one) in (1..).zip(list) {
            let moved = Command {
                writes,
                bus: one.other_address,
                memory: one.device_address - bar,
                bytes: one.size_bytes,
                notify: nth == list.len(),
                number: command,
            };
            device.commands.submit(queue, &moved).map_err(failed)?;
        }
        let to_arrive = list.iter().map(|one| one.size_bytes).sum();
        let to_peer = placed.peer.filter(|_| writes).map(|_| (list.to_vec(), to_arrive));
        device.jobs.push_back(Job { number, left: at, command, queue, commands, to_peer, notice: None });
        self.heard = self.heard.max(at);
        Ok(number)
    }

    fn run_unless(
        &mut self,
        end: Picoseconds,
        contents: &mut Contents,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Finished>, Refusal> {
        loop {
            if let Some(first) = (0..self.finished.len()).min_by_key(|&index| self.finished[index].at) {
                if self.finished[first].at > end {
                    return Ok(None);
                }
                return Ok(Some(self.finished.remove(first)));
            }
            let slowest = self.devices.iter_mut().map(|device| device.commands.transport());
            let Some(port) = slowest.min_by_key(|port| port.clock()) else { return Ok(None) };
            let until = port.clock() + self.window;
            let (now, then) = (port.time_of(port.clock()), port.time_of(until));
            if !self.has_jobs() || now > end || stopped() {
                return Ok(None);
            }
            self.carry(then, contents)?;
            self.run(until)?;
            if then.since(self.heard).as_ns() > SILENCE_NS {
                self.devices.iter_mut().try_for_each(|device| device.commands.check()).map_err(failed)?;
                return Err(failed(DriverError::Silent((SILENCE_NS / 1e3) as u64)));
            }
        }
    }
}
