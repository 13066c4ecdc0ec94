use pcie_wire::{LinkConfiguration, LinkParameters};

use super::*;

/// A core whose steps are easy to add up.
fn core() -> CoreProfile {
    CoreProfile {
        name: "plain".into(),
        year: 2020,
        generation: 5,
        processors: vec![],
        stores: CoreStores {
            buffers: Between::of(10.0),
            merged_bytes: 64,
            release_ns: Between::of(50.0),
            fill_ns: Between::of(2.0),
            narrow_ns: Between::of(0.5),
            uncached_ns: Between::of(100.0),
            fence_ns: Between::of(90.0),
            direct_ns: None,
            page_fault_ns: Between { least: 1000.0, usual: 2000.0, most: 4000.0 },
            evicted: EvictedOrder::Any,
        },
        loads: CoreLoads {
            host_ns: Between { least: 150.0, usual: 200.0, most: 300.0 },
            streaming_lines: Between::of(8.0),
            widest_bytes: 64,
            enqueues: false,
        },
        root: CoreRoot {
            queue_bytes: Between::of(512.0),
            quantum_bytes: 32,
            link_ns: Between::of(50.0),
            switch_ns: Between::of(110.0),
            remote_ns: Between::of(60.0),
        },
    }
}

fn bar() -> Bar {
    Bar {
        name: "quick".into(),
        devices: vec![],
        stores: BarStores {
            drain_gbytes_per_s: Between::of(1000.0),
            posted_bytes: Between::of(65_536.0),
            poll_ns: Between::of(300.0),
        },
        reads: BarReads { answer_ns: Between::of(400.0) },
    }
}

fn on(generation: u32, lanes: u32) -> Mmio {
    let link = LinkConfiguration::try_from(LinkParameters::new(generation, lanes, 256, 512)).unwrap();
    Mmio::new(core(), bar(), link).unwrap()
}

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

#[test]
fn a_load_of_any_size_is_its_size_over_a_round_trip_at_every_generation() {
    for generation in 1..=7 {
        let mmio = on(generation, 16);
        for size in 1..=64u64 {
            let whole = Access { width_bytes: Some(64), ..Access::of(Instruction::UncachedLoad, size) };
            let times = mmio.times(&whole).unwrap();
            let wire = mmio.wire_ns(pcie_wire::TlpKind::MemoryRead, 0, 32)
                + mmio.wire_ns(pcie_wire::TlpKind::CompletionWithData, size as u32, 1);
            close(times.core_ns.usual, 200.0 + 100.0 + 400.0 + wire, 1e-9);
            close(times.gbytes_per_s.usual, size as f64 / times.core_ns.usual, 1e-9);
            assert_eq!(times.bound, AccessBound::RoundTrip);
            // With loads of 8 B, one round trip each.
            let narrow = mmio.times(&Access::of(Instruction::UncachedLoad, size)).unwrap();
            assert_eq!(narrow.tlps, size.div_ceil(8));
            let share = narrow.core_ns.usual / times.core_ns.usual / size.div_ceil(8) as f64;
            assert!((0.9..=1.001).contains(&share), "Gen{generation} {size} B: {share}");
        }
    }
}

#[test]
fn the_slowest_step_sets_the_pace_of_stores() {
    let stream = |mmio: &Mmio| mmio.times(&Access::of(Instruction::CombinedStore, 1 << 20)).unwrap();
    // 64 B in TLPs of 88 B, in units of 32 B: 64/96 of 15.754 GB/s.
    let gen3 = stream(&on(3, 16));
    assert_eq!(gen3.bound, AccessBound::WireDownstream);
    close(gen3.gbytes_per_s.usual, 15.7538 * 64.0 / 96.0, 1e-3);
    // Ten buffers, each filled for 2 and released after 50 ns.
    let gen5 = stream(&on(5, 16));
    assert_eq!(gen5.bound, AccessBound::FillBuffers);
    close(gen5.gbytes_per_s.usual, 640.0 / 52.0, 1e-9);
    let mut slow = on(5, 16);
    slow.bar.stores.drain_gbytes_per_s = Between::of(2.0);
    assert_eq!(stream(&slow).bound, AccessBound::DeviceDrain);
    close(stream(&slow).gbytes_per_s.usual, 2.0, 1e-9);
    let narrow = Access { width_bytes: Some(4), ..Access::of(Instruction::CombinedStore, 1 << 20) };
    let narrow = on(5, 16).times(&narrow).unwrap();
    assert_eq!(narrow.bound, AccessBound::CoreStores);
    close(narrow.gbytes_per_s.usual, 8.0, 1e-9);
}

#[test]
fn a_burst_runs_ahead_of_a_slow_device_until_the_queues_are_full() {
    let mut mmio = on(5, 16);
    mmio.bar.stores = BarStores {
        drain_gbytes_per_s: Between::of(1.0),
        posted_bytes: Between::of(1024.0),
        ..mmio.bar.stores
    };
    let core_ns = |size| mmio.times(&Access::of(Instruction::CombinedStore, size)).unwrap().core_ns.usual;
    // Ten buffers are filled at once; 512 B of the port and 1024 B of the device hide the rest.
    close(core_ns(640), 20.0, 1e-9);
    assert!(core_ns(1536) < 200.0);
    close(core_ns(65_536) - core_ns(32_768), 32_768.0, 0.01);
}

#[test]
fn uncached_stores_take_as_long_whatever_their_width() {
    let mmio = on(3, 16);
    for width in [1, 2, 4, 8, 16] {
        let access = Access { width_bytes: Some(width), ..Access::of(Instruction::UncachedStore, 4096) };
        let times = mmio.times(&access).unwrap();
        close(times.core_ns.usual, 4096.0 / f64::from(width) * 100.0, 1e-9);
        assert_eq!(times.bound, AccessBound::UncachedStores);
    }
}

#[test]
fn a_short_command_moves_its_own_bytes() {
    let mut mmio = on(5, 16);
    mmio.core.loads.enqueues = true;
    let times = |size| mmio.times(&Access::of(Instruction::EnqueueStore, size)).unwrap();
    close(times(8).gbytes_per_s.usual, 8.0 / times(8).core_ns.usual, 1e-9);
    close(times(64).gbytes_per_s.usual, 8.0 * times(8).gbytes_per_s.usual, 1e-9);
    close(times(4096).gbytes_per_s.usual, times(64).gbytes_per_s.usual, 1e-9);
}

#[test]
fn a_switch_costs_a_load_two_hops_and_a_stream_of_stores_nothing() {
    let mmio = on(4, 16);
    let with = |instruction, size, switches| {
        mmio.times(&Access { switches, ..Access::of(instruction, size) }).unwrap()
    };
    let load = |switches| with(Instruction::UncachedLoad, 4, switches).core_ns.usual;
    close(load(2) - load(0), 440.0, 1e-9);
    let store = |switches| with(Instruction::CombinedStore, 1 << 20, switches).gbytes_per_s;
    assert_eq!(store(0), store(2));
}

#[test]
fn more_cores_share_the_link_and_the_device() {
    let rate = |cores, instruction, size| {
        on(5, 16).times(&Access { cores, ..Access::of(instruction, size) }).unwrap().gbytes_per_s.usual
    };
    close(rate(2, Instruction::CombinedStore, 4096), 2.0 * rate(1, Instruction::CombinedStore, 4096), 1e-9);
    let most = rate(64, Instruction::CombinedStore, 4096);
    assert_eq!(most, rate(128, Instruction::CombinedStore, 4096));
    close(rate(16, Instruction::UncachedLoad, 8), 16.0 * rate(1, Instruction::UncachedLoad, 8), 1e-9);
}

#[test]
fn intervals_hold_their_usual_value_and_wrong_values_are_refused_by_key() {
    let mmio = on(4, 8);
    for instruction in [Instruction::UncachedLoad, Instruction::CombinedStore, Instruction::Exchange] {
        let times = mmio.times(&Access::of(instruction, 64)).unwrap();
        for between in [times.core_ns, times.done_ns, times.gbytes_per_s] {
            assert!(between.least <= between.usual && between.usual <= between.most, "{between:?}");
        }
    }
    let words = |found: Result<AccessTimes, pcie_refusal::Refusal>| found.unwrap_err().to_string();
    let access = Access { cores: 0, ..Access::of(Instruction::UncachedLoad, 8) };
    assert_eq!(words(mmio.times(&access)), "cores is 0: give 1 to 256");
    let access = Access { width_bytes: Some(3), ..Access::of(Instruction::UncachedLoad, 8) };
    assert_eq!(words(mmio.times(&access)), "width_bytes is 3: give 1, 2, 4, 8, 16, 32 or 64");
    assert_eq!(
        words(mmio.times(&Access::of(Instruction::Doorbell, 65))),
        "size_bytes is 65: give 1 to 64: it is one store"
    );
    let refused = words(mmio.times(&Access::of(Instruction::DirectStore, 64)));
    assert!(refused.contains("core plain has no store of 64 B in one piece"), "{refused}");
    let mut wrong = core();
    wrong.stores.fence_ns = Between { least: 5.0, usual: 4.0, most: 6.0 };
    assert_eq!(wrong.check().unwrap_err().to_string(), "stores.fence_ns.usual is 4: give at least the least");
    wrong.stores.fence_ns = Between { least: 3.0, usual: 4.0, most: f64::NAN };
    assert!(wrong.check().is_err());
}
