//! A program's view: set up, transfer, look at the trace, and be refused.

use super::*;
use crate::BarParameters;
use crate::simulate::{Arrivals, Options, Traffic, simulate};
use crate::test_fabrics::fabrex;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A runtime with the HBM of some devices ready and mapped for the first host.
fn runtime_with(policy: Box<dyn Policy>, outstanding: u32, devices: &[&str]) -> Runtime {
    let mut runtime = Runtime::new(fabrex(), Discipline::PerDestination, policy, outstanding).unwrap();
    for (number, device) in (0..).zip(devices) {
        runtime.device_init(device).unwrap();
        runtime.memory_init(device, "hbm").unwrap();
        runtime.setup_mapping(device, "hbm", "host1", (1 << 44) + (number << 36)).unwrap();
    }
    runtime
}

fn runtime(devices: &[&str]) -> Runtime {
    runtime_with(Box::new(Fifo), 64, devices)
}

/// A transfer between new memory of a device and of the first host.
fn with_host(runtime: &mut Runtime, device: &str, size_bytes: u64) -> Transfer {
    let device_address = runtime.memory_alloc(device, "hbm", size_bytes).unwrap();
    let other_address = runtime.host_memory_alloc("host1", size_bytes).unwrap();
    Transfer { device_address, other_address, size_bytes }
}

/// What the load generator of the simulator finds for a flow with one request outstanding, ns.
fn average_ns(primitive: Primitive, source: &str, destination: &str, size_bytes: u64) -> f64 {
    let traffic = Traffic {
        name: "flow".into(),
        source: source.into(),
        destination: destination.into(),
        primitive,
        size_bytes,
        outstanding: 1,
        socket: 0,
        queue: 0,
        memory: None,
        standalone_gbytes_per_s: None,
        arrivals: Arrivals::Even,
    };
    let discipline = Discipline::PerDestination;
    let options = Options { warm_up_ns: 0.0, duration_ns: 400e3, discipline, seed: 1 };
    let outcome = simulate(&fabrex(), &[traffic], options).unwrap();
    let requests = &outcome.flows[0].requests;
    requests.iter().map(|one| one.total_ns()).sum::<f64>() / requests.len() as f64
}

#[test]
fn a_request_alone_takes_what_the_simulator_says() {
    type Submit = fn(&mut Runtime, u32, &str, &[Transfer]) -> Result<u64, RuntimeError>;
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
    assert_eq!(first.phases.host_ns, 150.0, "the software, as nothing is ahead of it");
    // One in flight at a time: each waits at the host until those before it are done.
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
        let mut runtime = runtime_with(Box::new(Fifo), all, &["A"]);
        let transfer = with_host(&mut runtime, "A", 64);
        for _ in 0..2 {
            let queue = runtime.add_queue("host1", 0, each).unwrap();
            for _ in 0..20 {
                runtime.h2d(queue, "A", &[transfer]).unwrap();
            }
        }
        runtime.run().unwrap();
        let at_once = runtime.trace().requests.iter().filter(|one| one.phases.host_ns == 150.0).count();
        assert_eq!(at_once, expected, "left the host at once");
        assert_eq!(runtime.trace().requests.len(), 40);
    }
}

/// The order in which requests of two queues leave: three large ones were submitted before three small ones.
fn order(policy: Box<dyn Policy>) -> Vec<(u32, u64)> {
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
fn the_policy_says_who_leaves_next() {
    assert_eq!(order(Box::new(Fifo)), [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)]);
    assert_eq!(order(Box::<RoundRobin>::default()), [(0, 0), (1, 3), (0, 1), (1, 4), (0, 2), (1, 5)]);
    assert_eq!(order(Box::new(ShortestFirst)), [(0, 0), (1, 3), (1, 4), (1, 5), (0, 1), (0, 2)]);
}

#[test]
fn a_policy_that_chooses_nobody_is_an_error() {
    #[derive(Debug)]
    struct Nobody;
    impl Policy for Nobody {
        fn choose(&mut self, waiting: &[Waiting]) -> usize {
            waiting.len()
        }
    }
    let mut runtime = runtime_with(Box::new(Nobody), 1, &["A"]);
    let transfer = with_host(&mut runtime, "A", 64);
    let queue = runtime.add_queue("host1", 0, 8).unwrap();
    let refused = runtime.h2d(queue, "A", &[transfer]).unwrap_err();
    assert_eq!(refused, RuntimeError::Policy { chosen: 1, waiting: 1 });
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
    // They wait one after another: evenly spread from the software's time to 199 requests more.
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
fn time_passes_as_far_as_it_is_let() {
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
fn what_a_program_may_not_do_is_refused_by_name() {
    let mut runtime = runtime(&["A", "B"]);
    let transfer = with_host(&mut runtime, "A", 4 * KIB);
    let far = runtime.memory_alloc("B", "hbm", 4 * KIB).unwrap();
    let queue = runtime.add_queue("host1", 0, 8).unwrap();
    let deep = runtime.add_queue("host1", 0, 257).unwrap();
    let longer = Transfer { size_bytes: 4 * KIB + 1, ..transfer };
    let freed = with_host(&mut runtime, "A", 64);
    runtime.memory_free("A", freed.device_address).unwrap();
    let bar = |address, size_bytes| BarParameters { address, size_bytes };
    let refused: Vec<(RuntimeError, &str)> = vec![
        (runtime.device_init("A").unwrap_err(), "device A: device_init was called before"),
        (
            runtime.device_init("M").unwrap_err(),
            "device M: the fabric has no such device: known: L, A, B, C, D",
        ),
        (runtime.memory_init("C", "hbm").unwrap_err(), "device C: call device_init first"),
        (runtime.memory_alloc("A", "bram", 1).unwrap_err(), "bram of A: call memory_init first"),
        (
            runtime.memory_alloc("A", "ddr", 1).unwrap_err(),
            "region ddr: A has no such region: known: hbm, bram",
        ),
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
        (runtime.run_until(f64::INFINITY).unwrap_err(), "run_until: end_ns = inf: give at most 1e12"),
        (runtime.memory_free("A", freed.device_address).unwrap_err(), "was freed before"),
        (runtime.memory_free("A", far).unwrap_err(), "is in no region of A"),
        (runtime.host_memory_free("host1", far).unwrap_err(), "memory of host1: 0x5000000000 is not in it"),
        (
            runtime.h2d(queue, "A", &[longer]).unwrap_err(),
            "hbm of A: 4097 bytes at 0x3000000000: the segment ends",
        ),
        (runtime.h2d(queue, "A", &[freed]).unwrap_err(), "is not allocated"),
        (runtime.h2d(queue, "A", &[]).unwrap_err(), "an empty list"),
        (runtime.h2d(9, "A", &[transfer]).unwrap_err(), "queue 9: there is no such queue"),
        (runtime.h2d(deep, "A", &[transfer]).unwrap_err(), "queue 1: 257 outstanding: A has 256 tags"),
        (
            runtime.dev2dev_read(queue, "A", &[transfer]).unwrap_err(),
            "no initialised device has memory there",
        ),
        (runtime.add_queue("host1", 2, 1).unwrap_err(), "host host1: socket = 2: it has sockets 0 to 1"),
        (runtime.add_queue("host1", 0, 0).unwrap_err(), "outstanding of a queue: 0: give 1 or more"),
        (
            runtime.add_queue("A", 0, 1).unwrap_err(),
            "host A: the fabric has no such host: known: host1, host2",
        ),
    ];
    for (error, expected) in refused {
        let message = error.to_string();
        assert!(message.contains(expected), "{message}: should say {expected}");
    }
    assert_eq!(runtime.unfinished(), 0, "what is refused is not queued");
}

#[test]
fn another_host_needs_a_mapping_of_its_own() {
    let mut runtime = runtime(&["A", "B"]);
    let near = runtime.memory_alloc("A", "hbm", 64).unwrap();
    let far = runtime.memory_alloc("B", "hbm", 64).unwrap();
    assert_eq!(runtime.memory_address("B", far, "host1").unwrap(), (1 << 44) + (1 << 36));
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
    let mut parameters: crate::FabricParameters =
        serde_json::from_str(include_str!("../fixtures/fabrex-u55c.json")).unwrap();
    for node in &mut parameters.nodes {
        if node.name == "B" {
            node.device.as_mut().unwrap().memories.clear();
        }
    }
    let topology = Topology::new(parameters).unwrap();
    let mut runtime = Runtime::new(topology, Discipline::PerFlow, Box::new(Fifo), 8).unwrap();
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
