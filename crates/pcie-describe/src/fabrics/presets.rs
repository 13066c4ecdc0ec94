//! Presets of hosts and devices: what a node names that its file does not describe.
//!
//! Those of devices are files under `profiles/fabrics/devices`. Those of hosts are the shipped host profiles, whose
//! times are converted to the few that a fabric has.

use std::sync::LazyLock;

use pcie_fabric::HostParameters;
use pcie_refusal::Refusal;
use pcie_schema::Shape;
use schemars::SchemaGenerator;
use serde_json::{Value as Json, json};

use super::schemas::definitions;
use crate::blame::{Giver, refused};
use crate::provenance::Provenance;
use crate::value::{Value, read_table};

/// Software before a command is sent (rPCIeBench paper, section 4.2); host profiles have no software.
const SOFTWARE_NS: f64 = 150.0;
/// Memory of a host for transfers, as in the testbed of the rPCIeBench paper.
const MEMORY_BYTES: u64 = 4 << 30;

/// What knows the presets.
pub trait Presets {
    /// Why one cannot be read.
    type Error: From<Refusal>;

    /// The names of those of hosts.
    fn hosts(&self) -> &[String];

    /// The names of those of devices.
    fn devices(&self) -> &[String];

    /// A preset of a host.
    fn host(&mut self, name: &str) -> Result<HostPreset, Self::Error>;

    /// A preset of a device.
    fn device(&mut self, name: &str) -> Result<DevicePreset, Self::Error>;
}

/// A host profile as a kind of server.
#[derive(Clone, Debug)]
pub struct HostPreset {
    /// The kind.
    pub host: HostParameters,
    /// Delay from the port to the root complex, for nodes that give none, ns.
    pub delay_ns: f64,
}

/// A kind of device in a file of its own.
#[derive(Clone, Debug)]
pub struct DevicePreset {
    /// The kind, with every key.
    pub device: Json,
    /// Delay from the port to the memory, for nodes that give none, ns.
    pub delay_ns: f64,
}

impl HostPreset {
    /// The preset of a host profile's values.
    ///
    /// A posted write takes `write_ns` to the memory, which is the delay of the node. A read that misses the cache
    /// takes `read_ns + miss_ns`; the memory takes the part of it that is not the delay there and back.
    #[must_use]
    pub fn of_profile(values: &Json) -> Self {
        let ns = |table: &str, key: &str| values[table][key].as_f64().unwrap_or_default();
        let delay_ns = ns("root_complex", "write_ns");
        let read_ns = ns("root_complex", "read_ns") + ns("memory", "miss_ns");
        let host = HostParameters {
            sockets: values["sockets"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
            other_socket_ns: ns("memory", "remote_ns") / 2.0,
            other_socket_gbytes_per_s: None,
            memory_read_ns: (read_ns - 2.0 * delay_ns).max(0.0),
            software_ns: SOFTWARE_NS,
            memory_bytes: MEMORY_BYTES,
        };
        Self { host, delay_ns }
    }
}

/// The JSON Schema of a file under `profiles/fabrics/devices`.
#[must_use]
pub fn device_preset_schema() -> Json {
    let mut generator = SchemaGenerator::default();
    let mut all = definitions(&mut generator);
    let mut whole = all.remove("DeviceParameters").unwrap_or_default();
    let mut sources = generator.subschema_for::<Provenance>().to_value();
    sources["description"] = "Source of the values.".into();
    all.extend(generator.take_definitions(true));
    let text = |most: u32, about: &str| json!({"type": "string", "minLength": 1, "maxLength": most, "description": about});
    let delay = json!({"type": "number", "minimum": 0, "maximum": 1e9, "description":
        "Delay from the port to the memory, for nodes that give none."});
    for (key, schema) in [
        ("name", text(200, "Short name.")),
        ("title", text(1000, "One line for people.")),
        ("delay_ns", delay),
        ("provenance", sources),
    ] {
        whole["properties"][key] = schema;
    }
    whole["required"] = json!(["engine", "name", "title", "delay_ns", "provenance"]);
    whole["description"] = "A file under `profiles/fabrics/devices`.".into();
    all.retain(|name, _| {
        ["MemoryParameters", "EngineParameters", "PaceParameters", "Provenance", "FittedTo"]
            .contains(&name.as_str())
    });
    whole["$defs"] = Json::Object(all);
    whole
}

/// Reads a preset of a device from the text of its file; `path` names it in messages.
///
/// # Errors
/// A value is wrong.
pub fn read_device_preset(text: &str, path: &str) -> Result<DevicePreset, Refusal> {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::of_schema(&device_preset_schema()));
    let table = read_table(text, path, |key| SHAPE.at(key).map(Shape::remedy))?;
    let content = SHAPE.with_sizes(Value::Table(table).into_json());
    refused(&SHAPE.problems(&content), |_| Giver::file(path))?;
    let mut content = SHAPE.with_defaults(content);
    let delay_ns = content["delay_ns"].as_f64().unwrap_or_default();
    let device = json!({"memories": content["memories"].take(), "engine": content["engine"].take()});
    Ok(DevicePreset { device, delay_ns })
}
