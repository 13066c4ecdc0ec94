//! How many transfers have their page walked, at least, and how fast walks follow one another, at most.

use crate::machine::Machine;
use pcie_workload::{PAGE_BYTES, Pattern, Test, Units};

impl Machine {
    /// The least time from walk to walk: as many go on as there are walkers, room, and regions in the window.
    pub(super) fn walk_interval_ns(&self, test: &Test) -> f64 {
        let iommu = &self.system.host.iommu;
        let regions = match iommu.walk_region_bytes {
            0 => u64::MAX,
            bytes => test.window_bytes.div_ceil(bytes).max(1),
        };
        let walkers = u64::from(iommu.walkers.max(1)).min(regions);
        f64::max(iommu.walker_busy_ns / walkers as f64, iommu.walk_ns / f64::from(iommu.pending_walks.max(1)))
    }

    /// Walks for the pages of a transfer, at least.
    pub(super) fn walks_of_a_transfer(&self, test: &Test) -> f64 {
        let page_bytes = self.system.iommu.page_bytes().unwrap_or(u64::MAX);
        self.io_tlb_miss_share(test) * test.size_bytes.div_ceil(page_bytes) as f64
    }

    /// The share of pages visited the IO-TLB cannot hold, at least: a page that is being walked is found, too.
    fn io_tlb_miss_share(&self, test: &Test) -> f64 {
        let Some(page_bytes) = self.system.iommu.page_bytes() else { return 0.0 };
        // Other patterns come back to a page while it is held.
        if test.pattern != Pattern::Random {
            return 0.0;
        }
        let iommu = &self.system.host.iommu;
        let found = f64::from(iommu.tlb.entries) + f64::from(iommu.pending_walks);
        let pages = test.window_bytes.div_ceil(page_bytes);
        // Of units longer than half a page, which lie close together, many cross a page and are left out.
        let visited =
            if test.size_bytes > PAGE_BYTES { pages } else { pages.min(Units::new(test).usable_count()) };
        (1.0 - found / visited as f64).max(0.0)
    }
}
