//! The systems and tests that are timed. The systems are shipped profiles, resolved; a Python test holds the copies in
//! `tests/fixtures` to them.

use criterion::Criterion;
use pcie_sim::{Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Test};
use std::time::Duration;

pub const KEY: TestKey = TestKey { seed: 1, test: 0 };

/// Sandy Bridge, IOMMU off.
pub fn snb() -> Machine {
    machine(include_str!("../../tests/fixtures/snb.json"))
}

/// Ivy Bridge, IOMMU on with 4 KiB pages.
pub fn four_kib_pages() -> Machine {
    machine(include_str!("../../tests/fixtures/ib-000-nosp.json"))
}

fn machine(system: &str) -> Machine {
    Machine::new(serde_json::from_str(system).unwrap()).unwrap()
}

pub fn list(test: &Test) -> AddressList {
    AddressList::new(test, KEY.draws(Stream::Addresses))
}

/// How each benchmark is measured: so many samples in so long a time.
pub fn measured(samples: usize, milliseconds: u64) -> Criterion {
    Criterion::default()
        .sample_size(samples)
        .warm_up_time(Duration::from_millis(milliseconds / 4))
        .measurement_time(Duration::from_millis(milliseconds))
}
