//! Flows for the estimators: routes and standalone bandwidths.

use pcie_refusal::{Kind, Refusal};

use crate::topology::{EdgeId, NodeId, Topology};

/// Flows with their routes in compressed rows, so that a million flows are a few flat arrays.
#[derive(Debug, Clone)]
pub struct Flows {
    standalone: Vec<f64>,
    /// The edge that determines the standalone bandwidth, where none was given.
    narrowest: Vec<Option<EdgeId>>,
    /// `edges[first[flow]..first[flow + 1]]` is the route of a flow.
    first: Vec<u32>,
    edges: Vec<EdgeId>,
}

impl Flows {
    /// Routes every flow.
    ///
    /// `standalone` is the bandwidth of each flow running alone, GB/s; if infinite, that of the narrowest
    /// edge of its route. `name` returns the name of a flow for messages.
    ///
    /// # Errors
    /// An unknown node, a flow from a node to itself, or a standalone bandwidth that is not a number or below
    /// 0.
    pub fn new(
        topology: &Topology,
        sources: &[NodeId],
        destinations: &[NodeId],
        standalone: &[f64],
        name: impl Fn(usize) -> String,
    ) -> Result<Self, Refusal> {
        let mut flows = Self {
            standalone: Vec::with_capacity(standalone.len()),
            narrowest: Vec::with_capacity(standalone.len()),
            first: Vec::with_capacity(standalone.len() + 1),
            edges: Vec::with_capacity(4 * standalone.len()),
        };
        flows.first.push(0);
        for (index, ((&source, &destination), &alone)) in
            sources.iter().zip(destinations).zip(standalone).enumerate()
        {
            for (key, node) in [("source", source), ("destination", destination)] {
                if node as usize >= topology.nodes().len() {
                    let unknown = topology.unknown_node(key, &format!("node number {node}"));
                    return Err(unknown.about(format!("flow {}", name(index))));
                }
            }
            if source == destination {
                let node = &topology.nodes()[source as usize].name;
                return Err(same_ends(node).about(format!("flow {}", name(index))));
            }
            if alone.is_nan() || alone < 0.0 {
                return Err(no_demand(alone).about(format!("flow {}", name(index))));
            }
            let start = flows.edges.len();
            topology.route(source, destination, &mut flows.edges);
            if let Some(edge) = topology.unknown_in(&flows.edges[start..]) {
                return Err(unknown_rate(&topology.edge_name(edge)).about(format!("flow {}", name(index))));
            }
            // Turns minus zero, which would sort last, into zero.
            flows.push(alone + 0.0, topology.capacities());
        }
        Ok(flows)
    }

    /// Flows over edges that need not be those of a tree; each asks for all that its edges carry.
    ///
    /// # Errors
    /// A flow has no edge, or one without a capacity.
    pub fn over_edges(capacities: &[f64], routes: &[Vec<EdgeId>]) -> Result<Self, Refusal> {
        let mut flows = Self { standalone: vec![], narrowest: vec![], first: vec![0], edges: vec![] };
        for (number, route) in routes.iter().enumerate() {
            if route.is_empty() || route.iter().any(|edge| *edge as usize >= capacities.len()) {
                let wrong = Refusal::of("edges", route.len(), "give one at least, and a capacity for each");
                return Err(wrong.about(format!("flow {number}")));
            }
            flows.edges.extend_from_slice(route);
            flows.push(f64::INFINITY, capacities);
        }
        Ok(flows)
    }

    /// Completes the flow whose route has just been appended.
    fn push(&mut self, alone: f64, capacities: &[f64]) {
        let start = self.first.last().copied().unwrap_or(0) as usize;
        self.first.push(self.edges.len() as u32);
        let (mut least, mut narrowest) = (alone, None);
        if alone.is_infinite() {
            for edge in &self.edges[start..] {
                if capacities[*edge as usize] < least {
                    (least, narrowest) = (capacities[*edge as usize], Some(*edge));
                }
            }
        }
        self.standalone.push(least);
        self.narrowest.push(narrowest);
    }

    /// Number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges that a flow crosses, in order.
    #[must_use]
    pub fn route(&self, flow: usize) -> &[EdgeId] {
        &self.edges[self.first[flow] as usize..self.first[flow + 1] as usize]
    }

    /// Bandwidth of each flow running alone, GB/s.
    #[must_use]
    pub fn standalone(&self) -> &[f64] {
        &self.standalone
    }

    /// The edge that limits a flow that runs alone; None where the standalone bandwidth was given.
    #[must_use]
    pub fn limit_alone(&self, flow: usize) -> Option<EdgeId> {
        self.narrowest[flow]
    }

    /// The flows without one of them.
    #[must_use]
    pub fn without(&self, flow: usize) -> Self {
        let mut rest = Self {
            standalone: self.standalone.clone(),
            narrowest: self.narrowest.clone(),
            first: vec![0],
            edges: vec![],
        };
        rest.standalone.remove(flow);
        rest.narrowest.remove(flow);
        for kept in (0..self.len()).filter(|other| *other != flow) {
            rest.edges.extend_from_slice(self.route(kept));
            rest.first.push(rest.edges.len() as u32);
        }
        rest
    }

    /// The same flows over edges of other capacities; derived standalone bandwidths follow them.
    #[must_use]
    pub fn with_capacities(&self, capacities: &[f64]) -> Self {
        let mut changed = Self { standalone: vec![], narrowest: vec![], first: vec![0], edges: vec![] };
        for flow in 0..self.len() {
            changed.edges.extend_from_slice(self.route(flow));
            let given = self.narrowest[flow].is_none();
            changed.push(if given { self.standalone[flow] } else { f64::INFINITY }, capacities);
        }
        changed
    }

    /// Flows by edge, in the order of `order` within each.
    pub(crate) fn by_edge(&self, edge_count: usize, order: &[u32]) -> FlowsByEdge {
        let mut first = vec![0u32; edge_count + 1];
        for edge in &self.edges {
            first[*edge as usize + 1] += 1;
        }
        for edge in 0..edge_count {
            first[edge + 1] += first[edge];
        }
        let mut next = first.clone();
        let mut flows = vec![0; self.edges.len()];
        for flow in order {
            for edge in self.route(*flow as usize) {
                let slot = &mut next[*edge as usize];
                flows[*slot as usize] = *flow;
                *slot += 1;
            }
        }
        FlowsByEdge { first, flows }
    }

    /// All flows by ascending standalone bandwidth; equal ones in the given order.
    pub(crate) fn by_standalone(&self) -> Vec<u32> {
        // Positive floating-point numbers sort like their bits.
        let mut keyed: Vec<(u64, u32)> =
            self.standalone.iter().map(|alone| alone.to_bits()).zip(0..).collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, flow)| flow).collect()
    }
}

/// A flow over an edge whose rate nobody knows.
fn unknown_rate(edge: &str) -> Refusal {
    let unknown = Refusal::new(format!("{edge}: nobody knows its rate"));
    unknown.kind(Kind::Missing).remedy("give gbytes_per_s of these peers, as their vendor states it")
}

/// A flow from a node to itself.
pub(crate) fn same_ends(node: &str) -> Refusal {
    Refusal::new(format!("source and destination are both {node}")).remedy("give two different nodes")
}

/// A demand that is not a number or below 0.
fn no_demand(gbytes_per_s: f64) -> Refusal {
    Refusal::of("standalone_gbytes_per_s", gbytes_per_s, "give 0 or more, or leave it out")
}

/// The flows that cross each edge.
#[derive(Debug)]
pub(crate) struct FlowsByEdge {
    first: Vec<u32>,
    flows: Vec<u32>,
}

impl FlowsByEdge {
    pub(crate) fn of(&self, edge: usize) -> &[u32] {
        &self.flows[self.first[edge] as usize..self.first[edge + 1] as usize]
    }
}
