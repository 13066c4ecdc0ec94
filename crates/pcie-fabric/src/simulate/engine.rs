//! A DMA engine of a device: an in-order command queue, an execution pipeline, and transfers in the order of commands.

use std::collections::VecDeque;

use pcie_time::Picoseconds;

use crate::description::PaceParameters;

/// One of the two engines of a device.
#[derive(Debug)]
pub(super) struct Engine {
    pace: PaceParameters,
    execution: Picoseconds,
    next_start: Picoseconds,
    /// Requests whose transfers have not all been started, oldest first.
    pub transferring: VecDeque<u32>,
    /// Requests to or from hosts in flight.
    pub host_requests: u32,
    /// Transfers to or from other devices in flight.
    pub peer_requests: u32,
}

impl Engine {
    pub fn new(pace: PaceParameters, execution_ns: f64) -> Self {
        Self {
            pace,
            execution: Picoseconds::from_ns(execution_ns),
            next_start: Picoseconds::ZERO,
            transferring: VecDeque::new(),
            host_requests: 0,
            peer_requests: 0,
        }
    }

    /// Takes a command; says when it has been executed and its transfers may start.
    pub fn accept(&mut self, now: Picoseconds, size_bytes: u64) -> Picoseconds {
        let start = now.max(self.next_start);
        let interval_ns = self.pace.interval_ns + size_bytes as f64 / self.pace.bytes_per_ns;
        self.next_start = start + Picoseconds::from_ns(interval_ns);
        start + self.execution
    }
}

/// The side of a device that others read and write: each access takes its share of the BAR's bandwidth.
#[derive(Debug, Default)]
pub(super) struct BarPort {
    read_free_at: Picoseconds,
    write_free_at: Picoseconds,
}

impl BarPort {
    pub fn read(&mut self, now: Picoseconds, bytes: u32, gbytes_per_s: f64) -> Picoseconds {
        self.read_free_at =
            now.max(self.read_free_at) + Picoseconds::from_ns(f64::from(bytes) / gbytes_per_s);
        self.read_free_at
    }

    pub fn write(&mut self, now: Picoseconds, bytes: u32, gbytes_per_s: f64) -> Picoseconds {
        self.write_free_at =
            now.max(self.write_free_at) + Picoseconds::from_ns(f64::from(bytes) / gbytes_per_s);
        self.write_free_at
    }
}
