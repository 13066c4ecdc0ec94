//! What the simulation knows of its flows and requests: which paths, parameters, ports and engines each has, and the TLPs
//! that it sends.

use pcie_time::{Draws, Picoseconds, Stream};

use super::{Flow, Paths, State};
use crate::description::{DeviceParameters, HostParameters};
use crate::error::FabricError;
use crate::simulate::engine::Engine;
use crate::simulate::network::{CreditKind, Message, Network, Tlp};
use crate::simulate::outcome::FlowOutcome;
use crate::simulate::traffic::{Arrivals, Placed, Primitive, Traffic, place};
use crate::topology::{NodeId, Topology};

impl State<'_> {
    pub(super) fn new_flow(
        &mut self,
        network: &mut Network,
        number: u32,
        traffic: &Traffic,
        seed: u64,
    ) -> Result<Flow, FabricError> {
        let placed = place(self.topology, traffic)?;
        let Placed { source, destination, host, device, peer, .. } = placed;
        let mut path = |kind: CreditKind, from: NodeId, to: NodeId| {
            let path = network.add_path(self.topology, number, kind, from, to);
            self.path_flow.push(number);
            path
        };
        let mut paths = Paths::default();
        match traffic.primitive {
            Primitive::MmioRead => {
                paths.ask = path(CreditKind::NonPosted, host, device);
                paths.data = path(CreditKind::Completion, device, host);
            }
            Primitive::H2d | Primitive::D2dRead => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.ask = path(CreditKind::NonPosted, device, peer.unwrap_or(host));
                paths.data = path(CreditKind::Completion, source, destination);
                paths.completion = path(CreditKind::Posted, device, host);
            }
            Primitive::D2h => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.data = path(CreditKind::Posted, source, destination);
                paths.completion = paths.data;
            }
            Primitive::D2dWrite => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.data = path(CreditKind::Posted, source, destination);
                paths.completion = path(CreditKind::Posted, device, host);
            }
            Primitive::Stream | Primitive::MmioWrite | Primitive::DmaWrite => {
                paths.data = path(CreditKind::Posted, source, destination);
            }
        }
        let interval_ns = traffic.standalone_gbytes_per_s.map(|pace| {
            let bytes = match traffic.primitive {
                Primitive::Stream => u64::from(self.topology.mps_bytes()),
                _ => traffic.size_bytes,
            };
            bytes as f64 / pace
        });
        Ok(Flow {
            traffic: traffic.clone(),
            placed,
            paths,
            interval_ns,
            next_due_ns: 0.0,
            draws: Draws::new(seed, number.into(), Stream::Arrivals),
            drawn: 0,
            at_source: 0,
            held: false,
            delivered_bytes: 0,
            outcome: FlowOutcome::default(),
        })
    }

    /// When a flow may submit its next request.
    pub(super) fn next_due(&mut self, flow: usize, now: Picoseconds) -> Picoseconds {
        let flow = &mut self.flows[flow];
        let Some(interval_ns) = flow.interval_ns else { return now };
        let due = now.max(Picoseconds::from_ns(flow.next_due_ns));
        let step = match flow.traffic.arrivals {
            Arrivals::Even => 1.0,
            Arrivals::Random => {
                flow.drawn += 1;
                -(1.0 - flow.draws.fraction(flow.drawn)).ln()
            }
        };
        // A flow that was held up does not make up for it.
        flow.next_due_ns = flow.next_due_ns.max(now.as_ns() - interval_ns) + interval_ns * step;
        due
    }

    pub(super) fn flow(&self, request: u32) -> &Flow {
        &self.flows[self.requests[request as usize].flow as usize]
    }

    pub(super) fn host(&self, request: u32) -> HostParameters {
        let host = self.flow(request).placed.host;
        // Placing the flow has made sure that there is one.
        self.topology.nodes()[host as usize].host.unwrap_or_default()
    }

    pub(super) fn device_parameters(&self, request: u32) -> Option<&DeviceParameters> {
        let device = self.flow(request).placed.device;
        self.topology.nodes()[device as usize].device.as_ref()
    }

    /// The memory that a request uses on its device; devices of a D2D flow have memories of one name.
    pub(super) fn memory(&self, request: u32) -> MemoryTimes {
        let placed = &self.flow(request).placed;
        let of = |node: NodeId| self.topology.nodes()[node as usize].device.as_ref();
        let here = of(placed.device).and_then(|device| device.memories.get(placed.memory));
        let there = of(placed.peer.unwrap_or(placed.device))
            .and_then(|device| device.memories.get(placed.peer_memory));
        MemoryTimes {
            engine_ns: here.map_or(0.0, |memory| memory.engine_ns),
            bar_read_ns: there.map_or(0.0, |memory| memory.bar_read_ns),
            bar_write_ns: there.map_or(0.0, |memory| memory.bar_write_ns),
            read_gbytes_per_s: there.map_or(f64::INFINITY, |memory| memory.bar_read_gbytes_per_s),
            write_gbytes_per_s: there.map_or(f64::INFINITY, |memory| memory.bar_write_gbytes_per_s),
        }
    }

    /// When a BAR has the data of a read.
    pub(super) fn read_bar(&mut self, now: Picoseconds, request: u32, bytes: u32) -> Picoseconds {
        let memory = self.memory(request);
        let placed = self.flow(request).placed;
        let bar = &mut self.bars[placed.peer.unwrap_or(placed.device) as usize];
        bar.read(now, bytes, memory.read_gbytes_per_s) + Picoseconds::from_ns(memory.bar_read_ns)
    }

    /// When a BAR has put the data of a write into the memory.
    pub(super) fn write_bar(&mut self, now: Picoseconds, request: u32, bytes: u32) -> Picoseconds {
        let memory = self.memory(request);
        let placed = self.flow(request).placed;
        let bar = &mut self.bars[placed.peer.unwrap_or(placed.device) as usize];
        bar.write(now, bytes, memory.write_gbytes_per_s) + Picoseconds::from_ns(memory.bar_write_ns)
    }

    pub(super) fn to_other_socket(&self, request: u32) -> Picoseconds {
        let other = self.flow(request).traffic.socket != 0;
        Picoseconds::from_ns(if other { self.host(request).other_socket_ns } else { 0.0 })
    }

    /// The engine that serves a request, and its device.
    pub(super) fn engine_of(&self, request: u32) -> (usize, NodeId) {
        let flow = self.flow(request);
        (2 * flow.placed.device as usize + usize::from(flow.writes()), flow.placed.device)
    }

    pub(super) fn count(&mut self, now: Picoseconds, flow: u32, bytes: u32) {
        if now >= self.count_from {
            self.flows[flow as usize].delivered_bytes += u64::from(bytes);
        }
    }

    /// Notes bytes of a request that have arrived; says whether they were the last.
    pub(super) fn arrive(&mut self, request: u32, bytes: u32) -> bool {
        let request = &mut self.requests[request as usize];
        request.to_arrive -= u64::from(bytes);
        request.to_arrive == 0
    }

    pub(super) fn data(&self, request: u32, bytes: u32) -> Tlp {
        let path = self.flow(request).paths.data;
        Tlp { path, hop: 0, bytes, request, message: Message::Data, length: bytes }
    }

    pub(super) fn command(&self, request: u32) -> Tlp {
        let path = self.flow(request).paths.command;
        Tlp { path, hop: 0, bytes: 0, request, message: Message::Command, length: 0 }
    }

    pub(super) fn ask(&self, request: u32, length: u32) -> Tlp {
        let path = self.flow(request).paths.ask;
        Tlp { path, hop: 0, bytes: 0, request, message: Message::Ask, length }
    }

    pub(super) fn completion(&self, request: u32) -> Tlp {
        let path = self.flow(request).paths.completion;
        let bytes = self.device_parameters(request).map_or(0, |device| device.engine.completion_bytes);
        Tlp { path, hop: 0, bytes, request, message: Message::Completion, length: bytes }
    }
}

/// How fast the memories of a request are.
pub(super) struct MemoryTimes {
    pub(super) engine_ns: f64,
    pub(super) bar_read_ns: f64,
    pub(super) bar_write_ns: f64,
    pub(super) read_gbytes_per_s: f64,
    pub(super) write_gbytes_per_s: f64,
}

pub(super) fn engines(topology: &Topology) -> Vec<Option<Engine>> {
    let of = |device: &DeviceParameters| {
        let parameters = device.engine;
        [parameters.read, parameters.write].map(|pace| Some(Engine::new(pace, parameters.execution_ns)))
    };
    topology.nodes().iter().flat_map(|node| node.device.as_ref().map_or([None, None], of)).collect()
}
