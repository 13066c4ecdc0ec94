//! Settings of the machine as a whole.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The largest pages that an IOMMU maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IommuPages {
    /// 2 MiB and larger.
    SuperPages,
    /// 4 KiB.
    FourKibPages,
}

/// Settings of the machine as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// NUMA nodes with processors.
    pub nodes: Option<Vec<i64>>,
    /// NUMA nodes with memory.
    pub memory_nodes: Option<Vec<i64>>,
    /// The socket of each NUMA node with processors.
    pub node_sockets: Option<IndexMap<i64, i64>>,
    /// The kernel's parameters about PCI, IOMMU and power, and no others.
    pub command_line: Option<IndexMap<String, String>>,
    /// Number of IOMMUs that the kernel uses.
    pub iommu_units: Option<u32>,
    /// The largest pages that the IOMMU maps.
    pub iommu_pages: Option<IommuPages>,
    /// The kernel's ASPM policy for all links.
    pub aspm_policy: Option<String>,
    /// Frequency governor of processor 0.
    pub governor: Option<String>,
    /// The deepest idle state that processor 0 may enter.
    pub deepest_idle: Option<String>,
    /// Time to leave that state.
    pub deepest_idle_exit_us: Option<f64>,
    /// The hypervisor; None for none or unknown.
    pub hypervisor: Option<String>,
}
