//! The other simulations: frames through a NIC, messages of a core, flows on a fabric.

use pcie_bench::{Messages, Stop, run_alone};
use pcie_bench_sim::{SimulatedMessages, SimulatedNic};
use pcie_fabric::simulate::{Options, Traffic, simulate_unless};
use pcie_fabric::{FabricParameters, Topology};
use pcie_model::Interactions;
use pcie_model::pio::MessageProfile;
use pcie_refusal::Refusal;
use pcie_store::TestRecord;
use pcie_workload::MessageSuite;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::point::{not_run, system_of};

/// A system, a NIC and one test with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frames {
    system: Value,
    nic: Interactions,
    test: pcie_sim::nic::Traffic,
    seed: u64,
}

/// A system, a profile of messages and a suite of one test with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesAsked {
    system: Value,
    profile: MessageProfile,
    suite: MessageSuite,
    seed: u64,
}

/// A fabric and flows on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flows {
    fabric: FabricParameters,
    traffic: Vec<Traffic>,
    options: Options,
}

/// What flows got.
#[derive(Debug, Serialize)]
pub(crate) struct FlowsFound {
    /// Bandwidth of each flow, GB/s.
    gbytes_per_s: Vec<f64>,
    /// Mean requests in flight of each flow.
    in_flight: Vec<f64>,
    /// Load of each edge, GB/s.
    load_gbytes_per_s: Vec<f64>,
    tlp_hops: u64,
    warm_up_ns: f64,
    counted_ns: f64,
}

/// Simulates frames; the record as a store keeps it.
pub(crate) fn frames(asked: Frames, stop: &Stop) -> Result<TestRecord, Refusal> {
    let work = SimulatedNic::new(system_of(asked.system)?, asked.nic, vec![asked.test], asked.seed)?;
    run_alone(&work, stop).map_err(not_run)
}

/// Simulates messages; the record as a store keeps it.
pub(crate) fn messages(asked: MessagesAsked, stop: &Stop) -> Result<TestRecord, Refusal> {
    let backend = Arc::new(SimulatedMessages::new(system_of(asked.system)?, asked.profile, asked.seed)?);
    run_alone(&Messages::new(asked.suite, backend)?, stop).map_err(not_run)
}

/// Simulates flows.
pub(crate) fn flows(asked: Flows, stop: &Stop) -> Result<FlowsFound, Refusal> {
    let topology = Topology::new(asked.fabric)?;
    let mut stopped = || stop.is_requested();
    let found =
        simulate_unless(&topology, &asked.traffic, asked.options, &mut stopped).map_err(Refusal::new)?;
    Ok(FlowsFound {
        gbytes_per_s: found.flows.iter().map(|flow| flow.gbytes_per_s).collect(),
        in_flight: found.flows.iter().map(|flow| flow.in_flight).collect(),
        load_gbytes_per_s: found.load_gbytes_per_s,
        tlp_hops: found.tlp_hops,
        warm_up_ns: found.warm_up_ns,
        counted_ns: found.counted_ns,
    })
}
