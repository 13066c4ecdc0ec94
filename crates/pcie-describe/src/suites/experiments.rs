//! Suites of experiments on a fabric: flows that run together, once per value of a sweep.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pcie_fabric::simulate::{Discipline, Traffic};
use pcie_refusal::shown::quoted;
use pcie_refusal::{Kind, Refusal};
use pcie_schema::Shape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value as Json};

use super::{check_count, schema};
use crate::blame::{Giver, refused};
use crate::flows::flow_shape;
use crate::provenance::Provenance;

/// Most flows of a suite, those of each point of its sweeps counted.
const FLOWS_MOST: u128 = 1_000_000;
/// In a sweep: every flow of the experiment.
const ALL: &str = "*";

/// Experiments on a fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricSuite {
    pub(super) name: String,
    pub(super) title: String,
    /// The name of its fabric.
    pub fabric: String,
    pub(super) experiments: Vec<Experiment>,
}

/// A file under `suites/fabric`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// One line for people.
    #[schemars(length(min = 1, max = 1000))]
    title: String,
    /// Its fabric.
    fabric: String,
    /// Source of the experiments.
    provenance: Provenance,
    /// The experiments, in run order.
    #[schemars(length(min = 1))]
    experiment: Vec<Experiment>,
}

/// Flows that run together, once per value of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    /// Its figure.
    #[schemars(length(min = 1, max = 200))]
    pub(super) family: String,
    /// Its line in that figure.
    #[schemars(length(min = 1, max = 200))]
    series: String,
    /// The flows.
    #[schemars(length(min = 1))]
    flows: Vec<Traffic>,
    /// The swept key: `flow.key`, or `*.key` for all flows.
    #[serde(default)]
    sweep: Option<String>,
    /// Values of the swept key.
    #[serde(default)]
    #[schemars(with = "Vec<f64>")]
    values: Vec<Number>,
    /// Unit that has its own credits at every port.
    #[serde(default = "per_destination")]
    discipline: Discipline,
    /// Time before counting; absent: until every request in flight has returned three times, 50 us to 100 ms.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000))]
    warm_up_us: Option<f64>,
    /// Time to count; without `warm_up_us` the least time: counting ends when the slowest request has returned once
    /// more.
    #[serde(default = "default_us")]
    #[schemars(range(min = 0, max = 1000000))]
    duration_us: f64,
}

const fn per_destination() -> Discipline {
    Discipline::PerDestination
}

const fn default_us() -> f64 {
    200.0
}

pub(super) fn file_schema() -> Json {
    schema::<File>("A file under `suites/fabric`.")
}

/// Reads a suite from the content of its file.
pub(super) fn read(content: Json, path: &str) -> Result<(FabricSuite, Provenance), Refusal> {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::of_schema(&file_schema()));
    let content = SHAPE.with_sizes(content);
    refused(&SHAPE.problems(&content), |_| Giver::file(path))?;
    let file: File = serde_json::from_value(content).map_err(Refusal::new)?;
    for (number, experiment) in file.experiment.iter().enumerate() {
        let of = |refusal: Refusal| refusal.below(&format!("experiment.{number}")).about(path);
        experiment.check().map_err(of)?;
    }
    let points = |experiment: &Experiment| experiment.points() as u128;
    let tests = file.experiment.iter().map(points).sum();
    let flows = file.experiment.iter().map(|one| points(one) * one.flows.len() as u128).sum::<u128>();
    check_count(tests)
        .and_then(|()| {
            if flows <= FLOWS_MOST {
                return Ok(());
            }
            let problem = format!("{flows} flows, one for each value of its sweep");
            Err(Refusal::new(problem).kind(Kind::TooLarge).remedy(format!("give {FLOWS_MOST} at most")))
        })
        .map_err(|refusal| refusal.about(path))?;
    let File { name, title, fabric, provenance, experiment: experiments } = file;
    Ok((FabricSuite { name, title, fabric, experiments }, provenance))
}

impl Experiment {
    /// Number of simulations.
    fn points(&self) -> usize {
        if self.sweep.is_some() { self.values.len() } else { 1 }
    }

    /// Refuses a sweep over a key that no flow has, without values, or over values that the key does not take.
    fn check(&self) -> Result<(), Refusal> {
        let Some(sweep) = &self.sweep else { return Ok(()) };
        let (flow, key) = sweep.rsplit_once('.').unwrap_or(("", sweep));
        let names: BTreeSet<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
        let shape = flow_shape().at(key).filter(|_| flow == ALL || names.contains(flow));
        let Some(shape) = shape else {
            let remedy = "give the name of a flow or *, a dot, and a key of flows";
            return Err(Refusal::of("sweep", quoted(sweep), remedy));
        };
        if self.values.is_empty() {
            return Err(Refusal::of("values", "[]", "give at least one value for the sweep"));
        }
        for (number, value) in self.values.iter().enumerate() {
            if shape.check_json(&Json::Number(value.clone())).is_err() {
                let remedy = format!("{} to {sweep}", shape.remedy());
                return Err(Refusal::of(format!("values.{number}"), value, remedy));
            }
        }
        Ok(())
    }
}
