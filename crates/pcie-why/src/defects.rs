//! Common defects of a machine: a link below its best, an IOMMU, remote memory.
//!
//! What a defect costs is not known here: the simulator computes it.

use crate::changes::Change;
use pcie_sim::profile::{IommuMode, Link, System};
use serde_json::json;

const TAGS_WITHOUT_EXTENDED: u32 = 32;
const GENERATION_MOST: u32 = 5;
const PAYLOAD_LEAST: u32 = 128;

/// Defects of a link that are common and cost bandwidth: fewer lanes, a lower speed, smaller TLPs.
pub(crate) fn worse_links(generation: u32, lanes: u32, mps_bytes: u32, mrrs_bytes: u32) -> Vec<Change> {
    let mut found = Vec::new();
    if lanes > 1 && lanes != 12 {
        found.push(Change::defect(format!("the link at x{}", lanes / 2), "link.lanes", json!(lanes / 2)));
    }
    if (2..=GENERATION_MOST).contains(&generation) {
        let slower = generation - 1;
        found.push(Change::defect(format!("the link at Gen{slower}"), "link.generation", json!(slower)));
    }
    for (key, name, bytes) in [("link.mps_bytes", "MPS", mps_bytes), ("link.mrrs_bytes", "MRRS", mrrs_bytes)]
    {
        if bytes > PAYLOAD_LEAST {
            found.push(Change::defect(format!("{name} {PAYLOAD_LEAST}"), key, json!(PAYLOAD_LEAST)));
        }
    }
    found
}

/// Each common defect of a system that it does not have and can have.
pub(crate) fn defects(system: &System) -> Vec<Change> {
    let Link { generation, lanes, mps_bytes, mrrs_bytes, tags, .. } = system.link;
    let mut found = worse_links(generation, lanes, mps_bytes, mrrs_bytes);
    if tags > TAGS_WITHOUT_EXTENDED {
        found.push(Change::defect("no extended tags".into(), "link.tags", json!(TAGS_WITHOUT_EXTENDED)));
    } else if tags > 1 {
        found.push(Change::defect(
            format!("only {} reads in flight", tags / 2),
            "link.tags",
            json!(tags / 2),
        ));
    }
    if system.iommu == IommuMode::Off {
        found.push(Change::defect("an IOMMU with super-pages".into(), "iommu", json!("super-pages")));
    }
    if system.iommu != IommuMode::FourKibPages {
        found.push(Change::defect("an IOMMU with 4 KiB pages".into(), "iommu", json!("four-kib-pages")));
    }
    if system.host.sockets > 1 && system.memory_socket == system.device_socket {
        let other = 1_u32.saturating_sub(system.device_socket);
        found.push(Change::defect("memory on the other socket".into(), "memory_socket", json!(other)));
    }
    found
}
