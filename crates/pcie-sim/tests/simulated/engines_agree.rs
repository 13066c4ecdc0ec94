//! Both engines complete every transaction at the same time. `PCIELAB_TRANSACTIONS` sets how many of each test.

use super::machines::{KEY, ideal, stalling, system};
use pcie_sim::{BandwidthRun, Engine, Machine, State};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Pattern, Test};
use serde_json::json;

const OPERATIONS: [Operation; 3] = [Operation::BwRd, Operation::BwWr, Operation::BwRdwr];

/// Compares the completions of a test from the middle on, in several parts.
fn assert_equal(machine: &Machine, test: &Test, state: &State, context: &str) {
    let asked = std::env::var("PCIELAB_TRANSACTIONS").ok().and_then(|count| count.parse().ok());
    assert_equal_over(asked.unwrap_or(COUNT), machine, test, state, context);
}

/// The same over a number of transactions.
fn assert_equal_over(count: u64, machine: &Machine, test: &Test, state: &State, context: &str) {
    let list = AddressList::new(test, KEY.draws(Stream::Addresses));
    let first = 1 << 16;
    let run = |engine| {
        let mut run = BandwidthRun::new(engine, machine, test, &list, KEY, state.clone(), first);
        let mut finished = run.finished(100);
        let end = run.run(count - 100);
        finished.extend(run.finished(count));
        (finished, end)
    };
    let (mut fast, fast_end) = run(Engine::Fast);
    let (mut reference, reference_end) = run(Engine::Reference);
    let context = format!("{context}: {:?} {} B of {}", test.operation, test.size_bytes, test.window_bytes);
    let apart = fast.iter().zip(&reference).position(|(one, other)| one.time != other.time);
    let (one, other) = apart.map(|index| (fast[index], reference[index])).unzip();
    assert_eq!(one, other, "{context}: first completion that differs");
    assert_eq!(fast_end, reference_end, "{context}");
    fast.sort_unstable();
    reference.sort_unstable();
    assert_eq!(fast, reference, "{context}");
}

/// Transactions of each part of a comparison: several times as many as there are tags, buffers and pool lines.
const COUNT: u64 = 1_500;
/// The same where what is compared comes once in a millisecond.
const LONG: u64 = 8_000;

#[test]
fn engines_agree_over_a_grid_of_tests() {
    for name in ["snb", "ib-011-nosp"] {
        for iommu in ["off", "four-kib-pages"] {
            let machine = system(name, &[("iommu", json!(iommu))]);
            let mut state = machine.boot();
            machine.thrash_from_device(&mut state, KEY);
            for operation in OPERATIONS {
                for (nth, size) in [8, 64, 512, 2048].into_iter().enumerate() {
                    for (row, window) in [8 << 10, 384 << 10, 64 << 20].into_iter().enumerate() {
                        for (column, workers) in [1, 4, 96].into_iter().enumerate() {
                            // Both patterns with each size, window and number of workers, though not with each three of them.
                            let pattern = [Pattern::Sequential, Pattern::Random][(nth + row + column) % 2];
                            let test = Test {
                                pattern,
                                outstanding: Some(workers),
                                ..Test::random_dma(operation, size, window, 1 << 23)
                            };
                            let context = format!("{name}, IOMMU {iommu}, {workers} workers, {pattern:?}");
                            assert_equal(&machine, &test, &state, &context);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn engines_agree_on_unevenly_split_transfers() {
    // Requests with few completions, and with few and many.
    let many = [("link.mps_bytes", json!(128)), ("link.mrrs_bytes", json!(2048))];
    for (name, changes) in [("snb", &[][..]), ("ib-011-nosp", &[]), ("snb", &many)] {
        let machine = system(name, changes);
        for operation in OPERATIONS {
            for (size, host_offset_bytes, device_offset_bytes) in
                [(1, 0, 0), (65, 3, 1), (257, 63, 0), (407, 48, 0), (513, 1, 9), (1500, 17, 4), (4000, 31, 2)]
            {
                let test = Test {
                    host_offset_bytes,
                    device_offset_bytes,
                    ..Test::random_dma(operation, size, 1 << 20, 1 << 23)
                };
                let context = format!("{name}, offset {host_offset_bytes}");
                assert_equal(&machine, &test, &machine.boot(), &context);
            }
        }
    }
}

#[test]
fn engines_agree_on_transfers_longer_than_a_page() {
    let long = ("device.dma.transfer_bytes_most", json!(16 << 20));
    for (name, iommu) in [("snb", "off"), ("ib-011-nosp", "four-kib-pages"), ("gen5-x16", "super-pages")] {
        let machine = system(name, &[long.clone(), ("iommu", json!(iommu))]);
        for operation in OPERATIONS {
            for (size, window, transactions, count) in [
                (8 << 10, 1 << 20, 1 << 23, 500),
                (96 << 10, 8 << 20, 1 << 20, 40),
                (1 << 20, 32 << 20, 40, 4),
            ] {
                let test = Test::random_dma(operation, size, window, transactions);
                let list = AddressList::new(&test, KEY.draws(Stream::Addresses));
                let finished = |engine| {
                    BandwidthRun::new(engine, &machine, &test, &list, KEY, machine.boot(), 5).finished(count)
                };
                let (mut fast, mut reference) = (finished(Engine::Fast), finished(Engine::Reference));
                fast.sort_unstable();
                reference.sort_unstable();
                assert_eq!(fast, reference, "{name}, IOMMU {iommu}: {operation:?} {size} B");
            }
        }
    }
}

#[test]
fn engines_agree_with_one_short_resource() {
    for (key, value) in [
        ("device.dma.receive_buffers", json!(1)),
        ("device.dma.completion_buffer_bytes", json!(512)),
        ("device.dma.completion_buffer_bytes", json!(2400)),
        ("device.dma.completion_buffer_headers", json!(11)),
        ("device.kind", json!("direct")),
        ("host.root_complex.completion_order", json!("random")),
        ("host.root_complex.completion_order", json!("fifo")),
        ("host.root_complex.completion_split", json!("every-rcb")),
        ("host.root_complex.credit_return_ns", json!(3000.0)),
        ("host.root_complex.non_posted_header_credits", json!(3)),
        ("host.root_complex.posted_header_credits", json!(2)),
        ("host.root_complex.posted_data_credits", json!(16)),
        ("host.root_complex.non_posted_header_credits", json!("infinite")),
        ("host.root_complex.posted_header_credits", json!("infinite")),
        ("host.root_complex.posted_data_credits", json!("infinite")),
        ("link.tags", json!(1)),
        ("link.tags", json!(768)),
        ("link.root_port_ecrc", json!(true)),
        ("link.ide", json!(true)),
    ] {
        let machine = system("snb", &[(key, value.clone())]);
        for operation in OPERATIONS {
            for size in [64, 300, 1024] {
                let test = Test::random_dma(operation, size, 1 << 20, 1 << 23);
                assert_equal(&machine, &test, &machine.boot(), &format!("{key} {value}"));
            }
        }
    }
}

#[test]
fn engines_agree_on_the_order_of_page_walks() {
    for order in ["none", "misses"] {
        let changes = [("iommu", json!("four-kib-pages")), ("host.iommu.ordered_reads", json!(order))];
        for machine in [system("snb", &changes), ideal(&changes)] {
            for operation in OPERATIONS {
                for (size, window) in [(64, 1 << 20), (256, 64 << 20), (2048, 4 << 20)] {
                    let test = Test::random_dma(operation, size, window, 1 << 23);
                    assert_equal(&machine, &test, &machine.boot(), &format!("order of walks: {order}"));
                }
            }
        }
    }
}

#[test]
fn engines_agree_on_the_longest_steps_of_a_profile() {
    let longest_ns = json!(1e5);
    for changes in [
        vec![("host.root_complex.request_interval_ns", longest_ns.clone())],
        vec![("host.root_complex.busy_read_ns", longest_ns.clone())],
        vec![("iommu", json!("four-kib-pages")), ("host.iommu.walker_busy_ns", longest_ns.clone())],
        vec![
            ("iommu", json!("four-kib-pages")),
            ("host.iommu.walk_region_bytes", json!(1 << 14)),
            ("host.iommu.walker_busy_ns", longest_ns.clone()),
        ],
        // A fifth of a second for each DMA: the first and last answers in flight are minutes apart.
        vec![("device.dma.engine.segment_bytes", json!(1)), ("device.dma.engine.segment_ns", longest_ns)],
    ] {
        let most = [("link.tags", json!(768)), ("link.mrrs_bytes", json!(4096))];
        let machine = system("snb", &[&changes[..], &most].concat());
        for operation in OPERATIONS {
            let test = Test::random_dma(operation, 2048, 1 << 20, 1 << 23);
            assert_equal(&machine, &test, &machine.boot(), &format!("{changes:?}"));
        }
    }
}

#[test]
fn engines_agree_with_any_free_tag() {
    for (order, tags, receive_buffers) in
        [("random", 32, 4), ("random", 768, 1024), ("random-small", 5, 2), ("fifo", 32, 64)]
    {
        let changes = [
            ("device.dma.tag_order", json!("any-free")),
            ("device.dma.tags", json!(tags)),
            ("link.tags", json!(1024)),
            ("device.dma.receive_buffers", json!(receive_buffers)),
            ("host.root_complex.completion_order", json!(order)),
        ];
        for machine in [system("snb", &changes), system("ib-011-nosp", &changes), ideal(&changes)] {
            for operation in OPERATIONS {
                for size in [64, 513, 2048] {
                    let test = Test::random_dma(operation, size, 1 << 20, 1 << 23);
                    assert_equal(&machine, &test, &machine.boot(), &format!("any of {tags} tags, {order}"));
                }
            }
        }
    }
}

#[test]
fn engines_agree_when_tags_come_back_late() {
    for (order, tag_return_ns) in [("in-turn", 30.0), ("any-free", 30.0), ("any-free", 400.0)] {
        let changes = [
            ("device.dma.tag_order", json!(order)),
            ("device.dma.tag_return_ns", json!(tag_return_ns)),
            ("device.dma.completion_buffer_headers", json!(64)),
        ];
        for machine in [system("snb", &changes), ideal(&changes)] {
            for operation in OPERATIONS {
                for size in [64, 513, 2048] {
                    let test = Test::random_dma(operation, size, 1 << 20, 1 << 23);
                    assert_equal(&machine, &test, &machine.boot(), &format!("{changes:?}"));
                }
            }
        }
    }
}

#[test]
fn engines_agree_on_simultaneous_events() {
    for changes in
        [vec![], vec![("device.kind", json!("queued"))], vec![("host.root_complex.read_ns", json!(0.0))]]
    {
        let machine = ideal(&changes);
        for operation in OPERATIONS {
            for size in [64, 256, 2048] {
                let test = Test::random_dma(operation, size, 8 << 10, 1 << 23);
                assert_equal(&machine, &test, &machine.boot(), &format!("{changes:?}"));
            }
        }
    }
}

#[test]
fn engines_agree_with_stalls_and_small_completions() {
    let machine = system(
        "snb",
        &[
            ("link.mps_bytes", json!(128)),
            ("host.root_complex.downlink_quantum_bytes", json!(8)),
            ("host.idle", stalling(1e6, 0.8, 2e6)),
        ],
    );
    for operation in OPERATIONS {
        for size in [64, 256, 384, 1024] {
            let test = Test::random_dma(operation, size, 1 << 20, 1 << 23);
            assert_equal_over(LONG, &machine, &test, &machine.boot(), "stalls, MPS of 128");
        }
    }
}

#[test]
fn engines_agree_up_to_the_end_of_a_test() {
    let machine = system("snb", &[]);
    for operation in OPERATIONS {
        let test = Test::random_dma(operation, 64, 8 << 10, (1 << 16) + 700);
        assert_equal(&machine, &test, &machine.boot(), "a test that ends");
    }
}

/// Pools, a memory that cores share, and an order of writes that these keys change.
#[test]
fn engines_agree_on_a_busy_host() {
    let pools = [
        ("host.root_complex.write_pool_lines", json!(92)),
        ("host.root_complex.read_pool_lines", json!(164)),
        ("host.memory.saturated_gbytes_per_s", json!(9.0)),
        ("host.memory.traffic_per_written_byte", json!(1.1)),
        ("host.load", json!({"cores": 3, "kind": "read-write", "core_share": 0.5})),
    ];
    for (iommu, relaxed) in [("off", false), ("four-kib-pages", false), ("four-kib-pages", true)] {
        let ways = [("iommu", json!(iommu)), ("device.dma.relaxed_ordering", json!(relaxed))];
        for keys in 1..=pools.len() {
            let changes: Vec<_> = match keys {
                3 => pools[2..3].iter().chain(&ways).cloned().collect(),
                4 => continue,
                _ => pools[..keys].iter().chain(&ways).cloned().collect(),
            };
            let machine = system("ib-011-nosp", &changes);
            for operation in OPERATIONS {
                for (size, window) in [(64, 64 << 20), (300, 1 << 20), (2048, 64 << 20)] {
                    let test = Test::random_dma(operation, size, window, 1 << 23);
                    assert_equal(&machine, &test, &machine.boot(), &format!("{changes:?}"));
                }
            }
        }
    }
}
