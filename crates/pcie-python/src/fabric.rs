//! `pcie-fabric` for Python. Fabrics are handles. Flows, up to a million, are arrays in native byte order for
//! estimates, and columns for simulations.

use pcie_fabric::estimate::{
    Allocation, Change, Influences, Round, bottlenecks, ecr, ecr_rounds, equal_rate, max_min,
};
use pcie_fabric::simulate::{Options, check, simulate_unless};
use pcie_fabric::{EdgeId, Flows, Topology};
use pcie_refusal::{Kind, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result, refused};
use crate::fabrics::{Fabric, flows_in};
use crate::json::{parse, text};
use crate::progress::Watched;
use crate::stop::Stop;

/// Most flows of an estimate or a simulation.
pub(crate) const FLOWS_MOST: usize = 1_000_000;
/// Flows that are checked between two looks for signals: a few milliseconds.
const FLOWS_BETWEEN_LOOKS: usize = 256;
/// Most flows, counted at each mention, in the tables of rounds: 500 MB of text.
const ROUND_ENTRIES_MOST: usize = 5_000_000;
/// Most shares that the influences of flows take without a larger limit: about ten seconds.
pub(crate) const INFLUENCE_SHARES_MOST: u64 = 100_000_000;

/// Shares as arrays in native byte order: numbers as doubles, `limit` as 32-bit numbers of edges with -1 for none,
/// `crossing` as 32-bit counts.
#[pyclass(frozen, get_all, module = "pcielab._core")]
pub(crate) struct FabricShares {
    standalone: Vec<u8>,
    bandwidth: Vec<u8>,
    limit: Vec<u8>,
    load: Vec<u8>,
    crossing: Vec<u8>,
}

/// A round of edge constraints relaxing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RoundTables {
    /// Oversubscribed edges.
    edges: Vec<EntryRow>,
    /// Flows that edges cut.
    constraints: Vec<ConstraintRow>,
    /// Bandwidth of each flow after the round, GB/s.
    gbytes_per_s: Vec<f64>,
}

/// An oversubscribed edge.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryRow {
    /// The edge.
    edge: String,
    /// Capacity for payload, GB/s.
    capacity_gbytes_per_s: f64,
    /// Total demand of its flows, GB/s.
    demand_gbytes_per_s: f64,
    /// Its flows.
    flows: Vec<String>,
}

/// The share of a flow that an edge cuts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConstraintRow {
    /// The flow.
    flow: String,
    /// The edge.
    edge: String,
    /// Its share, GB/s.
    gbytes_per_s: f64,
}

/// Refuses impossible flows on a fabric; `traffic` has their columns.
#[pyfunction]
pub(crate) fn fabric_check_traffic(fabric: &Fabric, traffic: &Bound<'_, PyDict>) -> Result<()> {
    let (topology, traffic) = (fabric.topology(), flows_in(traffic)?);
    let mut watched = Watched::new();
    let mut pieces = traffic.chunks(FLOWS_BETWEEN_LOOKS).take_while(|_| !watched.is_signalled());
    let checked = pieces.try_for_each(|piece| check(topology, piece));
    watched.result(checked)
}

/// The bandwidth of each flow.
#[pyfunction]
pub(crate) fn fabric_estimate(
    py: Python<'_>,
    fabric: &Fabric,
    sources: &[u8],
    destinations: &[u8],
    standalone: &[u8],
    names: Bound<'_, PyAny>,
    method: &str,
) -> Result<FabricShares> {
    let topology = fabric.topology();
    let flows = flows(topology, sources, destinations, standalone, &names)?;
    let method = estimator(method)?;
    Ok(py.detach(|| {
        let found = method(topology.capacities(), &flows);
        let load = found.load(&flows, topology.edge_count());
        let mut crossing = vec![0u32; topology.edge_count()];
        for edge in (0..flows.len()).flat_map(|flow| flows.route(flow)) {
            crossing[*edge as usize] += 1;
        }
        FabricShares {
            standalone: doubles(flows.standalone()),
            bandwidth: doubles(&found.bandwidth),
            limit: found
                .limit
                .iter()
                .flat_map(|edge| edge.map_or(-1, |edge| edge as i32).to_ne_bytes())
                .collect(),
            load: doubles(&load),
            crossing: crossing.into_iter().flat_map(u32::to_ne_bytes).collect(),
        }
    }))
}

/// The max-min share of each flow over edges that need not be those of a tree, GB/s, and its bottleneck.
///
/// `routes` has the numbers of each flow's edges, an edge twice if the flow passes it twice. Without a full edge, the
/// first one stands for the bottleneck.
#[pyfunction]
pub(crate) fn edge_shares(capacities: Vec<f64>, routes: Vec<Vec<u32>>) -> Result<(Vec<f64>, Vec<u32>)> {
    let flows = Flows::over_edges(&capacities, &routes)?;
    let shares = max_min(&capacities, &flows);
    let limits = bottlenecks(&capacities, &flows, &shares);
    let limits = limits.into_iter().zip(&routes).map(|(limit, route)| limit.unwrap_or(route[0]));
    Ok((shares.bandwidth, limits.collect()))
}

/// The share of each flow where all move as much, GB/s, and the edge that limits it. Arguments are as for
/// `edge_shares`.
#[pyfunction]
pub(crate) fn equal_edge_share(capacities: Vec<f64>, routes: Vec<Vec<u32>>) -> Result<(f64, u32)> {
    let flows = Flows::over_edges(&capacities, &routes)?;
    let found = equal_rate(&capacities, &flows);
    Ok(found.ok_or_else(|| Refusal::new("no flow").kind(Kind::Missing).remedy("give one at least"))?)
}

/// The rounds of edge constraints relaxing, each with its two tables.
#[pyfunction]
pub(crate) fn fabric_rounds(
    fabric: &Fabric,
    sources: &[u8],
    destinations: &[u8],
    standalone: &[u8],
    names: Bound<'_, PyAny>,
) -> Result<String> {
    let topology = fabric.topology();
    let flows = flows(topology, sources, destinations, standalone, &names)?;
    let names: Vec<String> = names.extract()?;
    let mut watched = Watched::new();
    let (mut rounds, mut named) = (Vec::new(), 0);
    for round in ecr_rounds(topology.capacities(), &flows).take_while(|_| !watched.is_signalled()) {
        named += round.bandwidth.len() + round.constraints.len();
        named += round.edges.iter().map(|entry| entry.flows.len()).sum::<usize>();
        if named > ROUND_ENTRIES_MOST {
            let problem = format!("the tables of {} rounds have {named} entries", rounds.len() + 1);
            let refusal = Refusal::new(problem).kind(Kind::TooLarge).remedy("give fewer flows");
            return Err(refusal.about("rounds").into());
        }
        rounds.push(tables(round, topology, &names));
    }
    text(&watched.result(Ok::<_, Error>(rounds))?)
}

/// The tables of a round.
fn tables(round: Round, topology: &Topology, names: &[String]) -> RoundTables {
    let edge_name = |edge: EdgeId| topology.edge_name(edge);
    let edges = round.edges.into_iter().map(|entry| EntryRow {
        edge: edge_name(entry.edge),
        capacity_gbytes_per_s: topology.capacities()[entry.edge as usize],
        demand_gbytes_per_s: entry.demand_gbytes_per_s,
        flows: entry.flows.into_iter().map(|(flow, _)| names[flow].clone()).collect(),
    });
    let constraints = round.constraints.into_iter().map(|cut| ConstraintRow {
        flow: names[cut.flow].clone(),
        edge: edge_name(cut.edge),
        gbytes_per_s: cut.gbytes_per_s,
    });
    RoundTables { edges: edges.collect(), constraints: constraints.collect(), gbytes_per_s: round.bandwidth }
}

/// The effects of each doubled limiting edge and each stopped flow, one change at a time: Python, which takes them
/// one by one, sees signals in between. `limit`: shares that all changes may take, one of each flow and change.
#[pyclass(module = "pcielab._core")]
pub(crate) struct FabricInfluences {
    inner: Influences,
    names: Vec<String>,
}

/// `stop` or `double`, the name of the flow or edge, and the flows affected: their numbers as 32-bit numbers, and
/// their bandwidths before and after the change as doubles, GB/s, in native byte order.
type Effect = (&'static str, String, Vec<u8>, Vec<u8>, Vec<u8>);

#[pymethods]
impl FabricInfluences {
    #[new]
    #[pyo3(signature = (fabric, sources, destinations, standalone, names, method, limit = None))]
    fn new(
        fabric: &Fabric,
        sources: &[u8],
        destinations: &[u8],
        standalone: &[u8],
        names: Bound<'_, PyAny>,
        method: &str,
        limit: Option<u64>,
    ) -> Result<Self> {
        let topology = fabric.topology().clone();
        let flows = flows(&topology, sources, destinations, standalone, &names)?;
        let names: Vec<String> = names.extract()?;
        let inner = Influences::new(topology, flows, estimator(method)?);
        let limit = limit.unwrap_or(INFLUENCE_SHARES_MOST);
        let needed = inner.total() as u64 * names.len() as u64;
        if needed > limit {
            let problem = format!("{} changes of {} flows need {needed} shares", inner.total(), names.len());
            let refusal = Refusal::of("limit", limit, format!("give {needed}, or fewer flows"));
            return Err(refusal.kind(Kind::TooLarge).problem(problem).into());
        }
        Ok(Self { inner, names })
    }

    fn __len__(&self) -> usize {
        self.inner.total()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> Option<Effect> {
        let found = py.detach(|| self.inner.next())?;
        let (change, what) = match found.change {
            Change::Stop(flow) => ("stop", self.names[flow].clone()),
            Change::Double(edge) => ("double", self.inner.topology().edge_name(edge)),
        };
        let flows = found.moved.iter().flat_map(|one| (one.flow as u32).to_ne_bytes()).collect();
        let before = found.moved.iter().flat_map(|one| one.before_gbytes_per_s.to_ne_bytes()).collect();
        let after = found.moved.iter().flat_map(|one| one.after_gbytes_per_s.to_ne_bytes()).collect();
        Some((change, what, flows, before, after))
    }
}

/// Results of a simulation as doubles in native byte order: bandwidths and requests in flight by flow, and
/// loads by edge. For each flow, `requests` has five times of each request, ns: submission, arrival of its
/// command at the device (NaN for MMIO), and its host, fabric and device phase.
#[pyclass(frozen, get_all, module = "pcielab._core")]
pub(crate) struct FabricRun {
    bandwidth: Vec<u8>,
    in_flight: Vec<u8>,
    load: Vec<u8>,
    requests: Vec<Vec<u8>>,
    tlp_hops: u64,
    warm_up_ns: f64,
    counted_ns: f64,
}

/// Simulates flows, given as columns, on a fabric until `stop` is requested or, without one, a signal comes.
#[pyfunction]
#[pyo3(signature = (fabric, traffic, options, stop = None))]
pub(crate) fn fabric_simulate(
    py: Python<'_>,
    fabric: &Fabric,
    traffic: &Bound<'_, PyDict>,
    options: &str,
    stop: Option<Bound<'_, Stop>>,
) -> Result<FabricRun> {
    let topology = fabric.topology();
    let traffic = flows_in(traffic)?;
    let options: Options = parse("", options)?;
    let stop = stop.map(|stop| stop.get().inner.clone());
    let mut watched = Watched::new();
    let outcome = py.detach(|| {
        simulate_unless(topology, &traffic, options, &mut || match &stop {
            Some(stop) => stop.is_requested(),
            None => watched.is_signalled(),
        })
    });
    let outcome = watched.result(outcome)?;
    let bandwidth: Vec<f64> = outcome.flows.iter().map(|flow| flow.gbytes_per_s).collect();
    let in_flight: Vec<f64> = outcome.flows.iter().map(|flow| flow.in_flight).collect();
    let requests = outcome.flows.iter().map(|flow| {
        let times = flow.requests.iter().flat_map(|one| {
            let phases = one.phases;
            [one.submitted_ns, one.reached_ns, phases.host_ns, phases.fabric_ns, phases.device_ns]
        });
        times.flat_map(f64::to_ne_bytes).collect()
    });
    Ok(FabricRun {
        bandwidth: doubles(&bandwidth),
        in_flight: doubles(&in_flight),
        load: doubles(&outcome.load_gbytes_per_s),
        requests: requests.collect(),
        tlp_hops: outcome.tlp_hops,
        warm_up_ns: outcome.warm_up_ns,
        counted_ns: outcome.counted_ns,
    })
}

fn estimator(method: &str) -> Result<fn(&[f64], &Flows) -> Allocation> {
    match method {
        "ecr" => Ok(ecr),
        "max-min" => Ok(max_min),
        other => Err(refused(format!("method {other}: unknown: give ecr or max-min"))),
    }
}

fn flows(
    topology: &Topology,
    sources: &[u8],
    destinations: &[u8],
    standalone: &[u8],
    names: &Bound<'_, PyAny>,
) -> Result<Flows> {
    let (sources, _) = sources.as_chunks();
    let (destinations, _) = destinations.as_chunks();
    let (standalone, _) = standalone.as_chunks();
    let counted = (sources.len(), destinations.len(), standalone.len());
    if counted.0 > FLOWS_MOST {
        let refusal = Refusal::of("flows", counted.0, format!("give {FLOWS_MOST} at most"));
        return Err(refusal.kind(Kind::TooLarge).into());
    }
    if names.len()? != counted.0 || counted.0 != counted.1 || counted.1 != counted.2 {
        return Err(refused(format!("flows: {counted:?} and {} names: give as many of each", names.len()?)));
    }
    let nodes = |bytes: &[[u8; 4]]| bytes.iter().map(|word| u32::from_ne_bytes(*word)).collect::<Vec<_>>();
    let standalone: Vec<f64> = standalone.iter().map(|word| f64::from_ne_bytes(*word)).collect();
    let name =
        |flow: usize| names.get_item(flow).map_or_else(|_| format!("number {flow}"), |name| name.to_string());
    Ok(Flows::new(topology, &nodes(sources), &nodes(destinations), &standalone, name)?)
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}
