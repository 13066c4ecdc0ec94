//! Systems and tests for benchmarks; a Python test compares `tests/fixtures` with the shipped profiles.

#![allow(dead_code, reason = "each benchmark compiles this module for itself")]

use criterion::Criterion;
use pcie_sim::{Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Test};
use std::time::Duration;

pub const KEY: TestKey = TestKey { seed: 1, test: 0 };
/// More transactions than any benchmark runs.
pub const ENDLESS: u64 = 1 << 48;
pub const BATCH: u64 = 4096;

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

/// Settings of a benchmark: number of samples, and measurement time.
pub fn measured(samples: usize, milliseconds: u64) -> Criterion {
    Criterion::default()
        .sample_size(samples)
        .warm_up_time(Duration::from_millis(milliseconds / 4))
        .measurement_time(Duration::from_millis(milliseconds))
}
