//! The `cpu` back end fulfils the contract of back ends. The contract counts leaks over the process, so this
//! binary has a single test.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod core_under_test;

use core_under_test::{options, test};
use pcie_bench::contract::{Trial, check};
use pcie_bench::{Backend, Faults, Faulty, Traced};
use pcie_host::{Cold, Cpu};
use pcie_workload::{Operation, Path, Test};
use std::sync::Arc;

fn trial() -> Trial {
    Trial {
        latency: Some(test(Operation::LatWrrd, 8)),
        bandwidth: Some(test(Operation::BwRdwr, 64)),
        refused: vec![
            Test { path: Path::Dma, ..test(Operation::BwRd, 64) },
            Test { window_bytes: 1 << 30, ..test(Operation::LatRd, 8) },
            Test { outstanding: Some(4), ..test(Operation::BwRd, 64) },
        ],
        failing: vec![],
    }
}

#[test]
fn core_fulfils_the_contract_alone_and_inside_wrappers() {
    for cold in [Cold::Flush, Cold::Thrash] {
        assert_eq!(check(&Cpu::new(options(cold)), &trial()), [""; 0], "{cold:?}");
    }
    let chase = Trial { latency: Some(test(Operation::LatChase, 8)), bandwidth: None, ..trial() };
    assert_eq!(check(&Cpu::new(options(Cold::Flush)), &chase), [""; 0], "pointer chase");
    let cpu: Arc<dyn Backend> = Arc::new(Cpu::new(options(Cold::Flush)));
    let directory = tempfile::tempdir().unwrap();
    let traced = Traced::new(Arc::clone(&cpu), directory.path().join("trace.jsonl"));
    assert_eq!(check(&traced, &trial()), [""; 0], "traced");
    let faults = Faults { from: Trial::FAILING_POSITION, failures: 1.0, ..Faults::default() };
    let failing = vec![test(Operation::LatRd, 8), test(Operation::BwRd, 64)];
    assert_eq!(check(&Faulty::new(cpu, faults), &Trial { failing, ..trial() }), [""; 0], "after failures");
}
