//! What the NVMe driver itself costs: commands against a controller in memory that moves no data.

#[path = "../tests/fake_drive/mod.rs"]
mod fake_drive;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fake_drive::{DATA_AT, FakeDrive, Kind as Fake};
use pcie_driver::nvme::{Controller, Data, Drive, Kind, NvmeError, Place, Pointers};

const DEPTH: u64 = 32;

fn opened() -> Result<Drive<FakeDrive>, NvmeError> {
    let controller = Controller::open(FakeDrive::new(Fake { moves_data: false, ..Fake::GOOD }))?;
    Drive::open(controller, Place::Host, Pointers::Prp, false)
}

fn commands(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nvme");
    group.throughput(Throughput::Elements(DEPTH));
    match opened() {
        Ok(mut drive) => drop(group.bench_function("commands of 4 KiB, 32 at a time", |bencher| {
            bencher.iter(|| {
                let mut done = 0;
                for number in 0..DEPTH {
                    let data = Data { address: DATA_AT + 4096 * number, bytes: 4096 };
                    let _ = drive.submit(Kind::Read, number, Some(data));
                }
                let _ = drive.completions(&mut |_| done += 1);
                assert_eq!(done, DEPTH);
            });
        })),
        Err(error) => eprintln!("the drive in memory: {error}"),
    }
    group.finish();
}

criterion_group!(benches, commands);
criterion_main!(benches);
