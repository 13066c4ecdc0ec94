//! Flows of the simulator, and their checks.

use std::fmt::Display;
use std::sync::LazyLock;

use pcie_refusal::{Kind, Refusal};
use pcie_schema::Shape;
use pcie_schema::quantity::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::description::{DeviceParameters, HostParameters, NodeKind, NodeParameters};
use crate::flows::same_ends;
use crate::topology::{NodeId, Topology};

/// Command queues of a device that flows may name.
const COMMAND_QUEUES: u32 = 256;
/// Most bytes that a processor writes at once, over all requests of a flow in flight.
const WRITTEN_AT_ONCE_BYTES: u64 = 16 << 20;

/// The operation that moves the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Primitive {
    /// Posted writes from any node to any other, without an engine.
    #[default]
    Stream,
    /// Reads by a host's processor from a device, one cache line after another.
    MmioRead,
    /// Posted writes by a host's processor to a device.
    MmioWrite,
    /// A command to the device, which reads from the host's memory.
    H2d,
    /// A command to the device, which writes to the host's memory.
    D2h,
    /// The device's part of a [`Self::D2h`], without command and status.
    DmaWrite,
    /// A command to the destination, which reads from the source.
    D2dRead,
    /// A command to the source, which writes to the destination.
    D2dWrite,
}

impl Primitive {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::MmioRead => "mmio-read",
            Self::MmioWrite => "mmio-write",
            Self::H2d => "h2d",
            Self::D2h => "d2h",
            Self::DmaWrite => "dma-write",
            Self::D2dRead => "d2d-read",
            Self::D2dWrite => "d2d-write",
        }
    }
}

/// Arrivals of paced requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Even,
    /// At random.
    Random,
}

/// Traffic from one node to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Name; absent: `source->destination`.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub name: String,
    /// Host or device that sends the data; for MMIO and DMA of a host, the host.
    #[schemars(length(min = 1, max = 200))]
    pub source: String,
    /// Host or device that receives the data; for MMIO and DMA of a host, the device.
    #[schemars(length(min = 1, max = 200))]
    pub destination: String,
    /// The operation: `stream` is posted writes without an engine, `dma-write` a D2H without its command.
    #[serde(default)]
    #[schemars(extend("default" = "stream"))]
    pub primitive: Primitive,
    /// Bytes of one request.
    #[serde(default = "page")]
    #[schemars(with = "Size")]
    pub size_bytes: u64,
    /// Requests in flight.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65536))]
    pub outstanding: u32,
    /// Arrivals of the requests of a flow with a standalone bandwidth.
    #[serde(default)]
    #[schemars(extend("default" = "even"))]
    pub arrivals: Arrivals,
    /// Socket of the host that the program and its memory are on.
    #[serde(default)]
    #[schemars(range(min = 0, max = 63))]
    pub socket: u32,
    /// Command queue of the device, which serves its queues in turn, TLP by TLP.
    #[serde(default)]
    #[schemars(range(min = 0, max = COMMAND_QUEUES - 1))]
    pub queue: u32,
    /// Memory of the device; absent: its first.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub memory: Option<String>,
    /// Known bandwidth of the flow running alone, GB/s: its limit in estimators and simulator. 0: no demand.
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

/// A flow with the ids of its nodes, queue and memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placed {
    /// The operation.
    pub primitive: Primitive,
    /// Where its data come from.
    pub source: NodeId,
    /// Where its data go to.
    pub destination: NodeId,
    /// The host that sends the commands.
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

/// The schema of a flow.
fn shape() -> &'static Shape {
    static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Traffic>);
    &SHAPE
}

struct Checker<'a> {
    topology: &'a Topology,
    traffic: &'a Traffic,
}

/// Checks a flow and resolves its names.
pub(super) fn resolve(topology: &Topology, traffic: &Traffic) -> Result<Placed, Refusal> {
    Checker { topology, traffic }.resolve()
}

impl<'a> Checker<'a> {
    fn resolve(&self) -> Result<Placed, Refusal> {
        let Traffic { primitive, source, destination, socket, queue, .. } = self.traffic;
        let (primitive, socket, queue) = (*primitive, *socket, *queue);
        shape().check(self.traffic).map_err(|unfit| unfit.about(self.flow()))?;
        let (from, to) = (self.node("source", source)?, self.node("destination", destination)?);
        if from == to {
            return Err(same_ends(source).about(self.flow()));
        }
        self.check_path(from, to)?;
        let (host, device, peer) = match primitive {
            Primitive::Stream => (from, from, None),
            Primitive::MmioRead | Primitive::MmioWrite | Primitive::H2d => (from, to, None),
            Primitive::D2h | Primitive::DmaWrite => (to, from, None),
            Primitive::D2dRead => (self.first_host()?, to, Some(from)),
            Primitive::D2dWrite => (self.first_host()?, from, Some(to)),
        };
        let (memory, peer_memory) = match primitive {
            Primitive::Stream => (0, 0),
            _ => self.memories(host, device, peer)?,
        };
        let (source, destination) = (from, to);
        Ok(Placed { primitive, source, destination, host, device, peer, socket, queue, memory, peer_memory })
    }

    /// Refuses paths that no simulator moves data over.
    fn check_path(&self, from: NodeId, to: NodeId) -> Result<(), Refusal> {
        let mut edges = vec![];
        self.topology.route(from, to, &mut edges);
        match edges.into_iter().find(|edge| self.topology.is_beside_pcie(*edge)) {
            None => Ok(()),
            Some(edge) => {
                let beside =
                    format!("its data pass {}, which is no PCIe link", self.topology.edge_name(edge));
                let remedy = "no simulator has such links: estimate the flow";
                Err(self.wrong(beside).kind(Kind::Unsupported).remedy(remedy))
            }
        }
    }

    /// Checks the ends of a flow; returns the indices of its memories on the device and the peer.
    fn memories(
        &self,
        host: NodeId,
        device: NodeId,
        peer: Option<NodeId>,
    ) -> Result<(usize, usize), Refusal> {
        let primitive = self.traffic.primitive;
        self.check_host(host)?;
        if primitive == Primitive::MmioWrite {
            self.check_written_at_once()?;
        }
        let through_bar = matches!(primitive, Primitive::MmioRead | Primitive::MmioWrite);
        let memory = self.check_device(device, through_bar)?;
        Ok((memory, peer.map_or(Ok(memory), |peer| self.check_device(peer, true))?))
    }

    /// A processor writes without waiting, so that all requests in flight are in the first queue.
    fn check_written_at_once(&self) -> Result<(), Refusal> {
        let bytes = self.traffic.size_bytes.saturating_mul(u64::from(self.traffic.outstanding));
        if bytes > WRITTEN_AT_ONCE_BYTES {
            let remedy = format!("give {WRITTEN_AT_ONCE_BYTES} at most to mmio-write");
            return Err(self.value("size_bytes times outstanding", bytes, remedy));
        }
        Ok(())
    }

    fn flow(&self) -> String {
        format!("flow {}", self.traffic.name)
    }

    fn wrong(&self, problem: impl Display) -> Refusal {
        Refusal::new(problem).about(self.flow())
    }

    fn value(&self, key: &str, value: impl Display, remedy: String) -> Refusal {
        Refusal::of(key, value, remedy).about(self.flow())
    }

    fn node(&self, key: &str, name: &str) -> Result<NodeId, Refusal> {
        let known = self.topology.node(name);
        known.ok_or_else(|| self.topology.unknown_node(key, name).about(self.flow()))
    }

    fn of(&self, node: NodeId) -> &'a NodeParameters {
        &self.topology.nodes()[node as usize]
    }

    fn first_host(&self) -> Result<NodeId, Refusal> {
        let found = (0..).zip(self.topology.nodes()).find(|(_, node)| node.host.is_some());
        found
            .map(|(id, _)| id)
            .ok_or_else(|| self.wrong("the fabric has no host to give commands").remedy("add one"))
    }

    fn check_host(&self, host: NodeId) -> Result<(), Refusal> {
        let node = self.of(host);
        let HostParameters { sockets, memory_bytes, .. } = node.host.ok_or_else(|| {
            if node.kind == NodeKind::Host {
                return self.undescribed(node, "host");
            }
            self.wrong(format!("{} is not a host", node.name)).remedy(self.ends())
        })?;
        if self.traffic.socket >= sockets {
            let most = sockets - 1;
            let remedy = format!("the host has sockets 0 to {most}");
            return Err(self.value("socket", self.traffic.socket, remedy));
        }
        let size_bytes = self.traffic.size_bytes;
        if size_bytes > memory_bytes {
            let problem = format!("the host has {memory_bytes} bytes for transfers");
            return Err(self.value("size_bytes", size_bytes, "give less".into()).problem(problem));
        }
        Ok(())
    }

    /// The refusal of a host or device whose times the fabric does not describe.
    fn undescribed(&self, node: &NodeParameters, key: &str) -> Refusal {
        let problem = format!("{} needs the times of the {key} {}", self.traffic.primitive.name(), node.name);
        self.wrong(problem).remedy(format!("give the node the key {key}: a preset or a kind of [{key}s]"))
    }

    /// The remedy for a primitive between the wrong kinds of nodes.
    fn ends(&self) -> String {
        let ends = match self.traffic.primitive {
            Primitive::Stream => "any node to any other",
            Primitive::MmioRead | Primitive::MmioWrite | Primitive::H2d => "a host to a device",
            Primitive::D2h | Primitive::DmaWrite => "a device to a host",
            Primitive::D2dRead | Primitive::D2dWrite => "a device to a device",
        };
        format!("{} goes from {ends}", self.traffic.primitive.name())
    }

    /// The index of the flow's memory on a device; `through_bar` for access from outside.
    fn check_device(&self, device: NodeId, through_bar: bool) -> Result<usize, Refusal> {
        let node = self.of(device);
        let NodeParameters { name, device, .. } = node;
        let DeviceParameters { memories, engine } = device.as_ref().ok_or_else(|| {
            if node.kind == NodeKind::Device {
                return self.undescribed(node, "device");
            }
            self.wrong(format!("{name} is not a device")).remedy(self.ends())
        })?;
        let number = match &self.traffic.memory {
            _ if memories.is_empty() => {
                return Err(self.wrong(format!("{name} has no memory")).remedy("give a device that has one"));
            }
            None => 0,
            Some(wanted) => memories
                .iter()
                .position(|memory| memory.name == *wanted)
                .ok_or_else(|| self.value("memory", wanted, format!("name a memory of {name}")))?,
        };
        let memory = &memories[number];
        let room = match (through_bar, memory.bar) {
            (false, _) => memory.size_bytes,
            (true, Some(bar)) => bar.size_bytes,
            (true, None) => {
                let unseen = self.wrong(format!("{name}: {} has no BAR", memory.name));
                let other = match self.traffic.primitive {
                    Primitive::D2dWrite => ", or d2d-read: the destination's engine reads",
                    Primitive::D2dRead => ", or d2d-write: the source's engine writes",
                    _ => "",
                };
                return Err(unseen.remedy(format!("give a memory with a BAR{other}")));
            }
        };
        let size_bytes = self.traffic.size_bytes;
        if size_bytes > room {
            let problem = format!("the region {} of {name} has {room} bytes", memory.name);
            return Err(self.value("size_bytes", size_bytes, "give less".into()).problem(problem));
        }
        let dma = !matches!(self.traffic.primitive, Primitive::MmioRead | Primitive::MmioWrite);
        if dma && !size_bytes.is_multiple_of(engine.packet_bytes.into()) {
            let problem = format!("DMA of {name} moves packets of {} bytes", engine.packet_bytes);
            return Err(self.value("size_bytes", size_bytes, "give a multiple".into()).problem(problem));
        }
        if self.traffic.outstanding > engine.tags {
            let remedy = format!("give at most {}, the tags of {name}", engine.tags);
            return Err(self.value("outstanding", self.traffic.outstanding, remedy));
        }
        Ok(number)
    }
}
