//! What the runtime has set up: memory of hosts, regions of devices, and who sees what at which addresses.

use std::collections::BTreeMap;

use super::error::RuntimeError;
use super::memory::{HUGE_PAGE_BYTES, Segments};
use super::transfer::Transfer;
use crate::description::{BarParameters, DeviceParameters, MemoryParameters, NodeParameters};
use crate::error::FabricError;
use crate::simulate::Primitive;
use crate::simulate::traffic::Placed;
use crate::topology::{NodeId, Topology};

/// Where host memory for transfers begins: above what 32-bit BARs take.
const HOST_MEMORY: u64 = 1 << 32;
/// Addresses of regions that have no BAR, and so are seen by nobody but their device.
const UNSEEN: u64 = 1 << 63;
const UNSEEN_REGION_BITS: u32 = 48;

/// Hosts and initialised devices.
#[derive(Debug)]
pub(super) struct AddressMap {
    hosts: BTreeMap<NodeId, HostMap>,
    devices: BTreeMap<NodeId, Vec<Region>>,
}

/// A host: its memory, and what is mapped into its addresses.
#[derive(Debug)]
pub(super) struct HostMap {
    name: String,
    sockets: u32,
    pub memory: Segments,
    /// First address, length, and what it is.
    mapped: Vec<(u64, u64, String)>,
}

/// A memory of an initialised device.
#[derive(Debug)]
pub(super) struct Region {
    /// `hbm of A`.
    label: String,
    bar: Option<BarParameters>,
    segments: Option<Segments>,
    /// Where each host sees the BAR.
    seen_at: BTreeMap<NodeId, u64>,
}

impl Region {
    pub fn segments(&mut self) -> Result<&mut Segments, RuntimeError> {
        let item = self.label.clone();
        self.segments.as_mut().ok_or(RuntimeError::NotReady { item, first: "memory_init" })
    }
}

impl HostMap {
    pub fn check_socket(&self, socket: u32) -> Result<(), RuntimeError> {
        if socket < self.sockets {
            return Ok(());
        }
        let (item, most) = (format!("host {}", self.name), self.sockets - 1);
        Err(RuntimeError::Request { item, problem: format!("socket = {socket}: it has sockets 0 to {most}") })
    }
}

impl AddressMap {
    pub fn new(topology: &Topology) -> Self {
        let hosts = (0..).zip(topology.nodes()).filter_map(|(id, node)| {
            let host = node.host?;
            let label = format!("memory of {}", node.name);
            let memory = Segments::new(label, HOST_MEMORY, host.memory_bytes, Some(HUGE_PAGE_BYTES));
            let (name, sockets) = (node.name.clone(), host.sockets);
            Some((id, HostMap { name, sockets, memory, mapped: vec![] }))
        });
        Self { hosts: hosts.collect(), devices: BTreeMap::new() }
    }

    pub fn host(&mut self, topology: &Topology, name: &str) -> Result<&mut HostMap, RuntimeError> {
        let host = topology.node(name).and_then(|id| self.hosts.get_mut(&id));
        host.ok_or_else(|| unknown("host", name, topology, |node| node.host.is_some()))
    }

    pub fn host_id(&self, topology: &Topology, name: &str) -> Result<NodeId, RuntimeError> {
        let host = topology.node(name).filter(|id| self.hosts.contains_key(id));
        host.ok_or_else(|| unknown("host", name, topology, |node| node.host.is_some()))
    }

    pub fn device_init(&mut self, topology: &Topology, name: &str) -> Result<(), RuntimeError> {
        let (id, device) = device(topology, name)?;
        if self.devices.contains_key(&id) {
            return Err(RuntimeError::Twice { item: format!("device {name}"), done: "device_init" });
        }
        let mut regions = vec![];
        for memory in &device.memories {
            let label = format!("{} of {name}", memory.name);
            if let Some(bar) = memory.bar {
                self.check_free(&label, bar)?;
            }
            regions.push(Region { label, bar: memory.bar, segments: None, seen_at: BTreeMap::new() });
        }
        self.devices.insert(id, regions);
        Ok(())
    }

    pub fn map_bar(
        &mut self,
        topology: &Topology,
        name: &str,
        region: &str,
        bar: BarParameters,
    ) -> Result<(), RuntimeError> {
        let (id, number, memory) = self.find(topology, name, region)?;
        if bar.size_bytes == 0 || bar.size_bytes > memory.size_bytes {
            let (node, memory, size_bytes) = (name.to_owned(), region.to_owned(), memory.size_bytes);
            let bar_bytes = bar.size_bytes;
            return Err(FabricError::BarBeyondMemory { node, memory, bar_bytes, size_bytes }.into());
        }
        if bar.address.checked_add(bar.size_bytes).is_none_or(|end| end > UNSEEN) {
            let (node, memory, address) = (name.to_owned(), region.to_owned(), bar.address);
            return Err(FabricError::BarBeyondAddresses { node, memory, address }.into());
        }
        let before = self.region_at(id, number).bar.take();
        let checked = self.check_free(&format!("{region} of {name}"), bar);
        let region = self.region_at(id, number);
        region.bar = if checked.is_ok() { Some(bar) } else { before };
        checked?;
        if region.segments.is_some() {
            region.bar = before;
            return Err(RuntimeError::Request {
                item: region.label.clone(),
                problem: "its memory is in use: map its BAR before memory_init".to_owned(),
            });
        }
        Ok(())
    }

    /// Makes sure that nothing else has these bus addresses.
    fn check_free(&self, item: &str, bar: BarParameters) -> Result<(), RuntimeError> {
        let bars = self.devices.values().flatten().filter_map(|region| {
            let bar = region.bar?;
            Some((bar.address, bar.size_bytes, region.label.as_str()))
        });
        let memories = self.hosts.values().map(|host| {
            let (first, end) = host.memory.bounds();
            (first, end - first, host.name.as_str())
        });
        apart(item, (bar.address, bar.size_bytes), bars.chain(memories))
    }

    pub fn memory_init(&mut self, topology: &Topology, name: &str, region: &str) -> Result<(), RuntimeError> {
        let (id, number, memory) = self.find(topology, name, region)?;
        let place = self.region_at(id, number);
        if place.segments.is_some() {
            return Err(RuntimeError::Twice { item: place.label.clone(), done: "memory_init" });
        }
        let (first, size_bytes) = match place.bar {
            Some(bar) => (bar.address, bar.size_bytes),
            None => (UNSEEN + ((number as u64) << UNSEEN_REGION_BITS), memory.size_bytes),
        };
        place.segments = Some(Segments::new(place.label.clone(), first, size_bytes, None));
        Ok(())
    }

    pub fn setup_mapping(
        &mut self,
        topology: &Topology,
        name: &str,
        region: &str,
        host: &str,
        host_address: u64,
    ) -> Result<(), RuntimeError> {
        let (id, number, _) = self.find(topology, name, region)?;
        let Region { label, bar, .. } = self.region_at(id, number);
        let (label, bar) = (label.clone(), *bar);
        let Some(bar) = bar else { return Err(without_bar(&label)) };
        if host_address.checked_add(bar.size_bytes).is_none() {
            let (node, memory) = (name.to_owned(), region.to_owned());
            return Err(FabricError::BarBeyondAddresses { node, memory, address: host_address }.into());
        }
        let place = self.host(topology, host)?;
        let (first, end) = place.memory.bounds();
        let taken = place.mapped.iter().map(|(at, length, what)| (*at, *length, what.as_str()));
        let taken = taken.chain([(first, end - first, place.name.as_str())]);
        apart(&format!("{label} at {host}"), (host_address, bar.size_bytes), taken)?;
        place.mapped.push((host_address, bar.size_bytes, label));
        let host = self.host_id(topology, host)?;
        self.region_at(id, number).seen_at.insert(host, host_address);
        Ok(())
    }

    pub fn region(
        &mut self,
        topology: &Topology,
        name: &str,
        region: &str,
    ) -> Result<&mut Region, RuntimeError> {
        let (id, number, _) = self.find(topology, name, region)?;
        Ok(self.region_at(id, number))
    }

    /// The memory manager that an address of a device belongs to.
    pub fn device_segments(
        &mut self,
        topology: &Topology,
        name: &str,
        address: u64,
    ) -> Result<&mut Segments, RuntimeError> {
        let (id, number) = self.region_of(topology, name, address)?;
        self.region_at(id, number).segments()
    }

    pub fn seen_from(
        &mut self,
        topology: &Topology,
        name: &str,
        address: u64,
        host: &str,
    ) -> Result<u64, RuntimeError> {
        self.host(topology, host)?;
        let (id, number) = self.region_of(topology, name, address)?;
        let at = self.mapped_at(topology, (id, number), host)?;
        let (first, _) = self.region_at(id, number).segments()?.bounds();
        Ok(at + (address - first))
    }

    /// What a host sees at an address of its own: the bus address of a device's memory that is mapped there.
    pub fn seen_by(
        &mut self,
        topology: &Topology,
        name: &str,
        host_address: u64,
        host: &str,
    ) -> Result<u64, RuntimeError> {
        let host_id = self.host_id(topology, host)?;
        let (id, _) = device(topology, name)?;
        let found = self.initialised(id, name)?.iter().find_map(|region| {
            let (bar, at) = (region.bar?, region.seen_at.get(&host_id)?);
            let offset = host_address.checked_sub(*at).filter(|offset| *offset < bar.size_bytes)?;
            Some(bar.address + offset)
        });
        found.ok_or_else(|| RuntimeError::Unknown {
            kind: "address",
            name: format!("{host_address:#x} of {host}"),
            problem: format!("no memory of {name} is mapped there: map it with setup_mapping"),
        })
    }

    /// Makes sure that bytes lie in allocated memory of a host or device, and says whose it is.
    pub fn check_held(
        &mut self,
        topology: &Topology,
        place: &str,
        address: u64,
        size_bytes: u64,
    ) -> Result<NodeId, RuntimeError> {
        if let Some(id) = topology.node(place).filter(|id| self.hosts.contains_key(id)) {
            self.host(topology, place)?.memory.check(address, size_bytes)?;
            return Ok(id);
        }
        let (id, number) = self.region_of(topology, place, address)?;
        self.region_at(id, number).segments()?.check(address, size_bytes)?;
        Ok(id)
    }

    fn mapped_at(
        &mut self,
        topology: &Topology,
        (id, number): (NodeId, usize),
        host: &str,
    ) -> Result<u64, RuntimeError> {
        let region = self.region_at(id, number);
        if region.bar.is_none() {
            return Err(without_bar(&region.label));
        }
        let at = topology.node(host).and_then(|host| region.seen_at.get(&host).copied());
        let item = format!("{} at {host}", region.label);
        at.ok_or(RuntimeError::NotReady { item, first: "setup_mapping" })
    }

    /// Checks the addresses of a request and finds the ends of its flow.
    pub fn place(
        &mut self,
        topology: &Topology,
        primitive: Primitive,
        (host_name, socket): (&str, u32),
        queue: u32,
        name: &str,
        list: &[Transfer],
    ) -> Result<Placed, RuntimeError> {
        let Some(first) = list.first() else {
            let problem = "an empty list: give at least one transfer".to_owned();
            return Err(RuntimeError::Request { item: format!("{primitive:?} of {name}"), problem });
        };
        let (device, memory) = self.region_of(topology, name, first.device_address)?;
        let between_devices = matches!(primitive, Primitive::D2dRead | Primitive::D2dWrite);
        let peer = if between_devices { Some(self.peer(first.other_address)?) } else { None };
        for one in list {
            if one.size_bytes == 0 {
                let problem = "size_bytes = 0: give 1 or more".to_owned();
                return Err(RuntimeError::Request { item: format!("{primitive:?} of {name}"), problem });
            }
            self.region_at(device, memory).segments()?.check(one.device_address, one.size_bytes)?;
            let other = match peer {
                Some((peer, memory)) => self.region_at(peer, memory).segments()?,
                None => &mut self.host(topology, host_name)?.memory,
            };
            other.check(one.other_address, one.size_bytes)?;
            if !matches!(primitive, Primitive::MmioRead | Primitive::MmioWrite) {
                check_packets(topology, device, one.size_bytes)?;
                check_alignment(topology, (device, memory), one.device_address)?;
                peer.map_or(Ok(()), |peer| check_alignment(topology, peer, one.other_address))?;
            }
        }
        match (primitive, peer) {
            (_, Some(peer)) => drop(self.mapped_at(topology, peer, host_name)?),
            (Primitive::MmioRead | Primitive::MmioWrite, None) => {
                self.mapped_at(topology, (device, memory), host_name)?;
            }
            _ => {}
        }
        let host = self.host_id(topology, host_name)?;
        let other = peer.map_or(host, |(peer, _)| peer);
        if other == device {
            let problem = "both ends are this device: give the address of another one".to_owned();
            return Err(RuntimeError::Request { item: format!("{primitive:?} of {name}"), problem });
        }
        let outwards = matches!(primitive, Primitive::D2h | Primitive::D2dWrite);
        let (source, destination) = if outwards { (device, other) } else { (other, device) };
        let peer_memory = peer.map_or(memory, |(_, memory)| memory);
        let peer = peer.map(|(peer, _)| peer);
        Ok(Placed { primitive, source, destination, host, device, peer, socket, queue, memory, peer_memory })
    }

    pub fn check_tags(
        &self,
        topology: &Topology,
        name: &str,
        queue: u32,
        outstanding: u32,
    ) -> Result<(), RuntimeError> {
        let tags = device(topology, name)?.1.engine.tags;
        if outstanding <= tags {
            return Ok(());
        }
        Err(RuntimeError::TooManyOutstanding { queue, outstanding, device: name.to_owned(), tags })
    }

    /// The device and region behind a bus address.
    fn peer(&self, address: u64) -> Result<(NodeId, usize), RuntimeError> {
        let shown = |region: &Region| {
            region.bar.is_some_and(|bar| (bar.address..bar.address + bar.size_bytes).contains(&address))
        };
        let found =
            self.devices.iter().find_map(|(id, regions)| Some((*id, regions.iter().position(shown)?)));
        found.ok_or_else(|| RuntimeError::Unknown {
            kind: "region",
            name: format!("{address:#x}"),
            problem: "no initialised device has memory there: give a bus address of one that has a BAR"
                .to_owned(),
        })
    }

    fn region_of(
        &self,
        topology: &Topology,
        name: &str,
        address: u64,
    ) -> Result<(NodeId, usize), RuntimeError> {
        let (id, found) = device(topology, name)?;
        if found.memories.is_empty() {
            let problem = "it has no memory: give a device that has one".to_owned();
            return Err(RuntimeError::Request { item: format!("device {name}"), problem });
        }
        let regions = self.initialised(id, name)?;
        let holds = |region: &Region| region.segments.as_ref().is_some_and(|memory| memory.contains(address));
        regions.iter().position(holds).map(|number| (id, number)).ok_or_else(|| {
            let ready = regions.iter().filter(|region| region.segments.is_some());
            let known: Vec<&str> = ready.map(|region| region.label.as_str()).collect();
            RuntimeError::Unknown {
                kind: "region",
                name: format!("{address:#x}"),
                problem: format!(
                    "is in no region of {name} that memory_init was called for ({}): give an address from \
                     memory_alloc",
                    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                ),
            }
        })
    }

    fn find<'a>(
        &self,
        topology: &'a Topology,
        name: &str,
        region: &str,
    ) -> Result<(NodeId, usize, &'a MemoryParameters), RuntimeError> {
        let (id, device) = device(topology, name)?;
        self.initialised(id, name)?;
        let found = (0..).zip(&device.memories).find(|(_, memory)| memory.name == region);
        found.map(|(number, memory)| (id, number, memory)).ok_or_else(|| {
            let known: Vec<&str> = device.memories.iter().map(|memory| memory.name.as_str()).collect();
            let problem = format!("{name} has no such region: known: {}", known.join(", "));
            RuntimeError::Unknown { kind: "region", name: region.to_owned(), problem }
        })
    }

    fn initialised(&self, id: NodeId, name: &str) -> Result<&[Region], RuntimeError> {
        let item = format!("device {name}");
        let regions = self.devices.get(&id).ok_or(RuntimeError::NotReady { item, first: "device_init" })?;
        Ok(regions)
    }

    /// A region that was found before.
    #[expect(
        clippy::expect_used,
        reason = "who has its numbers has them from an initialised device, and none is taken away"
    )]
    fn region_at(&mut self, id: NodeId, number: usize) -> &mut Region {
        let regions = self.devices.get_mut(&id).expect("the device is initialised");
        &mut regions[number]
    }
}

/// The engine of a device moves whole packets.
fn check_packets(topology: &Topology, id: NodeId, size_bytes: u64) -> Result<(), RuntimeError> {
    let NodeParameters { name, device, .. } = &topology.nodes()[id as usize];
    let packet_bytes = device.as_ref().map_or(1, |device| device.engine.packet_bytes);
    if size_bytes.is_multiple_of(packet_bytes.into()) {
        return Ok(());
    }
    Err(RuntimeError::PartOfPacket { device: name.clone(), size_bytes, packet_bytes })
}

/// A DMA transfer starts where the ports of the memory do.
fn check_alignment(
    topology: &Topology,
    (id, memory): (NodeId, usize),
    address: u64,
) -> Result<(), RuntimeError> {
    let NodeParameters { name, device, .. } = &topology.nodes()[id as usize];
    let Some(memory) = device.as_ref().and_then(|device| device.memories.get(memory)) else { return Ok(()) };
    if address.is_multiple_of(memory.alignment_bytes.into()) {
        return Ok(());
    }
    let (region, alignment_bytes) = (format!("{} of {name}", memory.name), memory.alignment_bytes);
    Err(RuntimeError::Unaligned { region, address, alignment_bytes })
}

fn device<'a>(topology: &'a Topology, name: &str) -> Result<(NodeId, &'a DeviceParameters), RuntimeError> {
    let id = topology.node(name);
    let found = id.and_then(|id| Some((id, topology.nodes()[id as usize].device.as_ref()?)));
    found.ok_or_else(|| unknown("device", name, topology, |node| node.device.is_some()))
}

fn unknown(
    kind: &'static str,
    name: &str,
    topology: &Topology,
    is_one: impl Fn(&crate::NodeParameters) -> bool,
) -> RuntimeError {
    let known: Vec<&str> =
        topology.nodes().iter().filter(|node| is_one(node)).map(|node| node.name.as_str()).collect();
    let problem = format!("the fabric has no such {kind}: known: {}", known.join(", "));
    RuntimeError::Unknown { kind, name: name.to_owned(), problem }
}

fn without_bar(label: &str) -> RuntimeError {
    let problem = "it has no BAR: nobody but its device reaches it: give it one with map_bar".to_owned();
    RuntimeError::Request { item: label.to_owned(), problem }
}

/// Makes sure that a run of addresses overlaps none of the others.
fn apart<'a>(
    item: &str,
    (address, size_bytes): (u64, u64),
    others: impl Iterator<Item = (u64, u64, &'a str)>,
) -> Result<(), RuntimeError> {
    for (other_address, length, other) in others {
        if address < other_address.saturating_add(length)
            && other_address < address.saturating_add(size_bytes)
        {
            let (item, other) = (item.to_owned(), other.to_owned());
            return Err(RuntimeError::Overlap { item, address, other, other_address });
        }
    }
    Ok(())
}
