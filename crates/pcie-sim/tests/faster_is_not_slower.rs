//! Whoever makes one resource of a machine faster, or gives it more of it, does not lose bandwidth by that.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod machines;

use machines::{KEY, OF_EACH_HOST, dma, system};
use pcie_sim::profile::{CompletionOrder, System, TagOrder};
use pcie_sim::{BandwidthRun, Engine, Machine};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation};
use serde_json::json;

/// A resource of a system, made faster by a factor.
struct Resource {
    key: &'static str,
    faster: fn(&mut System, f64),
}

/// The resources that bandwidth can hang on.
const RESOURCES: [Resource; 14] = [
    Resource { key: "link.lanes", faster: |system, _| system.link.lanes = (2 * system.link.lanes).min(32) },
    Resource { key: "link.tags", faster: |system, by| more(&mut system.link.tags, by) },
    Resource {
        key: "device.dma.outstanding",
        faster: |system, by| more(&mut system.device.dma.outstanding, by),
    },
    Resource {
        key: "device.dma.receive_buffers",
        faster: |system, by| more(&mut system.device.dma.receive_buffers, by),
    },
    Resource {
        key: "device.dma.busy_request_interval_ns",
        faster: |system, by| system.device.dma.busy_request_interval_ns /= by,
    },
    Resource {
        key: "device.dma.engine",
        faster: |system, by| {
            let engine = &mut system.device.dma.engine;
            for time in [
                &mut engine.read_fixed_ns,
                &mut engine.write_fixed_ns,
                &mut engine.segment_ns,
                &mut engine.word_ns,
                &mut engine.short_tail_ns,
                &mut engine.boundary_aligned_ns,
            ] {
                *time /= by;
            }
        },
    },
    Resource {
        key: "host.root_complex.request_interval_ns",
        faster: |system, by| system.host.root_complex.request_interval_ns /= by,
    },
    Resource {
        key: "host.root_complex.busy_read_ns",
        faster: |system, by| system.host.root_complex.busy_read_ns /= by,
    },
    Resource {
        key: "host.root_complex.write_interval_ns",
        faster: |system, by| system.host.root_complex.write_interval_ns /= by,
    },
    Resource {
        key: "host.root_complex.write_line_ns",
        faster: |system, by| system.host.root_complex.write_line_ns /= by,
    },
    Resource {
        key: "host.root_complex.credit_return_ns",
        faster: |system, by| system.host.root_complex.credit_return_ns /= by,
    },
    Resource {
        key: "host.root_complex.flight_ns",
        faster: |system, by| system.host.root_complex.flight_ns /= by,
    },
    Resource { key: "host.memory.busy_miss_ns", faster: |system, by| system.host.memory.busy_miss_ns /= by },
    Resource {
        key: "host.iommu.walk_ns",
        faster: |system, by| {
            system.host.iommu.walk_ns /= by;
            system.host.iommu.walker_busy_ns /= by;
        },
    },
];

fn more(count: &mut u32, by: f64) {
    *count = (f64::from(*count) * by).ceil() as u32;
}

/// Time per transaction once credits that a fast start may use are used up.
fn steady_ns(machine: &Machine, operation: Operation, size: u64) -> f64 {
    let test = dma(operation, size, 1 << 20);
    let list = AddressList::new(&test, KEY.draws(Stream::Addresses));
    let mut run = BandwidthRun::new(Engine::Fast, machine, &test, &list, KEY, machine.boot(), 0);
    let start = run.run(16_000);
    (run.run(16_000) - start).as_ns() / 16_000.0
}

/// The share of its bandwidth that a machine may lose by a faster resource.
///
/// Where tags are used in turn and completions come in another order, one late completion holds up the ring of tags. The
/// closer together requests and their data come, the more answers there are to choose from, and the later the latest is.
fn may_be_lost(system: &System, key: &str) -> f64 {
    let closer_together = [
        "device.dma.busy_request_interval_ns",
        "device.dma.engine",
        "host.memory.busy_miss_ns",
        "host.root_complex.busy_read_ns",
        "link.tags",
    ];
    let in_turn = system.device.dma.tag_order == TagOrder::InTurn
        && system.host.root_complex.completion_order != CompletionOrder::Fifo;
    if in_turn && closer_together.contains(&key) { 0.1 } else { 0.01 }
}

#[test]
fn making_one_resource_faster_loses_no_bandwidth() {
    let mut slower = Vec::new();
    for name in OF_EACH_HOST {
        let base = system(name, &[]);
        for operation in [Operation::BwRd, Operation::BwWr, Operation::BwRdwr] {
            for size in [64, 256] {
                let before = steady_ns(&base, operation, size);
                for Resource { key, faster } in &RESOURCES {
                    let mut changed = base.system().clone();
                    faster(&mut changed, 2.0);
                    let may_be_lost = may_be_lost(&changed, key);
                    let after = steady_ns(&Machine::new(changed).unwrap(), operation, size);
                    let lost = 1.0 - before / after;
                    if lost > may_be_lost {
                        slower.push(format!("{name} {operation:?} {size} B, {key}: {:.1} %", 100.0 * lost));
                    }
                }
            }
        }
    }
    assert!(slower.is_empty(), "bandwidth lost:\n{}", slower.join("\n"));
}

#[test]
fn a_faster_root_complex_is_not_slower_for_a_card_that_takes_any_free_tag() {
    let time = |interval_ns: f64| {
        let machine = system("gen5-x16", &[("host.root_complex.request_interval_ns", json!(interval_ns))]);
        steady_ns(&machine, Operation::BwRd, 64)
    };
    let times = [2.0, 1.8, 1.6, 1.4, 1.2, 1.0, 0.8].map(time);
    assert!(times.is_sorted_by(|slow, fast| *fast <= slow * 1.001), "{times:?}");
}
