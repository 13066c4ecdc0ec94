//! Cost of splitting transfers into requests, completions and write TLPs, and of counting their bytes.

#![expect(clippy::unwrap_used, reason = "a fixed link that is valid")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_wire::{CompletionPolicy, LinkConfiguration, LinkParameters, SplitAt, TlpKind};
use std::hint::black_box;

/// Gen3 x8, MPS 256, MRRS 512: the link of the published measurements.
fn link() -> LinkConfiguration {
    LinkConfiguration::try_from(LinkParameters::new(3, 8, 256, 512)).unwrap()
}

/// Wire bytes of a read: its requests and their completions.
fn read_bytes(link: &LinkConfiguration, address: u64, length: u64) -> u32 {
    let mut bytes = 0;
    for request in link.read_requests(address, length, SplitAt::AlignedAddress) {
        bytes += link.tlp_bytes(TlpKind::MemoryRead, request);
        for piece in link.completions(request, CompletionPolicy::AtMpsBoundaries) {
            bytes += link.tlp_bytes(TlpKind::CompletionWithData, piece);
        }
    }
    bytes
}

fn write_bytes(link: &LinkConfiguration, address: u64, length: u64) -> u32 {
    link.writes(address, length, SplitAt::AlignedAddress)
        .map(|piece| link.tlp_bytes(TlpKind::MemoryWrite, piece))
        .sum()
}

fn splitting(criterion: &mut Criterion) {
    let link = link();
    let mut group = criterion.benchmark_group("wire");
    group.throughput(Throughput::Elements(1));
    for (name, offset, length) in [("64 B", 0, 64), ("2048 B", 0, 2048), ("2048 B, unaligned", 13, 2048)] {
        group.bench_function(format!("read of {name}"), |bencher| {
            bencher.iter(|| read_bytes(&link, black_box(offset), black_box(length)));
        });
        group.bench_function(format!("write of {name}"), |bencher| {
            bencher.iter(|| write_bytes(&link, black_box(offset), black_box(length)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = splitting
}
criterion_main!(benches);
