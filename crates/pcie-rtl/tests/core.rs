//! The core in its process, on a simulated host. Without `make rtl`, these tests pass with a note.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

mod core_under_test;

use core_under_test::{machine, program, test};
use pcie_bench::{
    Backend, BandwidthSlice, Bench, DeviceError, LatencySlice, OpenError, Samples, Start, Stop,
};
use pcie_bench_sim::Simulated;
use pcie_rtl::Rtl;
use pcie_sim::profile::System;
use pcie_sim::{Engine, Machine, RootPort, TestKey};
use pcie_wire::{Piece, TlpKind};
use pcie_workload::{LINE_BYTES, Operation, Path, Test};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Clock period of the core, and bytes of a beat of its data path.
const CLOCK_NS: f64 = 4.0;
const BEAT_BYTES: u64 = 32;

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

fn mean_ns(bench: &mut Bench, test: &Test) -> f64 {
    let ticks = ticks(bench, test);
    4.0 * ticks.iter().map(|ticks| f64::from(*ticks)).sum::<f64>() / ticks.len() as f64
}

/// The simulated device with the core's constants, on the same host.
fn card(name: &str) -> Bench {
    Simulated::new(machine(name), Samples::Full, Engine::Fast).open().unwrap()
}

/// Compares core and simulated device, on a window within or far beyond the IO-TLB's reach.
fn compared(system: &str, window_bytes: u64, size_bytes: u64, host_offset_bytes: u64) {
    let program = program().unwrap();
    let mut core = Rtl::new(machine(system), Some(program)).open().unwrap();
    let mut card = card(system);
    for operation in
        [Operation::BwRd, Operation::BwWr, Operation::BwRdwr, Operation::LatRd, Operation::LatWrrd]
    {
        let latency = operation.is_latency();
        let transactions = if latency { 1000 } else { 8000 };
        let test = Test { size_bytes, host_offset_bytes, transactions, window_bytes, ..test(operation) };
        let measure = if latency { median_ns } else { bandwidth_gbps };
        let (rtl, simulated) = (measure(&mut core, &test), measure(&mut card, &test));
        let unit = if latency { "ns" } else { "Gb/s" };
        println!(
            "| {system} | {operation:?} | {size_bytes} | {host_offset_bytes} | {} KiB | {rtl:.2} {unit} | {simulated:.2} {unit} |",
            window_bytes / 1024
        );
        let close =
            if latency { (rtl - simulated).abs() <= 4.0 } else { (rtl / simulated - 1.0).abs() < 0.02 };
        // The simulated device adds the time of 64 bytes to every latency.
        let comparable = size_bytes == 64 && host_offset_bytes == 0;
        let found = format!("{system} {operation:?} {size_bytes}: {rtl} against {simulated} {unit}");
        assert!(close || !comparable, "{found}");
    }
}

#[test]
fn core_and_simulated_device_agree() {
    if program().is_some() {
        compared("snb", 1 << 20, 64, 0);
        compared("snb-iommu", 16 << 20, 64, 0);
    }
}

/// Extra read latency of the RTL over the simulated device: clocks for request, clock edge and beats, minus
/// the device's overhead, minus the lines that only the host's latency model fetches one after the other.
fn read_difference_ns(machine: &Machine, size_bytes: u64) -> f64 {
    let System { device, host, .. } = machine.system();
    let clocks = 1.0 + 0.5 + (size_bytes.div_ceil(BEAT_BYTES) - 1) as f64;
    let lines = size_bytes.div_ceil(LINE_BYTES);
    clocks * CLOCK_NS - device.dma.read_overhead_ns - (lines - 1) as f64 * host.root_complex.line_interval_ns
}

/// Extra latency of a write before the read: the first TLP leaves after its last beat, and the last TLP is
/// admitted when its last byte arrives instead of when its last line starts; minus the device's overhead and
/// the clock of the read request, which the write hides.
fn write_difference_ns(machine: &Machine, size_bytes: u64) -> f64 {
    let System { device, link, .. } = machine.system();
    let mps = u64::from(link.mps_bytes);
    let length = (size_bytes - 1) % mps + 1;
    let last_line = (length - 1) % LINE_BYTES + 1;
    let key = TestKey { seed: 1, test: 0 };
    let root = RootPort::new(machine, key, machine.boot(), 0, Operation::LatWrrd);
    let tlp = root.tlp_bytes(TlpKind::MemoryWrite, Piece { address: 0, length: length as u32 });
    let units = tlp.next_multiple_of(device.uplink_quantum_bytes);
    let tlp_ns = f64::from(units) * root.uplink_byte_fs() as f64 / 1e6;
    let beats = size_bytes.min(mps).div_ceil(BEAT_BYTES);
    let simulated_ns = device.dma.write_overhead_ns + device.dma.write_byte_ns * size_bytes.min(mps) as f64;
    (beats as f64 - 1.0) * CLOCK_NS + tlp_ns * last_line as f64 / length as f64 - simulated_ns
}

#[test]
fn latencies_differ_from_the_simulated_device_as_the_readme_explains() {
    let Some(program) = program() else { return };
    for system in ["snb", "snb-iommu"] {
        let mut core = Rtl::new(machine(system), Some(program.clone())).open().unwrap();
        let (mut card, machine) = (card(system), machine(system));
        for size_bytes in [8, 32, 64, 128, 256, 512, 1024, 2048] {
            let mut apart = |operation| {
                let test = Test { size_bytes, transactions: 1000, ..test(operation) };
                mean_ns(&mut core, &test) - mean_ns(&mut card, &test)
            };
            let (read, pair) = (apart(Operation::LatRd), apart(Operation::LatWrrd));
            let explained = write_difference_ns(&machine, size_bytes);
            println!("{system} {size_bytes} B: {read:.1} and {pair:.1} ns, write explained {explained:.1}");
            let unexplained = pair - read - explained;
            assert!(unexplained.abs() <= 1.0, "{system} {size_bytes} B: write, {unexplained} ns unexplained");
            // Up to a single completion: the host spaces several.
            let unexplained = read - read_difference_ns(&machine, size_bytes);
            let close = size_bytes > 256 || unexplained.abs() <= 1.0;
            assert!(close, "{system} {size_bytes} B: read, {unexplained} ns unexplained");
        }
    }
}

#[test]
fn core_uses_no_more_tags_than_the_link_allows() {
    let Some(program) = program() else { return };
    for (link_tags, tags) in [(256, 64), (64, 64), (32, 32), (5, 5)] {
        let mut system = machine("snb").system().clone();
        system.link.tags = link_tags;
        let machine = || Machine::new(system.clone()).unwrap();
        let mut core = Rtl::new(machine(), Some(program.clone())).open().unwrap();
        let mut card = Simulated::new(machine(), Samples::Full, Engine::Fast).open().unwrap();
        assert_eq!(core.device.facts().outstanding, Some(tags));
        let test = Test { transactions: 8000, ..test(Operation::BwRd) };
        let (rtl, simulated) = (bandwidth_gbps(&mut core, &test), bandwidth_gbps(&mut card, &test));
        // If tags limit, each is in use for a round trip and until it is reused: half a clock until the next
        // edge, a clock for the second beat of 64 bytes, and six until the slot of the transfer is reused.
        assert_eq!(system.device.dma.tag_return_ns, 7.5 * CLOCK_NS);
        let trip_ns = |gbps: f64| f64::from(tags) * 64.0 * 8.0 / gbps;
        let apart_ns = trip_ns(rtl) - trip_ns(simulated);
        assert!(apart_ns.abs() < 2.0, "{link_tags} tags: {rtl} against {simulated} Gb/s, {apart_ns} ns");
    }
}

/// `cargo test -p pcie-rtl -- --ignored --nocapture` prints the table of rtl/README.md.
#[test]
#[ignore = "prints a table, half a minute; a small part of it is the test above"]
fn core_and_simulated_device_side_by_side() {
    if program().is_none() {
        return;
    }
    for (system, window) in [("snb", 1 << 20), ("snb-iommu", 64 << 10), ("snb-iommu", 16 << 20)] {
        for (size, offset) in [(8, 0), (64, 0), (64, 3), (256, 0), (300, 0), (1024, 0), (1500, 7), (2048, 0)]
        {
            compared(system, window, size, offset);
        }
    }
}

#[test]
fn refuses_unsupported_tests_with_the_limit() {
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

#[test]
fn missing_and_foreign_programs_and_other_versions_are_refused_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let (missing, foreign) = ("/nowhere/pcielab-rtl", "/bin/true");
    for (program, named) in [
        (PathBuf::from(missing), missing),
        (PathBuf::from(foreign), foreign),
        (mute(directory.path(), 99), "version 99"),
    ] {
        match Rtl::new(machine("snb"), Some(program)).open() {
            Err(OpenError::Refused(refusal)) => {
                let message = refusal.to_string();
                assert!(message.contains(named) && message.contains("make rtl"), "{message}");
            }
            other => panic!("{named}: {:?}", other.err()),
        }
    }
}

/// A program that sends the greeting of `pcielab-rtl` and nothing else, for ever. It writes its number to `process`.
fn mute(directory: &std::path::Path, version: u32) -> PathBuf {
    let hello: String = [0x4c54_5250, version, 32, 64, 4096, 4000]
        .iter()
        .flat_map(|word: &u32| word.to_le_bytes())
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    let path = directory.join("mute");
    let script = directory.join("script");
    let number = directory.join("process");
    let silent =
        format!("#!/bin/sh\necho $$ >{}\nprintf '{hello}'\nexec tail -f /dev/null\n", number.display());
    std::fs::write(&script, silent).unwrap();
    // Copied by another program: a file that this process writes is busy while other tests start programs.
    let copied = std::process::Command::new("install").arg("-m755").args([&script, &path]).status().unwrap();
    assert!(copied.success());
    path
}

/// Runs a bandwidth test, during which the device is lost with this message.
fn assert_lost(bench: &mut Bench, test: &Test, named: &str) {
    begin(bench, test);
    match bench.device.bandwidth(test, &mut |_| ControlFlow::Continue(())) {
        Err(DeviceError::Lost(message)) => assert!(message.contains(named), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_silent_core_is_killed_and_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Rtl::new(machine("snb"), Some(mute(directory.path(), 4))).open().unwrap();
    assert_lost(&mut bench, &test(Operation::BwRd), "did not answer");
    drop(bench);
    let number = std::fs::read_to_string(directory.path().join("process")).unwrap();
    assert!(!std::path::Path::new("/proc").join(number.trim()).exists(), "it still runs");
}

#[test]
fn a_core_whose_process_ends_is_lost_and_recovers() {
    let Some(program) = program() else { return };
    let directory = tempfile::tempdir().unwrap();
    let cut_short = directory.path().join("cut-short");
    let begun = directory.path().join("begun");
    let wait = format!("until [ -e {} ]; do kill -0 $$ || exit; sleep 0.01; done", begun.display());
    let killed = format!("({wait}; kill -KILL $$)");
    let program = program.canonicalize().unwrap();
    let script = format!("#!/bin/sh\n{killed} >/dev/null 2>&1 </dev/null &\nexec {}\n", program.display());
    std::fs::write(&cut_short, script).unwrap();
    std::fs::set_permissions(&cut_short, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut bench = Rtl::new(machine("snb"), Some(cut_short)).open().unwrap();
    for _ in 0..2 {
        let test = Test { transactions: 1 << 30, ..test(Operation::BwRd) };
        std::fs::write(&begun, "").unwrap();
        assert_lost(&mut bench, &test, "has ended");
        std::fs::remove_file(&begun).unwrap();
        bench.device.recover().unwrap();
    }
}
