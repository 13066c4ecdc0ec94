//! The machines, and what runs a test on them.

use pcie_sim::{BandwidthRun, Engine, LatencyRun, Machine, State, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};
use serde_json::{Value, json};

/// Seed 1, first test of its suite.
pub const KEY: TestKey = TestKey { seed: 1, test: 0 };

/// A shipped system for each host that has one.
pub const OF_EACH_HOST: [&str; 8] =
    ["e3", "gen5-x16", "hsw2620", "ib-000-nosp", "ib-011-nosp", "kpio-2012", "netfpga-hsw", "snb"];

/// A shipped system, with changes to single keys, or with keys that it lacks.
pub fn system(name: &str, changes: &[(&str, Value)]) -> Machine {
    let text = match name {
        "e3" => include_str!("../fixtures/e3.json"),
        "gen5-x16" => include_str!("../fixtures/gen5-x16.json"),
        "hsw2620" => include_str!("../fixtures/hsw2620.json"),
        "ib-000-nosp" => include_str!("../fixtures/ib-000-nosp.json"),
        "ib-011-nosp" => include_str!("../fixtures/ib-011-nosp.json"),
        "kpio-2012" => include_str!("../fixtures/kpio-2012.json"),
        "netfpga-hsw" => include_str!("../fixtures/netfpga-hsw.json"),
        "snb" => include_str!("../fixtures/snb.json"),
        other => panic!("no fixture {other}"),
    };
    let mut value: Value = serde_json::from_str(text).unwrap();
    for (key, changed) in changes {
        let (table, last) = key.rsplit_once('.').map_or(("", *key), |(table, last)| (table, last));
        let path = if table.is_empty() { String::new() } else { format!("/{}", table.replace('.', "/")) };
        value.pointer_mut(&path).expect(key)[last] = changed.clone();
    }
    Machine::new(serde_json::from_value(value).unwrap()).unwrap()
}

/// A machine in which only the link, the tags and fixed latencies take time.
pub fn ideal(changes: &[(&str, Value)]) -> Machine {
    let mut all = vec![
        ("device.kind", json!("direct")),
        ("device.timer.numerator_ns", json!(1)),
        ("device.timer.denominator", json!(1000)),
        ("device.timer.cycles", json!(1)),
        ("device.uplink_quantum_bytes", json!(1)),
        ("device.uplink_data_quantum_bytes", json!(4)),
        ("device.dma.outstanding", json!(4096)),
        ("device.dma.read_overhead_ns", json!(0.0)),
        ("device.dma.request_interval_ns", json!(0.0)),
        ("device.dma.engine.read_fixed_ns", json!(0.0)),
        ("device.dma.engine.write_fixed_ns", json!(0.0)),
        ("device.dma.engine.segment_ns", json!(0.0)),
        ("device.dma.engine.word_ns", json!(0.0)),
        ("device.dma.engine.short_tail_ns", json!(0.0)),
        ("device.dma.engine.shifted_flush_ns", json!(0.0)),
        ("device.dma.engine.boundary_ns", json!(0.0)),
        ("device.dma.engine.write_gap_bytes", json!(0)),
        ("device.dma.engine.write_part_bytes", json!(4096)),
        ("device.uplink_gap_bytes", json!(0)),
        ("device.uplink_dllp_bytes", json!(0)),
        ("host.root_complex.downlink_dllp_bytes", json!(0)),
        ("host.root_complex.busy_jitter_ns", json!(0.0)),
        ("device.dma.receive_buffers", json!(1024)),
        ("host.root_complex.request_interval_ns", json!(0.0)),
        ("host.root_complex.write_interval_ns", json!(0.0)),
        ("host.root_complex.write_line_ns", json!(0.0)),
        ("host.root_complex.partial_line_busy_ns", json!(0.0)),
        ("host.root_complex.jitter_ns", json!(0.0)),
        ("host.root_complex.line_interval_ns", json!(0.0)),
        ("host.root_complex.completion_interval_ns", json!(0.0)),
        ("host.root_complex.busy_read_ns", json!(400.0)),
        ("host.root_complex.read_ns", json!(400.0)),
        ("host.root_complex.completion_order", json!("fifo")),
        ("host.root_complex.downlink_quantum_bytes", json!(1)),
        ("host.root_complex.downlink_stretch", json!(1.0)),
        ("host.root_complex.uplink_stretch", json!(1.0)),
        ("host.memory.miss_ns", json!(0.0)),
        ("host.memory.busy_miss_ns", json!(0.0)),
        ("host.memory.refresh.share", json!(0.0)),
        ("link.tags", json!(768)),
        ("host.root_complex.non_posted_header_credits", json!(1024)),
    ];
    all.extend_from_slice(changes);
    system("snb", &all)
}

/// Idle states without wake-ups, in which a machine stalls.
pub fn stalling(interval_ns: f64, interval_spread: f64, duration_ns: f64) -> Value {
    json!({
        "gap_ns": 0.0,
        "fast_share_short_gap": 1.0,
        "fast_share_long_gap": 1.0,
        "wake_ns": 0.0,
        "wake_floor_ns": 0.0,
        "clusters": [],
        "stalls": {
            "interval_ns": interval_ns,
            "interval_spread": interval_spread,
            "duration_ns": duration_ns
        }
    })
}

/// A random test of the DMA path on cold caches.
pub fn dma(operation: Operation, size_bytes: u64, window_bytes: u64) -> Test {
    Test::random_dma(operation, size_bytes, window_bytes, 1 << 23)
}

/// Time per transaction of a bandwidth test, ns: of `count` transactions after a `lead`.
pub fn steady_ns(machine: &Machine, test: &Test, state: State, lead: u64, count: u64) -> f64 {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = BandwidthRun::new(Engine::Fast, machine, test, &list, KEY, state, 0);
    let start = run.run(lead);
    (run.run(count) - start).as_ns() / count as f64
}

/// Time per transaction of a bandwidth test in its steady state, ns.
pub fn transaction_ns(machine: &Machine, test: &Test, state: State) -> f64 {
    steady_ns(machine, test, state, 2_000, 8_000)
}

/// The same for a random test from the state after boot.
pub fn random_ns(machine: &Machine, operation: Operation, size_bytes: u64, window_bytes: u64) -> f64 {
    transaction_ns(machine, &dma(operation, size_bytes, window_bytes), machine.boot())
}

/// Average latency of a test, ns.
pub fn latency_ns(machine: &Machine, test: &Test, state: State, count: u64) -> f64 {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let mut run = LatencyRun::new(machine, test, &list, KEY, state, 0);
    (0..count).map(|_| run.step().latency.as_ns()).sum::<f64>() / count as f64
}
