//! What an event and a random draw cost.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_time::{CalendarQueue, Draws, EventQueue, Picoseconds, Stream};
use std::hint::black_box;

const DRAWS: u64 = 1024;

/// Takes the earliest event and adds one at a random time after it: what a simulation does, at a steady length.
fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    group.throughput(Throughput::Elements(DRAWS));
    let draws = Draws::new(1, 0, Stream::Jitter);
    for waiting in [16, 128, 1024] {
        let mut queue = EventQueue::default();
        for event in 0..waiting {
            queue.push(Picoseconds(draws.below(event, 1_000_000)), event);
        }
        let mut index = waiting;
        group.bench_function(format!("one out, one in, {waiting} waiting"), |bencher| {
            bencher.iter(|| {
                for _ in 0..DRAWS {
                    let Some((now, event)) = queue.pop() else { return };
                    queue.push(now + Picoseconds(1 + draws.below(index, 1_000_000)), event);
                    index += 1;
                }
            });
        });
    }
    group.finish();
}

/// The same with the calendar, at the distances of a simulation whose events lie close together.
fn calendar(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("calendar");
    group.throughput(Throughput::Elements(DRAWS));
    let draws = Draws::new(1, 0, Stream::Jitter);
    for waiting in [16, 128, 1024] {
        let mut queue = CalendarQueue::default();
        for event in 0..waiting {
            queue.push(Picoseconds(draws.below(event, 1_000_000)), event);
        }
        let mut index = waiting;
        group.bench_function(format!("one out, one in, {waiting} waiting"), |bencher| {
            bencher.iter(|| {
                for _ in 0..DRAWS {
                    let Some((now, event)) = queue.pop() else { return };
                    queue.push(now + Picoseconds(1 + draws.below(index, 1_000_000)), event);
                    index += 1;
                }
            });
        });
    }
    group.finish();
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
    targets = events, calendar, draws
}
criterion_main!(benches);
