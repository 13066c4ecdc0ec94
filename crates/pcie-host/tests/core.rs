//! The `cpu` back end measures what caches do: cold windows are slower than warm ones.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod core_under_test;

use core_under_test::{options, test};
use pcie_bench::{Backend, Bench, LatencySlice, Start, Stop};
use pcie_host::{Cold, Cpu, HostOptions};
use pcie_workload::{CacheState, Operation, Test};
use std::ops::ControlFlow;

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
