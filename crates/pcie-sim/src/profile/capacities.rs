//! Capacities of a machine that a window can exceed: the last-level cache and its shares, and the IO-TLB's
//! reach.

use super::{IommuMode, LastLevelCache, System};
use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of a window that a machine keeps close, and the pages that its IOMMU translates.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Capacities {
    /// Of lines that the device wrote, in the ways in which it may allocate (DDIO).
    pub device_lines_bytes: u64,
    /// Of lines that the CPU wrote, of the whole last-level cache.
    pub host_lines_bytes: u64,
    /// Of one page of the IOMMU; null without translation.
    pub iommu_page_bytes: Option<u64>,
    /// Of the pages that the IO-TLB has entries for; null without translation.
    pub io_tlb_bytes: Option<u64>,
}

impl System {
    /// The capacities that a window can exceed.
    #[must_use]
    pub fn capacities(&self) -> Capacities {
        let cache = &self.host.llc;
        let page_bytes = self.iommu.page_bytes();
        Capacities {
            device_lines_bytes: cache.device_lines_bytes(),
            host_lines_bytes: (cache.llc_bytes as f64 * cache.host_share) as u64,
            iommu_page_bytes: page_bytes,
            io_tlb_bytes: page_bytes.map(|bytes| bytes * u64::from(self.host.iommu.tlb.entries)),
        }
    }
}

impl LastLevelCache {
    /// Bytes of lines that the device wrote, in the ways in which it may allocate.
    pub(super) fn device_lines_bytes(&self) -> u64 {
        self.llc_bytes / u64::from(self.ways) * u64::from(self.ddio_ways)
    }
}

impl IommuMode {
    /// Bytes of a page; none without translation.
    #[must_use]
    pub fn page_bytes(self) -> Option<u64> {
        const SUPER_PAGE_BYTES: u64 = 2 << 20;
        match self {
            Self::Off => None,
            Self::SuperPages => Some(SUPER_PAGE_BYTES),
            Self::FourKibPages => Some(pcie_workload::PAGE_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;

    #[test]
    fn capacities_are_those_of_the_parts() {
        let mut system = snb().system;
        (system.host.llc.llc_bytes, system.host.llc.ways, system.host.llc.ddio_ways) = (20 << 20, 20, 2);
        (system.host.llc.host_share, system.host.iommu.tlb.entries) = (0.5, 64);
        system.iommu = IommuMode::FourKibPages;
        let found = system.capacities();
        assert_eq!((found.device_lines_bytes, found.host_lines_bytes), (2 << 20, 10 << 20));
        assert_eq!((found.iommu_page_bytes, found.io_tlb_bytes), (Some(4096), Some(256 << 10)));
        system.iommu = IommuMode::Off;
        assert_eq!(system.capacities().io_tlb_bytes, None);
    }
}
