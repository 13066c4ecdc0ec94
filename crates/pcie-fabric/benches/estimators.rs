//! Time of the estimators by number of flows, over ten thousand edges.

#![allow(
    missing_docs,
    clippy::expect_used,
    reason = "criterion's macros make public functions; the input is fixed"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pcie_fabric::estimate::{ecr, max_min};
use pcie_fabric::{FabricParameters, Flows, LinkParameters, NodeKind, NodeParameters, Topology};
use pcie_time::{Draws, Stream};

const NODES: u64 = 5_001;

/// A tree of ten thousand edges, nine lower nodes to each node, and flows between random nodes.
fn instance(flow_count: u64) -> (Topology, Flows) {
    let draws = Draws::new(1, 0, Stream::Addresses);
    let nodes = (0..NODES)
        .map(|number| NodeParameters {
            name: format!("n{number}"),
            kind: NodeKind::ExternalSwitch,
            delay_ns: 0.0,
            turn_ns: None,
            turn_tlp_ns: 0.0,
            turn_gbytes_per_s: None,
            turns_at: None,
            host: None,
            device: None,
        })
        .collect();
    let links = (1..NODES)
        .map(|number| LinkParameters {
            upper: format!("n{}", (number - 1) / 9),
            lower: format!("n{number}"),
            generation: 3,
            lanes: 16,
            down_gbytes_per_s: Some(4.0 + 12.0 * draws.fraction(number)),
            up_gbytes_per_s: Some(4.0 + 12.0 * draws.fraction(NODES + number)),
            peer_down_gbytes_per_s: None,
            latency_ns: 5.0,
        })
        .collect();
    let topology = Topology::new(FabricParameters {
        name: "bench".into(),
        mps_bytes: 128,
        nodes,
        links,
        limits: vec![],
        peers: vec![],
    })
    .expect("a tree");
    let mut sources = Vec::new();
    let mut destinations = Vec::new();
    let mut standalone = Vec::new();
    for flow in 0..flow_count {
        let at = 2 * NODES + 3 * flow;
        let source = draws.below(at, NODES);
        sources.push(source as u32);
        destinations.push(((source + 1 + draws.below(at + 1, NODES - 1)) % NODES) as u32);
        standalone.push(0.001 + 0.1 * draws.fraction(at + 2));
    }
    let flows = Flows::new(&topology, &sources, &destinations, &standalone, |flow| flow.to_string())
        .expect("flows between nodes");
    (topology, flows)
}

fn estimators(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("10,000 edges");
    group.sample_size(10);
    for flow_count in [10_000, 100_000, 1_000_000] {
        let (topology, flows) = instance(flow_count);
        group.throughput(Throughput::Elements(flow_count));
        for (name, method) in [("max-min", max_min as fn(&[f64], &Flows) -> _), ("ecr", ecr)] {
            group.bench_with_input(BenchmarkId::new(name, flow_count), &flows, |bencher, flows| {
                bencher.iter(|| black_box(method(topology.capacities(), flows)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, estimators);
criterion_main!(benches);
