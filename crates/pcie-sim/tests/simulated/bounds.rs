//! The closed-form bounds of a test hold in simulation, and are reached where one resource alone is short.

use super::machines::{dma, ideal, steady_ns, system, transaction_ns};
use pcie_model::Bound;
use pcie_sim::{HostQuestion, Machine, TestBounds};
use pcie_workload::{CacheState, Operation, Test};
use serde_json::{Value, json};

/// Changes to single keys of a system.
type Changes<'a> = &'a [(&'a str, Value)];

fn bounds(machine: &Machine, test: &Test) -> TestBounds {
    machine.bounds(test).unwrap().unwrap()
}

/// The simulated rate over the bound.
fn share(machine: &Machine, test: &Test) -> f64 {
    let counted = if test.operation == Operation::BwRdwr { 0.5 } else { 1.0 };
    let simulated = 1_000.0 * counted / transaction_ns(machine, test, machine.boot());
    simulated / bounds(machine, test).answer.millions_per_s
}

#[test]
fn a_machine_with_one_short_resource_reaches_its_bound() {
    let many_pages = 64 << 20;
    let cases: [(Changes<'_>, Test, Bound); 19] = [
        (&[], dma(Operation::BwRd, 512, 8192), Bound::WireDownstream),
        (&[], dma(Operation::BwWr, 256, 8192), Bound::WireUpstream),
        (&[("link.tags", json!(8))], dma(Operation::BwRd, 64, 8192), Bound::Tags),
        (&[("link.tags", json!(4))], dma(Operation::BwRd, 2048, 8192), Bound::Tags),
        (
            &[("link.tags", json!(8)), ("device.dma.tag_return_ns", json!(300.0))],
            dma(Operation::BwRd, 64, 8192),
            Bound::Tags,
        ),
        (
            &[("device.dma.tag_return_ns", json!(300.0))],
            Test { outstanding: Some(4), ..dma(Operation::BwRd, 64, 8192) },
            Bound::Latency,
        ),
        (&[], Test { outstanding: Some(4), ..dma(Operation::BwRd, 64, 8192) }, Bound::Latency),
        (
            &[("host.root_complex.request_interval_ns", json!(100.0))],
            dma(Operation::BwRd, 1024, 8192),
            Bound::RequestRate,
        ),
        (
            &[("host.root_complex.write_interval_ns", json!(60.0))],
            dma(Operation::BwWr, 128, 8192),
            Bound::WriteRate,
        ),
        (
            &[("host.root_complex.write_line_ns", json!(20.0))],
            dma(Operation::BwWr, 200, 8192),
            Bound::WriteRate,
        ),
        (
            &[
                ("host.root_complex.posted_header_credits", json!(4)),
                ("host.root_complex.credit_return_ns", json!(2_000.0)),
            ],
            dma(Operation::BwWr, 64, 8192),
            Bound::PostedCredits,
        ),
        (
            &[
                ("host.root_complex.non_posted_header_credits", json!(4)),
                ("host.root_complex.credit_return_ns", json!(2_000.0)),
            ],
            dma(Operation::BwRd, 64, 8192),
            Bound::NonPostedCredits,
        ),
        (
            &[("host.root_complex.downlink_stretch", json!(1.5))],
            dma(Operation::BwRd, 512, 8192),
            Bound::RootPort,
        ),
        (&[("device.uplink_gap_bytes", json!(48))], dma(Operation::BwWr, 64, 8192), Bound::DevicePort),
        (
            &[("device.dma.engine.write_fixed_ns", json!(60.0))],
            dma(Operation::BwWr, 64, 8192),
            Bound::DeviceRate,
        ),
        (
            &[
                ("iommu", json!("four-kib-pages")),
                ("host.iommu.walkers", json!(1)),
                ("host.iommu.walk_ns", json!(100.0)),
                ("host.iommu.walker_busy_ns", json!(100.0)),
                ("host.iommu.busy_walk_spread", json!(0.0)),
                ("host.iommu.walk_region_bytes", json!(0)),
            ],
            dma(Operation::BwRd, 64, many_pages),
            Bound::PageWalks,
        ),
        (
            &[
                ("host.root_complex.write_pool_lines", json!(92)),
                ("host.root_complex.write_ns", json!(1_500.0)),
            ],
            dma(Operation::BwWr, 256, 8192),
            Bound::WritePool,
        ),
        (
            &[
                ("host.root_complex.read_pool_lines", json!(96)),
                ("host.root_complex.read_ns", json!(1_500.0)),
                ("host.root_complex.busy_read_ns", json!(1_500.0)),
                ("host.memory.busy_miss_ns", json!(0.0)),
                ("host.memory.miss_ns", json!(0.0)),
                ("link.tags", json!(256)),
                ("host.root_complex.non_posted_header_credits", json!(512)),
            ],
            dma(Operation::BwRd, 512, 8192),
            Bound::ReadPool,
        ),
        (
            &[("host.memory.saturated_gbytes_per_s", json!(3.0))],
            dma(Operation::BwWr, 256, 8192),
            Bound::Memory,
        ),
    ];
    for (changes, test, bound) in cases {
        let machine = ideal(changes);
        let found = bounds(&machine, &test);
        assert_eq!(found.answer.bound, bound, "{changes:?}: {:?}", found.answer);
        let share = share(&machine, &test);
        // The wire's bound charges DLLPs, which this machine does not send.
        assert!((0.97..1.004).contains(&share), "{changes:?}, {bound:?}: {share}");
    }
}

#[test]
fn completion_buffer_binds_with_whole_requests() {
    for (key, value) in [("completion_buffer_bytes", 3 * 512 + 128), ("completion_buffer_headers", 3 * 8)] {
        let machine = ideal(&[(&format!("device.dma.{key}"), json!(value))]);
        let test = dma(Operation::BwRd, 512, 1 << 20);
        assert_eq!(bounds(&machine, &test).answer.bound, Bound::CompletionBuffer, "{key}");
        let share = share(&machine, &test);
        assert!((0.97..1.0025).contains(&share), "{key}: {share}");
    }
}

#[test]
fn receive_buffers_bind_on_a_device_that_empties_them_slowly() {
    let machine = ideal(&[
        ("device.dma.receive_buffers", json!(2)),
        ("host.root_complex.flight_ns", json!(200.0)),
        ("host.root_complex.non_posted_header_credits", json!(4096)),
    ]);
    let test = dma(Operation::BwRd, 64, 8192);
    assert_eq!(bounds(&machine, &test).answer.bound, Bound::ReceiveBuffers);
    let share = share(&machine, &test);
    assert!((0.95..1.0025).contains(&share), "{share}");
}

#[test]
fn no_simulated_bandwidth_is_above_its_bound() {
    let changes: [(&str, Changes<'_>); 6] = [
        ("snb", &[]),
        ("ib-011-nosp", &[]),
        ("snb", &[("link.tags", json!(256)), ("device.dma.outstanding", json!(512))]),
        ("snb", &[("host.root_complex.request_interval_ns", json!(20.0))]),
        ("ib-011-nosp", &[("host.iommu.tlb.entries", json!(16)), ("device.dma.outstanding", json!(3))]),
        (
            "snb",
            &[
                ("link.root_port_ecrc", json!(true)),
                ("host.root_complex.completion_split", json!("every-rcb")),
            ],
        ),
    ];
    for (name, changes) in changes {
        let machine = system(name, changes);
        for operation in [Operation::BwRd, Operation::BwWr, Operation::BwRdwr] {
            for (size_bytes, host_offset_bytes) in [(8, 0), (64, 0), (64, 7), (257, 0), (512, 3), (2048, 0)] {
                for (window_bytes, cache) in [
                    (16 << 10, CacheState::HostWarm),
                    (1 << 20, CacheState::Cold),
                    (64 << 20, CacheState::Cold),
                ] {
                    let test = Test { host_offset_bytes, cache, ..dma(operation, size_bytes, window_bytes) };
                    // Nothing is prepared, so warm lines read as device lines or memory.
                    let share = share(&machine, &test);
                    assert!(share < 1.0025, "{name} {changes:?} {test:?}: {share}");
                }
            }
        }
    }
}

#[test]
fn latencies_have_no_bound() {
    let machine = ideal(&[]);
    assert_eq!(machine.bounds(&dma(Operation::LatRd, 64, 8192)).unwrap(), None);
}

#[test]
fn a_saturated_host_holds_writes_back_without_link_credits() {
    let endless = [
        ("host.root_complex.posted_header_credits", json!("infinite")),
        ("host.root_complex.posted_data_credits", json!("infinite")),
    ];
    let walking = [
        ("iommu", json!("four-kib-pages")),
        ("host.iommu.walkers", json!(1)),
        ("host.iommu.walk_region_bytes", json!(0)),
    ];
    let slow = [("host.root_complex.write_interval_ns", json!(100.0))];
    for (saturating, bound) in [(&walking[..], Bound::PageWalks), (&slow[..], Bound::WriteRate)] {
        let changes: Vec<_> = endless.iter().chain(saturating).cloned().collect();
        let machine = ideal(&changes);
        let test = dma(Operation::BwWr, 64, 64 << 20);
        assert_eq!(bounds(&machine, &test).answer.bound, bound);
        // The root complex's buffer fills first.
        let each_ns = steady_ns(&machine, &test, machine.boot(), 20_000, 40_000);
        let share = 1_000.0 / each_ns / bounds(&machine, &test).answer.millions_per_s;
        assert!((0.96..1.01).contains(&share), "{bound:?}: {share}");
    }
}

#[test]
fn relaxed_writes_pass_a_write_whose_page_is_walked() {
    let rate = |relaxed: bool| {
        let machine = ideal(&[
            ("iommu", json!("four-kib-pages")),
            ("host.iommu.walkers", json!(16)),
            ("host.iommu.walk_region_bytes", json!(0)),
            ("host.iommu.walk_ns", json!(2_000.0)),
            ("host.iommu.busy_walk_spread", json!(0.5)),
            ("host.iommu.tlb.entries", json!(256)),
            ("host.root_complex.write_pool_lines", json!(64)),
            ("host.root_complex.write_ns", json!(100.0)),
            ("device.dma.relaxed_ordering", json!(relaxed)),
        ]);
        let test = dma(Operation::BwWr, 64, 2 << 20);
        1.0 / steady_ns(&machine, &test, machine.boot(), 20_000, 40_000)
    };
    let gain = rate(true) / rate(false);
    assert!(gain > 1.1, "{gain}");
}

/// A host whose busy cores, pools and links bind in turn, simulated against its closed form.
#[test]
fn a_loaded_host_simulates_as_its_closed_form() {
    for (cores, bound) in [(0, None), (4, Some(Bound::Memory)), (12, Some(Bound::Memory))] {
        let machine = ideal(&[
            ("host.root_complex.write_pool_lines", json!(92)),
            ("host.root_complex.write_ns", json!(300.0)),
            ("host.memory.saturated_gbytes_per_s", json!(12.0)),
            ("host.load", json!({"cores": cores, "kind": "read-write", "core_share": 0.5})),
        ]);
        let question: HostQuestion = serde_json::from_value(json!({
            "cores": [cores], "kind": null, "size_bytes": 256, "misses_per_mib": null, "devices": [],
        }))
        .unwrap();
        let answer = &machine.host_rates(&question).unwrap()[0];
        let write = &answer.devices[0].write;
        if let Some(bound) = bound {
            assert_eq!(write.bound, bound);
        }
        let test = dma(Operation::BwWr, 256, 1 << 20);
        let each_ns = steady_ns(&machine, &test, machine.boot(), 20_000, 60_000);
        let ratio = 256.0 * 8.0 / each_ns / write.gbps;
        assert!((0.97..1.03).contains(&ratio), "{cores} cores: {ratio}");
    }
}

#[test]
fn devices_below_a_root_complex_share_what_cores_leave() {
    let machine = ideal(&[
        ("host.memory.saturated_gbytes_per_s", json!(6.0)),
        ("host.load", json!({"cores": 0, "kind": "read-write", "core_share": 0.5})),
    ]);
    let question: HostQuestion = serde_json::from_value(json!({
        "cores": [0, 2], "kind": null, "size_bytes": 4096, "misses_per_mib": null, "devices": [
            {"generation": 3, "lanes": 8, "gbps": null},
            {"generation": 3, "lanes": 8, "gbps": 8.0},
            {"generation": 3, "lanes": 1, "gbps": null},
        ],
    }))
    .unwrap();
    let found = machine.host_rates(&question).unwrap();
    let writes =
        |cores: usize| found[cores].devices.iter().map(|device| device.write.gbps).collect::<Vec<_>>();
    assert!((writes(0).iter().sum::<f64>() - 48.0).abs() < 1e-6, "{:?}", writes(0));
    assert_eq!(writes(0)[1], 8.0, "the modest device keeps its rate");
    // Two cores leave half: 24 Gb/s. The x1 link gives less than a third of it.
    let [first, second, third] = writes(1)[..] else { unreachable!() };
    assert!(
        (first - (24.0 - second - third)).abs() < 1e-6 && second <= 8.0 && third < 8.0,
        "{:?}",
        writes(1)
    );
    assert_eq!(found[1].devices[0].write.bound, Bound::Memory);
    assert!(found[1].devices[0].read.gbps > 40.0, "reads keep their rate");
    let refused = |cores, misses: f64| {
        let mut asked = question.clone();
        (asked.cores, asked.misses_per_mib) = (vec![cores], Some(misses));
        ideal(&[]).host_rates(&asked).unwrap_err().to_string()
    };
    assert!(refused(1, 1.0).contains("says nothing about busy cores"), "{}", refused(1, 1.0));
    assert!(refused(0, -1.0).contains("misses_per_mib is -1: give above 0"), "{}", refused(0, -1.0));
}
