//! The contract of back ends. It counts leaks over the process, so this test has its own binary.
//! `PCIELAB_TRANSACTIONS` sets the length of its tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod core_under_test;

use core_under_test::{machine, program, test};
use pcie_bench::contract::{Trial, check};
use pcie_rtl::Rtl;
use pcie_workload::{Operation, Path, Test};

#[test]
fn core_meets_the_contract_of_back_ends() {
    let Some(program) = program() else { return };
    // More than the 4,096 latencies that the core keeps, so that it returns more than one slice.
    let asked = std::env::var("PCIELAB_TRANSACTIONS").ok().and_then(|count| count.parse().ok());
    let short = |operation| Test { transactions: asked.unwrap_or(5_000), ..test(operation) };
    let trial = Trial {
        latency: Some(short(Operation::LatWrrd)),
        bandwidth: Some(short(Operation::BwRdwr)),
        refused: vec![
            Test { path: Path::Command, ..test(Operation::LatRd) },
            Test { outstanding: Some(65), ..test(Operation::BwRd) },
            Test { size_bytes: 8192, window_bytes: 1 << 20, ..test(Operation::BwRd) },
        ],
        failing: vec![],
    };
    assert_eq!(check(&Rtl::new(machine("snb"), Some(program)), &trial), [""; 0]);
}
