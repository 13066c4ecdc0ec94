//! Skipped periods of a test that only writes change no time: the fast engine, which skips them, ends each part
//! of a test when the reference engine does, which simulates every transaction.

use super::machines::{KEY, ideal, system};
use pcie_sim::{BandwidthRun, Engine, Machine};
use pcie_time::{Picoseconds, Stream};
use pcie_workload::{AddressList, Operation, Pattern, Test};
use serde_json::json;

/// Transactions of the parts: odd ones, so that they end anywhere in a period.
const PARTS: [u64; 6] = [1, 1_777, 5, 2_001, 900, 311];

/// Compares the ends of parts in the middle of a test, and its end.
fn assert_equal(machine: &Machine, test: &Test, context: &str) {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let ends = |engine: Engine| -> Vec<Picoseconds> {
        let at = |first| BandwidthRun::new(engine, machine, test, &list, KEY, machine.boot(), first);
        let (mut middle, mut end) = (at(1 << 16), at(test.transactions - 3_000));
        let parts = PARTS.iter().map(|count| middle.run(*count));
        parts.chain([2_500, 1 << 20].map(|count| end.run(count))).collect()
    };
    let context = format!("{context}: {} B of {}", test.size_bytes, test.window_bytes);
    assert_eq!(ends(Engine::Fast), ends(Engine::Reference), "{context}");
}

#[test]
fn parts_of_writes_end_alike_over_a_grid_of_tests() {
    const PATTERNS: [Pattern; 3] = [Pattern::Random, Pattern::Sequential, Pattern::Fixed];
    for (system_nth, name) in ["snb", "netfpga-hsw", "gen5-x16"].into_iter().enumerate() {
        let machine = system(name, &[("iommu", json!("off"))]);
        for (nth, (size, host_offset_bytes)) in [
            (8, 0),
            (24, 0),
            (64, 0),
            (60, 8),
            (65, 0),
            (128, 1),
            (256, 0),
            (512, 0),
            (769, 0),
            (1024, 63),
            (2048, 0),
        ]
        .into_iter()
        .enumerate()
        {
            for (row, (window, workers)) in
                [(8 << 10, 96), (32 << 20, 96), (1 << 20, 3)].into_iter().enumerate()
            {
                // Each size has each pattern with each window, on one of the systems.
                let pattern = PATTERNS[(system_nth + nth + row) % PATTERNS.len()];
                let test = Test {
                    pattern,
                    host_offset_bytes,
                    outstanding: Some(workers),
                    ..Test::random_dma(Operation::BwWr, size, window, 1 << 23)
                };
                assert_equal(&machine, &test, &format!("{name}, {workers} workers, {pattern:?}"));
            }
        }
    }
}

#[test]
fn parts_of_writes_end_alike_with_one_short_resource() {
    for (key, value) in [
        ("device.dma.outstanding", json!(2)),
        ("device.uplink_data_quantum_bytes", json!(64)),
        ("device.dma.engine.write_gap_bytes", json!(48)),
        ("device.dma.engine.write_fixed_ns", json!(190.0)),
        ("host.root_complex.posted_header_credits", json!(3)),
        ("host.root_complex.posted_data_credits", json!(40)),
        ("host.root_complex.write_interval_ns", json!(70.0)),
        ("host.root_complex.partial_line_busy_ns", json!(300.0)),
        ("host.root_complex.credit_return_ns", json!(900.0)),
    ] {
        for (machine, name) in
            [(system("snb", &[(key, value.clone())]), "snb"), (ideal(&[(key, value.clone())]), "ideal")]
        {
            for (size, pattern) in [
                (8, Pattern::Fixed),
                (20, Pattern::Sequential),
                (64, Pattern::Random),
                (300, Pattern::Random),
                (512, Pattern::Sequential),
            ] {
                let test = Test { pattern, ..Test::random_dma(Operation::BwWr, size, 64 << 10, 1 << 23) };
                assert_equal(&machine, &test, &format!("{name}, {key}, {pattern:?}"));
            }
        }
    }
}
