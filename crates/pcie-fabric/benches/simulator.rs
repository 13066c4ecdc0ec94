//! Speed of the fabric simulator, in TLP hops a second.

#![allow(
    missing_docs,
    clippy::expect_used,
    reason = "criterion's macros make public functions; the input is fixed"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pcie_fabric::simulate::{Arrivals, Discipline, Options, Primitive, Traffic, simulate};
use pcie_fabric::{FabricParameters, Topology};

const OPTIONS: Options =
    Options { warm_up_ns: Some(0.0), duration_ns: 1e6, discipline: Discipline::PerDestination, seed: 1 };

fn flow(source: &str, destination: &str, primitive: Primitive, pace: Option<f64>) -> Traffic {
    Traffic {
        name: format!("{source}->{destination}"),
        source: source.into(),
        destination: destination.into(),
        primitive,
        size_bytes: 4096,
        outstanding: 64,
        socket: 0,
        queue: 0,
        memory: None,
        standalone_gbytes_per_s: pace,
        arrivals: Arrivals::Even,
    }
}

fn simulator(criterion: &mut Criterion) {
    let testbed: FabricParameters =
        serde_json::from_str(include_str!("../src/fixtures/fabrex-u55c.json")).expect("the shipped fabric");
    let testbed = Topology::new(testbed).expect("a tree");
    let cases = [
        ("one H2D", vec![flow("host1", "A", Primitive::H2d, None)]),
        (
            "H2D and D2H with four devices",
            vec![
                flow("host1", "A", Primitive::H2d, None),
                flow("host1", "C", Primitive::H2d, None),
                flow("B", "host1", Primitive::D2h, None),
                flow("D", "host1", Primitive::D2h, None),
            ],
        ),
        (
            "streams of table 2",
            vec![
                flow("host1", "C", Primitive::Stream, Some(8.51)),
                flow("host1", "A", Primitive::Stream, Some(7.21)),
                flow("C", "B", Primitive::Stream, Some(1.76)),
                flow("B", "D", Primitive::Stream, Some(7.19)),
                flow("A", "host1", Primitive::Stream, Some(2.54)),
            ],
        ),
    ];
    let mut group = criterion.benchmark_group("TLP hops");
    for (name, traffic) in cases {
        let hops = simulate(&testbed, &traffic, OPTIONS).expect("flows between devices").tlp_hops;
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(simulate(&testbed, &traffic, OPTIONS)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = simulator
}
criterion_main!(benches);
