//! The `cpu` back end fulfils the contract of back ends, and cold caches are slower than warm ones.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use pcie_bench::contract::{Trial, check};
use pcie_bench::{Backend, Bench, Faults, Faulty, LatencySlice, Start, Stop, Traced};
use pcie_host::{Cold, Cpu, HostOptions, PageSize};
use pcie_workload::{CacheState, Operation, Path, Test};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The contract counts leftovers of the whole process, so only one test at a time may open anything.
static ALONE: Mutex<()> = Mutex::new(());

fn options(cold: Cold) -> HostOptions {
    HostOptions { page_bytes: PageSize::FourKib, buffer_bytes: 16 << 20, node: None, core: None, cold }
}

fn test(operation: Operation, size_bytes: u64) -> Test {
    Test { path: Path::Command, ..Test::random_dma(operation, size_bytes, 1 << 20, 20_000) }
}

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
fn core_fulfils_the_contract() {
    let _alone = ALONE.lock();
    for cold in [Cold::Flush, Cold::Thrash] {
        assert_eq!(check(&Cpu::new(options(cold)), &trial()), [""; 0]);
    }
}

#[test]
fn pointer_chase_fulfils_the_contract() {
    let _alone = ALONE.lock();
    let chase = Trial { latency: Some(test(Operation::LatChase, 8)), bandwidth: None, ..trial() };
    assert_eq!(check(&Cpu::new(options(Cold::Flush)), &chase), [""; 0]);
}

#[test]
fn core_fulfils_the_contract_inside_wrappers_and_after_failures() {
    let _alone = ALONE.lock();
    let cpu: Arc<dyn Backend> = Arc::new(Cpu::new(options(Cold::Flush)));
    let directory = tempfile::tempdir().unwrap();
    let traced = Traced::new(Arc::clone(&cpu), directory.path().join("trace.jsonl"));
    assert_eq!(check(&traced, &trial()), [""; 0]);
    let faults = Faults { from: Trial::FAILING_POSITION, failures: 1.0, ..Faults::default() };
    let failing = vec![test(Operation::LatRd, 8), test(Operation::BwRd, 64)];
    assert_eq!(check(&Faulty::new(cpu, faults), &Trial { failing, ..trial() }), [""; 0]);
}

/// Median ticks of reads of 8 bytes.
fn median_ticks(bench: &mut Bench, test: &Test) -> u32 {
    let stop = Stop::default();
    let start = Start { position: 0, seed: 1, test, stop: &stop };
    bench.device.begin(start);
    bench.host.begin(start);
    bench.host.thrash().unwrap();
    if test.cache == CacheState::HostWarm {
        bench.host.warm(test.window_bytes).unwrap();
    }
    let mut ticks = Vec::new();
    let mut take = |slice: &LatencySlice| {
        ticks.extend(&slice.ticks);
        ControlFlow::Continue(())
    };
    bench.device.latency(test, &mut take).unwrap();
    ticks.sort_unstable();
    ticks[ticks.len() / 2]
}

#[test]
fn cold_windows_are_slower_than_warm_ones() {
    for cold in [Cold::Thrash, Cold::Flush] {
        let mut bench = Cpu::new(options(cold)).open().unwrap();
        let test = Test { window_bytes: 64 << 10, transactions: 512, ..test(Operation::LatRd, 8) };
        // The best of three: other programs may interfere.
        let mut best = |cache| {
            let test = Test { cache, ..test.clone() };
            (0..3).map(|_| median_ticks(&mut bench, &test)).min().unwrap()
        };
        let (cold_ticks, warm_ticks) = (best(CacheState::Cold), best(CacheState::HostWarm));
        assert!(cold_ticks > warm_ticks, "{cold:?}: {cold_ticks} against {warm_ticks}");
    }
}

#[test]
fn unknown_core_is_refused() {
    let error = Cpu::new(HostOptions { core: Some(100_000), ..options(Cold::Thrash) }).open().err().unwrap();
    assert!(error.to_string().starts_with("host.core is 100000: this program may run on 0"), "{error}");
}

#[test]
fn chase_in_a_small_window_is_faster_than_the_clock_that_times_single_reads() {
    let mut bench = Cpu::new(options(Cold::Thrash)).open().unwrap();
    let single = test(Operation::LatRd, 8);
    let tests = [single.clone(), Test { operation: Operation::LatChase, ..single }];
    // The best of three: other programs may interfere.
    let [read_ns, chase_ns] = tests.map(|test| {
        let warm = Test { window_bytes: 4 << 10, cache: CacheState::HostWarm, ..test };
        let ticks = (0..3).map(|_| median_ticks(&mut bench, &warm)).min().unwrap();
        let timer = bench.device.remarks().timer.unwrap_or(bench.device.facts().timer);
        timer.tick().in_ns(f64::from(ticks))
    });
    assert!(chase_ns > 0.0 && chase_ns < read_ns, "{chase_ns} ns, single reads {read_ns} ns");
}
