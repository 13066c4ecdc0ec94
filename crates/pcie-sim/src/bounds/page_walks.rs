//! How many transfers have their page walked, at least.

use crate::machine::Machine;
use crate::profile::IommuMode;
use pcie_workload::{PAGE_BYTES, Pattern, Test};

const SUPER_PAGE_BYTES: u64 = 2 << 20;

impl Machine {
    /// The share of DMAs whose page the IO-TLB cannot hold, at least: a page that is being walked is found, too.
    pub(super) fn io_tlb_miss_share(&self, test: &Test) -> f64 {
        let page_bytes = match self.system.iommu {
            IommuMode::Off => return 0.0,
            IommuMode::SuperPages => SUPER_PAGE_BYTES,
            IommuMode::FourKibPages => PAGE_BYTES,
        };
        // Other patterns come back to a page while it is held.
        if test.pattern != Pattern::Random {
            return 0.0;
        }
        let iommu = &self.system.host.iommu;
        let found = f64::from(iommu.tlb.entries) + f64::from(iommu.pending_walks);
        (1.0 - found / test.window_bytes.div_ceil(page_bytes) as f64).max(0.0)
    }
}
