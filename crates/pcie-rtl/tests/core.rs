//! The core in its process, on a simulated host: what a run needs of it.
//!
//! `make rtl` builds the process; where it has not been built these tests say so and pass.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

use pcie_bench::{Backend, BandwidthSlice, Bench, DeviceError, LatencySlice, Samples, Start, Stop};
use pcie_bench_sim::Simulated;
use pcie_rtl::Rtl;
use pcie_sim::{Engine, Machine};
use pcie_workload::{CacheState, Operation, Path, Pattern, Test};
use std::ops::ControlFlow;
use std::path::PathBuf;

fn program() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/pcielab-rtl"));
    if !path.exists() {
        eprintln!("skipped: {} is not there: make rtl", path.display());
        return None;
    }
    Some(path)
}

fn machine(name: &str) -> Machine {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    Machine::new(serde_json::from_str(&text).unwrap()).unwrap()
}

fn test(operation: Operation) -> Test {
    Test {
        cache: CacheState::HostWarm,
        details: false,
        device_offset_bytes: 0,
        host_offset_bytes: 0,
        operation,
        outstanding: None,
        path: Path::Dma,
        pattern: Pattern::Random,
        size_bytes: 64,
        stride_units: 1,
        transactions: 20_000,
        window_bytes: 8192,
    }
}

fn begin(bench: &mut Bench, test: &Test) {
    let stop = Stop::default();
    bench.device.begin(Start { position: 3, seed: 1, test, stop: &stop });
    bench.host.thrash().unwrap();
    bench.host.warm(test.window_bytes).unwrap();
}

fn bandwidth_gbps(bench: &mut Bench, test: &Test) -> f64 {
    begin(bench, test);
    let mut all = Vec::<BandwidthSlice>::new();
    bench
        .device
        .bandwidth(test, &mut |slice| {
            all.push(slice);
            ControlFlow::Continue(())
        })
        .unwrap();
    let (bytes, ns) = all.iter().fold((0.0, 0.0), |(bytes, ns), slice| {
        (bytes + (slice.transactions * test.size_bytes) as f64, ns + slice.elapsed_ns)
    });
    bytes * 8.0 / ns
}

fn ticks(bench: &mut Bench, test: &Test) -> Vec<u32> {
    begin(bench, test);
    let mut all = Vec::new();
    let mut take = |slice: &LatencySlice| {
        all.extend(&slice.ticks);
        ControlFlow::Continue(())
    };
    bench.device.latency(test, &mut take).unwrap();
    all
}

fn median_ns(bench: &mut Bench, test: &Test) -> f64 {
    let mut ticks = ticks(bench, test);
    assert_eq!(ticks.len() as u64, test.transactions);
    ticks.sort_unstable();
    4.0 * f64::from(ticks[ticks.len() / 2])
}

/// The simulated card with the core's constants, on the same host.
fn card(name: &str) -> Bench {
    Simulated::new(machine(name), Samples::Full, Engine::Fast).open().unwrap()
}

#[test]
fn the_core_and_the_simulated_card_with_its_constants_agree() {
    let Some(program) = program() else { return };
    for system in ["snb", "snb-iommu"] {
        let mut core = Rtl::new(machine(system), Some(program.clone())).open().unwrap();
        let mut card = card(system);
        for (size_bytes, host_offset_bytes) in
            [(8, 0), (64, 0), (64, 3), (300, 0), (1024, 0), (1500, 7), (2048, 0)]
        {
            let asked = |operation| Test {
                size_bytes,
                host_offset_bytes,
                transactions: 12_000,
                window_bytes: 1 << 20,
                ..test(operation)
            };
            for operation in [Operation::BwRd, Operation::BwWr, Operation::BwRdwr] {
                let test = asked(operation);
                let (rtl, simulated) = (bandwidth_gbps(&mut core, &test), bandwidth_gbps(&mut card, &test));
                println!(
                    "{system} {operation:?} {size_bytes} at {host_offset_bytes}: {rtl:.2} {simulated:.2}"
                );
            }
            for operation in [Operation::LatRd, Operation::LatWrrd] {
                let test = Test { transactions: 2000, ..asked(operation) };
                let (rtl, simulated) = (median_ns(&mut core, &test), median_ns(&mut card, &test));
                println!("{system} {operation:?} {size_bytes} at {host_offset_bytes}: {rtl} {simulated}");
            }
        }
    }
}

#[test]
fn what_the_core_lacks_is_refused_with_its_limit() {
    let Some(program) = program() else { return };
    let mut bench = Rtl::new(machine("snb"), Some(program)).open().unwrap();
    let refused = [
        (Test { path: Path::Command, ..test(Operation::LatRd) }, "command path"),
        (Test { outstanding: Some(65), ..test(Operation::LatRd) }, "64 tags"),
        (Test { window_bytes: 1 << 40, ..test(Operation::LatRd) }, "buffer has"),
    ];
    for (test, named) in refused {
        begin(&mut bench, &Test { window_bytes: 64, ..test.clone() });
        match bench.device.latency(&test, &mut |_| ControlFlow::Continue(())) {
            Err(DeviceError::NotSupported(reason)) => assert!(reason.contains(named), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
