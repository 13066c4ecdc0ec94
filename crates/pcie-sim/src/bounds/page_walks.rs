//! Lower bounds on page walks per transfer and on the time between walks.

use crate::machine::Machine;
use pcie_workload::{PAGE_BYTES, Pattern, Test, Units};

impl Machine {
    /// Least time between walks, from the number of walkers, pending walks, and regions in the window.
    pub(super) fn walk_interval_ns(&self, test: &Test) -> f64 {
        let iommu = &self.system.host.iommu;
        let regions = match iommu.walk_region_bytes {
            0 => u64::MAX,
            bytes => test.window_bytes.div_ceil(bytes).max(1),
        };
        let walkers = u64::from(iommu.walkers.max(1)).min(regions);
        let pending = f64::from(iommu.pending_walks.max(1));
        f64::max(iommu.walker_busy_ns / walkers as f64, iommu.walk_ns / pending) * iommu.reads_of_a_walk()
    }

    /// Least time between two misses of pages that a driver gives anew: they lie in many regions.
    pub(super) fn miss_interval_ns(&self) -> f64 {
        let iommu = &self.system.host.iommu;
        let walkers = f64::from(iommu.walkers.max(1));
        let pending = f64::from(iommu.pending_walks.max(1));
        f64::max(iommu.walker_busy_ns / walkers, iommu.walk_ns / pending) * iommu.reads_of_a_walk()
    }

    pub(super) fn walks_of_a_transfer(&self, test: &Test) -> f64 {
        let page_bytes = self.system.iommu.page_bytes().unwrap_or(u64::MAX);
        self.io_tlb_miss_share(test) * test.size_bytes.div_ceil(page_bytes) as f64
    }

    /// Least share of visited pages that miss the IO-TLB. A pending walk counts as a hit.
    fn io_tlb_miss_share(&self, test: &Test) -> f64 {
        let Some(page_bytes) = self.system.iommu.page_bytes() else { return 0.0 };
        // Other patterns return to a page while it is held.
        if test.pattern != Pattern::Random {
            return 0.0;
        }
        let iommu = &self.system.host.iommu;
        let found = f64::from(iommu.tlb.entries) + f64::from(iommu.pending_walks);
        let pages = test.window_bytes.div_ceil(page_bytes);
        // Units longer than half a page often cross a page and are then not usable.
        let visited =
            if test.size_bytes > PAGE_BYTES { pages } else { pages.min(Units::new(test).usable_count()) };
        (1.0 - found / visited as f64).max(0.0)
    }
}
