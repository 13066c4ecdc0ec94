//! The runtime as a program uses it: setup, transfers, traces and refusals.

use super::*;
use crate::BarParameters;
use crate::simulate::{Options, Traffic, simulate};
use crate::test_fabrics::{fabrex, fabrex_parameters, traffic};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A runtime with the HBM of some devices ready and mapped for the first host.
fn runtime_with(policy: impl Fn() -> Box<dyn Policy>, outstanding: u32, devices: &[&str]) -> Runtime {
    let mut runtime = Runtime::new(fabrex(), Discipline::PerDestination, policy, outstanding).unwrap();
    for (number, device) in (0..).zip(devices) {
        runtime.device_init(device).unwrap();
        runtime.memory_init(device, "hbm").unwrap();
        runtime.setup_mapping(device, "hbm", "host1", (1 << 44) + (number << 36)).unwrap();
    }
    runtime
}

fn fifo() -> Box<dyn Policy> {
    Box::new(Fifo)
}

fn runtime(devices: &[&str]) -> Runtime {
    runtime_with(fifo, 64, devices)
}

/// A transfer between new memory of a device and of the first host.
fn with_host(runtime: &mut Runtime, device: &str, size_bytes: u64) -> Transfer {
    let device_address = runtime.memory_alloc(device, "hbm", size_bytes).unwrap();
    let other_address = runtime.host_memory_alloc("host1", size_bytes).unwrap();
    Transfer { device_address, other_address, size_bytes }
}

/// Average time of a flow with one request outstanding, by the simulator's load generator, ns.
fn average_ns(primitive: Primitive, source: &str, destination: &str, size_bytes: u64) -> f64 {
    let traffic = Traffic { size_bytes, ..traffic(source, destination, primitive) };
    let discipline = Discipline::PerDestination;
    let options = Options { warm_up_ns: Some(0.0), duration_ns: 400e3, discipline, seed: 1 };
    let outcome = simulate(&fabrex(), &[traffic], options).unwrap();
    let requests = &outcome.flows[0].requests;
    requests.iter().map(|one| one.phases.total_ns()).sum::<f64>() / requests.len() as f64
}

#[test]
fn single_request_takes_the_time_of_the_load_generator() {
    type Submit = fn(&mut Runtime, u32, &str, &[Transfer]) -> Result<u64, Refusal>;
    let calls: [(Submit, Primitive, &str, &str); 6] = [
        (Runtime::mmio_read, Primitive::MmioRead, "host1", "A"),
        (Runtime::mmio_write, Primitive::MmioWrite, "host1", "A"),
        (Runtime::h2d, Primitive::H2d, "host1", "A"),
        (Runtime::d2h, Primitive::D2h, "A", "host1"),
        (Runtime::dev2dev_read, Primitive::D2dRead, "B", "A"),
        (Runtime::dev2dev_write, Primitive::D2dWrite, "A", "B"),
    ];
    for (submit, primitive, source, destination) in calls {
        for size_bytes in [64, 4 * KIB] {
            let mut runtime = runtime(&["A", "B"]);
            let mut transfer = with_host(&mut runtime, "A", size_bytes);
            if matches!(primitive, Primitive::D2dRead | Primitive::D2dWrite) {
                transfer.other_address = runtime.memory_alloc("B", "hbm", size_bytes).unwrap();
            }
            let queue = runtime.add_queue("host1", 0, 1).unwrap();
            submit(&mut runtime, queue, "A", &[transfer]).unwrap();
            runtime.run().unwrap();
            let took_ns = runtime.trace().requests[0].phases.total_ns();
            let expected_ns = average_ns(primitive, source, destination, size_bytes);
            assert!(
                (took_ns / expected_ns - 1.0).abs() < 1e-3,
                "{primitive:?} {size_bytes}: {took_ns} {expected_ns}"
            );
        }
    }
}

#[test]
fn phases_add_up_to_the_time_from_submission_to_completion() {
    let mut runtime = runtime(&["A"]);
    let transfer = with_host(&mut runtime, "A", 4 * KIB);
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    for _ in 0..3 {
        runtime.h2d(queue, "A", &[transfer]).unwrap();
    }
    runtime.run().unwrap();
    let requests = &runtime.trace().requests;
    let [first, second, third] = &requests[..] else { panic!("three requests: {requests:?}") };
    assert_eq!(first.phases.device_ns, 418.0);
    assert_eq!(first.phases.host_ns, 150.0, "software alone: no request is ahead");
    // With one in flight, each request waits at the host for those before it.
    let alone_ns = first.phases.total_ns();
    assert!((second.phases.host_ns - (alone_ns + 150.0)).abs() < 1e-6);
    assert!((third.phases.total_ns() - 3.0 * alone_ns).abs() < 1e-6);
    assert_eq!(runtime.now_ns(), third.phases.total_ns());
}

#[test]
fn a_scatter_gather_list_pays_for_one_command() {
    let times = [1, 8].map(|batch: usize| {
        let mut runtime = runtime(&["A"]);
        let transfers: Vec<Transfer> = (0..8).map(|_| with_host(&mut runtime, "A", 256)).collect();
        let queue = runtime.add_queue("host1", 0, 1).unwrap();
        for list in transfers.chunks(batch) {
            runtime.d2h(queue, "A", list).unwrap();
        }
        runtime.run().unwrap();
        assert_eq!(runtime.trace().requests.iter().map(|one| one.size_bytes).sum::<u64>(), 2048);
        runtime.now_ns()
    });
    assert!(times[1] < times[0] / 5.0, "{times:?}");
}

#[test]
fn limits_hold_for_each_queue_and_for_all() {
    for (all, each, expected) in [(64, 4, 8), (6, 4, 6), (64, 1, 2)] {
        let mut runtime = runtime_with(fifo, all, &["A"]);
        let transfer = with_host(&mut runtime, "A", 64);
        for _ in 0..2 {
            let queue = runtime.add_queue("host1", 0, each).unwrap();
            for _ in 0..20 {
                runtime.h2d(queue, "A", &[transfer]).unwrap();
            }
        }
        runtime.run().unwrap();
        let at_once = runtime.trace().requests.iter().filter(|one| one.phases.host_ns == 150.0).count();
        assert_eq!(at_once, expected, "requests that left the host immediately");
        assert_eq!(runtime.trace().requests.len(), 40);
    }
}

/// The order in which requests leave: three large ones in one queue, then three small ones in another.
fn order(policy: impl Fn() -> Box<dyn Policy>) -> Vec<(u32, u64)> {
    let mut runtime = runtime_with(policy, 1, &["A"]);
    let large = with_host(&mut runtime, "A", 64 * KIB);
    let small = with_host(&mut runtime, "A", 64);
    let queues = [0, 1].map(|_| runtime.add_queue("host1", 0, 8).unwrap());
    for (queue, transfer) in [(queues[0], large), (queues[1], small)] {
        for _ in 0..3 {
            runtime.h2d(queue, "A", &[transfer]).unwrap();
        }
    }
    runtime.run().unwrap();
    runtime.trace().requests.iter().map(|one| (one.queue, one.request)).collect()
}

#[test]
fn policy_determines_the_order() {
    assert_eq!(order(fifo), [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)]);
    assert_eq!(order(|| Box::<RoundRobin>::default()), [(0, 0), (1, 3), (0, 1), (1, 4), (0, 2), (1, 5)]);
    assert_eq!(order(|| Box::new(ShortestFirst)), [(0, 0), (1, 3), (1, 4), (1, 5), (0, 1), (0, 2)]);
}

#[test]
fn choice_out_of_range_is_an_error() {
    #[derive(Debug)]
    struct Nobody;
    impl Policy for Nobody {
        fn choose(&mut self, waiting: &[Waiting]) -> Choice {
            Choice::Leave(waiting.len())
        }
    }
    let mut runtime = runtime_with(|| Box::new(Nobody), 1, &["A"]);
    let transfer = with_host(&mut runtime, "A", 64);
    let queue = runtime.add_queue("host1", 0, 8).unwrap();
    let refused = runtime.h2d(queue, "A", &[transfer]).unwrap_err();
    let expected = "policy: chose 1 of 1 waiting requests: choose one of them, counted from 0";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn averages_tails_and_distributions_are_of_the_requests() {
    let mut runtime = runtime(&["A"]);
    let transfer = with_host(&mut runtime, "A", 64);
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    for _ in 0..200 {
        runtime.h2d(queue, "A", &[transfer]).unwrap();
    }
    runtime.run().unwrap();
    let trace = runtime.trace();
    let host = trace.summary(Phase::Host).unwrap();
    // They wait one after another: times rise evenly from the software's time by up to 199 requests.
    let step_ns = runtime.now_ns() / 200.0;
    assert!((host.average_ns - (150.0 + 99.5 * step_ns)).abs() < 1.0);
    assert!((host.p50_ns - (150.0 + 99.0 * step_ns)).abs() < 1.0);
    assert!((host.p99_ns - (150.0 + 197.0 * step_ns)).abs() < 1.0);
    assert!((host.longest_ns - (150.0 + 199.0 * step_ns)).abs() < 1.0);
    assert_eq!(trace.cdf(Phase::Device), [(418.0, 1.0)]);
    assert_eq!(trace.cdf(Phase::Host).len(), 200);
    assert!((trace.gbytes_per_s() - 64.0 / step_ns).abs() < 1e-9);
}

#[test]
fn run_until_stops_at_its_time() {
    let mut runtime = runtime(&["A"]);
    let transfer = with_host(&mut runtime, "A", 64);
    let queue = runtime.add_queue("host1", 0, 4).unwrap();
    runtime.run_until(5000.0).unwrap();
    runtime.h2d(queue, "A", &[transfer]).unwrap();
    runtime.run_until(6000.0).unwrap();
    assert_eq!((runtime.unfinished(), runtime.now_ns()), (1, 6000.0));
    runtime.run().unwrap();
    assert_eq!(runtime.trace().requests[0].submitted_ns, 5000.0);
    assert!(runtime.now_ns() > 8000.0);
}

#[test]
fn refuses_wrong_calls_by_name() {
    let mut runtime = runtime(&["A", "B"]);
    let transfer = with_host(&mut runtime, "A", 4 * KIB);
    let far = runtime.memory_alloc("B", "hbm", 4 * KIB).unwrap();
    let queue = runtime.add_queue("host1", 0, 8).unwrap();
    let deep = runtime.add_queue("host1", 0, 257).unwrap();
    let longer = Transfer { size_bytes: 4 * KIB + 1, ..transfer };
    let freed = with_host(&mut runtime, "A", 64);
    runtime.memory_free("A", freed.device_address).unwrap();
    let bar = |address, size_bytes| BarParameters { address, size_bytes };
    let refused: Vec<(Refusal, &str)> = vec![
        (runtime.device_init("A").unwrap_err(), "device A: device_init was called before"),
        (runtime.device_init("M").unwrap_err(), "device M: not a device of the fabric: known: L, A, B, C, D"),
        (runtime.memory_init("C", "hbm").unwrap_err(), "device C: call device_init first"),
        (runtime.memory_alloc("A", "bram", 1).unwrap_err(), "bram of A: call memory_init first"),
        (runtime.memory_alloc("A", "ddr", 1).unwrap_err(), "region ddr: not a region of A: known: hbm, bram"),
        (runtime.memory_alloc("A", "hbm", 5 << 30).unwrap_err(), "hbm of A: no 5368709120 bytes are free"),
        (runtime.host_memory_alloc("host1", 5 << 30).unwrap_err(), "memory of host1: no 5368709120 bytes"),
        (
            runtime.map_bar("A", "bram", bar(0x10_0000, 8 * MIB)).unwrap_err(),
            "larger than the memory of 4194304",
        ),
        (
            runtime.map_bar("A", "bram", bar(0x50_0000_0000, MIB)).unwrap_err(),
            "overlaps hbm of B at 0x5000000000",
        ),
        (runtime.map_bar("A", "bram", bar(0x1_0000_0000, MIB)).unwrap_err(), "overlaps host1 at 0x100000000"),
        (
            runtime.setup_mapping("B", "hbm", "host1", 1 << 44).unwrap_err(),
            "hbm of B at host1 at 0x100000000000: overlaps hbm of A",
        ),
        (runtime.setup_mapping("A", "hbm", "host2", u64::MAX).unwrap_err(), "ends beyond 2^64"),
        (runtime.run_until(f64::INFINITY).unwrap_err(), "run_until: end_ns is inf: give at most 1e12"),
        (runtime.memory_free("A", freed.device_address).unwrap_err(), "was freed before"),
        (runtime.memory_free("A", far).unwrap_err(), "is in no region of A"),
        (runtime.host_memory_free("host1", far).unwrap_err(), "memory of host1: 0x5000000000 is not in it"),
        (
            runtime.h2d(queue, "A", &[longer]).unwrap_err(),
            "hbm of A: 4097 bytes at 0x3000000000: the segment ends",
        ),
        (runtime.h2d(queue, "A", &[freed]).unwrap_err(), "is not allocated"),
        (runtime.h2d(queue, "A", &[]).unwrap_err(), "an empty list"),
        (runtime.h2d(9, "A", &[transfer]).unwrap_err(), "queue 9: unknown queue"),
        (runtime.h2d(deep, "A", &[transfer]).unwrap_err(), "queue 1: outstanding is 257: A has 256 tags"),
        (
            runtime.dev2dev_read(queue, "A", &[transfer]).unwrap_err(),
            "no initialised device has memory there",
        ),
        (runtime.add_queue("host1", 2, 1).unwrap_err(), "host host1: socket is 2: it has sockets 0 to 1"),
        (runtime.add_queue("host1", 0, 0).unwrap_err(), "outstanding of a queue is 0: give 1 or more"),
        (runtime.add_queue("A", 0, 1).unwrap_err(), "host A: not a host of the fabric: known: host1, host2"),
    ];
    for (error, expected) in refused {
        let message = error.to_string();
        assert!(message.contains(expected), "{message}: should contain {expected}");
    }
    assert_eq!(runtime.unfinished(), 0, "refused requests are not queued");
}

#[test]
fn each_host_needs_its_own_mapping() {
    let mut runtime = runtime(&["A", "B"]);
    let near = runtime.memory_alloc("A", "hbm", 64).unwrap();
    let far = runtime.memory_alloc("B", "hbm", 64).unwrap();
    let seen = runtime.memory_address("B", far + 5, "host1").unwrap();
    assert_eq!(seen, (1 << 44) + (1 << 36) + 5);
    assert_eq!(runtime.device_address("B", seen, "host1").unwrap(), far + 5);
    for (device, host) in [("A", "host1"), ("B", "host2")] {
        let refused = runtime.device_address(device, seen, host).unwrap_err().to_string();
        assert!(refused.contains(&format!("no memory of {device} is mapped there")), "{refused}");
    }
    let transfer = Transfer { device_address: near, other_address: far, size_bytes: 64 };
    let queue = runtime.add_queue("host2", 0, 1).unwrap();
    let refused = runtime.dev2dev_write(queue, "A", &[transfer]).unwrap_err().to_string();
    assert!(refused.contains("hbm of B at host2: call setup_mapping first"), "{refused}");
    runtime.setup_mapping("B", "hbm", "host2", 1 << 44).unwrap();
    runtime.dev2dev_write(queue, "A", &[transfer]).unwrap();
    runtime.run().unwrap();
    assert_eq!(runtime.trace().requests.len(), 1);
}

#[test]
fn a_device_without_memory_is_no_target() {
    let mut parameters = fabrex_parameters();
    for node in &mut parameters.nodes {
        if node.name == "B" {
            node.device.as_mut().unwrap().memories.clear();
        }
    }
    let topology = Topology::new(parameters).unwrap();
    let mut runtime = Runtime::new(topology, Discipline::PerFlow, fifo, 8).unwrap();
    for device in ["A", "B"] {
        runtime.device_init(device).unwrap();
    }
    runtime.memory_init("A", "hbm").unwrap();
    let near = runtime.memory_alloc("A", "hbm", 64).unwrap();
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    let transfer = Transfer { device_address: near, other_address: 0x50_0000_0000, size_bytes: 64 };
    let refused = runtime.dev2dev_write(queue, "A", &[transfer]).unwrap_err().to_string();
    assert!(refused.contains("no initialised device has memory there"), "{refused}");
    let refused = runtime.h2d(queue, "B", &[transfer]).unwrap_err().to_string();
    assert!(refused.contains("device B: it has no memory: give a device that has one"), "{refused}");
}

#[test]
fn hosts_have_separate_limits() {
    let rates = |hosts: [&str; 2]| {
        let mut runtime = runtime_with(fifo, 16, &["A", "C"]);
        for (host, device) in hosts.into_iter().zip(["A", "C"]) {
            let device_address = runtime.memory_alloc(device, "hbm", 64 * KIB).unwrap();
            let other_address = runtime.host_memory_alloc(host, 64 * KIB).unwrap();
            let queue = runtime.add_queue(host, 0, 16).unwrap();
            for _ in 0..64 {
                let transfer = Transfer { device_address, other_address, size_bytes: 64 * KIB };
                runtime.h2d(queue, device, &[transfer]).unwrap();
            }
        }
        runtime.run().unwrap();
        runtime.trace().gbytes_per_s()
    };
    // Paths of two hosts share no link, so each carries 8.7 GB/s; one host's adapter carries 11.5 for both.
    assert!(rates(["host1", "host2"]) > 1.9 * 8.5);
    assert!(rates(["host1", "host1"]) < 11.6);
}

#[test]
fn policy_can_hold_requests_back() {
    /// Lets a request leave when those before it are done and it has waited 20 us.
    #[derive(Debug)]
    struct Patient;
    impl Policy for Patient {
        fn choose(&mut self, waiting: &[Waiting]) -> Choice {
            let [one] = waiting else { return Choice::Hold };
            assert_eq!(
                (one.host.as_str(), one.device.as_str(), one.primitive),
                ("host1", "A", Primitive::H2d)
            );
            match (one.in_flight, 20e3 - one.age_ns) {
                (1.., _) => Choice::Hold,
                (0, left_ns) if left_ns > 0.0 => Choice::HoldFor(left_ns),
                (0, _) => Choice::Leave(0),
            }
        }
    }
    let mut runtime = runtime_with(|| Box::new(Patient), 8, &["A"]);
    let transfer = with_host(&mut runtime, "A", 64);
    let queue = runtime.add_queue("host1", 0, 8).unwrap();
    for _ in 0..3 {
        runtime.h2d(queue, "A", &[transfer]).unwrap();
    }
    runtime.run().unwrap();
    let waited: Vec<f64> = runtime.trace().requests.iter().map(|one| one.phases.host_ns).collect();
    let alone_ns = runtime.trace().requests[0].phases.total_ns() - 20e3;
    assert_eq!(waited[0], 20e3 + 150.0);
    assert!((waited[2] - (20e3 + 150.0 + 2.0 * alone_ns)).abs() < 1e-6, "one at a time: {waited:?}");
}

#[test]
fn a_policy_paces_a_queue() {
    /// A request each microsecond.
    #[derive(Debug, Default)]
    struct Paced {
        next_ns: f64,
    }
    impl Policy for Paced {
        fn choose(&mut self, waiting: &[Waiting]) -> Choice {
            let now_ns = waiting[0].submitted_ns + waiting[0].age_ns;
            if now_ns < self.next_ns {
                return Choice::HoldFor(self.next_ns - now_ns);
            }
            self.next_ns = now_ns + 1000.0;
            Choice::Leave(0)
        }
    }
    let mut runtime = runtime_with(|| Box::<Paced>::default(), 64, &["A"]);
    let transfer = with_host(&mut runtime, "A", 4 * KIB);
    let queue = runtime.add_queue("host1", 0, 64).unwrap();
    for _ in 0..200 {
        runtime.h2d(queue, "A", &[transfer]).unwrap();
    }
    runtime.run().unwrap();
    let left: Vec<f64> =
        runtime.trace().requests.iter().map(|one| one.submitted_ns + one.phases.host_ns - 150.0).collect();
    assert!(
        left.iter().enumerate().all(|(number, at)| (at - 1000.0 * number as f64).abs() < 1e-3),
        "{left:?}"
    );
}

#[test]
fn policy_that_never_lets_a_request_leave_is_an_error() {
    #[derive(Debug)]
    struct Never(Choice);
    impl Policy for Never {
        fn choose(&mut self, _waiting: &[Waiting]) -> Choice {
            self.0
        }
    }
    for choice in [Choice::Hold, Choice::HoldFor(0.0), Choice::HoldFor(f64::NAN)] {
        let mut runtime = runtime_with(|| Box::new(Never(choice)), 8, &["A"]);
        let transfer = with_host(&mut runtime, "A", 64);
        let queue = runtime.add_queue("host1", 0, 8).unwrap();
        let refused = runtime.h2d(queue, "A", &[transfer]).and_then(|_| runtime.run()).unwrap_err();
        match choice {
            Choice::Hold => {
                let expected = "policy: holds 1 requests back while nothing is in flight: let one leave, or hold for a time";
                assert_eq!(refused.to_string(), expected);
            }
            _ => assert!(refused.to_string().contains("hold without a time"), "{refused}"),
        }
    }
}

#[test]
fn bytes_are_carried_from_end_to_end() {
    let pattern: Vec<u8> = (0..3000_u32).map(|index| (index * 7 % 251) as u8).collect();
    let size_bytes = pattern.len() as u64;
    let mut runtime = runtime(&["A", "B"]);
    let [from, back] = [0; 2].map(|_| runtime.host_memory_alloc("host1", size_bytes).unwrap());
    let near = runtime.memory_alloc("A", "hbm", size_bytes).unwrap();
    let [far, list] = [0; 2].map(|_| runtime.memory_alloc("B", "hbm", size_bytes).unwrap());
    runtime.write_bytes("host1", from, &pattern).unwrap();
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    let whole = |device_address, other_address| Transfer { device_address, other_address, size_bytes };
    runtime.h2d(queue, "A", &[whole(near, from)]).unwrap();
    runtime.dev2dev_write(queue, "A", &[whole(near, far)]).unwrap();
    // The transfer swaps the two halves.
    let half = size_bytes / 2;
    let part = |to, at| Transfer { device_address: list + to, other_address: near + at, size_bytes: half };
    runtime.dev2dev_read(queue, "B", &[part(half, 0), part(0, half)]).unwrap();
    runtime.d2h(queue, "B", &[whole(far, back)]).unwrap();
    runtime.run().unwrap();
    for (node, address) in [("A", near), ("B", far), ("host1", back)] {
        assert!(runtime.read_bytes(node, address, size_bytes).unwrap() == pattern, "{node}");
    }
    let swapped = [&pattern[1500..], &pattern[..1500]].concat();
    assert!(runtime.read_bytes("B", list, size_bytes).unwrap() == swapped, "a scatter-gather list");
    runtime.write_bytes("host1", back, &vec![0; 3000]).unwrap();
    runtime.mmio_read(queue, "B", &[whole(list, back)]).unwrap();
    runtime.mmio_write(queue, "A", &[whole(near, back)]).unwrap();
    runtime.run().unwrap();
    assert!(runtime.read_bytes("host1", back, size_bytes).unwrap() == swapped, "read by the processor");
    assert!(runtime.read_bytes("A", near, size_bytes).unwrap() == swapped, "written by the processor");
    let refused = runtime.read_bytes("A", near, size_bytes + 1).unwrap_err().to_string();
    assert!(refused.contains("the segment ends after 3000"), "{refused}");
}

#[test]
fn bytes_arrive_tlp_by_tlp() {
    let mut runtime = runtime(&["A"]);
    let transfer = with_host(&mut runtime, "A", 64 * KIB);
    runtime.write_bytes("host1", transfer.other_address, &vec![1; 64 << 10]).unwrap();
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    runtime.h2d(queue, "A", &[transfer]).unwrap();
    let mut arrived = vec![];
    for end_ns in [1e3, 5e3, 9e3, 20e3] {
        runtime.run_until(end_ns).unwrap();
        let bytes = runtime.read_bytes("A", transfer.device_address, 64 * KIB).unwrap();
        let whole = bytes.iter().take_while(|byte| **byte == 1).count();
        assert!(bytes[whole..].iter().all(|byte| *byte == 0) && whole % 128 == 0);
        arrived.push(whole);
    }
    assert!(
        arrived[0] == 0 && arrived[1] > 0 && arrived[1] < arrived[2] && arrived[3] == 64 << 10,
        "{arrived:?}"
    );
}

#[test]
fn dma_moves_whole_packets_between_aligned_addresses() {
    let mut parameters = fabrex_parameters();
    for node in &mut parameters.nodes {
        if let Some(device) = &mut node.device {
            device.engine.packet_bytes = 64;
            device.memories[0].alignment_bytes = 32;
        }
    }
    let topology = Topology::new(parameters).unwrap();
    let mut runtime = Runtime::new(topology, Discipline::PerDestination, fifo, 8).unwrap();
    for device in ["A", "B"] {
        runtime.device_init(device).unwrap();
        runtime.memory_init(device, "hbm").unwrap();
    }
    runtime.setup_mapping("A", "hbm", "host1", 1 << 44).unwrap();
    runtime.setup_mapping("B", "hbm", "host1", 1 << 45).unwrap();
    let transfer = with_host(&mut runtime, "A", 4 * KIB);
    let far = runtime.memory_alloc("B", "hbm", 4 * KIB).unwrap();
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    let moved = |offset, size_bytes| Transfer {
        device_address: transfer.device_address + offset,
        size_bytes,
        ..transfer
    };
    runtime.h2d(queue, "A", &[moved(32, 128)]).unwrap();
    runtime.mmio_write(queue, "A", &[moved(1, 3)]).unwrap();
    let packets = runtime.d2h(queue, "A", &[moved(0, 96)]).unwrap_err().to_string();
    assert_eq!(packets, "A: size_bytes is 96: its DMA engines move packets of 64 bytes: give a multiple");
    let aligned = runtime.d2h(queue, "A", &[moved(16, 64)]).unwrap_err().to_string();
    assert!(aligned.contains("DMA reaches it at multiples of 32 bytes"), "{aligned}");
    let other = Transfer { other_address: far + 8, ..moved(0, 64) };
    let peer = runtime.dev2dev_write(queue, "A", &[other]).unwrap_err().to_string();
    assert!(peer.starts_with("hbm of B"), "{peer}");
    runtime.run().unwrap();
}

#[test]
fn a_stopped_run_goes_on_from_there() {
    let mut runtime = runtime(&["A"]);
    let transfer = with_host(&mut runtime, "A", 4 * KIB * KIB);
    let queue = runtime.add_queue("host1", 0, 1).unwrap();
    runtime.h2d(queue, "A", &[transfer]).unwrap();
    let mut looks = 0;
    let mut stopped = || {
        looks += 1;
        looks > 3
    };
    assert_eq!(runtime.run_unless(&mut stopped), Err(Unfinished::Stopped));
    assert_eq!((looks, runtime.unfinished()), (4, 1));
    assert_eq!(runtime.run_until_unless(1.0, &mut || true), Err(Unfinished::Stopped));
    runtime.run().unwrap();
    assert_eq!((runtime.unfinished(), runtime.trace().requests.len()), (0, 1));
}
