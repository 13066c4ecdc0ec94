//! Systems for tests: shipped profiles, as `pcielab profiles show NAME --resolved` prints them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use crate::Machine;
use crate::profile::{IommuMode, System};

fn machine(json: &str) -> Machine {
    Machine::new(serde_json::from_str(json).unwrap()).unwrap()
}

/// One socket, no IOMMU.
pub(crate) fn snb() -> Machine {
    machine(include_str!("../tests/fixtures/snb.json"))
}

/// Two sockets with memory and program on the far one, 4 KiB pages.
pub(crate) fn ib_011_nosp() -> Machine {
    machine(include_str!("../tests/fixtures/ib-011-nosp.json"))
}

/// The same with super-pages of 2 MiB.
pub(crate) fn ib_011_iommu() -> Machine {
    let iommu = IommuMode::SuperPages;
    Machine::new(System { iommu, ..ib_011_nosp().system().clone() }).unwrap()
}
