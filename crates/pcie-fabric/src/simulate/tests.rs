//! The simulator against closed forms and estimators, and refusals of impossible flows.

use proptest::prelude::*;

use super::{Arrivals, Discipline, FlowOutcome, Options, Outcome, Primitive, Traffic, simulate};
use crate::estimate::{ecr, max_min};
use crate::test_fabrics::{fabrex, fabrex_parameters, flows, link, parameters, separating, testbed, traffic};
use crate::{FabricParameters, LimitParameters, NodeKind, Topology, WayParameters};

fn stream(source: &str, destination: &str, standalone_gbytes_per_s: Option<f64>) -> Traffic {
    Traffic { standalone_gbytes_per_s, ..traffic(source, destination, Primitive::Stream) }
}

fn run(topology: &Topology, traffic: &[Traffic], discipline: Discipline) -> Outcome {
    let options = Options { warm_up_ns: Some(50e3), duration_ns: 200e3, discipline, seed: 1 };
    simulate(topology, traffic, options).unwrap()
}

fn worst(found: &Outcome, expected: &[f64]) -> f64 {
    let off = found.flows.iter().zip(expected).map(|(flow, share)| (flow.gbytes_per_s / share - 1.0).abs());
    off.fold(0.0, f64::max)
}

#[test]
fn stream_fills_the_narrowest_edge_of_its_path() {
    let found = run(&testbed(), &[stream("H", "C", None)], Discipline::Fifo);
    assert!((found.flows[0].gbytes_per_s - 8.74).abs() < 0.01, "{}", found.flows[0].gbytes_per_s);
}

/// The testbed with devices A and B that move 5 GB/s each way, and the flows of a test.
fn slow_devices() -> Topology {
    let mut fabric = fabrex_parameters();
    for node in fabric.nodes.iter_mut().filter(|node| ["A", "B"].contains(&node.name.as_str())) {
        if let Some(device) = &mut node.device {
            (device.engine.read.bytes_per_ns, device.engine.write.bytes_per_ns) = (5.0, 4.0);
        }
    }
    Topology::new(fabric).unwrap()
}

#[test]
fn streams_move_at_most_what_the_engines_of_their_devices_do() {
    let topology = slow_devices();
    for (ends, expected) in [
        (vec![("host1", "A")], vec![5.0]),
        (vec![("A", "host1")], vec![4.0]),
        (vec![("A", "B")], vec![4.0]),
        (vec![("A", "host1"), ("A", "C")], vec![2.0, 2.0]),
    ] {
        let traffic: Vec<Traffic> = ends.iter().map(|(from, to)| stream(from, to, None)).collect();
        let listed: Vec<_> = ends.iter().map(|(from, to)| (*from, *to, f64::INFINITY)).collect();
        assert_eq!(max_min(topology.capacities(), &flows(&topology, &listed)).bandwidth, expected);
        assert_eq!(ecr(topology.capacities(), &flows(&topology, &listed)).bandwidth, expected);
        let off = worst(&run(&topology, &traffic, Discipline::PerFlow), &expected);
        assert!(off < 0.01, "{ends:?}: off by {off}");
    }
}

#[test]
fn the_rate_of_an_engine_leaves_the_links_of_other_flows_alone() {
    let times = |topology: &Topology| {
        let found = run(topology, &[traffic("host1", "A", Primitive::MmioRead)], Discipline::Fifo);
        let [flow] = &found.flows[..] else { panic!("one flow") };
        (flow.requests.iter().map(|request| request.phases).collect::<Vec<_>>(), found.load_gbytes_per_s)
    };
    assert_eq!(times(&slow_devices()), times(&fabrex()));
}

fn with_engine(change: impl Fn(&mut crate::EngineParameters)) -> Topology {
    let mut fabric = fabrex_parameters();
    for device in fabric.nodes.iter_mut().filter_map(|node| node.device.as_mut()) {
        change(&mut device.engine);
    }
    Topology::new(fabric).unwrap()
}

#[test]
fn commands_of_both_directions_share_the_intake_of_their_device() {
    let topology = with_engine(|engine| {
        engine.command_interval_ns = 500.0;
        (engine.read.interval_ns, engine.write.interval_ns) = (1.0, 1.0);
    });
    let both = [("host1", "A", Primitive::H2d), ("A", "host1", Primitive::D2h)];
    let many =
        |(from, to, primitive)| Traffic { size_bytes: 64, outstanding: 16, ..traffic(from, to, primitive) };
    let found = run(&topology, &both.map(many), Discipline::Fifo);
    let sum: f64 = found.flows.iter().map(|flow| flow.gbytes_per_s).sum();
    assert!((sum / (64.0 / 500.0) - 1.0).abs() < 0.01, "{sum} GB/s");
}

#[test]
fn a_read_is_retired_behind_its_last_data() {
    let total_ns = |primitive, retire_ns| {
        let topology = with_engine(|engine| engine.read_retire_ns = retire_ns);
        let ends = if primitive == Primitive::H2d { ("host1", "A") } else { ("A", "host1") };
        let found = run(&topology, &[traffic(ends.0, ends.1, primitive)], Discipline::Fifo);
        let phases = found.flows[0].requests[1].phases;
        phases.host_ns + phases.fabric_ns + phases.device_ns
    };
    for (primitive, longer_ns) in [(Primitive::H2d, 70.0), (Primitive::D2h, 0.0)] {
        let found = total_ns(primitive, 70.0) - total_ns(primitive, 0.0);
        assert!((found - longer_ns).abs() < 1e-3, "{primitive:?}: {found}");
    }
}

#[test]
fn a_posted_write_to_a_device_waits_for_no_acknowledgement() {
    let total_ns = |acknowledged| {
        let topology = with_engine(|engine| engine.peer_acknowledgement = acknowledged);
        let one = Traffic { size_bytes: 64, outstanding: 1, ..traffic("A", "B", Primitive::D2dWrite) };
        let found = run(&topology, &[one], Discipline::Fifo);
        let phases = found.flows[0].requests[1].phases;
        phases.host_ns + phases.fabric_ns + phases.device_ns
    };
    // The acknowledgement and the status behind it cross the fabric one after the other.
    assert!(total_ns(true) > total_ns(false) + 500.0, "{} {}", total_ns(true), total_ns(false));
}

#[test]
fn validation_experiments_match_the_estimates() {
    let background = [("C", "B", 1.76), ("B", "D", 7.19), ("A", "H", 2.54)];
    let topology = testbed();
    for first in [[("H", "C", 8.51), ("H", "A", 7.21)], [("H", "C", 8.56), ("H", "A", 0.53)]] {
        let listed = [&first[..], &background[..]].concat();
        let traffic: Vec<Traffic> = listed
            .iter()
            .map(|(source, destination, alone)| stream(source, destination, Some(*alone)))
            .collect();
        let expected = max_min(topology.capacities(), &flows(&topology, &listed)).bandwidth;
        for discipline in [Discipline::PerFlow, Discipline::PerDestination] {
            let off = worst(&run(&topology, &traffic, discipline), &expected);
            assert!(off < 0.01, "{discipline:?}: off by {off}");
        }
    }
}

#[test]
fn the_discipline_decides_which_estimator_is_right() {
    let topology = separating();
    let traffic = [stream("H", "A", None), stream("H", "B", None), stream("C", "B", None)];
    let fair = run(&topology, &traffic, Discipline::PerFlow);
    assert!(worst(&fair, &[10.0, 2.0, 2.0]) < 0.01, "{fair:?}");
    // TLPs that wait for B block those behind them: A gets as little as B.
    let held_up = run(&topology, &traffic, Discipline::Fifo).flows[0].gbytes_per_s;
    assert!(held_up < 7.0, "{held_up}: below both estimators");
}

fn request(
    source: &str,
    destination: &str,
    primitive: Primitive,
    size_bytes: u64,
    outstanding: u32,
) -> Traffic {
    Traffic { primitive, size_bytes, outstanding, ..stream(source, destination, None) }
}

/// Guards bandwidths, averages and TLP hops against unintended changes.
#[test]
fn testbed_outcomes_do_not_change() {
    use Primitive::{D2dRead, D2dWrite, D2h, DmaWrite, H2d, MmioRead, MmioWrite};
    let alone = [MmioRead, MmioWrite, H2d].map(|primitive| vec![request("host1", "A", primitive, 4096, 1)]);
    let upwards = [D2h, DmaWrite].map(|primitive| vec![request("A", "host1", primitive, 65_536, 4)]);
    let across = [D2dRead, D2dWrite].map(|primitive| vec![request("A", "C", primitive, 65_536, 4)]);
    let many = vec![
        request("host1", "A", H2d, 256, 64),
        request("host1", "C", H2d, 4096, 64),
        request("host2", "D", H2d, 4096, 64),
        request("B", "host1", D2h, 4096, 64),
        request("A", "B", D2dWrite, 1024, 16),
        Traffic { arrivals: Arrivals::Random, ..stream("C", "host2", Some(3.0)) },
        Traffic { socket: 1, queue: 1, ..request("host1", "C", H2d, 64, 2) },
    ];
    let mut lines = String::new();
    for traffic in alone.into_iter().chain(upwards).chain(across).chain([many]) {
        for discipline in [Discipline::PerFlow, Discipline::PerDestination, Discipline::Fifo] {
            let found = run(&fabrex(), &traffic, discipline);
            let flows = traffic.iter().zip(&found.flows).map(|(traffic, flow)| {
                let total_ns: f64 = flow.requests.iter().map(|one| one.phases.total_ns()).sum();
                let average_ns = total_ns / flow.requests.len().max(1) as f64;
                let Traffic { name, primitive, .. } = traffic;
                format!("  {name} {primitive:?}: {:.4} GB/s, {average_ns:.3} ns\n", flow.gbytes_per_s)
            });
            let flows: String = flows.collect();
            lines += &format!("{discipline:?}: {} TLP hops\n{flows}", found.tlp_hops);
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn the_same_input_gives_the_same_outcome() {
    let random = |pace| Traffic { arrivals: Arrivals::Random, ..stream("H", "A", Some(pace)) };
    let traffic = [random(4.0), random(6.0)];
    let topology = testbed();
    assert_eq!(run(&topology, &traffic, Discipline::Fifo), run(&topology, &traffic, Discipline::Fifo));
}

#[test]
fn refuses_impossible_flows_by_name() {
    let topology = testbed();
    let options = Options { warm_up_ns: Some(0.0), duration_ns: 1e3, discipline: Discipline::Fifo, seed: 1 };
    for (traffic, expected) in [
        (stream("H", "Q", None), "flow H->Q: destination is Q: unknown node"),
        (stream("H", "H", None), "source and destination are both H"),
        (stream("H", "A", Some(-1.0)), "standalone_gbytes_per_s is -1: give 0 to 1000000"),
        (
            Traffic { size_bytes: 0, ..stream("H", "A", None) },
            "size_bytes is 0: give 1 to 9223372036854775807",
        ),
        (Traffic { queue: 256, ..stream("H", "A", None) }, "queue is 256: give 0 to 255"),
        (Traffic { primitive: Primitive::H2d, ..stream("H", "A", None) }, "H is not a host"),
    ] {
        let message = simulate(&topology, &[traffic], options).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// A host and two devices without tables.
fn without_tables() -> Topology {
    let mut fabric = parameters(vec![link("host", "gpu", 8.0, 8.0), link("host", "nic", 8.0, 8.0)]);
    fabric.nodes[0].kind = NodeKind::Host;
    fabric.nodes[1].kind = NodeKind::Device;
    fabric.nodes[2].kind = NodeKind::Device;
    Topology::new(fabric).unwrap()
}

#[test]
fn streams_need_no_tables_of_hosts_and_devices() {
    let found = run(&without_tables(), &[stream("gpu", "nic", None)], Discipline::PerFlow);
    assert!((found.flows[0].gbytes_per_s - 8.0).abs() < 0.1, "{found:?}");
}

#[test]
fn a_missing_table_is_refused_with_its_key() {
    let options = Options { warm_up_ns: Some(0.0), duration_ns: 1e3, discipline: Discipline::Fifo, seed: 1 };
    let mut described = fabrex_parameters();
    described.nodes.iter_mut().for_each(|node| node.device = None);
    let without_devices = Topology::new(described).unwrap();
    let h2d = |source, device| Traffic { primitive: Primitive::H2d, ..stream(source, device, None) };
    for (topology, traffic, expected) in [
        (
            &without_tables(),
            h2d("host", "gpu"),
            "h2d needs the times of the host host: give the node the key host",
        ),
        (
            &without_devices,
            h2d("host1", "A"),
            "h2d needs the times of the device A: give the node the key device",
        ),
        (&without_tables(), h2d("gpu", "host"), "gpu is not a host: h2d goes from a host to a device"),
    ] {
        let message = simulate(topology, &[traffic], options).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn flow_without_demand_takes_no_bandwidth() {
    let alone = run(&testbed(), &[stream("H", "A", None)], Discipline::PerFlow);
    let idle = stream("H", "A", Some(0.0));
    let both = run(&testbed(), &[stream("H", "A", None), idle], Discipline::PerFlow);
    assert_eq!(both.flows[1].gbytes_per_s, 0.0);
    assert_eq!(both.flows[0], alone.flows[0]);
}

/// Bandwidth between the testbed's first host and a device beside it, GB/s.
fn of_socket(primitive: Primitive, socket: u32, outstanding: u32, rate: Option<f64>) -> f64 {
    let mut fabric = fabrex_parameters();
    for host in fabric.nodes.iter_mut().filter_map(|node| node.host.as_mut()) {
        host.other_socket_gbytes_per_s = rate;
    }
    let (source, destination) = if primitive == Primitive::H2d { ("host1", "L") } else { ("L", "host1") };
    let flow =
        Traffic { primitive, socket, outstanding, size_bytes: 65536, ..stream(source, destination, None) };
    run(&Topology::new(fabric).unwrap(), &[flow], Discipline::PerDestination).flows[0].gbytes_per_s
}

#[test]
fn traffic_between_sockets_has_its_own_rate() {
    for primitive in [Primitive::H2d, Primitive::D2h, Primitive::DmaWrite] {
        let [near, far, plain] = [(0, Some(5.0)), (1, Some(5.0)), (0, None)]
            .map(|(socket, rate)| of_socket(primitive, socket, 4, rate));
        assert!((far - 5.0).abs() < 0.15, "{primitive:?}: {far}");
        assert_eq!(near, plain);
        assert!(near > 12.0);
    }
}

fn endpoints() -> impl Strategy<Value = Vec<(&'static str, &'static str, f64)>> {
    let node = || prop::sample::select(vec!["H", "A", "B", "C", "D"]);
    let flow = (node(), node(), 0.5..12.0f64).prop_filter("two nodes", |(from, to, _)| from != to);
    proptest::collection::vec(flow, 2..8)
}

proptest! {
    #![proptest_config(cases(24))]

    /// With credits per flow the fabric gives max-min shares, and so at least those of ecr.
    #[test]
    fn credits_per_flow_give_max_min(listed in endpoints()) {
        let topology: Topology = testbed();
        let traffic: Vec<Traffic> =
            listed.iter().map(|(source, destination, alone)| stream(source, destination, Some(*alone))).collect();
        let found = run(&topology, &traffic, Discipline::PerFlow);
        let wanted = flows(&topology, &listed);
        let fair = max_min(topology.capacities(), &wanted).bandwidth;
        let off = found.flows.iter().zip(&fair).map(|(flow, fair)| (flow.gbytes_per_s / fair - 1.0).abs());
        prop_assert!(off.sum::<f64>() / (fair.len() as f64) < 0.01, "{:?} {:?}", found.flows, fair);
        let relaxed = ecr(topology.capacities(), &wanted).bandwidth;
        for (flow, relaxed) in found.flows.iter().zip(&relaxed) {
            prop_assert!(flow.gbytes_per_s >= relaxed * 0.98);
        }
    }
}

/// The average latency of a flow's requests over that of Little's law: outstanding bytes over the rate.
fn over_littles_law(traffic: &Traffic, found: &FlowOutcome) -> f64 {
    let total_ns: f64 = found.requests.iter().map(|one| one.phases.total_ns()).sum();
    let average_ns = total_ns / found.requests.len() as f64;
    let outstanding_bytes = traffic.size_bytes as f64 * f64::from(traffic.outstanding);
    average_ns / (outstanding_bytes / found.gbytes_per_s)
}

fn steady(traffic: &[Traffic], duration_ns: f64) -> Outcome {
    let options = Options { warm_up_ns: None, duration_ns, discipline: Discipline::PerDestination, seed: 1 };
    simulate(&fabrex(), traffic, options).unwrap()
}

#[test]
fn averages_are_of_the_steady_state() {
    use Primitive::{D2dRead, D2h, H2d};
    for (source, destination, primitive) in [("host1", "A", H2d), ("A", "host1", D2h), ("A", "C", D2dRead)] {
        for (size_bytes, outstanding) in [(64, 64), (65_536, 16), (1 << 20, 16)] {
            let traffic = [request(source, destination, primitive, size_bytes, outstanding)];
            let found = steady(&traffic, 200e3);
            let ratio = over_littles_law(&traffic[0], &found.flows[0]);
            assert!((ratio - 1.0).abs() < 0.02, "{primitive:?} {size_bytes} B: {ratio}");
            assert!((found.flows[0].in_flight / f64::from(outstanding) - 1.0).abs() < 1e-9);
            let round_trip_ns = (size_bytes * u64::from(outstanding)) as f64 / found.flows[0].gbytes_per_s;
            assert!(found.warm_up_ns > 2.9 * round_trip_ns, "{} ns", found.warm_up_ns);
        }
    }
}

#[test]
fn given_warm_up_is_exact() {
    let traffic = [request("host1", "A", Primitive::H2d, 65_536, 16)];
    let found = run(&fabrex(), &traffic, Discipline::PerDestination);
    assert_eq!(found.warm_up_ns, 50e3);
    let ratio = over_littles_law(&traffic[0], &found.flows[0]);
    assert!(ratio < 0.95, "the first requests are faster: {ratio}");
}

/// This number of cases, or `PROPTEST_CASES`.
fn cases(few: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { few };
    ProptestConfig { cases, ..asked }
}

proptest! {
    #![proptest_config(cases(4))]

    /// Little's law holds for every flow, whatever is outstanding.
    #[test]
    fn littles_law_holds_of_flows_together(
        sizes in proptest::collection::vec((1u64..=128, 1u32..=32, prop::sample::select(vec!["A", "C", "L"])), 1..4),
    ) {
        let traffic: Vec<Traffic> = sizes
            .iter()
            .map(|(packets, outstanding, device)| {
                request("host1", device, Primitive::H2d, packets * 64, *outstanding)
            })
            .collect();
        let bytes = sizes.iter().map(|(packets, outstanding, _)| packets * 64 * u64::from(*outstanding));
        // The end of the run cuts off a request, which shifts an average over N of them by 1/N. A flow with
        // one outstanding waits for the bytes of all others, so N is the number of round trips: about a
        // hundred here.
        let found = steady(&traffic, 40.0 * bytes.sum::<u64>() as f64 + 200e3);
        for (traffic, flow) in traffic.iter().zip(&found.flows) {
            let ratio = over_littles_law(traffic, flow);
            prop_assert!((ratio - 1.0).abs() < 0.02, "{ratio} of {traffic:?}");
        }
    }
}

#[test]
fn reads_a_minimal_description() {
    let text = r#"{"name": "one", "mps_bytes": 128, "nodes": [{"name": "S", "kind": "external-switch", "delay_ns": 1}],
        "links": []}"#;
    let fabric: FabricParameters = serde_json::from_str(text).unwrap();
    assert_eq!(Topology::new(fabric).unwrap().edge_count(), 0);
}

/// A tree with the rates of its links and of a limit, and flows on it.
fn any_fabric() -> impl Strategy<Value = (Topology, Vec<(&'static str, &'static str)>)> {
    const LEAVES: [&str; 5] = ["H", "A", "B", "C", "D"];
    let node = || prop::sample::select(LEAVES.to_vec());
    let flow = (node(), node()).prop_filter("two nodes", |(from, to)| from != to);
    let rates = proptest::collection::vec(4.0..60.0f64, 15);
    (rates, proptest::collection::vec(flow, 1..8)).prop_map(|(rates, flows)| {
        let ends = [("R", "H"), ("R", "S"), ("R", "T"), ("S", "A"), ("S", "B"), ("T", "C"), ("R", "D")];
        let links = ends
            .iter()
            .zip(rates.chunks(2))
            .map(|((upper, lower), rate)| link(upper, lower, rate[0], rate[1]));
        let way = WayParameters { up: Some("S".into()), down: Some("T".into()) };
        let limit = LimitParameters { name: "crossing".into(), gbytes_per_s: rates[14], ways: vec![way] };
        let fabric = FabricParameters { limits: vec![limit], mps_bytes: 256, ..parameters(links.collect()) };
        (Topology::new(fabric).unwrap(), flows)
    })
}

proptest! {
    #![proptest_config(cases(12))]

    /// No edge sends more than it carries, but for the TLP that is under way when counting begins; no flow moves more
    /// than the least edge of its path, and none more than 1 % above its estimate.
    #[test]
    fn no_edge_and_no_flow_exceeds_what_edges_carry((topology, ends) in any_fabric()) {
        let traffic: Vec<Traffic> = ends.iter().map(|(from, to)| stream(from, to, None)).collect();
        let listed: Vec<_> = ends.iter().map(|(from, to)| (*from, *to, f64::INFINITY)).collect();
        let wanted = flows(&topology, &listed);
        let fair = max_min(topology.capacities(), &wanted).bandwidth;
        for discipline in [Discipline::PerFlow, Discipline::PerDestination] {
            let found = run(&topology, &traffic, discipline);
            let tlp_bytes = f64::from(topology.mps_bytes());
            for (load, capacity) in found.load_gbytes_per_s.iter().zip(topology.capacities()) {
                // A TLP takes whole picoseconds.
                let carried = 1e3 * tlp_bytes / (1e3 * tlp_bytes / capacity).round();
                prop_assert!(*load <= carried + tlp_bytes / found.counted_ns + 1e-9, "{load} of {capacity}");
            }
            for (number, flow) in found.flows.iter().enumerate() {
                let least = wanted.route(number).iter().map(|edge| topology.capacities()[*edge as usize]);
                prop_assert!(flow.gbytes_per_s <= least.fold(f64::INFINITY, f64::min));
                if discipline == Discipline::PerFlow {
                    prop_assert!(flow.gbytes_per_s <= fair[number] * 1.01, "{} {}", flow.gbytes_per_s, fair[number]);
                }
            }
        }
    }
}

#[test]
fn a_nic_moves_at_most_its_line() {
    let nic = FabricParameters { mps_bytes: 256, ..parameters(vec![link("H", "N", 50.0, 50.0)]) };
    let found = run(
        &Topology::new(nic).unwrap(),
        &[stream("H", "N", None), stream("N", "H", None)],
        Discipline::Fifo,
    );
    for flow in &found.flows {
        assert!(flow.gbytes_per_s <= 50.0 && flow.gbytes_per_s > 49.99, "{}", flow.gbytes_per_s);
    }
}
