//! The JSON Schemas of types with generated Python models.

use pcie_bench_sim::{Effort, Prediction};
use pcie_fabric::FabricParameters;
use pcie_fabric::simulate::{Options, Traffic};
use pcie_model::mmio::{AccessTimes, Bar, CoreProfile};
use pcie_model::pio::{Crossings, Loopback, MessageProfile, Messages};
use pcie_model::{
    Bandwidth, Engine, EngineRates, Expander, ExpanderRates, InterleavedRates, LinkSizing, Nic,
    NicThroughput, Sizing,
};
use pcie_schema::{Shape, quantity};
use pcie_sim::profile::{Capacities, System};
use pcie_sim::{HostQuestion, HostRates, TestBounds, nic};
use pcie_workload::Test;
use pyo3::prelude::*;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::error::{Result, refused};
use crate::fabric::RoundTables;
use crate::json::text;
use crate::model::{
    BandwidthQuestion, EngineQuestion, ExpanderQuestion, InterleavedQuestion, LinkSizingQuestion,
    MessagesQuestion, MmioQuestion, NicQuestion, SizingQuestion,
};

/// Schemas of types and their parts, by name.
#[derive(Default)]
struct Types(SchemaGenerator);

impl Types {
    fn and<T: JsonSchema>(mut self) -> Self {
        self.0.subschema_for::<T>();
        self
    }

    fn schemas(mut self) -> Value {
        Value::Object(self.0.take_definitions(true))
    }
}

/// The remedy for a value that violates a JSON Schema.
#[pyfunction]
pub(crate) fn remedy(schema: &str) -> Result<String> {
    Ok(Shape::of_schema(&serde_json::from_str(schema)?).remedy())
}

/// The schemas of the types of a topic that Python exchanges as JSON, by name.
#[pyfunction]
pub(crate) fn schemas(topic: &str) -> Result<String> {
    let of = Types::default();
    let types = match topic {
        "system" => of.and::<System>(),
        "nic" => of.and::<Nic>(),
        "engine" => of.and::<Engine>(),
        "expander" => of.and::<Expander>(),
        "core" => of.and::<CoreProfile>(),
        "bar" => of.and::<Bar>(),
        "messages" => of.and::<MessageProfile>(),
        "fabric" => of.and::<FabricParameters>().and::<Traffic>().and::<Options>(),
        "fabric answers" => of.and::<RoundTables>(),
        "test" => of.and::<Test>(),
        "nic test" => of.and::<nic::Traffic>(),
        "model questions" => of
            .and::<BandwidthQuestion>()
            .and::<NicQuestion>()
            .and::<SizingQuestion>()
            .and::<LinkSizingQuestion>()
            .and::<EngineQuestion>()
            .and::<ExpanderQuestion>()
            .and::<InterleavedQuestion>()
            .and::<MmioQuestion>()
            .and::<MessagesQuestion>()
            .and::<HostQuestion>(),
        "model answers" => of
            .and::<Bandwidth>()
            .and::<NicThroughput>()
            .and::<Sizing>()
            .and::<LinkSizing>()
            .and::<EngineRates>()
            .and::<ExpanderRates>()
            .and::<InterleavedRates>()
            .and::<AccessTimes>()
            .and::<pcie_sim::mmio::AccessOutcome>()
            .and::<Messages>()
            .and::<Crossings>()
            .and::<Loopback>()
            .and::<TestBounds>()
            .and::<HostRates>()
            .and::<Capacities>(),
        "predictions" => of.and::<Effort>().and::<Prediction>(),
        "quantities" => {
            let all: Map<_, _> = quantity::all()
                .into_iter()
                .map(|(name, schema)| (name.to_owned(), schema.to_value()))
                .collect();
            return text(&all);
        }
        _ => return Err(refused(format!("{topic}: not a topic of schemas"))),
    };
    text(&types.schemas())
}

/// Adds the schemas of the topic `test`, of which Python makes the parameters of tests as it loads.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TEST_SCHEMAS", schemas("test")?)
}
