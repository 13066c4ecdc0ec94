//! Cost of the NIC driver itself: frames through a fake 82574 that moves no data.

#![expect(clippy::unwrap_used, reason = "a fake NIC that opens")]

#[path = "../tests/fake_nic/mod.rs"]
mod fake_nic;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fake_nic::{DATA_AT, FakeNic, Kind};
use pcie_driver::e1000e::{Frame, Nic};

const DEPTH: u64 = 32;

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("e1000e");
    group.throughput(Throughput::Elements(DEPTH));
    let mut nic = Nic::open(FakeNic::new(Kind::GOOD)).unwrap();
    nic.transport_mut().kind.moves_data = false;
    group.bench_function("frames of 1500 B, 32 at a time", |bencher| {
        bencher.iter(|| {
            let from = nic.source();
            for number in 0..DEPTH {
                let _ = nic.submit(Frame { from, to: DATA_AT + 4096 * number, bytes: 1500 });
            }
            let _ = nic.ring();
            assert_eq!(nic.completions(), Ok(DEPTH));
        });
    });
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
