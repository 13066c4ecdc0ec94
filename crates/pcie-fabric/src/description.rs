//! A fabric as it is described from outside. [`Topology`](crate::Topology) is the validated one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a size may be at most: file formats and programs in other languages keep it in 64 bits with a sign.
pub(crate) const BYTES_MAX: u64 = i64::MAX as u64;

/// A fabric: its nodes, and the links that make a tree of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricParameters {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Maximum payload size (MPS): what transfers are cut into.
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    pub mps_bytes: u32,
    /// Hosts, adapters, switches, devices.
    pub nodes: Vec<NodeParameters>,
    /// One link fewer than nodes.
    pub links: Vec<LinkParameters>,
}

/// What a node is.
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
    /// What it is.
    pub kind: NodeKind,
    /// From a port to the next; at hosts and devices, from the port to what is behind it.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub delay_ns: f64,
    /// From port to port for what goes between devices, whose addresses no bridge translates; absent: `delay_ns`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub turn_ns: Option<f64>,
    /// What each TLP takes of the root complex, where that is the way from one lower port to another. TLPs with and without
    /// payload take turns; 0 where nothing holds them up.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub turn_tlp_ns: f64,
    /// The same for payload, GB/s; absent where only TLPs count.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub turn_gbytes_per_s: Option<f64>,
    /// What a host has; needed for hosts, refused elsewhere.
    #[serde(default)]
    pub host: Option<HostParameters>,
    /// What a device has; needed for devices, refused elsewhere.
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
    /// What data of DMA to or from another socket's memory pass, each direction by itself, GB/s; absent: as fast as they
    /// come.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub other_socket_gbytes_per_s: Option<f64>,
    /// Access to memory for a read that comes from a device.
    #[schemars(range(min = 0, max = 1000000000))]
    pub memory_read_ns: f64,
    /// Software before a command is sent to a DMA engine.
    #[schemars(range(min = 0, max = 1000000000))]
    pub software_ns: f64,
    /// Memory set apart for transfers (huge pages).
    #[schemars(range(min = 1, max = BYTES_MAX))]
    pub memory_bytes: u64,
}

/// A kind of card: an endpoint with memories and, for DMA, engines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceParameters {
    /// Memories; the first one is where transfers go unless they say otherwise.
    pub memories: Vec<MemoryParameters>,
    /// The DMA engines: one reads, one writes.
    pub engine: EngineParameters,
}

/// A memory of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryParameters {
    /// Name, unique on the device, such as `hbm`; flows go to the first memory unless they name another.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Size.
    #[schemars(range(min = 1, max = BYTES_MAX))]
    pub size_bytes: u64,
    /// Where it is mapped; a memory without one is for the device's own engines only.
    #[serde(default)]
    pub bar: Option<BarParameters>,
    /// Access for a read through the BAR.
    #[schemars(range(min = 0, max = 1000000000))]
    pub bar_read_ns: f64,
    /// Access for a write through the BAR.
    #[schemars(range(min = 0, max = 1000000000))]
    pub bar_write_ns: f64,
    /// Access by the device's own engine, as far as it adds to a transfer.
    #[schemars(range(min = 0, max = 1000000000))]
    pub engine_ns: f64,
    /// What the BAR gives to reads of other devices, GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub bar_read_gbytes_per_s: f64,
    /// What the BAR takes of writes of other devices, GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub bar_write_gbytes_per_s: f64,
    /// What the addresses of a program's DMA transfers in it are multiples of.
    #[serde(default = "one")]
    #[schemars(extend("enum" = [1, 2, 4, 8, 16, 32, 64]))]
    pub alignment_bytes: u32,
}

/// The window of bus addresses under which a memory is seen.
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
    /// Preparing, submitting and retiring a command; commands overlap in it.
    #[schemars(range(min = 0, max = 1000000000))]
    pub execution_ns: f64,
    /// Read requests in flight; also the most commands that a flow may have outstanding.
    #[schemars(range(min = 1, max = 65536))]
    pub tags: u32,
    /// Transfers of up to MPS in flight to or from another device.
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub peer_requests: u32,
    /// Written to the host when a command is done.
    #[schemars(range(min = 1, max = 4294967295_u32))]
    pub completion_bytes: u32,
    /// What the sizes of DMA transfers are multiples of.
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

const fn third() -> u32 {
    3
}

const fn sixteen() -> u32 {
    16
}

/// How fast commands follow one another: the interval, and the size over the rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaceParameters {
    /// For every command.
    #[schemars(range(min = 0, max = 1000000000))]
    pub interval_ns: f64,
    /// Bytes of a command per further nanosecond.
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
    /// Payload from `upper` to `lower`, GB/s; absent: what generation, lanes and MPS allow.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub down_gbytes_per_s: Option<f64>,
    /// Payload from `lower` to `upper`, GB/s; likewise.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub up_gbytes_per_s: Option<f64>,
    /// Payload from `upper` to `lower` that came up from another lower port of `upper` and so did not pass its bridge, GB/s;
    /// absent: as `down_gbytes_per_s`. The simulator's only.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1000000))]
    pub peer_down_gbytes_per_s: Option<f64>,
    /// Propagation.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub latency_ns: f64,
}
