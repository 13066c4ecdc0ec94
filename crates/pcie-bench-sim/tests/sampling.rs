//! An adaptive run finds the bandwidth of all transactions.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use pcie_bench::{Backend, Samples, Start, Stop};
use pcie_bench_sim::Simulated;
use pcie_sim::{Engine, Machine};
use pcie_workload::{Operation, Test};
use std::ops::ControlFlow;

/// The bandwidth of the first `slices` slices, Gb/s.
fn gbps(samples: Samples, test: &Test, slices: u64) -> f64 {
    let system = include_str!("../../pcie-sim/tests/fixtures/gen5-x16.json");
    let machine = Machine::new(serde_json::from_str(system).unwrap()).unwrap();
    let mut bench = Simulated::new(machine, samples, Engine::Fast).open().unwrap();
    let stop = Stop::default();
    bench.device.begin(Start { seed: 1, position: 0, test, stop: &stop });
    let (mut seen, mut transactions, mut elapsed_ns) = (0, 0, 0.0);
    bench
        .device
        .bandwidth(test, &mut |slice| {
            seen += 1;
            transactions += slice.transactions;
            elapsed_ns += slice.elapsed_ns;
            if seen < slices { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
    (transactions * test.size_bytes * 8) as f64 / elapsed_ns
}

#[test]
fn slowly_filling_queue_is_full_before_batches_count() {
    let test = Test::random_dma(Operation::BwWr, 64, 8192, 1 << 20);
    let (some, all) = (gbps(Samples::Adaptive, &test, 4), gbps(Samples::Full, &test, 16));
    // The link allows 359 Gb/s of it, the root complex 341.
    assert!((some / 341.3 - 1.0).abs() < 0.002, "{some}");
    assert!((some / all - 1.0).abs() < 0.004, "{some} {all}");
}
