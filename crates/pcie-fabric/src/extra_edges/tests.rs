//! Limits and peers on routes, and refusals of impossible ones.

use crate::description::{LimitParameters, PeersParameters, WayParameters};
use crate::simulate::Primitive;
use crate::test_fabrics::{flows, link, parameters, traffic};
use crate::{FabricParameters, Topology};

/// Two switches with two devices each below a root.
fn tree() -> FabricParameters {
    parameters(vec![
        link("R", "S", 40.0, 40.0),
        link("R", "T", 40.0, 40.0),
        link("S", "A", 30.0, 30.0),
        link("S", "B", 30.0, 30.0),
        link("T", "C", 30.0, 30.0),
        link("T", "D", 30.0, 30.0),
    ])
}

fn way(up: Option<&str>, down: Option<&str>) -> WayParameters {
    WayParameters { up: up.map(Into::into), down: down.map(Into::into) }
}

fn limit(name: &str, ways: Vec<WayParameters>) -> LimitParameters {
    LimitParameters { name: name.into(), gbytes_per_s: 20.0, ways }
}

fn nvlink(devices: &[&str], gbytes_per_s: Option<f64>) -> PeersParameters {
    let devices = devices.iter().map(|name| (*name).into()).collect();
    PeersParameters { kind: "nvlink".into(), devices, gbytes_per_s, pair_gbytes_per_s: Some(25.0) }
}

fn route(topology: &Topology, source: &str, destination: &str) -> String {
    let mut edges = vec![];
    topology.route(topology.node(source).unwrap(), topology.node(destination).unwrap(), &mut edges);
    let names: Vec<String> = edges.iter().map(|edge| topology.edge_name(*edge)).collect();
    names.join(" ")
}

#[test]
fn a_limit_is_at_the_turn_of_the_ways_that_share_it() {
    let limits = vec![
        limit("crossing", vec![way(Some("S"), Some("T"))]),
        limit("both ways of A", vec![way(Some("A"), None), way(None, Some("A"))]),
    ];
    let topology = Topology::new(FabricParameters { limits, ..tree() }).unwrap();
    for (source, destination, expected) in [
        ("B", "C", "B->S S->R crossing R->T T->C"),
        ("C", "B", "C->T T->R R->S S->B"),
        ("A", "B", "A->S both ways of A S->B"),
        ("D", "A", "D->T T->R both ways of A R->S S->A"),
        ("R", "A", "both ways of A R->S S->A"),
    ] {
        assert_eq!(route(&topology, source, destination), expected);
    }
}

#[test]
fn redirected_flows_turn_above_their_switch() {
    let mut fabric = tree();
    fabric.nodes[1].turns_at = Some("R".into());
    let topology = Topology::new(fabric.clone()).unwrap();
    assert_eq!(route(&topology, "A", "B"), "A->S S->R R->S S->B");
    assert_eq!(route(&topology, "A", "S"), "A->S");
    assert_eq!(route(&topology, "C", "D"), "C->T T->D");
    fabric.nodes[1].turns_at = Some("T".into());
    assert!(Topology::new(fabric).unwrap_err().to_string().contains("node above"));
}

#[test]
fn data_between_peers_pass_no_pcie_link() {
    let peers = vec![nvlink(&["A", "C"], Some(50.0)), nvlink(&["B", "D"], None)];
    let topology = Topology::new(FabricParameters { peers, ..tree() }).unwrap();
    assert_eq!(route(&topology, "C", "A"), "nvlink of C>A nvlink of C, outwards nvlink of A, inwards");
    assert_eq!(route(&topology, "A", "B"), "A->S S->B");
    let alone = flows(&topology, &[("C", "A", f64::INFINITY)]);
    assert_eq!(alone.standalone(), [25.0]);
    let unknown = crate::Flows::new(
        &topology,
        &[topology.node("B").unwrap()],
        &[topology.node("D").unwrap()],
        &[1.0],
        |_| "flow".into(),
    );
    assert!(unknown.unwrap_err().to_string().contains("nobody knows its rate"));
    let refused = crate::simulate::check(&topology, &[traffic("A", "C", Primitive::Stream)]).unwrap_err();
    assert!(refused.to_string().contains("no PCIe link"), "{refused}");
}

#[test]
fn impossible_limits_and_peers_are_refused() {
    let refused = |limits: Vec<LimitParameters>, peers: Vec<PeersParameters>| {
        Topology::new(FabricParameters { limits, peers, ..tree() }).unwrap_err().to_string()
    };
    assert!(refused(vec![limit("x", vec![way(Some("E"), None)])], vec![]).contains("unknown node"));
    assert!(refused(vec![limit("x", vec![way(Some("R"), None)])], vec![]).contains("link upwards"));
    let twice = vec![limit("x", vec![way(Some("A"), None)]), limit("x", vec![way(Some("B"), None)])];
    assert!(refused(twice, vec![]).contains("two of this name"));
    assert!(refused(vec![], vec![nvlink(&["A", "E"], None)]).contains("unknown node"));
    let shared = vec![nvlink(&["A", "B"], None), nvlink(&["B", "C"], None)];
    assert!(refused(vec![], shared).contains("one group alone"));
}
