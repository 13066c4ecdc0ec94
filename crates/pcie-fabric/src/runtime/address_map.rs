//! Address map of the runtime: host memory, regions of devices, and the mappings of regions at hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use pcie_refusal::{Kind, Refusal};

use super::memory::{HUGE_PAGE_BYTES, Segments};
use super::transfer::Transfer;
use crate::description::{BarParameters, DeviceParameters, MemoryParameters, NodeParameters};
use crate::simulate::Primitive;
use crate::simulate::traffic::Placed;
use crate::topology::{NodeId, Topology, beyond_addresses, beyond_memory};

/// Start of host memory for transfers: above 32-bit BARs.
const HOST_MEMORY: u64 = 1 << 32;
/// Addresses of regions without a BAR, which only their device can access.
const UNSEEN: u64 = 1 << 63;
const UNSEEN_REGION_BITS: u32 = 48;

/// Hosts and initialised devices.
#[derive(Debug)]
pub(super) struct AddressMap {
    topology: Arc<Topology>,
    hosts: BTreeMap<NodeId, HostMap>,
    devices: BTreeMap<NodeId, Vec<Region>>,
}

/// A host: its memory, and the regions mapped into its addresses.
#[derive(Debug)]
pub(super) struct HostMap {
    name: String,
    sockets: u32,
    pub memory: Segments,
    /// First address, length and label.
    mapped: Vec<(u64, u64, String)>,
}

/// A memory of an initialised device.
#[derive(Debug)]
pub(super) struct Region {
    /// `hbm of A`.
    label: String,
    bar: Option<BarParameters>,
    segments: Option<Segments>,
    /// Address of the BAR at each host.
    seen_at: BTreeMap<NodeId, u64>,
}

impl Region {
    pub fn segments(&mut self) -> Result<&mut Segments, Refusal> {
        self.segments.as_mut().ok_or_else(|| not_ready(&self.label, "memory_init"))
    }
}

impl HostMap {
    pub fn check_socket(&self, socket: u32) -> Result<(), Refusal> {
        if socket < self.sockets {
            return Ok(());
        }
        let remedy = format!("it has sockets 0 to {}", self.sockets - 1);
        Err(Refusal::of("socket", socket, remedy).about(format!("host {}", self.name)))
    }
}

impl AddressMap {
    pub fn new(topology: &Arc<Topology>) -> Self {
        let hosts = (0..).zip(topology.nodes()).filter_map(|(id, node)| {
            let host = node.host?;
            let label = format!("memory of {}", node.name);
            let memory = Segments::new(label, HOST_MEMORY, host.memory_bytes, Some(HUGE_PAGE_BYTES));
            let (name, sockets) = (node.name.clone(), host.sockets);
            Some((id, HostMap { name, sockets, memory, mapped: vec![] }))
        });
        Self { topology: Arc::clone(topology), hosts: hosts.collect(), devices: BTreeMap::new() }
    }

    pub fn host(&mut self, name: &str) -> Result<&mut HostMap, Refusal> {
        let host = self.topology.node(name).and_then(|id| self.hosts.get_mut(&id));
        host.ok_or_else(|| unknown("host", name, &self.topology, |node| node.host.is_some()))
    }

    pub fn host_id(&self, name: &str) -> Result<NodeId, Refusal> {
        let host = self.topology.node(name).filter(|id| self.hosts.contains_key(id));
        host.ok_or_else(|| unknown("host", name, &self.topology, |node| node.host.is_some()))
    }

    pub fn device_init(&mut self, name: &str) -> Result<(), Refusal> {
        let (id, device) = device(&self.topology, name)?;
        if self.devices.contains_key(&id) {
            return Err(twice(&format!("device {name}"), "device_init"));
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

    pub fn map_bar(&mut self, name: &str, region: &str, bar: BarParameters) -> Result<(), Refusal> {
        let (id, number, memory) = self.find(name, region)?;
        if bar.size_bytes == 0 || bar.size_bytes > memory.size_bytes {
            return Err(beyond_memory(name, &memory, bar));
        }
        if bar.address.checked_add(bar.size_bytes).is_none_or(|end| end > UNSEEN) {
            return Err(beyond_addresses(name, region, bar.address));
        }
        let before = self.region_at(id, number).bar.take();
        let checked = self.check_free(&format!("{region} of {name}"), bar);
        let region = self.region_at(id, number);
        region.bar = if checked.is_ok() { Some(bar) } else { before };
        checked?;
        if region.segments.is_some() {
            region.bar = before;
            let in_use = Refusal::new("its memory is in use").kind(Kind::InUse).about(&region.label);
            return Err(in_use.remedy("map its BAR before memory_init"));
        }
        Ok(())
    }

    /// Checks that no other BAR or memory has these bus addresses.
    fn check_free(&self, item: &str, bar: BarParameters) -> Result<(), Refusal> {
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

    pub fn memory_init(&mut self, name: &str, region: &str) -> Result<(), Refusal> {
        let (id, number, memory) = self.find(name, region)?;
        let region = self.region_at(id, number);
        if region.segments.is_some() {
            return Err(twice(&region.label, "memory_init"));
        }
        let (first, size_bytes) = match region.bar {
            Some(bar) => (bar.address, bar.size_bytes),
            None => (UNSEEN + ((number as u64) << UNSEEN_REGION_BITS), memory.size_bytes),
        };
        region.segments = Some(Segments::new(region.label.clone(), first, size_bytes, None));
        Ok(())
    }

    pub fn setup_mapping(
        &mut self,
        name: &str,
        region: &str,
        host: &str,
        host_address: u64,
    ) -> Result<(), Refusal> {
        let (id, number, _) = self.find(name, region)?;
        let Region { label, bar, .. } = self.region_at(id, number);
        let (label, bar) = (label.clone(), *bar);
        let Some(bar) = bar else { return Err(without_bar(&label)) };
        if host_address.checked_add(bar.size_bytes).is_none() {
            return Err(beyond_addresses(name, region, host_address));
        }
        let owner = self.host(host)?;
        let (first, end) = owner.memory.bounds();
        let taken = owner.mapped.iter().map(|(at, length, label)| (*at, *length, label.as_str()));
        let taken = taken.chain([(first, end - first, owner.name.as_str())]);
        apart(&format!("{label} at {host}"), (host_address, bar.size_bytes), taken)?;
        owner.mapped.push((host_address, bar.size_bytes, label));
        let host = self.host_id(host)?;
        self.region_at(id, number).seen_at.insert(host, host_address);
        Ok(())
    }

    pub fn region(&mut self, name: &str, region: &str) -> Result<&mut Region, Refusal> {
        let (id, number, _) = self.find(name, region)?;
        Ok(self.region_at(id, number))
    }

    /// The memory manager that an address of a device belongs to.
    pub fn device_segments(&mut self, name: &str, address: u64) -> Result<&mut Segments, Refusal> {
        let (id, number) = self.region_of(name, address)?;
        self.region_at(id, number).segments()
    }

    pub fn seen_from(&mut self, name: &str, address: u64, host: &str) -> Result<u64, Refusal> {
        self.host(host)?;
        let (id, number) = self.region_of(name, address)?;
        let at = self.mapped_at((id, number), host)?;
        let (first, _) = self.region_at(id, number).segments()?.bounds();
        Ok(at + (address - first))
    }

    /// The bus address of device memory that is mapped at a host address.
    pub fn seen_by(&mut self, name: &str, host_address: u64, host: &str) -> Result<u64, Refusal> {
        let host_id = self.host_id(host)?;
        let (id, _) = device(&self.topology, name)?;
        let found = self.initialised(id, name)?.iter().find_map(|region| {
            let (bar, at) = (region.bar?, region.seen_at.get(&host_id)?);
            let offset = host_address.checked_sub(*at).filter(|offset| *offset < bar.size_bytes)?;
            Some(bar.address + offset)
        });
        found.ok_or_else(|| {
            let unmapped = Refusal::new(format!("no memory of {name} is mapped there")).kind(Kind::NotFound);
            let at = format!("address {host_address:#x} of {host}");
            unmapped.about(at).remedy("map it with setup_mapping")
        })
    }

    /// Checks that bytes lie in allocated memory of a host or device, and returns its id.
    pub fn check_held(&mut self, node: &str, address: u64, size_bytes: u64) -> Result<NodeId, Refusal> {
        if let Some(id) = self.topology.node(node).filter(|id| self.hosts.contains_key(id)) {
            self.host(node)?.memory.check(address, size_bytes)?;
            return Ok(id);
        }
        let (id, number) = self.region_of(node, address)?;
        self.region_at(id, number).segments()?.check(address, size_bytes)?;
        Ok(id)
    }

    fn mapped_at(&mut self, (id, number): (NodeId, usize), host: &str) -> Result<u64, Refusal> {
        let host_id = self.topology.node(host);
        let region = self.region_at(id, number);
        if region.bar.is_none() {
            return Err(without_bar(&region.label));
        }
        let at = host_id.and_then(|host| region.seen_at.get(&host).copied());
        at.ok_or_else(|| not_ready(&format!("{} at {host}", region.label), "setup_mapping"))
    }

    /// Checks the addresses of a request and finds the ends of its flow.
    pub fn resolve(
        &mut self,
        primitive: Primitive,
        (host_name, socket): (&str, u32),
        queue: u32,
        name: &str,
        list: &[Transfer],
    ) -> Result<Placed, Refusal> {
        let asked = || format!("{primitive:?} of {name}");
        let Some(first) = list.first() else {
            return Err(Refusal::new("an empty list")
                .kind(Kind::Missing)
                .about(asked())
                .remedy("give at least one transfer"));
        };
        let (device, memory) = self.region_of(name, first.device_address)?;
        let between_devices = matches!(primitive, Primitive::D2dRead | Primitive::D2dWrite);
        let peer = if between_devices { Some(self.peer(first.other_address)?) } else { None };
        for one in list {
            if one.size_bytes == 0 {
                return Err(Refusal::of("size_bytes", 0, "give 1 or more").about(asked()));
            }
            self.region_at(device, memory).segments()?.check(one.device_address, one.size_bytes)?;
            let other = match peer {
                Some((peer, memory)) => self.region_at(peer, memory).segments()?,
                None => &mut self.host(host_name)?.memory,
            };
            other.check(one.other_address, one.size_bytes)?;
            if !matches!(primitive, Primitive::MmioRead | Primitive::MmioWrite) {
                check_packets(&self.topology, device, one.size_bytes)?;
                check_alignment(&self.topology, (device, memory), one.device_address)?;
                peer.map_or(Ok(()), |peer| check_alignment(&self.topology, peer, one.other_address))?;
            }
        }
        match (primitive, peer) {
            (_, Some(peer)) => drop(self.mapped_at(peer, host_name)?),
            (Primitive::MmioRead | Primitive::MmioWrite, None) => {
                self.mapped_at((device, memory), host_name)?;
            }
            _ => {}
        }
        let host = self.host_id(host_name)?;
        let other = peer.map_or(host, |(peer, _)| peer);
        if other == device {
            let same = Refusal::new("both ends are this device").about(asked());
            return Err(same.remedy("give the address of another one"));
        }
        let outwards = matches!(primitive, Primitive::D2h | Primitive::D2dWrite);
        let (source, destination) = if outwards { (device, other) } else { (other, device) };
        let peer_memory = peer.map_or(memory, |(_, memory)| memory);
        let peer = peer.map(|(peer, _)| peer);
        Ok(Placed { primitive, source, destination, host, device, peer, socket, queue, memory, peer_memory })
    }

    pub fn check_tags(&self, name: &str, queue: u32, outstanding: u32) -> Result<(), Refusal> {
        let tags = device(&self.topology, name)?.1.engine.tags;
        if outstanding <= tags {
            return Ok(());
        }
        let refused = Refusal::of("outstanding", outstanding, "limit the queue to as many");
        Err(refused.problem(format!("{name} has {tags} tags")).about(format!("queue {queue}")))
    }

    /// The device and region behind a bus address.
    fn peer(&self, address: u64) -> Result<(NodeId, usize), Refusal> {
        let shown = |region: &Region| {
            region.bar.is_some_and(|bar| (bar.address..bar.address + bar.size_bytes).contains(&address))
        };
        let found =
            self.devices.iter().find_map(|(id, regions)| Some((*id, regions.iter().position(shown)?)));
        found.ok_or_else(|| {
            let nobody = Refusal::new("no initialised device has memory there").kind(Kind::NotFound);
            nobody.about(format!("region {address:#x}")).remedy("give a bus address of one that has a BAR")
        })
    }

    fn region_of(&self, name: &str, address: u64) -> Result<(NodeId, usize), Refusal> {
        let (id, found) = device(&self.topology, name)?;
        if found.memories.is_empty() {
            let bare = Refusal::new("it has no memory").kind(Kind::Missing).about(format!("device {name}"));
            return Err(bare.remedy("give a device that has one"));
        }
        let regions = self.initialised(id, name)?;
        let holds = |region: &Region| region.segments.as_ref().is_some_and(|memory| memory.contains(address));
        regions.iter().position(holds).map(|number| (id, number)).ok_or_else(|| {
            let ready = regions.iter().filter(|region| region.segments.is_some());
            let known: Vec<&str> = ready.map(|region| region.label.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let problem = format!("is in no region of {name} that memory_init was called for ({known})");
            let elsewhere = Refusal::new(problem).about(format!("region {address:#x}"));
            elsewhere.remedy("give an address from memory_alloc")
        })
    }

    fn find(&self, name: &str, region: &str) -> Result<(NodeId, usize, MemoryParameters), Refusal> {
        let (id, device) = device(&self.topology, name)?;
        self.initialised(id, name)?;
        let found = (0..).zip(&device.memories).find(|(_, memory)| memory.name == region);
        found.map(|(number, memory)| (id, number, memory.clone())).ok_or_else(|| {
            let known: Vec<&str> = device.memories.iter().map(|memory| memory.name.as_str()).collect();
            let missing = Refusal::new(format!("not a region of {name}"))
                .kind(Kind::NotFound)
                .about(format!("region {region}"));
            missing.remedy(format!("known: {}", known.join(", ")))
        })
    }

    fn initialised(&self, id: NodeId, name: &str) -> Result<&[Region], Refusal> {
        let regions = self.devices.get(&id).map(Vec::as_slice);
        regions.ok_or_else(|| not_ready(&format!("device {name}"), "device_init"))
    }

    /// The region of an initialised device.
    #[expect(clippy::expect_used, reason = "ids come from initialised devices, which are never removed")]
    fn region_at(&mut self, id: NodeId, number: usize) -> &mut Region {
        let regions = self.devices.get_mut(&id).expect("the device is initialised");
        &mut regions[number]
    }
}

/// Checks that a DMA transfer is a multiple of the engine's packets.
fn check_packets(topology: &Topology, id: NodeId, size_bytes: u64) -> Result<(), Refusal> {
    let NodeParameters { name, device, .. } = &topology.nodes()[id as usize];
    let packet_bytes = device.as_ref().map_or(1, |device| device.engine.packet_bytes);
    if size_bytes.is_multiple_of(packet_bytes.into()) {
        return Ok(());
    }
    let problem = format!("its DMA engines move packets of {packet_bytes} bytes");
    Err(Refusal::of("size_bytes", size_bytes, "give a multiple").problem(problem).about(name))
}

/// Checks that a DMA transfer starts at a multiple of the memory's alignment.
fn check_alignment(topology: &Topology, (id, memory): (NodeId, usize), address: u64) -> Result<(), Refusal> {
    let NodeParameters { name, device, .. } = &topology.nodes()[id as usize];
    let Some(memory) = device.as_ref().and_then(|device| device.memories.get(memory)) else { return Ok(()) };
    if address.is_multiple_of(memory.alignment_bytes.into()) {
        return Ok(());
    }
    let reached = format!("DMA reaches it at multiples of {} bytes", memory.alignment_bytes);
    let unaligned = Refusal::new(format!("{address:#x}: {reached}"));
    Err(unaligned.about(format!("{} of {name}", memory.name)).remedy("give an aligned address"))
}

fn device<'a>(topology: &'a Topology, name: &str) -> Result<(NodeId, &'a DeviceParameters), Refusal> {
    let id = topology.node(name);
    let found = id.and_then(|id| Some((id, topology.nodes()[id as usize].device.as_ref()?)));
    found.ok_or_else(|| unknown("device", name, topology, |node| node.device.is_some()))
}

fn unknown(
    kind: &'static str,
    name: &str,
    topology: &Topology,
    is_one: impl Fn(&crate::NodeParameters) -> bool,
) -> Refusal {
    let known: Vec<&str> =
        topology.nodes().iter().filter(|node| is_one(node)).map(|node| node.name.as_str()).collect();
    let missing = Refusal::new(format!("not a {kind} of the fabric"))
        .kind(Kind::NotFound)
        .about(format!("{kind} {name}"));
    missing.remedy(format!("known: {}", known.join(", ")))
}

fn without_bar(label: &str) -> Refusal {
    let unseen = Refusal::new("it has no BAR: only its device can access it").kind(Kind::Missing);
    unseen.about(label).remedy("give it one with map_bar")
}

fn not_ready(item: &str, first: &str) -> Refusal {
    Refusal::default().about(item).remedy(format!("call {first} first"))
}

fn twice(item: &str, done: &str) -> Refusal {
    Refusal::new(format!("{done} was called before")).about(item).remedy("call it once")
}

/// Checks that addresses do not overlap any of the others.
fn apart<'a>(
    item: &str,
    (address, size_bytes): (u64, u64),
    others: impl Iterator<Item = (u64, u64, &'a str)>,
) -> Result<(), Refusal> {
    for (other_address, length, other) in others {
        if address < other_address.saturating_add(length)
            && other_address < address.saturating_add(size_bytes)
        {
            let overlap = Refusal::new(format!("overlaps {other} at {other_address:#x}"));
            return Err(overlap.about(format!("{item} at {address:#x}")).remedy("give other addresses"));
        }
    }
    Ok(())
}
