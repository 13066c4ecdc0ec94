//! Simulated transactions per second on one core in the steady state, by kind of test and engine.

#![expect(clippy::unwrap_used, reason = "fixtures that are valid")]

mod setting;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine};
use pcie_workload::{Operation, Test};
use setting::{BATCH, ENDLESS};

const MIB: u64 = 1 << 20;

fn transactions(criterion: &mut Criterion) {
    let (snb, four_kib_pages) = (setting::snb(), setting::four_kib_pages());
    let rows: [(&str, &Machine, Operation, u64, u64); 7] = [
        ("BW_RD 64 B, 8 KiB", &snb, Operation::BwRd, 64, 8192),
        ("BW_RD 64 B, 64 MiB, 4 KiB pages", &four_kib_pages, Operation::BwRd, 64, 64 * MIB),
        ("BW_WR 64 B, 8 KiB", &snb, Operation::BwWr, 64, 8192),
        ("RW 512 B, 8 KiB", &snb, Operation::BwRdwr, 512, 8192),
        ("BW_RD 2048 B, 8 KiB", &snb, Operation::BwRd, 2048, 8192),
        ("LAT_RD 64 B, 8 KiB", &snb, Operation::LatRd, 64, 8192),
        ("LAT_RD 64 B, 64 MiB, 4 KiB pages", &four_kib_pages, Operation::LatRd, 64, 64 * MIB),
    ];
    let mut group = criterion.benchmark_group("transactions");
    group.throughput(Throughput::Elements(BATCH));
    for (name, machine, operation, size_bytes, window_bytes) in rows {
        let test = Test::random_dma(operation, size_bytes, window_bytes, ENDLESS);
        let list = setting::list(&test);
        if operation.is_latency() {
            let mut run = LatencyRun::new(machine, &test, &list, setting::KEY, machine.boot(), 0);
            group.bench_function(name, |bencher| {
                bencher.iter(|| (0..BATCH).fold(0, |sum, _| sum ^ run.step().ticks));
            });
        } else {
            for (engine, which) in [(Engine::Fast, "fast"), (Engine::Reference, "reference")] {
                let mut run =
                    BandwidthRun::new(engine, machine, &test, &list, setting::KEY, machine.boot(), 0);
                group.bench_function(format!("{name}, {which}"), |bencher| bencher.iter(|| run.run(BATCH)));
            }
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = setting::measured(20, 2000);
    targets = transactions
}
criterion_main!(benches);
