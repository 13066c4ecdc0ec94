//! The paper's walk-through and tables, the smallest case that separates the estimators, and properties of
//! random trees.

use proptest::prelude::*;

use super::{Allocation, Change, Influence, Influences, ecr, ecr_rounds, max_min};
use crate::test_fabrics::{flows, link, parameters, separating, testbed};
use crate::{Flows, Topology};

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

/// Section 6.3; capacities that the figure does not name are large.
fn walk_through() -> (Topology, Flows) {
    let links = vec![
        link("H", "S", 12.0, 100.0),
        link("S", "M", 100.0, 100.0),
        link("S", "N", 16.0, 100.0),
        link("M", "A", 100.0, 100.0),
        link("M", "B", 100.0, 100.0),
        link("N", "C", 100.0, 100.0),
        link("N", "D", 9.0, 100.0),
    ];
    let topology = Topology::new(parameters(links)).unwrap();
    let flows = flows(&topology, &[("H", "C", 8.0), ("A", "D", 9.0), ("H", "A", 9.0), ("B", "D", 4.0)]);
    (topology, flows)
}

#[test]
fn the_walk_through_ends_after_two_rounds() {
    let (topology, flows) = walk_through();
    let rounds: Vec<_> = ecr_rounds(topology.capacities(), &flows).collect();
    assert_eq!(rounds.len(), 2);
    let names = |round: &super::Round| -> Vec<String> {
        round.edges.iter().map(|entry| topology.edge_name(entry.edge)).collect()
    };
    assert_eq!(names(&rounds[0]), ["H->S", "S->N", "N->D"]);
    assert_eq!(names(&rounds[1]), ["N->D"]);
    assert!(rounds[0].constraints.iter().all(|constraint| constraint.flow != 3), "f4 is not cut");
    assert_close(&rounds[0].bandwidth, &[6.0, 6.0, 6.0, 4.0], 1e-12);
    assert_close(&rounds[1].bandwidth, &[6.0, 5.0, 6.0, 4.0], 1e-12);
    assert_close(&ecr(topology.capacities(), &flows).bandwidth, &[6.0, 5.0, 6.0, 4.0], 1e-12);
    assert_close(&max_min(topology.capacities(), &flows).bandwidth, &[6.0, 5.0, 6.0, 4.0], 1e-12);
    insta::assert_debug_snapshot!(rounds);
}

#[test]
fn both_estimators_reproduce_table_2() {
    let topology = testbed();
    let background = [("C", "B", 1.76), ("B", "D", 7.19), ("A", "H", 2.54)];
    for (listed, expected) in [
        ([("H", "C", 8.51), ("H", "A", 7.21)], [5.78, 5.78, 1.76, 7.19, 2.54]),
        ([("H", "C", 8.56), ("H", "A", 0.53)], [8.37, 0.53, 1.76, 7.19, 2.54]),
        ([("H", "C", 0.55), ("H", "D", 8.58)], [0.55, 4.37, 1.76, 4.37, 2.54]),
    ] {
        let flows = flows(&topology, &[&listed[..], &background[..]].concat());
        for method in [ecr, max_min] {
            let found = method(topology.capacities(), &flows);
            assert_close(&found.bandwidth, &expected, 0.005 + 1e-9);
        }
    }
}

#[test]
fn flow_without_demand_takes_no_bandwidth() {
    let topology = separating();
    for nothing in [0.0, -0.0] {
        let flows = flows(&topology, &[("H", "A", f64::INFINITY), ("H", "B", nothing), ("C", "B", 4.0)]);
        for method in [ecr, max_min] {
            assert_close(&method(topology.capacities(), &flows).bandwidth, &[12.0, 0.0, 4.0], 1e-12);
        }
    }
}

#[test]
fn the_smallest_case_that_separates_the_estimators() {
    let topology = separating();
    let unknown = f64::INFINITY;
    let flows = flows(&topology, &[("H", "A", unknown), ("H", "B", unknown), ("C", "B", unknown)]);
    assert_close(flows.standalone(), &[12.0, 4.0, 4.0], 0.0);
    assert_close(&ecr(topology.capacities(), &flows).bandwidth, &[8.0, 2.0, 2.0], 1e-12);
    let fair = max_min(topology.capacities(), &flows);
    assert_close(&fair.bandwidth, &[10.0, 2.0, 2.0], 1e-12);
    let limits: Vec<String> = fair.limit.iter().flatten().map(|edge| topology.edge_name(*edge)).collect();
    assert_eq!(limits, ["H->S", "S->B", "S->B"]);
}

#[test]
fn influence_lists_the_flows_that_gain() {
    let topology = testbed();
    let flows = flows(&topology, &[("H", "C", 8.51), ("H", "A", 7.21), ("A", "H", 2.54)]);
    let influences = Influences::new(topology, flows, max_min);
    let total = influences.total();
    let found: Vec<Influence> = influences.collect();
    assert_eq!(found.len(), total);
    let stop = found.iter().find(|one| one.change == Change::Stop(1)).unwrap();
    assert_eq!((stop.moved.len(), stop.moved[0].flow, stop.moved[0].after_gbytes_per_s), (1, 0, 8.51));
    let mut moved = found.iter().flat_map(|one| &one.moved);
    assert!(moved.all(|moved| moved.flow != 2), "the upstream flow does not change");
    let doubled = found.iter().filter(|one| matches!(one.change, Change::Double(_)));
    let gain: Vec<usize> = doubled.flat_map(|one| &one.moved).map(|moved| moved.flow).collect();
    assert_eq!(gain, [0, 1]);
    assert!(found.is_sorted_by_key(|one| matches!(one.change, Change::Stop(_))), "wider edges come first");
}

/// A random tree with random flows: (parents, capacities, flows).
fn instances() -> impl Strategy<Value = (Topology, Flows)> {
    let size = 3usize..14;
    size.prop_flat_map(|nodes| {
        let tree = proptest::collection::vec((any::<prop::sample::Index>(), 1u32..40, 1u32..40), nodes - 1);
        let flows = proptest::collection::vec((0..nodes, 1..nodes, 0u32..60), 1..24);
        (Just(nodes), tree, flows)
    })
    .prop_map(|(nodes, tree, listed)| {
        let links = tree
            .iter()
            .enumerate()
            .map(|(index, (parent, down, up))| {
                let upper = format!("n{}", parent.index(index + 1));
                link(&upper, &format!("n{}", index + 1), f64::from(*down) / 2.0, f64::from(*up) / 2.0)
            })
            .collect();
        let topology = Topology::new(parameters(links)).unwrap();
        let names: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
        let listed: Vec<(&str, &str, f64)> = listed
            .iter()
            .map(|(source, step, alone)| {
                let alone = if *alone == 0 { f64::INFINITY } else { f64::from(*alone) / 4.0 };
                (names[*source].as_str(), names[(source + step) % nodes].as_str(), alone)
            })
            .collect();
        let flows = flows(&topology, &listed);
        (topology, flows)
    })
}

fn assert_no_edge_above_capacity(topology: &Topology, flows: &Flows, found: &Allocation) {
    let load = found.load(flows, topology.edge_count());
    for (load, capacity) in load.iter().zip(topology.capacities()) {
        assert!(*load <= capacity * (1.0 + 1e-9), "{load} on an edge of {capacity}");
    }
}

proptest! {
    #[test]
    fn no_edge_carries_more_than_its_capacity((topology, flows) in instances()) {
        for method in [ecr, max_min] {
            assert_no_edge_above_capacity(&topology, &flows, &method(topology.capacities(), &flows));
        }
    }

    /// The definition: a flow below its demand crosses a full edge on which no flow has more.
    #[test]
    fn max_min_is_max_min((topology, flows) in instances()) {
        let found = max_min(topology.capacities(), &flows);
        let load = found.load(&flows, topology.edge_count());
        for (flow, share) in found.bandwidth.iter().enumerate() {
            prop_assert!(*share > 0.0 && *share <= flows.standalone()[flow] * (1.0 + 1e-9));
            if *share >= flows.standalone()[flow] * (1.0 - 1e-9) {
                continue;
            }
            let edge = found.limit[flow].expect("a flow that is cut names an edge");
            prop_assert!(flows.route(flow).contains(&edge));
            prop_assert!(load[edge as usize] >= topology.capacities()[edge as usize] * (1.0 - 1e-9));
            for other in (0..flows.len()).filter(|other| flows.route(*other).contains(&edge)) {
                prop_assert!(found.bandwidth[other] <= share * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn ecr_is_at_most_max_min_and_its_rounds_end_at_the_closed_form((topology, flows) in instances()) {
        let (relaxed, fair) = (ecr(topology.capacities(), &flows), max_min(topology.capacities(), &flows));
        for (relaxed, fair) in relaxed.bandwidth.iter().zip(&fair.bandwidth) {
            prop_assert!(*relaxed <= fair * (1.0 + 1e-9));
        }
        let rounds: Vec<_> = ecr_rounds(topology.capacities(), &flows).collect();
        let last = rounds.last().map_or(flows.standalone(), |round| &round.bandwidth);
        for (by_round, closed) in last.iter().zip(&relaxed.bandwidth) {
            prop_assert!((by_round - closed).abs() <= 1e-6 * closed, "{} {}", by_round, closed);
        }
    }

    /// Other flows may gain: a flow that the new one cuts leaves bandwidth elsewhere.
    #[test]
    fn a_new_flow_takes_from_those_on_its_bottleneck((topology, flows) in instances()) {
        let added = flows.len() - 1;
        prop_assume!(added > 0);
        let before = max_min(topology.capacities(), &flows.without(added));
        let after = max_min(topology.capacities(), &flows);
        if let Some(bottleneck) = after.limit[added] {
            for flow in (0..added).filter(|flow| flows.route(*flow).contains(&bottleneck)) {
                prop_assert!(after.bandwidth[flow] <= before.bandwidth[flow] * (1.0 + 1e-9));
            }
        }
    }
}
