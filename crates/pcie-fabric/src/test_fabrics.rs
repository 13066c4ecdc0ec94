//! Fabrics for tests: the paper's testbed, and trees of switches.

use crate::simulate::{Arrivals, Primitive, Traffic};
use crate::{FabricParameters, Flows, LinkParameters, NodeKind, NodeParameters, Topology};

/// A switch of a test tree; estimators ignore kinds.
pub(crate) fn node(name: &str) -> NodeParameters {
    NodeParameters {
        name: name.into(),
        kind: NodeKind::ExternalSwitch,
        delay_ns: 0.0,
        turn_ns: None,
        turn_tlp_ns: 0.0,
        turn_gbytes_per_s: None,
        turns_at: None,
        host: None,
        device: None,
    }
}

/// A link with its capacities downwards and upwards, GB/s.
pub(crate) fn link(upper: &str, lower: &str, down: f64, up: f64) -> LinkParameters {
    LinkParameters {
        upper: upper.into(),
        lower: lower.into(),
        generation: 3,
        lanes: 16,
        down_gbytes_per_s: Some(down),
        up_gbytes_per_s: Some(up),
        peer_down_gbytes_per_s: None,
        latency_ns: 5.0,
    }
}

/// A fabric of switches with these links.
pub(crate) fn parameters(links: Vec<LinkParameters>) -> FabricParameters {
    let mut names: Vec<String> = vec![links[0].upper.clone()];
    names.extend(links.iter().map(|link| link.lower.clone()));
    let nodes = names.iter().map(|name| node(name)).collect();
    FabricParameters { name: "test".into(), mps_bytes: 128, nodes, links, limits: vec![], peers: vec![] }
}

/// Table 2-a of the paper.
pub(crate) fn testbed() -> Topology {
    let links = vec![
        link("H", "S", 11.55, 12.25),
        link("S", "M", 15.56, 15.46),
        link("S", "N", 15.56, 15.46),
        link("M", "A", 8.74, 11.70),
        link("M", "B", 8.74, 11.70),
        link("N", "C", 8.74, 11.70),
        link("N", "D", 8.74, 11.70),
    ];
    Topology::new(parameters(links)).unwrap()
}

/// Flows as (source, destination, standalone bandwidth).
pub(crate) fn flows(topology: &Topology, listed: &[(&str, &str, f64)]) -> Flows {
    let sources: Vec<u32> = listed.iter().map(|flow| topology.node(flow.0).unwrap()).collect();
    let destinations: Vec<u32> = listed.iter().map(|flow| topology.node(flow.1).unwrap()).collect();
    let standalone: Vec<f64> = listed.iter().map(|flow| flow.2).collect();
    let name = |flow: usize| format!("{}->{}", listed[flow].0, listed[flow].1);
    Flows::new(topology, &sources, &destinations, &standalone, name).unwrap()
}

/// The smallest tree on which the two estimators differ.
pub(crate) fn separating() -> Topology {
    let links = vec![
        link("S", "H", 12.0, 12.0),
        link("S", "A", 12.0, 12.0),
        link("S", "B", 4.0, 4.0),
        link("S", "C", 12.0, 12.0),
    ];
    Topology::new(parameters(links)).unwrap()
}

/// The shipped fabric fabrex-u55c; a Python test checks the fixture against the profile.
pub(crate) fn fabrex_parameters() -> FabricParameters {
    serde_json::from_str(include_str!("fixtures/fabrex-u55c.json")).unwrap()
}

pub(crate) fn fabrex() -> Topology {
    Topology::new(fabrex_parameters()).unwrap()
}

/// A flow of one request of 4 KiB at a time.
pub(crate) fn traffic(source: &str, destination: &str, primitive: Primitive) -> Traffic {
    Traffic {
        name: format!("{source}->{destination}"),
        source: source.into(),
        destination: destination.into(),
        primitive,
        size_bytes: 4096,
        outstanding: 1,
        socket: 0,
        queue: 0,
        memory: None,
        standalone_gbytes_per_s: None,
        arrivals: Arrivals::Even,
    }
}
