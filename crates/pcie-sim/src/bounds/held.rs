//! Lower bounds on the average time for which transfers hold tags, workers and receive buffers.

use super::cost::Cost;
use crate::cache::last_level::Found;
use crate::machine::Machine;
use crate::root_complex::line_costs::read_cost;
use pcie_workload::{CacheState, LINE_BYTES, Operation, Pattern, Test};

/// Bound on random deviations from the mean, in standard deviations.
const BY_CHANCE: f64 = 5.0;

/// Headers and bytes of the completion buffer that can be in use; `None` where it does not limit them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UsableBuffer {
    pub(super) headers: Option<u32>,
    pub(super) bytes: Option<u32>,
}

impl Machine {
    /// Least average time for which a read request holds its tag, with `in_flight` requests in flight.
    ///
    /// A request may be answered sooner by an idle root complex than by a busy one (`read_ns` and
    /// `busy_read_ns`). Requests that find it idle do not overlap: each comes after the data of the one
    /// before. So there is at most one in `read_ns`, and the gain is small with many requests in flight.
    pub(super) fn round_trip_ns(&self, test: &Test, cost: &Cost, in_flight: f64) -> f64 {
        let complex = &self.system.host.root_complex;
        // The requests of a transfer to one page share its walk.
        let reads = if test.operation == Operation::BwRdwr { cost.load.dmas / 2.0 } else { cost.load.dmas };
        let walks = self.walks_of_a_transfer(test) * reads / cost.load.read_requests;
        let walk_ns = walks * self.system.host.iommu.walk_ns;
        let port_ns = (cost.requests_ns + cost.answers_ns) / cost.load.read_requests;
        let tag_return_ns = self.system.device.dma.tag_return_ns;
        let way_ns = port_ns + 2.0 * self.flight_ns() + walk_ns + tag_return_ns;
        let busy_ns = complex.busy_read_ns + self.line_ns(test, true);
        let idle_ns = complex.read_ns + self.line_ns(test, false);
        if idle_ns >= busy_ns {
            return way_ns + busy_ns;
        }
        let find_idle_per_ns = f64::min(1.0 / idle_ns, in_flight / (way_ns + idle_ns));
        let find_busy_per_ns = (in_flight - find_idle_per_ns * (way_ns + idle_ns)) / (way_ns + busy_ns);
        in_flight / (find_idle_per_ns + find_busy_per_ns)
    }

    /// Least average time for which a read request holds its lines in the root complex's pool.
    pub(super) fn read_hold_ns(&self, test: &Test) -> f64 {
        let complex = &self.system.host.root_complex;
        let busy_ns = complex.busy_read_ns + self.line_ns(test, true);
        busy_ns.min(complex.read_ns + self.line_ns(test, false))
    }

    /// Lower bound on the read requests for whose completions the device has space.
    pub(super) fn requests_in_completion_buffer(&self, cost: &Cost) -> f64 {
        let Some((_, most)) = cost.spaces else { return f64::INFINITY };
        let path = &self.system.device.dma;
        let requests =
            |free: Option<u32>, each: u32| free.map_or(f64::INFINITY, |free| f64::from(free / each));
        requests(path.completion_buffer_headers, most.headers)
            .min(requests(path.completion_buffer_bytes, most.bytes))
    }

    /// The part of the completion buffer that an average number of whole requests can use.
    pub(super) fn usable_completion_buffer(&self, cost: &Cost) -> UsableBuffer {
        let Some((least, _)) = cost.spaces else { return UsableBuffer::default() };
        let path = &self.system.device.dma;
        let usable = |free: u32, least: u32, reserved: f64| {
            let whole = f64::from(free / least) * reserved / cost.load.read_requests;
            free.min(whole.ceil() as u32)
        };
        UsableBuffer {
            headers: path
                .completion_buffer_headers
                .map(|free| usable(free, least.headers, cost.load.reserved_headers)),
            bytes: path
                .completion_buffer_bytes
                .map(|free| usable(free, least.bytes, cost.load.reserved_bytes)),
        }
    }

    /// From the departure of a request's first completion until the device has moved all of its data.
    pub(super) fn receive_ns(&self, cost: &Cost) -> f64 {
        let requests = cost.load.read_requests;
        self.flight_ns() + (cost.answers_ns + cost.moved_ns) / requests
    }

    /// Time for which a DMA is in flight. For the device, a write is done when its last TLP has left.
    pub(super) fn dma_ns(&self, test: &Test, cost: &Cost, round_trip_ns: Option<f64>) -> f64 {
        // A DMA does not wait for the return of its tags.
        let after_answer_ns = cost.moved_ns / cost.load.read_requests - self.system.device.dma.tag_return_ns;
        let read_ns = round_trip_ns.map(|ns| ns + after_answer_ns).unwrap_or(0.0);
        let write_ns = cost.pulled_ns + cost.last_tlp_ns;
        match test.operation {
            Operation::BwRdwr => (read_ns + write_ns) / 2.0,
            Operation::BwWr => write_ns,
            Operation::BwRd | Operation::LatRd | Operation::LatWrrd | Operation::LatChase => read_ns,
        }
    }

    /// Average cost of a line over one that the device wrote and that is in the cache, with as many of the
    /// test's lines in the cache as possible.
    fn line_ns(&self, test: &Test, busy: bool) -> f64 {
        if test.operation.writes() {
            return 0.0;
        }
        let cost_ns = |found| read_cost(&self.system.host.memory, found, busy).as_ns();
        let remote = self.system.memory_socket != self.system.device_socket;
        let memory_ns = cost_ns(Found::Memory { remote, untouched: false });
        let host_ns = match self.thrash_reaches_device_lines() {
            true => cost_ns(Found::HostLine),
            false => cost_ns(Found::RemoteHostLine),
        };
        let lines_bytes = visited_bytes(test) as f64;
        let device_share = (self.device_lines_bytes(test) / lines_bytes).min(1.0);
        let host_share = match test.cache {
            CacheState::HostWarm => {
                let kept_bytes = self.system.capacities().host_lines_bytes;
                (kept_bytes as f64 / lines_bytes).min(1.0 - device_share)
            }
            CacheState::Cold | CacheState::DeviceThrash | CacheState::DeviceWarm => 0.0,
        };
        host_share * host_ns.min(memory_ns) + (1.0 - device_share - host_share) * memory_ns
    }

    /// Most bytes of the visited lines that can be in the cache as device lines when the test begins.
    fn device_lines_bytes(&self, test: &Test) -> f64 {
        let held_bytes = self.system.capacities().device_lines_bytes as f64;
        match test.cache {
            // Device lines of earlier tests survive.
            _ if !self.thrash_reaches_device_lines() => held_bytes,
            CacheState::DeviceWarm => held_bytes,
            CacheState::DeviceThrash => {
                // Random lines of the buffer: the share of a small window deviates more from the mean.
                let share = (held_bytes / self.system.buffer_bytes() as f64).min(1.0);
                let lines = visited_bytes(test) as f64 / LINE_BYTES as f64;
                LINE_BYTES as f64 * (lines * share + BY_CHANCE * (lines * share).sqrt() + BY_CHANCE)
            }
            CacheState::Cold | CacheState::HostWarm => 0.0,
        }
    }

    /// Whether the thrashing program runs on the device's socket.
    fn thrash_reaches_device_lines(&self) -> bool {
        self.system.program_socket == self.system.device_socket
    }
}

/// Upper bound on the bytes of the lines that a test visits.
fn visited_bytes(test: &Test) -> u64 {
    match test.pattern {
        Pattern::Fixed => test.unit_bytes(),
        Pattern::Sequential | Pattern::Strided | Pattern::Random => test.window_bytes,
    }
}
