//! Cost of the NVMe driver itself: commands to a fake controller that moves no data.

#![expect(clippy::unwrap_used, reason = "a fake drive that opens")]

#[path = "../tests/fake_drive/mod.rs"]
mod fake_drive;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fake_drive::{DATA_AT, FakeDrive, Kind as Fake};
use pcie_driver::nvme::{Controller, Data, Drive, Kind, Pointers, QueueLocation};

const DEPTH: u64 = 32;

fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nvme");
    group.throughput(Throughput::Elements(DEPTH));
    let controller = Controller::open(FakeDrive::new(Fake { moves_data: false, ..Fake::GOOD })).unwrap();
    let mut drive = Drive::open(controller, QueueLocation::Host, Pointers::Prp, false).unwrap();
    group.bench_function("commands of 4 KiB, 32 at a time", |bencher| {
        bencher.iter(|| {
            let mut done = 0;
            for number in 0..DEPTH {
                let data = Data { address: DATA_AT + 4096 * number, bytes: 4096 };
                let _ = drive.submit(Kind::Read, number, Some(data));
            }
            let _ = drive.completions(&mut |_| done += 1);
            assert_eq!(done, DEPTH);
        });
    });
    group.finish();
}

criterion_group!(benches, commands);
criterion_main!(benches);
