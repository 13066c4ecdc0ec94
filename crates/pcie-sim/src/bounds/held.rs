//! How long transfers hold what there is only so much of (tags, places in flight, receive buffers): on average, at least.

use super::cost::Cost;
use crate::cache::last_level::Found;
use crate::machine::Machine;
use crate::root_complex::line_costs::read_cost;
use pcie_workload::{CacheState, Operation, Test};

impl Machine {
    /// How long a read request holds its tag: until its last completion is there.
    pub(super) fn round_trip_ns(&self, test: &Test, cost: &Cost) -> f64 {
        let complex = &self.system.host.root_complex;
        // Few requests in flight may find the root complex idle.
        let may_be_idle = test.outstanding.is_some() && complex.read_ns < complex.busy_read_ns;
        let access_ns = if may_be_idle { complex.read_ns } else { complex.busy_read_ns };
        let walk_ns = self.io_tlb_miss_share(test) * self.system.host.iommu.walk_ns;
        let port_ns = (cost.requests_ns + cost.answers_ns) / cost.load.read_requests;
        port_ns + 2.0 * complex.flight_ns + walk_ns + access_ns + self.line_ns(test, !may_be_idle)
    }

    /// From the departure of a request's first completion until the card has moved all of its data on.
    pub(super) fn receive_ns(&self, cost: &Cost) -> f64 {
        let requests = cost.load.read_requests;
        self.system.host.root_complex.flight_ns + (cost.answers_ns + cost.moved_ns) / requests
    }

    /// How long a DMA is in flight; a write is done for the card when its last TLP has left.
    pub(super) fn dma_ns(&self, test: &Test, cost: &Cost, round_trip_ns: Option<f64>) -> f64 {
        let read_ns = round_trip_ns.map(|ns| ns + cost.moved_ns / cost.load.read_requests).unwrap_or(0.0);
        let write_ns = cost.pulled_ns + cost.last_tlp_ns;
        match test.operation {
            Operation::BwRdwr => (read_ns + write_ns) / 2.0,
            Operation::BwWr => write_ns,
            Operation::BwRd | Operation::LatRd | Operation::LatWrrd => read_ns,
        }
    }

    /// What a line costs over one that the card wrote and that is in the cache, with as many of the test's lines in the
    /// cache as fit there.
    fn line_ns(&self, test: &Test, busy: bool) -> f64 {
        if test.operation.writes() {
            return 0.0;
        }
        let cost_ns = |found| read_cost(&self.system.host.memory, found, busy).as_ns();
        let remote = self.system.memory_socket != self.system.device_socket;
        let memory_ns = cost_ns(Found::Memory { remote, untouched: false });
        let cache = &self.system.host.llc;
        let (cached_ns, share) = match test.cache {
            CacheState::Cold | CacheState::DeviceThrash => (memory_ns, 0.0),
            CacheState::DeviceWarm => (0.0, f64::from(cache.ddio_ways) / f64::from(cache.ways)),
            CacheState::HostWarm if self.system.host.sockets > 1 => {
                (cost_ns(Found::HostLine).min(cost_ns(Found::RemoteHostLine)), cache.host_share)
            }
            CacheState::HostWarm => (cost_ns(Found::HostLine), cache.host_share),
        };
        let kept = (cache.llc_bytes as f64 * share / test.window_bytes as f64).min(1.0);
        kept * cached_ns.min(memory_ns) + (1.0 - kept) * memory_ns
    }
}
