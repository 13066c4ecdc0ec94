//! Flows as the simulator runs them, and which of them cannot be.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::description::{BYTES_MAX, DeviceParameters, HostParameters, NodeParameters};
use crate::error::FabricError;
use crate::topology::{NodeId, Topology};

/// Command queues of a device that flows may name.
const COMMAND_QUEUES: u32 = 256;
/// What a processor writes at once, of all requests of a flow in flight.
const WRITTEN_AT_ONCE_BYTES: u64 = 16 << 20;

/// What moves the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Primitive {
    /// Posted writes from any node to any other, without an engine.
    #[default]
    Stream,
    /// Reads by a host's processor from a device, a cache line at a time, each after the other.
    MmioRead,
    /// Posted writes by a host's processor to a device.
    MmioWrite,
    /// A command to the device, which reads from the host's memory.
    H2d,
    /// A command to the device, which writes to the host's memory.
    D2h,
    /// What the device does of a [`Self::D2h`]: without the way of the command and without a completion.
    DmaWrite,
    /// A command to the destination, which reads from the source.
    D2dRead,
    /// A command to the source, which writes to the destination.
    D2dWrite,
}

/// When paced requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Even,
    /// At random.
    Random,
}

/// Traffic from one node to another.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Name; absent: `source->destination`.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub name: String,
    /// Host or device that the data come from; for MMIO and DMA of a host, the host.
    #[schemars(length(min = 1, max = 200))]
    pub source: String,
    /// Where they go; for MMIO and DMA of a host, the device.
    #[schemars(length(min = 1, max = 200))]
    pub destination: String,
    /// What moves the data: `stream` is posted writes without an engine, `dma-write` a D2H without its command.
    #[serde(default)]
    #[schemars(extend("default" = "stream"))]
    pub primitive: Primitive,
    /// Bytes of one request.
    #[serde(default = "page")]
    #[schemars(range(min = 1, max = BYTES_MAX))]
    pub size_bytes: u64,
    /// Requests in flight.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65536))]
    pub outstanding: u32,
    /// When the requests of a flow with a standalone bandwidth come.
    #[serde(default)]
    #[schemars(extend("default" = "even"))]
    pub arrivals: Arrivals,
    /// Socket of the host that the program and its memory are on.
    #[serde(default)]
    #[schemars(range(min = 0, max = 63))]
    pub socket: u32,
    /// Command queue of the device: its queues take turns, TLP by TLP.
    #[serde(default)]
    #[schemars(range(min = 0, max = COMMAND_QUEUES - 1))]
    pub queue: u32,
    /// Memory of the device; absent: its first.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub memory: Option<String>,
    /// What the flow gets running alone, if that is known, GB/s: estimators and simulator give it no more. A flow of 0 asks
    /// for nothing.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000))]
    pub standalone_gbytes_per_s: Option<f64>,
}

const fn page() -> u64 {
    4096
}

const fn one() -> u32 {
    1
}

/// A flow with its places found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Placed {
    pub primitive: Primitive,
    pub source: NodeId,
    pub destination: NodeId,
    /// The host that gives the commands.
    pub host: NodeId,
    /// The device whose engine works; not for streams.
    pub device: NodeId,
    /// The other device of a D2D flow.
    pub peer: Option<NodeId>,
    /// The socket of the host's program and memory.
    pub socket: u32,
    /// Command queue of the device.
    pub queue: u32,
    /// Which memory of the device.
    pub memory: usize,
    /// Which memory of the peer; without a peer, that of the device.
    pub peer_memory: usize,
}

struct Checker<'a> {
    topology: &'a Topology,
    traffic: &'a Traffic,
}

/// Finds the places of a flow.
pub(super) fn place(topology: &Topology, traffic: &Traffic) -> Result<Placed, FabricError> {
    Checker { topology, traffic }.place()
}

impl<'a> Checker<'a> {
    fn place(&self) -> Result<Placed, FabricError> {
        let Traffic { primitive, source, destination, socket, queue, .. } = self.traffic;
        let (primitive, socket, queue) = (*primitive, *socket, *queue);
        if self.traffic.size_bytes == 0 || self.traffic.outstanding == 0 {
            return Err(self.wrong("size_bytes and outstanding: give 1 or more of each".into()));
        }
        if queue >= COMMAND_QUEUES {
            let most = COMMAND_QUEUES - 1;
            return Err(self.wrong(format!("queue = {queue}: devices have command queues 0 to {most}")));
        }
        let (from, to) = (self.node("source", source)?, self.node("destination", destination)?);
        if from == to {
            return Err(
                self.wrong(format!("source and destination are both {source}: give two different nodes"))
            );
        }
        if let Some(value) =
            self.traffic.standalone_gbytes_per_s.filter(|pace| !(*pace >= 0.0 && pace.is_finite()))
        {
            return Err(FabricError::Standalone { flow: self.traffic.name.clone(), value });
        }
        let (host, device, peer) = match primitive {
            Primitive::Stream => {
                return Ok(Placed {
                    primitive,
                    socket,
                    queue,
                    source: from,
                    destination: to,
                    host: from,
                    device: from,
                    peer: None,
                    memory: 0,
                    peer_memory: 0,
                });
            }
            Primitive::MmioRead | Primitive::MmioWrite | Primitive::H2d => (from, to, None),
            Primitive::D2h | Primitive::DmaWrite => (to, from, None),
            Primitive::D2dRead => (self.first_host()?, to, Some(from)),
            Primitive::D2dWrite => (self.first_host()?, from, Some(to)),
        };
        self.check_host(host)?;
        if primitive == Primitive::MmioWrite {
            self.check_written_at_once()?;
        }
        let through_bar = matches!(primitive, Primitive::MmioRead | Primitive::MmioWrite);
        let memory = self.check_device(device, through_bar)?;
        let peer_memory = peer.map_or(Ok(memory), |peer| self.check_device(peer, true))?;
        Ok(Placed {
            primitive,
            socket,
            queue,
            source: from,
            destination: to,
            host,
            device,
            peer,
            memory,
            peer_memory,
        })
    }

    /// A processor's writes leave it at once, line by line: all requests in flight stand in the first queue.
    fn check_written_at_once(&self) -> Result<(), FabricError> {
        let bytes = self.traffic.size_bytes.saturating_mul(u64::from(self.traffic.outstanding));
        if bytes > WRITTEN_AT_ONCE_BYTES {
            return Err(self.wrong(format!(
                "size_bytes times outstanding = {bytes}: give {WRITTEN_AT_ONCE_BYTES} at most to mmio-write"
            )));
        }
        Ok(())
    }

    fn wrong(&self, problem: String) -> FabricError {
        FabricError::Flow { flow: self.traffic.name.clone(), problem }
    }

    fn node(&self, key: &'static str, name: &str) -> Result<NodeId, FabricError> {
        self.topology.node(name).ok_or_else(|| FabricError::UnknownNode {
            flow: self.traffic.name.clone(),
            key,
            name: name.to_owned(),
            known: self.topology.known(),
        })
    }

    fn of(&self, node: NodeId) -> &'a NodeParameters {
        &self.topology.nodes()[node as usize]
    }

    fn first_host(&self) -> Result<NodeId, FabricError> {
        let found = (0..).zip(self.topology.nodes()).find(|(_, node)| node.host.is_some());
        found
            .map(|(id, _)| id)
            .ok_or_else(|| self.wrong("the fabric has no host to give commands: add one".into()))
    }

    fn check_host(&self, host: NodeId) -> Result<(), FabricError> {
        let HostParameters { sockets, memory_bytes, .. } = self.of(host).host.ok_or_else(|| {
            self.wrong(format!(
                "{} is no host: {:?} needs one there",
                self.of(host).name,
                self.traffic.primitive
            ))
        })?;
        if self.traffic.socket >= sockets {
            let most = sockets - 1;
            return Err(
                self.wrong(format!("socket = {}: the host has sockets 0 to {most}", self.traffic.socket))
            );
        }
        if self.traffic.size_bytes > memory_bytes {
            return Err(self.wrong(format!(
                "size_bytes = {}: the host has {memory_bytes} bytes for transfers: give less",
                self.traffic.size_bytes
            )));
        }
        Ok(())
    }

    /// The number of the memory that the flow uses on a device; `through_bar` if it is reached from outside.
    fn check_device(&self, device: NodeId, through_bar: bool) -> Result<usize, FabricError> {
        let NodeParameters { name, device, .. } = self.of(device);
        let DeviceParameters { memories, engine } =
            device.as_ref().ok_or_else(|| self.wrong(format!("{name} is no device: give one")))?;
        let number = match &self.traffic.memory {
            _ if memories.is_empty() => {
                return Err(self.wrong(format!("{name} has no memory: give a device that has one")));
            }
            None => 0,
            Some(wanted) => memories
                .iter()
                .position(|memory| memory.name == *wanted)
                .ok_or_else(|| self.wrong(format!("memory = {wanted}: {name} has no such memory")))?,
        };
        let memory = &memories[number];
        let room = match (through_bar, memory.bar) {
            (false, _) => memory.size_bytes,
            (true, Some(bar)) => bar.size_bytes,
            (true, None) => {
                return Err(self.wrong(format!("{name}: {} has no BAR: nobody else reaches it", memory.name)));
            }
        };
        if self.traffic.size_bytes > room {
            return Err(self.wrong(format!(
                "size_bytes = {}: the region {} of {name} has {room} bytes: give less",
                self.traffic.size_bytes, memory.name
            )));
        }
        let dma = !matches!(self.traffic.primitive, Primitive::MmioRead | Primitive::MmioWrite);
        if dma && !self.traffic.size_bytes.is_multiple_of(engine.packet_bytes.into()) {
            return Err(self.wrong(format!(
                "size_bytes = {}: DMA of {name} moves packets of {} bytes: give a multiple",
                self.traffic.size_bytes, engine.packet_bytes
            )));
        }
        if self.traffic.outstanding > engine.tags {
            return Err(self.wrong(format!(
                "outstanding = {}: {name} has {} tags: give at most as many",
                self.traffic.outstanding, engine.tags
            )));
        }
        Ok(number)
    }
}
