//! The cost of a simulated read (fast engine) by window, transfer size and number of workers.
//! It does not depend on the number of transactions.

#![expect(clippy::unwrap_used, reason = "fixtures that are valid")]

mod setting;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_sim::{BandwidthRun, Engine, Machine};
use pcie_workload::{Operation, Test};
use setting::{BATCH, ENDLESS};

const KIB: u64 = 1 << 10;

fn growth(criterion: &mut Criterion) {
    let (snb, four_kib_pages) = (setting::snb(), setting::four_kib_pages());
    for window_kib in [4, 64, 1024, 16 * 1024, 64 * 1024] {
        time(criterion, &snb, &format!("window {window_kib} KiB"), 64, window_kib * KIB, None);
        let name = format!("window {window_kib} KiB, 4 KiB pages");
        time(criterion, &four_kib_pages, &name, 64, window_kib * KIB, None);
    }
    for size_bytes in [8, 64, 256, 512, 1024, 2048] {
        time(criterion, &snb, &format!("size {size_bytes} B"), size_bytes, 8 * KIB, None);
    }
    for workers in [1, 4, 32, 95] {
        time(criterion, &snb, &format!("{workers} workers"), 64, 8 * KIB, Some(workers));
    }
}

/// Times reads in the steady state.
fn time(
    criterion: &mut Criterion,
    machine: &Machine,
    name: &str,
    size_bytes: u64,
    window_bytes: u64,
    outstanding: Option<u32>,
) {
    let test = Test { outstanding, ..Test::random_dma(Operation::BwRd, size_bytes, window_bytes, ENDLESS) };
    let list = setting::list(&test);
    let mut run = BandwidthRun::new(Engine::Fast, machine, &test, &list, setting::KEY, machine.boot(), 0);
    let mut group = criterion.benchmark_group("growth");
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function(name, |bencher| bencher.iter(|| run.run(BATCH)));
    group.finish();
}

criterion_group! {
    name = benches;
    config = setting::measured(10, 500);
    targets = growth
}
criterion_main!(benches);
