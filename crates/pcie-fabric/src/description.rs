//! A fabric as it is described from outside. [`Topology`](crate::Topology) is the validated one.

use serde::Deserialize;

/// A fabric: its nodes, and the links that make a tree of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricParameters {
    /// Short name.
    pub name: String,
    /// Maximum Payload Size: what transfers are cut into, bytes.
    pub mps_bytes: u32,
    /// Hosts, adapters, switches, devices.
    pub nodes: Vec<NodeParameters>,
    /// One link fewer than nodes.
    pub links: Vec<LinkParameters>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeParameters {
    /// Unique name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Time from a port to the next; at hosts and devices, from the port to what is behind it, ns.
    pub delay_ns: f64,
    /// Time from port to port for what goes between devices, whose addresses no bridge translates, ns; `delay_ns` where
    /// absent.
    #[serde(default)]
    pub turn_ns: Option<f64>,
    /// What turns from one lower port to another goes through the root complex: what each TLP takes of it, ns. TLPs with
    /// and without payload take turns; 0 where nothing holds them up.
    #[serde(default)]
    pub turn_tlp_ns: f64,
    /// The same for payload, GB/s; absent where only TLPs count.
    #[serde(default)]
    pub turn_gbytes_per_s: Option<f64>,
    /// What a host has; needed for hosts, refused elsewhere.
    #[serde(default)]
    pub host: Option<HostParameters>,
    /// What a device has; needed for devices, refused elsewhere.
    #[serde(default)]
    pub device: Option<DeviceParameters>,
}

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostParameters {
    /// Processors; the fabric is attached to socket 0.
    pub sockets: u32,
    /// Extra time one way to or from another socket, ns.
    pub other_socket_ns: f64,
    /// What data to or from another socket's memory pass, each direction by itself, GB/s; as fast as they come, where
    /// absent.
    #[serde(default)]
    pub other_socket_gbytes_per_s: Option<f64>,
    /// Access to memory for a read from a device, ns.
    pub memory_read_ns: f64,
    /// Software before a command is sent to a DMA engine, ns.
    pub software_ns: f64,
    /// Memory set apart for transfers (huge pages), bytes.
    pub memory_bytes: u64,
}

/// An endpoint with memories and, for DMA, engines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceParameters {
    /// Memories; the first one is where transfers go unless they say otherwise.
    pub memories: Vec<MemoryParameters>,
    /// The DMA engines: one reads, one writes.
    pub engine: EngineParameters,
}

/// A memory of a device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryParameters {
    /// Name, unique on the device, such as `hbm`.
    pub name: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Where it is mapped; a memory without one is for the device's own engines only.
    #[serde(default)]
    pub bar: Option<BarParameters>,
    /// Access for a read that came in through the BAR, ns.
    pub bar_read_ns: f64,
    /// Access for a write that came in through the BAR, ns.
    pub bar_write_ns: f64,
    /// Access by the device's own engine, as far as it adds to a transfer, ns.
    pub engine_ns: f64,
    /// What the BAR gives to reads, GB/s.
    pub bar_read_gbytes_per_s: f64,
    /// What the BAR takes of writes, GB/s.
    pub bar_write_gbytes_per_s: f64,
    /// What the addresses of DMA transfers in it are multiples of, bytes: a power of two of 1 to 64; 1 for any.
    #[serde(default = "one")]
    pub alignment_bytes: u32,
}

/// The window of bus addresses under which a memory is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarParameters {
    /// First address.
    pub address: u64,
    /// Length, bytes.
    pub size_bytes: u64,
}

/// The DMA engines of a device.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineParameters {
    /// Preparing, submitting and retiring a command, ns; commands overlap in it.
    pub execution_ns: f64,
    /// Read requests in flight.
    pub tags: u32,
    /// Transfers of up to MPS in flight to or from another device.
    pub peer_requests: u32,
    /// Written to the host when a command is done, bytes.
    pub completion_bytes: u32,
    /// What the sizes of DMA transfers are multiples of, bytes; 1 for any.
    #[serde(default = "one")]
    pub packet_bytes: u32,
    /// How fast commands that read from elsewhere follow one another.
    pub read: PaceParameters,
    /// How fast commands that write elsewhere follow one another.
    pub write: PaceParameters,
}

fn one() -> u32 {
    1
}

/// How fast commands follow one another: `interval_ns + size / bytes_per_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaceParameters {
    /// For every command, ns.
    pub interval_ns: f64,
    /// Bytes of a command per further nanosecond.
    pub bytes_per_ns: f64,
}

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkParameters {
    /// The node nearer to the root.
    pub upper: String,
    /// The other one.
    pub lower: String,
    /// PCIe generation, 1 to 7.
    pub generation: u32,
    /// Width.
    pub lanes: u32,
    /// Payload from `upper` to `lower`, GB/s; what generation, lanes and MPS allow, where absent.
    #[serde(default)]
    pub down_gbytes_per_s: Option<f64>,
    /// Payload from `lower` to `upper`, GB/s; likewise.
    #[serde(default)]
    pub up_gbytes_per_s: Option<f64>,
    /// Payload from `upper` to `lower` that came up from another lower port of `upper` and so did not pass its
    /// bridge, GB/s; as `down_gbytes_per_s`, where absent.
    #[serde(default)]
    pub peer_down_gbytes_per_s: Option<f64>,
    /// Propagation, ns.
    pub latency_ns: f64,
}
