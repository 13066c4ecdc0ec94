//! A DMA engine of a device: an execution pipeline, and command queues with transfers in the order of
//! commands.

use std::collections::VecDeque;

use pcie_time::Picoseconds;

use super::rate::ByteTime;
use crate::description::{DeviceParameters, PaceParameters};
use crate::topology::Topology;

/// One of the two engines of a device.
#[derive(Debug)]
pub(super) struct Engine {
    interval: Picoseconds,
    byte_time: ByteTime,
    execution: Picoseconds,
    next_start: Picoseconds,
    /// Limit on requests to or from hosts in flight.
    tags: u32,
    /// Limit on transfers to or from other devices in flight.
    peer_limit: u32,
    /// For each command queue, requests with transfers left to start, oldest first, and their bytes left.
    transferring: Vec<VecDeque<(u32, u64)>>,
    /// The command queue that is next.
    turn: usize,
    /// Requests to or from hosts in flight.
    pub host_requests: u32,
    /// Transfers to or from other devices in flight.
    pub peer_requests: u32,
}

impl Engine {
    fn new(device: &DeviceParameters, pace: PaceParameters) -> Self {
        Self {
            interval: Picoseconds::from_ns(pace.interval_ns),
            byte_time: ByteTime::at(pace.bytes_per_ns),
            execution: Picoseconds::from_ns(device.engine.execution_ns),
            next_start: Picoseconds::ZERO,
            tags: device.engine.tags,
            peer_limit: device.engine.peer_requests,
            transferring: vec![],
            turn: 0,
            host_requests: 0,
            peer_requests: 0,
        }
    }

    /// Accepts a command; returns the time at which its transfers may start.
    pub fn accept(&mut self, now: Picoseconds, size_bytes: u64) -> Picoseconds {
        let start = now.max(self.next_start);
        self.next_start = start + self.interval + self.byte_time.of(size_bytes);
        start + self.execution
    }

    /// Queues the transfers of an executed request or segment.
    pub fn executed(&mut self, queue: usize, request: u32, size_bytes: u64) {
        if self.transferring.len() <= queue {
            self.transferring.resize(queue + 1, VecDeque::new());
        }
        self.transferring[queue].push_back((request, size_bytes));
    }

    /// Starts the next transfer, round robin over the queues whose first request `may_go`. Returns the
    /// request and the bytes of the transfer.
    pub fn start(&mut self, mps_bytes: u64, may_go: impl Fn(&Self, u32) -> bool) -> Option<(u32, u64)> {
        let count = self.transferring.len();
        for step in 0..count {
            let queue = (self.turn + step) % count;
            let Some(&(request, left)) = self.transferring[queue].front() else { continue };
            if !may_go(self, request) {
                continue;
            }
            let bytes = left.min(mps_bytes);
            if left == bytes {
                self.transferring[queue].pop_front();
            } else if let Some((_, left)) = self.transferring[queue].front_mut() {
                *left -= bytes;
            }
            self.turn = queue + 1;
            return Some((request, bytes));
        }
        None
    }

    /// Whether the limits allow another transfer or request in flight.
    pub fn has_room(&self, peer: bool, writes: bool) -> bool {
        if peer { self.peer_requests < self.peer_limit } else { writes || self.host_requests < self.tags }
    }
}

/// Read and write engine of each node; None where there is no device.
pub(super) fn engines(topology: &Topology) -> Vec<Option<Engine>> {
    let of = |device: &DeviceParameters| {
        [device.engine.read, device.engine.write].map(|pace| Some(Engine::new(device, pace)))
    };
    topology.nodes().iter().flat_map(|node| node.device.as_ref().map_or([None, None], of)).collect()
}

/// The commands that a device takes in, one after another, for both of its engines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Intake {
    interval: Picoseconds,
    free_at: Picoseconds,
}

impl Intake {
    /// Takes a command in; returns the time at which its engine has it.
    pub fn take(&mut self, now: Picoseconds) -> Picoseconds {
        let taken = now.max(self.free_at);
        self.free_at = taken + self.interval;
        taken
    }
}

/// The intake of each node; where there is no device, one that is not used.
pub(super) fn intakes(topology: &Topology) -> Vec<Intake> {
    let interval = |device: &DeviceParameters| Picoseconds::from_ns(device.engine.command_interval_ns);
    let of = |device: Option<&DeviceParameters>| Intake {
        interval: device.map_or(Picoseconds::ZERO, interval),
        free_at: Picoseconds::ZERO,
    };
    topology.nodes().iter().map(|node| of(node.device.as_ref())).collect()
}

/// A resource that data pass one after another, in each direction: the BAR of a device, or the link between a
/// host's sockets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    read_free_at: Picoseconds,
    write_free_at: Picoseconds,
}

impl Side {
    pub fn read(&mut self, now: Picoseconds, taking: Picoseconds) -> Picoseconds {
        self.read_free_at = now.max(self.read_free_at) + taking;
        self.read_free_at
    }

    pub fn write(&mut self, now: Picoseconds, taking: Picoseconds) -> Picoseconds {
        self.write_free_at = now.max(self.write_free_at) + taking;
        self.write_free_at
    }
}
