//! A flow in the simulation: the paths of its messages, and its delays.

use pcie_time::Picoseconds;

use super::network::{CreditKind, Network, Way, narrowest};
use super::rate::ByteTime;
use super::traffic::{Placed, Primitive};
use crate::description::MemoryParameters;
use crate::topology::{NodeId, Topology};

/// Requests of one primitive between the same memories.
#[derive(Debug)]
pub(super) struct Flow {
    pub primitive: Primitive,
    pub paths: Paths,
    pub times: Times,
    /// The engine that works for it.
    pub engine: usize,
    /// Its command queue at the engine.
    pub queue: usize,
    /// The device whose BAR is read or written.
    pub bar: usize,
    /// The host whose memory is read or written.
    pub host: usize,
    /// Whether the other end is a device, too.
    pub peer: bool,
    /// Whether the device's engine writes elsewhere.
    pub writes: bool,
    /// Whether the status of a write follows its data out of the device: it waits for no acknowledgement.
    pub posted: bool,
    pub status_bytes: u16,
    /// TLPs with data that wait at the first port.
    pub at_source: usize,
    /// Whether a stream waits for room at its source.
    pub held: bool,
    /// Bytes delivered since counting began.
    pub delivered_bytes: u64,
    /// The least that its path, its engine and its memories carry, GB/s.
    pub narrowest_gbytes_per_s: f64,
}

/// The first hops of a flow's messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Paths {
    pub command: u32,
    /// Requests without data.
    pub ask: u32,
    pub data: u32,
    pub status: u32,
    /// From the target of a device-to-device write, when it is done.
    pub acknowledgement: u32,
}

/// Delays of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub software: Picoseconds,
    pub host_memory_read: Picoseconds,
    /// One way; zero on the fabric's socket.
    pub other_socket: Picoseconds,
    /// Time of data between sockets.
    pub other_socket_byte: ByteTime,
    /// Access by the device's own engine.
    pub engine_memory: Picoseconds,
    /// Of the device's engine, behind the last data of a read.
    pub retire: Picoseconds,
    pub bar_read: Picoseconds,
    pub bar_write: Picoseconds,
    pub bar_read_byte: ByteTime,
    pub bar_write_byte: ByteTime,
}

impl Flow {
    pub fn new(topology: &Topology, network: &mut Network, number: u32, placed: &Placed) -> Self {
        let Placed { primitive, device, peer, .. } = *placed;
        let writes = matches!(primitive, Primitive::D2h | Primitive::DmaWrite | Primitive::D2dWrite);
        let parameters = topology.nodes()[device as usize].device.as_ref();
        Self {
            primitive,
            paths: paths(topology, network, number, placed),
            times: times(topology, placed),
            engine: 2 * device as usize + usize::from(writes),
            queue: placed.queue as usize,
            bar: peer.unwrap_or(device) as usize,
            host: placed.host as usize,
            peer: peer.is_some(),
            writes,
            posted: primitive == Primitive::D2h
                || primitive == Primitive::D2dWrite
                    && parameters.is_some_and(|device| !device.engine.peer_acknowledgement),
            status_bytes: parameters.map_or(0, |device| device.engine.completion_bytes as u16),
            at_source: 0,
            held: false,
            delivered_bytes: 0,
            narrowest_gbytes_per_s: narrowest_of(topology, placed),
        }
    }

    /// Whether its source sends data unasked.
    pub fn produces(&self) -> bool {
        self.writes || self.primitive == Primitive::Stream
    }
}

/// The least that carries the data of a flow, GB/s.
fn narrowest_of(topology: &Topology, placed: &Placed) -> f64 {
    let Placed { primitive, source, destination, host, device, peer, .. } = *placed;
    let path = narrowest(topology, source, destination, primitive == Primitive::Stream);
    let of = |node: NodeId| topology.nodes()[node as usize].device.as_ref();
    let engine = of(device).map(|device| &device.engine);
    let bar = of(peer.unwrap_or(device)).and_then(|device| device.memories.get(placed.peer_memory));
    let beside = match primitive {
        Primitive::Stream | Primitive::MmioRead => None,
        Primitive::MmioWrite => bar.map(|memory| memory.bar_write_gbytes_per_s),
        Primitive::H2d => engine.map(|engine| engine.read.bytes_per_ns),
        Primitive::D2h | Primitive::DmaWrite => engine.map(|engine| engine.write.bytes_per_ns),
        Primitive::D2dRead => {
            engine.zip(bar).map(|(engine, memory)| engine.read.bytes_per_ns.min(memory.bar_read_gbytes_per_s))
        }
        Primitive::D2dWrite => engine
            .zip(bar)
            .map(|(engine, memory)| engine.write.bytes_per_ns.min(memory.bar_write_gbytes_per_s)),
    };
    let sockets = topology.nodes()[host as usize].host.filter(|_| placed.socket != 0);
    let sockets = sockets.and_then(|host| host.other_socket_gbytes_per_s);
    [beside, sockets].into_iter().flatten().fold(path, f64::min)
}

fn paths(topology: &Topology, network: &mut Network, number: u32, placed: &Placed) -> Paths {
    let Placed { source, destination, host, device, peer, .. } = *placed;
    // A stream represents traffic of a known rate: the paper has a stream of 7.19 GB/s where no commands of an
    // engine reach 4.3.
    let is_stream = placed.primitive == Primitive::Stream;
    let mut path = |kind: CreditKind, source: NodeId, destination: NodeId| {
        network.add_path(topology, Way { flow: number, kind, source, destination, is_stream })
    };
    let mut paths = Paths::default();
    match placed.primitive {
        Primitive::MmioRead => {
            paths.ask = path(CreditKind::NonPosted, host, device);
            paths.data = path(CreditKind::Completion, device, host);
        }
        Primitive::H2d | Primitive::D2dRead => {
            paths.command = path(CreditKind::Posted, host, device);
            paths.ask = path(CreditKind::NonPosted, device, peer.unwrap_or(host));
            paths.data = path(CreditKind::Completion, source, destination);
            paths.status = path(CreditKind::Posted, device, host);
        }
        Primitive::D2h => {
            paths.command = path(CreditKind::Posted, host, device);
            paths.data = path(CreditKind::Posted, source, destination);
            paths.status = paths.data;
        }
        Primitive::D2dWrite => {
            paths.command = path(CreditKind::Posted, host, device);
            paths.data = path(CreditKind::Posted, source, destination);
            paths.acknowledgement = path(CreditKind::Completion, destination, source);
            paths.status = path(CreditKind::Posted, device, host);
        }
        Primitive::Stream | Primitive::MmioWrite | Primitive::DmaWrite => {
            paths.data = path(CreditKind::Posted, source, destination);
        }
    }
    paths
}

fn times(topology: &Topology, placed: &Placed) -> Times {
    let host = topology.nodes()[placed.host as usize].host.unwrap_or_default();
    let memory = |node: NodeId, number: usize| -> Option<&MemoryParameters> {
        topology.nodes()[node as usize].device.as_ref()?.memories.get(number)
    };
    let here = memory(placed.device, placed.memory);
    let there = memory(placed.peer.unwrap_or(placed.device), placed.peer_memory);
    let ns = |time: Option<f64>| Picoseconds::from_ns(time.unwrap_or(0.0));
    let rate = |rate: Option<f64>| ByteTime::at(rate.unwrap_or(f64::INFINITY));
    Times {
        software: Picoseconds::from_ns(host.software_ns),
        host_memory_read: Picoseconds::from_ns(host.memory_read_ns),
        other_socket: Picoseconds::from_ns(if placed.socket == 0 { 0.0 } else { host.other_socket_ns }),
        other_socket_byte: rate(host.other_socket_gbytes_per_s.filter(|_| placed.socket != 0)),
        engine_memory: ns(here.map(|memory| memory.engine_ns)),
        retire: ns(topology.nodes()[placed.device as usize]
            .device
            .as_ref()
            .map(|device| device.engine.read_retire_ns)),
        bar_read: ns(there.map(|memory| memory.bar_read_ns)),
        bar_write: ns(there.map(|memory| memory.bar_write_ns)),
        bar_read_byte: rate(there.map(|memory| memory.bar_read_gbytes_per_s)),
        bar_write_byte: rate(there.map(|memory| memory.bar_write_gbytes_per_s)),
    }
}
