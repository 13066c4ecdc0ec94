//! The simulated back end meets the contract of back ends, alone and inside each wrapper. The contract counts
//! leaks over the process, so this binary has a single test.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use pcie_bench::contract::{Trial, check};
use pcie_bench::{Backend, Faults, Faulty, Samples, Traced};
use pcie_bench_sim::Simulated;
use pcie_sim::{Engine, Machine};
use pcie_workload::{Operation, Path, Test};
use std::sync::Arc;

fn backend() -> Arc<dyn Backend> {
    let system = include_str!("../../pcie-sim/tests/fixtures/ib-011-nosp.json");
    let machine = Machine::new(serde_json::from_str(system).unwrap()).unwrap();
    Arc::new(Simulated::new(machine, Samples::Full, Engine::Fast))
}

fn trial() -> Trial {
    let test = |operation, size_bytes| Test::random_dma(operation, size_bytes, 1 << 20, 20_000);
    Trial {
        latency: Some(test(Operation::LatRd, 64)),
        bandwidth: Some(test(Operation::BwWr, 64)),
        refused: vec![
            Test { path: Path::Command, ..test(Operation::BwRd, 64) },
            test(Operation::BwRd, 1 << 16),
            Test { window_bytes: 1 << 40, ..test(Operation::BwRd, 64) },
        ],
        failing: vec![],
    }
}

fn simulator_meets_the_contract() {
    assert_eq!(check(&*backend(), &trial()), [""; 0]);
}

fn wrapped_simulator_meets_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.jsonl");
    assert_eq!(check(&Traced::new(backend(), path.clone()), &trial()), [""; 0]);
    let traced = std::fs::read_to_string(path).unwrap();
    let slices = traced.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ticks: usize = slices.filter_map(|slice| Some(slice.get("ticks")?.as_array()?.len())).sum();
    assert!(ticks >= 4 * 20_000, "latencies in the trace: {ticks}");
    let faults = Faults { from: Trial::FAILING_POSITION, failures: 1.0, ..Faults::default() };
    let failing = trial().latency.into_iter().chain(trial().bandwidth).collect();
    assert_eq!(check(&Faulty::new(backend(), faults), &Trial { failing, ..trial() }), [""; 0]);
}

fn contract_reports_violations() {
    let wrong = |faults| check(&Faulty::new(backend(), faults), &trial()).join("; ");
    let counts = wrong(Faults { wrong_counts: 1.0, ..Faults::default() });
    assert!(counts.contains("40001 results of 20000"), "{counts}");
    assert!(wrong(Faults { failures: 1.0, ..Faults::default() }).contains("a failure on purpose"));
    let silences = Faults { silences: 1.0, silence_ms: 400, ..Faults::default() };
    let latency = Trial { bandwidth: None, refused: vec![], ..trial() };
    let silent = check(&Faulty::new(backend(), silences), &latency).join("; ");
    assert!(silent.contains("after the request"), "{silent}");
    let nothing = check(&*backend(), &Trial { latency: None, bandwidth: None, ..trial() });
    assert!(nothing.join("; ").contains("nothing was tried"), "{nothing:?}");
}

#[test]
fn contract_is_met_and_reports_violations() {
    simulator_meets_the_contract();
    wrapped_simulator_meets_the_contract();
    contract_reports_violations();
}
