//! Routes follow the tree, and wrong fabrics are refused by name.

use pcie_refusal::Refusal;

use crate::test_fabrics::{link, node, parameters, testbed};
use crate::{BarParameters, DeviceParameters, EngineParameters, MemoryParameters, NodeKind};
use crate::{PaceParameters, Topology};

fn refused(parameters: crate::FabricParameters) -> Refusal {
    Topology::new(parameters).unwrap_err()
}

#[test]
fn route_goes_up_and_down_the_tree() {
    let topology = testbed();
    for (source, destination, expected) in [
        ("H", "C", "H->S S->N N->C"),
        ("A", "H", "A->M M->S S->H"),
        ("A", "B", "A->M M->B"),
        ("B", "D", "B->M M->S S->N N->D"),
    ] {
        let mut route = vec![];
        topology.route(topology.node(source).unwrap(), topology.node(destination).unwrap(), &mut route);
        let named: Vec<String> = route.iter().map(|edge| topology.edge_name(*edge)).collect();
        assert_eq!(named.join(" "), expected);
    }
}

#[test]
fn default_capacity_is_that_of_the_link() {
    let mut bare = parameters(vec![link("H", "S", 1.0, 1.0)]);
    bare.links[0].down_gbytes_per_s = None;
    let topology = Topology::new(bare).unwrap();
    // Gen3 x16 gives 15.75 GB/s, of which 128 of 148 bytes are payload.
    assert!((topology.capacities()[0] - 15.754 * 128.0 / 148.0).abs() < 0.01, "{:?}", topology.capacities());
}

#[test]
fn tree_has_at_most_255_levels() {
    let chain = |levels: u32| {
        let names: Vec<String> = (0..=levels).map(|level| format!("N{level}")).collect();
        let mut chain = parameters(names.windows(2).map(|pair| link(&pair[0], &pair[1], 1.0, 1.0)).collect());
        chain.nodes = names.iter().map(|name| node(name)).collect();
        chain
    };
    Topology::new(chain(255)).unwrap();
    let message = refused(chain(5000)).to_string();
    assert!(
        message.starts_with("node N256: is 256 levels below the root: a fabric has at most 255"),
        "{message}"
    );
}

const CYCLE: &str = "node H: its links upwards lead back to itself: a fabric is a tree, without a cycle";

#[test]
fn refuses_graphs_that_are_not_trees_by_name() {
    let two_roots = parameters(vec![link("H", "S", 1.0, 1.0), link("S", "A", 1.0, 1.0)]);
    let mut more = two_roots.clone();
    more.nodes.push(node("X"));
    assert!(
        refused(more)
            .to_string()
            .starts_with("nodes H and X: no link leads up from either of them: link one")
    );

    let mut cycle = two_roots.clone();
    cycle.nodes.extend([node("X"), node("Y")]);
    cycle.links.extend([link("X", "Y", 1.0, 1.0), link("Y", "X", 1.0, 1.0)]);
    let message = refused(cycle).to_string();
    assert!(message == CYCLE.replace('H', "X") || message == CYCLE.replace('H', "Y"), "{message}");

    let mut ring = two_roots.clone();
    ring.links.push(link("A", "H", 1.0, 1.0));
    assert_eq!(refused(ring).to_string(), CYCLE);

    let mut twice = two_roots.clone();
    twice.nodes.push(node("X"));
    twice.links.push(link("X", "A", 1.0, 1.0));
    assert!(refused(twice).to_string().starts_with("node A: is below both S and X"));

    let mut unknown = two_roots.clone();
    unknown.links[1].lower = "Q".into();
    assert!(refused(unknown).to_string().starts_with("link S-Q: lower is Q: unknown node: known: H, S, A"));

    let mut same = two_roots;
    same.nodes.push(node("A"));
    assert_eq!(refused(same).to_string(), "node A: there are two of this name: names are unique");
}

#[test]
fn capacities_are_above_zero() {
    let above = "give a number above 0, up to 1000000";
    let finite = "give a finite number";
    for (wrong, remedy) in [(0.0, above), (-3.0, above), (f64::NAN, finite), (f64::INFINITY, finite)] {
        let message = refused(parameters(vec![link("H", "S", 1.0, wrong)])).to_string();
        assert!(message.starts_with("link H-S: up_gbytes_per_s is "), "{message}");
        assert!(message.ends_with(remedy), "{message}");
    }
}

fn device(name: &str, address: u64) -> crate::NodeParameters {
    let pace = PaceParameters { interval_ns: 100.0, bytes_per_ns: 50.0 };
    let memory = MemoryParameters {
        name: "hbm".into(),
        size_bytes: 1 << 20,
        bar: Some(BarParameters { address, size_bytes: 1 << 20 }),
        bar_read_ns: 100.0,
        bar_write_ns: 50.0,
        engine_ns: 50.0,
        bar_read_gbytes_per_s: 10.0,
        bar_write_gbytes_per_s: 10.0,
        alignment_bytes: 1,
    };
    let engine = EngineParameters {
        execution_ns: 400.0,
        tags: 32,
        peer_requests: 16,
        completion_bytes: 8,
        command_interval_ns: 0.0,
        read_retire_ns: 0.0,
        peer_acknowledgement: true,
        packet_bytes: 1,
        read: pace,
        write: pace,
    };
    let device = Some(DeviceParameters { memories: vec![memory], engine });
    crate::NodeParameters { kind: NodeKind::Device, device, ..node(name) }
}

#[test]
fn a_device_limits_the_edges_at_its_port() {
    let mut fabric = parameters(vec![link("S", "A", 58.0, 58.0), link("S", "B", 20.0, 20.0)]);
    fabric.nodes[1] = device("A", 0x10_0000);
    fabric.nodes[2] = device("B", 0x20_0000);
    if let Some(device) = &mut fabric.nodes[1].device {
        device.engine.write.bytes_per_ns = 40.0;
    }
    let topology = Topology::new(fabric).unwrap();
    assert_eq!(topology.link_capacities(), [58.0, 58.0, 20.0, 20.0]);
    assert_eq!(topology.capacities(), [50.0, 40.0, 20.0, 20.0]);
    assert_eq!(topology.doubled(1), [50.0, 40.0, 20.0, 20.0]);
    assert_eq!(topology.doubled(3), [50.0, 40.0, 20.0, 40.0]);
}

#[test]
fn refuses_overlapping_bars() {
    let mut fabric = parameters(vec![link("S", "A", 1.0, 1.0), link("S", "B", 1.0, 1.0)]);
    fabric.nodes[1] = device("A", 0x10_0000);
    fabric.nodes[2] = device("B", 0x18_0000);
    let message = refused(fabric.clone()).to_string();
    assert!(message.contains("BAR of B hbm at 0x180000: overlaps the BAR of A hbm at 0x100000"), "{message}");

    fabric.nodes[2] = device("B", 0x20_0000);
    assert!(Topology::new(fabric.clone()).is_ok());

    fabric.nodes[2] = device("B", u64::MAX - 5);
    assert!(refused(fabric).to_string().contains("ends beyond 2^64"));
}

#[test]
fn only_devices_have_the_table_of_devices() {
    let mut fabric = parameters(vec![link("S", "A", 1.0, 1.0)]);
    fabric.nodes[1] = device("A", 0);
    fabric.nodes[1].kind = NodeKind::HostAdapter;
    assert!(refused(fabric).to_string().contains("only a device has the key device"));
}

#[test]
fn refuses_status_larger_than_one_tlp() {
    let mut fabric = parameters(vec![link("H", "A", 8.0, 8.0)]);
    fabric.nodes[1] = device("A", 0x10_0000);
    fabric.nodes[1].device.as_mut().unwrap().engine.completion_bytes = 129;
    let message = refused(fabric).to_string();
    assert!(
        message.contains("node A: engine.completion_bytes is 129: it is one TLP: give at most 128"),
        "{message}"
    );
}
