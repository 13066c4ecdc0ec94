//! The cost of computing the state before a test: prepared caches, and the effects of an earlier test.

#![expect(clippy::unwrap_used, reason = "valid fixtures")]

mod setting;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use pcie_sim::{Machine, State};
use pcie_workload::{Operation, Test};

const WINDOW_BYTES: u64 = 64 << 20;
/// Transactions of a published bandwidth test.
const PUBLISHED: u64 = 1 << 23;

fn history(criterion: &mut Criterion) {
    for (system, machine) in [("snb", setting::snb()), ("4 KiB pages", setting::four_kib_pages())] {
        let write = Test::random_dma(Operation::BwWr, 64, WINDOW_BYTES, PUBLISHED);
        let list = setting::list(&write);
        time(criterion, &machine, &format!("device thrash, {system}"), |state| {
            machine.thrash_from_device(state, setting::KEY);
        });
        time(criterion, &machine, &format!("device warm of 64 MiB, {system}"), |state| {
            machine.warm_from_device(state, WINDOW_BYTES);
        });
        time(criterion, &machine, &format!("host warm of 64 MiB, {system}"), |state| {
            machine.warm_from_host(state, WINDOW_BYTES, setting::KEY);
        });
        time(criterion, &machine, &format!("traces of BW_WR 64 B over 64 MiB, {system}"), |state| {
            machine.advances(&write, &list).advance(state, 0..PUBLISHED);
        });
    }
}

/// Times one change of a state, from the state after boot.
fn time(criterion: &mut Criterion, machine: &Machine, name: &str, change: impl Fn(&mut State)) {
    criterion.benchmark_group("history").bench_function(name, |bencher| {
        bencher.iter_batched_ref(|| machine.boot(), |state| change(state), BatchSize::PerIteration);
    });
}

criterion_group! {
    name = benches;
    config = setting::measured(10, 2000);
    targets = history
}
criterion_main!(benches);
