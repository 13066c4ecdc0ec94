//! The description of a fabric. [`Topology`](crate::Topology) is the validated form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest size: file formats and other languages keep sizes in signed 64 bits.
pub(crate) const BYTES_MAX: u64 = i64::MAX as u64;

/// A fabric: nodes, and links that connect them to a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricParameters {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Maximum payload size (MPS) of TLPs.
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    pub mps_bytes: u32,
    /// Hosts, adapters, switches, devices.
    pub nodes: Vec<NodeParameters>,
    /// One link fewer than nodes.
    pub links: Vec<LinkParameters>,
    /// Limits that flows share beside those of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitParameters>,
    /// Devices that links of their own connect, beside PCIe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeersParameters>,
}

/// A limit that flows share and no link has: what a root complex forwards from one of its ports to another, or both
/// directions of a copy engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitParameters {
    /// Unique name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Payload of all flows that share it, GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub gbytes_per_s: f64,
    /// The flows that share it: those that go any of these ways.
    #[schemars(length(min = 1))]
    pub ways: Vec<WayParameters>,
}

/// The flows that go up one link and down another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayParameters {
    /// The node whose link they go up; absent: any.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub up: Option<String>,
    /// The node whose link they go down; absent: any.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub down: Option<String>,
}

/// Devices that links of their own connect: NVLink, Infinity Fabric. Data between two of them pass no PCIe link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeersParameters {
    /// Kind of the links, for example `nvlink`.
    #[schemars(length(min = 1, max = 200))]
    pub kind: String,
    /// The devices; none has two groups.
    #[schemars(length(min = 2, max = 256))]
    pub devices: Vec<String>,
    /// What one device sends to all others, GB/s, and what it receives of them; absent: unknown, so that flows between
    /// them are refused.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub gbytes_per_s: Option<f64>,
    /// What one device sends to one other, GB/s; absent: as to all.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub pair_gbytes_per_s: Option<f64>,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A server: sockets, memory and root complex.
    Host,
    /// A switch on a server's board.
    InternalSwitch,
    /// The adapter, with its non-transparent bridge, that connects a server to the fabric.
    HostAdapter,
    /// A switch of the fabric.
    ExternalSwitch,
    /// The adapter, with its non-transparent bridge, that connects a chassis to the fabric.
    EndpointAdapter,
    /// An endpoint.
    Device,
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeParameters {
    /// Unique name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Delay from port to port; at hosts and devices, from the port to the root complex or memory.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub delay_ns: f64,
    /// Delay from port to port for TLPs between devices, whose addresses no bridge translates; absent:
    /// `delay_ns`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub turn_ns: Option<f64>,
    /// Time of each TLP in the root complex on its way from one lower port to another. TLPs with and without
    /// payload take turns; 0: no limit.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub turn_tlp_ns: f64,
    /// The same limit for payload, GB/s; absent: none.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub turn_gbytes_per_s: Option<f64>,
    /// The node above at which flows between two lower ports of this one turn, as with ACS redirection; absent: this
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub turns_at: Option<String>,
    /// Host properties, for hosts only; needed to simulate DMA and MMIO with it.
    #[serde(default)]
    pub host: Option<HostParameters>,
    /// Device properties, for devices only; needed to simulate DMA and MMIO with it.
    #[serde(default)]
    pub device: Option<DeviceParameters>,
}

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostParameters {
    /// Processors; the fabric is attached to socket 0.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub sockets: u32,
    /// Extra time one way to or from another socket.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub other_socket_ns: f64,
    /// Bandwidth of DMA to or from another socket's memory, for each direction, GB/s; absent: no limit.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub other_socket_gbytes_per_s: Option<f64>,
    /// Access to memory for a read that comes from a device.
    #[schemars(range(min = 0, max = 1000000000))]
    pub memory_read_ns: f64,
    /// Software before a command is sent to a DMA engine.
    #[schemars(range(min = 0, max = 1000000000))]
    pub software_ns: f64,
    /// Memory reserved for transfers (huge pages).
    #[schemars(range(min = 1, max = BYTES_MAX))]
    pub memory_bytes: u64,
}

/// A kind of device: an endpoint with memories and DMA engines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceParameters {
    /// Memories; transfers use the first one by default.
    pub memories: Vec<MemoryParameters>,
    /// The DMA engines: one reads, one writes.
    pub engine: EngineParameters,
}

/// A memory of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryParameters {
    /// Name, unique on the device, for example `hbm`.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Size.
    #[schemars(range(min = 1, max = BYTES_MAX))]
    pub size_bytes: u64,
    /// Its bus addresses; only the device's own engines reach a memory without a BAR.
    #[serde(default)]
    pub bar: Option<BarParameters>,
    /// Access for a read through the BAR.
    #[schemars(range(min = 0, max = 1000000000))]
    pub bar_read_ns: f64,
    /// Access for a write through the BAR.
    #[schemars(range(min = 0, max = 1000000000))]
    pub bar_write_ns: f64,
    /// Time that an access by the device's own engine adds to a transfer.
    #[schemars(range(min = 0, max = 1000000000))]
    pub engine_ns: f64,
    /// Bandwidth of reads through the BAR by other devices, GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub bar_read_gbytes_per_s: f64,
    /// Bandwidth of writes through the BAR by other devices, GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub bar_write_gbytes_per_s: f64,
    /// Alignment of the addresses of a program's DMA transfers.
    #[serde(default = "one")]
    #[schemars(extend("enum" = [1, 2, 4, 8, 16, 32, 64]))]
    pub alignment_bytes: u32,
}

/// The bus addresses of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarParameters {
    /// First address.
    pub address: u64,
    /// Length, bytes.
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
}

/// The DMA engines of a device: one reads from elsewhere, one writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineParameters {
    /// Time to prepare, submit and retire a command; commands overlap.
    #[schemars(range(min = 0, max = 1000000000))]
    pub execution_ns: f64,
    /// Read requests in flight; also the limit on a flow's outstanding commands.
    #[schemars(range(min = 1, max = 65536))]
    pub tags: u32,
    /// Transfers of up to MPS in flight to or from another device.
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub peer_requests: u32,
    /// Status written to the host when a command is done.
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub completion_bytes: u32,
    /// Time between two commands that the device takes in, whatever their direction.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub command_interval_ns: f64,
    /// Time from the last data of a command that reads to its status, beside that of the memory.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub read_retire_ns: f64,
    /// Whether a write to another device ends with that device's acknowledgement. Without, it is posted: it ends when
    /// its data are there and the status, which follows the data out of the device, is at the host.
    #[serde(default = "yes")]
    pub peer_acknowledgement: bool,
    /// Unit of the sizes of DMA transfers.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub packet_bytes: u32,
    /// Commands that read from elsewhere.
    pub read: PaceParameters,
    /// Commands that write elsewhere.
    pub write: PaceParameters,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

const fn third() -> u32 {
    3
}

const fn sixteen() -> u32 {
    16
}

/// Time between commands: the interval plus the size over the rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaceParameters {
    /// Fixed time of each command.
    #[schemars(range(min = 0, max = 1000000000))]
    pub interval_ns: f64,
    /// Rate of the additional time.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub bytes_per_ns: f64,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkParameters {
    /// The node nearer to the root.
    #[schemars(length(min = 1, max = 200))]
    pub upper: String,
    /// The other one.
    #[schemars(length(min = 1, max = 200))]
    pub lower: String,
    /// PCIe generation.
    #[serde(default = "third")]
    #[schemars(extend("enum" = [1, 2, 3, 4, 5, 6, 7]))]
    pub generation: u32,
    /// Width.
    #[serde(default = "sixteen")]
    #[schemars(extend("enum" = [1, 2, 4, 8, 12, 16, 32]))]
    pub lanes: u32,
    /// Payload from `upper` to `lower`, GB/s; absent: derived from generation, lanes and MPS.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub down_gbytes_per_s: Option<f64>,
    /// Payload from `lower` to `upper`, GB/s; likewise.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub up_gbytes_per_s: Option<f64>,
    /// Payload from `upper` to `lower` that comes from another lower port of `upper`, past its bridge, GB/s;
    /// absent: as `down_gbytes_per_s`. For the simulator only.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub peer_down_gbytes_per_s: Option<f64>,
    /// Propagation.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub latency_ns: f64,
}
