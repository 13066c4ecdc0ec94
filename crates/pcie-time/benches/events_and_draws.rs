//! Cost of an event and of a random draw.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_time::{CalendarQueue, Draws, EventQueue, Picoseconds, Stream};
use std::hint::black_box;

const DRAWS: u64 = 1024;

/// Takes the earliest event and adds one at a random time after it, at a steady length.
fn steady<Q: Default>(
    criterion: &mut Criterion,
    name: &str,
    push: impl Fn(&mut Q, Picoseconds, u64),
    pop: impl Fn(&mut Q) -> Option<(Picoseconds, u64)>,
) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(DRAWS));
    let draws = Draws::new(1, 0, Stream::Jitter);
    for waiting in [16, 128, 1024] {
        let mut queue = Q::default();
        for event in 0..waiting {
            push(&mut queue, Picoseconds(draws.below(event, 1_000_000)), event);
        }
        let mut index = waiting;
        group.bench_function(format!("one out, one in, {waiting} waiting"), |bencher| {
            bencher.iter(|| {
                for _ in 0..DRAWS {
                    let Some((now, event)) = pop(&mut queue) else { return };
                    push(&mut queue, now + Picoseconds(1 + draws.below(index, 1_000_000)), event);
                    index += 1;
                }
            });
        });
    }
    group.finish();
}

fn queues(criterion: &mut Criterion) {
    steady(criterion, "events", EventQueue::push, EventQueue::pop);
    steady(criterion, "calendar", CalendarQueue::push, CalendarQueue::pop);
}

fn draws(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("draws");
    group.throughput(Throughput::Elements(DRAWS));
    let draws = Draws::new(1, 0, Stream::Jitter);
    group.bench_function("64 bits", |bencher| {
        bencher.iter(|| (0..black_box(DRAWS)).fold(0, |sum, index| sum ^ draws.bits(index)));
    });
    group.bench_function("below a bound", |bencher| {
        bencher.iter(|| (0..black_box(DRAWS)).fold(0, |sum, index| sum ^ draws.below(index, 1_000_003)));
    });
    group.bench_function("a fraction", |bencher| {
        bencher.iter(|| (0..black_box(DRAWS)).map(|index| draws.fraction(index)).sum::<f64>());
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = queues, draws
}
criterion_main!(benches);
