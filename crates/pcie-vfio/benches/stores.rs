//! The store loops on ordinary memory, against memset: the loop must be faster than any BAR.

#![cfg_attr(not(target_os = "linux"), allow(unused))]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BYTES: usize = 4096;

/// Memory aligned to a cache line.
#[repr(align(64))]
struct Lines([u8; BYTES]);

#[cfg(target_os = "linux")]
fn loops(criterion: &mut Criterion) {
    use pcie_vfio::pio::stores::{StoreLoop, fence};
    use std::hint::black_box;
    use std::ptr::NonNull;

    let mut group = criterion.benchmark_group("stores of 4 KiB");
    group.throughput(Throughput::Bytes(BYTES as u64));
    let (message, mut memory) = (Box::new(Lines([7; BYTES])), Box::new(Lines([0; BYTES])));
    group.bench_function("memset", |bencher| bencher.iter(|| black_box(&mut memory.0).fill(black_box(7))));
    for one in StoreLoop::here() {
        let name = format!("{:?} {}", one.instruction, one.width);
        let to = NonNull::from(&mut memory.0[0]);
        group.bench_function(&name, |bencher| {
            bencher.iter(|| {
                // SAFETY: the memory is as long as the message, and both are aligned to a line.
                unsafe { one.store(to, black_box(&message.0)) };
                fence();
            });
        });
    }
    group.finish();
}

#[cfg(not(target_os = "linux"))]
fn loops(_criterion: &mut Criterion) {}

criterion_group!(benches, loops);
criterion_main!(benches);
