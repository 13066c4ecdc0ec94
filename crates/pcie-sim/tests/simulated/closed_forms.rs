//! On machines with a closed form, the simulation agrees with it.

use super::machines::{dma, ideal, latency_ns, random_ns, stalling, steady_ns, transaction_ns};
use pcie_sim::Machine;
use pcie_workload::{Operation, Test};
use serde_json::{Value, json};

/// Gen3 x8: 8 lanes of 8 GT/s, 128b/130b, less the SKPs that every profile has.
const BYTES_PER_NS: f64 = 8.0 * 128.0 / 130.0 * (1.0 - 4.0 / 1538.0);

fn assert_close(value: f64, expected: f64, relative: f64) {
    assert!((value / expected - 1.0).abs() < relative, "{value} instead of {expected}");
}

#[test]
fn reads_fill_the_downlink() {
    // Each request needs a quarter of a byte of DLLPs, rounded up to one.
    for (size, completions, requests) in [(256u64, 1.0, 1.0), (512, 2.0, 1.0), (2048, 8.0, 4.0)] {
        let expected = (size as f64 + 20.0 * completions + requests) / BYTES_PER_NS;
        let machine = ideal(&[]);
        assert_close(random_ns(&machine, Operation::BwRd, size, 8192), expected, 2e-3);
        // Four bytes of ECRC on each completion if the root port appends one, whatever the device does.
        let with_ecrc = expected + 4.0 * completions / BYTES_PER_NS;
        for (of_device, of_port, expected) in [(true, false, expected), (false, true, with_ecrc)] {
            let machine = ideal(&[("link.ecrc", json!(of_device)), ("link.root_port_ecrc", json!(of_port))]);
            assert_close(random_ns(&machine, Operation::BwRd, size, 8192), expected, 2e-3);
        }
        // Prefix and MAC of each completion; a request of 40 B still needs less than a byte of DLLPs.
        let with_ide = expected + 16.0 * completions / BYTES_PER_NS;
        let encrypted = ideal(&[("link.ide", json!(true))]);
        assert_close(random_ns(&encrypted, Operation::BwRd, size, 8192), with_ide, 2e-3);
    }
}

#[test]
fn writes_fill_the_uplink() {
    let machine = ideal(&[]);
    for (size, tlps) in [(64u64, 1.0), (256, 1.0), (1024, 4.0)] {
        let expected = (size as f64 + 24.0 * tlps) / BYTES_PER_NS;
        // The device's limit of a request per clock is a picosecond here.
        assert_close(random_ns(&machine, Operation::BwWr, size, 8192), expected, 2e-3);
        let encrypted = ideal(&[("link.ide", json!(true))]);
        let with_ide = expected + 16.0 * tlps / BYTES_PER_NS;
        assert_close(random_ns(&encrypted, Operation::BwWr, size, 8192), with_ide, 2e-3);
    }
}

#[test]
fn a_line_that_two_tlps_of_a_write_share_holds_up_the_next() {
    let busy_ns = 500.0;
    let machine = ideal(&[
        ("device.dma.engine.write_part_bytes", json!(512)),
        ("host.root_complex.write_line_ns", json!(5.0)),
        ("host.root_complex.partial_line_busy_ns", json!(busy_ns)),
    ]);
    let time = |host_offset_bytes| {
        let test = Test { host_offset_bytes, ..dma(Operation::BwWr, 416, 1 << 20) };
        transaction_ns(&machine, &test, machine.boot())
    };
    // 48 to 304 and 304 to 464 of each 512: five lines, then four, and the fifth is shared.
    assert_close(time(48), busy_ns + 9.0 * 5.0, 2e-3);
    // 0 to 256 and 256 to 416 meet between two lines.
    assert!(time(0) < 80.0, "{} ns", time(0));
}

#[test]
fn few_tags_give_littles_law() {
    for tags in [1u32, 4, 16] {
        let machine = ideal(&[("link.tags", json!(tags))]);
        // A request, the root complex, a completion, and the flight both ways.
        let round_trip = 24.0 / BYTES_PER_NS + 400.0 + (64.0 + 20.0) / BYTES_PER_NS + 2.0 * 20.0;
        let expected = round_trip / f64::from(tags);
        assert_close(random_ns(&machine, Operation::BwRd, 64, 8192), expected, 5e-3);
    }
}

/// Requests of 512 B reserve 512 B and, with the read completion boundary of 64 B, eight headers.
#[test]
fn completion_buffer_acts_like_as_many_tags_as_it_holds_requests() {
    let times = |changes: &[(&str, Value)]| {
        let machine = ideal(changes);
        [Operation::BwRd, Operation::BwRdwr].map(|operation| random_ns(&machine, operation, 512, 1 << 20))
    };
    let tagged = times(&[("link.tags", json!(4))]);
    for changes in [
        [("device.dma.completion_buffer_bytes", json!(4 * 512))],
        // Half a request more is of no use.
        [("device.dma.completion_buffer_bytes", json!(4 * 512 + 256))],
        [("device.dma.completion_buffer_headers", json!(4 * 8))],
    ] {
        assert_eq!(times(&changes), tagged, "{changes:?}");
    }
    let boundary = ("link.rcb_bytes", json!(128));
    let halved = [boundary.clone(), ("device.dma.completion_buffer_headers", json!(4 * 4))];
    assert_eq!(times(&halved), times(&[boundary, ("link.tags", json!(4))]));
}

/// Alone, a read of 2048 B sends its second half once the first is there, as with two tags.
#[test]
fn latency_waits_for_space_for_completions() {
    let latency = |changes: &[(&str, Value)]| {
        let machine = ideal(changes);
        latency_ns(&machine, &dma(Operation::LatRd, 2048, 8192), machine.boot(), 10)
    };
    let buffered = latency(&[("device.dma.completion_buffer_bytes", json!(1024))]);
    assert_eq!(buffered, latency(&[("link.tags", json!(2))]));
    assert!(buffered > latency(&[]) + 300.0, "{buffered} ns");
}

#[test]
fn a_limit_on_outstanding_requests_acts_like_tags() {
    let machine = ideal(&[]);
    let test = Test { outstanding: Some(8), ..dma(Operation::BwRd, 64, 8192) };
    let tagged = random_ns(&ideal(&[("link.tags", json!(8))]), Operation::BwRd, 64, 8192);
    assert_close(transaction_ns(&machine, &test, machine.boot()), tagged, 1e-3);
}

#[test]
fn posted_credits_bound_writes() {
    let machine = ideal(&[
        ("host.root_complex.posted_header_credits", json!(4)),
        ("host.root_complex.credit_return_ns", json!(300.0)),
    ]);
    // Four TLPs per return of a credit: serialisation, flight, and the way back.
    let expected = (88.0 / BYTES_PER_NS + 20.0 + 300.0) / 4.0;
    assert_close(random_ns(&machine, Operation::BwWr, 64, 8192), expected, 0.02);
}

#[test]
fn page_walks_bound_random_reads_beyond_the_io_tlb() {
    // Walks of one region, here the whole buffer, are serialised, however many walkers there are.
    for (region_bytes, at_the_same_time) in [(0, 2.0), (64 << 20, 1.0)] {
        let machine = ideal(&[
            ("iommu", json!("four-kib-pages")),
            ("host.iommu.walkers", json!(2)),
            ("host.iommu.walk_ns", json!(200.0)),
            ("host.iommu.walker_busy_ns", json!(200.0)),
            ("host.iommu.walk_region_bytes", json!(region_bytes)),
            ("host.iommu.busy_walk_spread", json!(0.0)),
            // With few in flight, two hardly ever wait for the same walk.
            ("link.tags", json!(32)),
        ]);
        let pages = f64::from(64 << 20) / 4096.0;
        let expected = 200.0 / at_the_same_time * (1.0 - 128.0 / pages);
        assert_close(random_ns(&machine, Operation::BwRd, 64, 64 << 20), expected, 0.01);
    }
}

#[test]
fn reads_and_writes_share_the_page_walkers() {
    // A read waits for the writes before it, but its walk does not: the walkers are never idle.
    for walkers in [1, 2, 4, 8] {
        let machine = ideal(&[
            ("iommu", json!("four-kib-pages")),
            ("host.iommu.walkers", json!(walkers)),
            ("host.iommu.walk_region_bytes", json!(0)),
            ("host.iommu.walk_ns", json!(300.0)),
            ("host.iommu.walker_busy_ns", json!(280.0)),
            ("host.iommu.busy_walk_spread", json!(0.0)),
            ("link.tags", json!(64)),
        ]);
        let walks_per_ns = f64::from(walkers) / 280.0;
        let misses = 1.0 - 128.0 / (f64::from(64 << 20) / 4096.0);
        let test = Test { transactions: 1 << 18, ..dma(Operation::BwRdwr, 64, 64 << 20) };
        // The writes fill the root complex first.
        let each_ns = steady_ns(&machine, &test, machine.boot(), 20_000, 60_000);
        assert_close(each_ns, misses / walks_per_ns, 0.005);
    }
}

#[test]
fn an_unloaded_read_takes_the_sum_of_its_parts() {
    let machine = ideal(&[("host.memory.miss_ns", json!(70.0))]);
    let expected = 24.0 / BYTES_PER_NS + 400.0 + 70.0 + 84.0 / BYTES_PER_NS + 40.0;
    let simulated = latency_ns(&machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 100);
    assert_close(simulated, expected, 1e-5);
}

#[test]
fn io_tlb_misses_follow_their_share() {
    let machine = ideal(&[("iommu", json!("four-kib-pages")), ("host.iommu.walk_ns", json!(300.0))]);
    let base = latency_ns(&machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 50_000);
    let window = 1 << 20;
    let simulated = latency_ns(&machine, &dma(Operation::LatRd, 64, window), machine.boot(), 50_000) - base;
    let entries = f64::from(machine.system().host.iommu.tlb.entries);
    assert_close(simulated, 300.0 * (1.0 - entries * 4096.0 / window as f64), 0.02);
}

#[test]
fn stalls_take_their_share_of_time_unless_reads_keep_the_machine_awake() {
    // Half a millisecond of stall for every millisecond of service.
    let (awake, stalling) = (ideal(&[]), ideal(&[("host.idle", stalling(1e6, 0.0, 5e5))]));
    for (operation, expected) in [(Operation::BwWr, 1.5), (Operation::BwRd, 1.0), (Operation::BwRdwr, 1.0)] {
        let [without, with] = [&awake, &stalling].map(|machine| random_ns(machine, operation, 256, 8192));
        assert_close(with / without, expected, 1e-5);
    }
    let loop_ns = awake.system().device.dma.loop_ns;
    let [without, with] = [&awake, &stalling].map(|machine| {
        latency_ns(machine, &dma(Operation::LatRd, 64, 8192), machine.boot(), 100_000) + loop_ns
    });
    assert_close(with / without, 1.5, 0.02);
}

/// Time of completions of `bytes` on the downlink, each with MPS of data.
fn completions_ns(bytes: u64) -> f64 {
    bytes as f64 * (256.0 + 20.0) / 256.0 / BYTES_PER_NS
}

#[test]
fn transfers_longer_than_a_page_fill_the_link() {
    let machine = ideal(&[("device.dma.transfer_bytes_most", json!(16 << 20))]);
    for (operation, size, expected) in [
        (Operation::BwRd, 8 << 10, completions_ns(8 << 10) + 16.0 / BYTES_PER_NS),
        (Operation::BwRd, 1 << 20, completions_ns(1 << 20) + 2048.0 / BYTES_PER_NS),
        (Operation::BwWr, 1 << 20, 4096.0 * 280.0 / BYTES_PER_NS),
        (Operation::BwRd, 16 << 20, completions_ns(16 << 20) + 32_768.0 / BYTES_PER_NS),
    ] {
        // The addresses of the first chunk are all long.
        let window = if operation == Operation::BwWr { 4 << 20 } else { 64 << 20 };
        let test = dma(operation, size, window);
        // The pipeline is 384 KiB deep: a part of the first transfer, or many.
        let (lead, count) = (((1 << 20) / size).max(1), ((64 << 20) / size).max(4));
        assert_close(steady_ns(&machine, &test, machine.boot(), lead, count), expected, 2e-3);
    }
}

#[test]
fn a_read_longer_than_a_page_takes_a_round_trip_and_the_time_of_its_data() {
    let long = || ("device.dma.transfer_bytes_most", json!(16 << 20));
    let round_trip_ns = 24.0 / BYTES_PER_NS + 400.0 + 2.0 * 20.0;
    for size in [8 << 10, 1 << 20, 16 << 20] {
        let machine = ideal(&[long()]);
        let simulated = latency_ns(&machine, &dma(Operation::LatRd, size, 64 << 20), machine.boot(), 3);
        assert_close(simulated, round_trip_ns + completions_ns(size), 1e-4);
    }
    // A tag allows a request of 512 B at a time.
    let machine = ideal(&[long(), ("link.tags", json!(1))]);
    for size in [4 << 10, 64 << 10] {
        let expected = (size / 512) as f64 * (round_trip_ns + completions_ns(512));
        let simulated = latency_ns(&machine, &dma(Operation::LatRd, size, 1 << 20), machine.boot(), 3);
        assert_close(simulated, expected, 1e-4);
    }
}

#[test]
fn each_page_of_a_transfer_is_translated() {
    let machine = ideal(&[
        ("device.dma.transfer_bytes_most", json!(1 << 20)),
        ("iommu", json!("four-kib-pages")),
        ("host.iommu.tlb.entries", json!(1)),
        ("host.iommu.walk_ns", json!(3_000.0)),
        ("link.tags", json!(1)),
    ]);
    let base = ideal(&[("device.dma.transfer_bytes_most", json!(1 << 20)), ("link.tags", json!(1))]);
    let ns = |machine: &Machine| {
        latency_ns(machine, &dma(Operation::LatRd, 64 << 10, 16 << 20), machine.boot(), 20)
    };
    assert_close(ns(&machine) - ns(&base), 16.0 * 3_000.0, 1e-3);
}
