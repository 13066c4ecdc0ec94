//! Making a resource of a machine faster, or larger, loses no bandwidth.

use super::machines::{self, OF_EACH_HOST, dma, system};
use pcie_sim::Machine;
use pcie_sim::profile::{CompletionOrder, System, TagOrder};
use pcie_workload::Operation;
use serde_json::json;

/// Resources that can limit bandwidth: name, keys of a system, and the factor that makes them faster.
const RESOURCES: [(&str, &[&str], f64); 15] = [
    ("link.lanes", &["link.lanes"], 2.0),
    ("link.tags", &["link.tags"], 2.0),
    ("device.dma.outstanding", &["device.dma.outstanding"], 2.0),
    ("device.dma.receive_buffers", &["device.dma.receive_buffers"], 2.0),
    ("device.dma.tag_return_ns", &["device.dma.tag_return_ns"], 0.5),
    ("device.dma.busy_request_interval_ns", &["device.dma.busy_request_interval_ns"], 0.5),
    (
        "device.dma.engine",
        &[
            "device.dma.engine.read_fixed_ns",
            "device.dma.engine.write_fixed_ns",
            "device.dma.engine.segment_ns",
            "device.dma.engine.word_ns",
            "device.dma.engine.short_tail_ns",
            "device.dma.engine.boundary_ns",
        ],
        0.5,
    ),
    ("host.root_complex.request_interval_ns", &["host.root_complex.request_interval_ns"], 0.5),
    ("host.root_complex.busy_read_ns", &["host.root_complex.busy_read_ns"], 0.5),
    ("host.root_complex.write_interval_ns", &["host.root_complex.write_interval_ns"], 0.5),
    ("host.root_complex.write_line_ns", &["host.root_complex.write_line_ns"], 0.5),
    ("host.root_complex.credit_return_ns", &["host.root_complex.credit_return_ns"], 0.5),
    ("host.root_complex.flight_ns", &["host.root_complex.flight_ns"], 0.5),
    ("host.memory.busy_miss_ns", &["host.memory.busy_miss_ns"], 0.5),
    ("host.iommu.walk_ns", &["host.iommu.walk_ns", "host.iommu.walker_busy_ns"], 0.5),
];

/// A system with some keys multiplied by a factor. Integers stay integers; a link has at most 32 lanes.
fn changed(system: &System, keys: &[&str], factor: f64) -> System {
    let mut value = serde_json::to_value(system).unwrap();
    for key in keys {
        let number = value.pointer_mut(&format!("/{}", key.replace('.', "/"))).unwrap();
        *number = match number.as_u64() {
            Some(lanes) if *key == "link.lanes" => json!((2 * lanes).min(32)),
            Some(count) => json!((count as f64 * factor).ceil() as u64),
            None => json!(number.as_f64().unwrap() * factor),
        };
    }
    serde_json::from_value(value).unwrap()
}

/// Time per transaction once the credits of a fast start are used up.
fn steady_ns(machine: &Machine, operation: Operation, size: u64) -> f64 {
    machines::steady_ns(machine, &dma(operation, size, 1 << 20), machine.boot(), 8_000, 12_000)
}

/// Share of the bandwidth that a machine may lose with a faster resource.
///
/// With tags used in turn and completions out of order, one late completion holds up the ring of tags. The
/// closer requests and their data follow, the more answers are in the choice, and the later is the latest.
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
                for (key, keys, factor) in RESOURCES {
                    let changed = changed(base.system(), keys, factor);
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
fn a_faster_root_complex_loses_no_bandwidth_with_any_free_tag() {
    let time = |interval_ns: f64| {
        let machine = system("gen5-x16", &[("host.root_complex.request_interval_ns", json!(interval_ns))]);
        steady_ns(&machine, Operation::BwRd, 64)
    };
    let times = [2.0, 1.8, 1.6, 1.4, 1.2, 1.0, 0.8].map(time);
    assert!(times.is_sorted_by(|slow, fast| *fast <= slow * 1.001), "{times:?}");
}
