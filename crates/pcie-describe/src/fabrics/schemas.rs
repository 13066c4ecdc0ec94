//! The schema of fabric files: that of the simulator's types, with what only files have.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use pcie_fabric::FabricParameters;
use pcie_fabric::simulate::Traffic;
use pcie_schema::Shape;
use pcie_schema::quantity::Size;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};

use super::written;
use crate::machines::DeviceKind;
use crate::provenance::Provenance;

/// Named sets of flows.
#[derive(JsonSchema)]
#[schemars(rename = "FlowSets", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct FlowSets {
    /// The set to use if none is named.
    #[schemars(length(min = 1, max = 200), extend("default" = null))]
    default: Option<String>,
    /// Flows in this file.
    #[schemars(extend("default" = {}))]
    sets: Option<BTreeMap<String, Vec<Traffic>>>,
    /// Sets kept as CSV or Parquet, by path relative to this file; columns are the keys of a flow.
    #[schemars(extend("default" = {}))]
    files: Option<BTreeMap<String, String>>,
}

/// Parts of a machine.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum PartKind {
    Sockets,
    Socket,
    Memory,
    Stack,
    RootPort,
    Switch,
    Device,
}

/// Payload and request sizes of PCIe.
struct PayloadBytes;

impl JsonSchema for PayloadBytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PayloadBytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [128, 256, 512, 1024, 2048, 4096]})
    }
}

/// A node as a part of a machine, as `pcielab fabric from` reads it. A key is absent if its value was not read.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct MachinePart {
    /// What it is: `stack` is what one host bridge of the root complex serves, `sockets` joins several sockets.
    part: PartKind,
    /// Of a device: its kind, from its class.
    #[schemars(extend("default" = null))]
    kind: Option<DeviceKind>,
    /// Domain, bus, device and function.
    #[schemars(extend("default" = null))]
    slot: Option<String>,
    /// NUMA node that it is attached to.
    #[schemars(extend("default" = null))]
    numa_node: Option<u16>,
    /// Maximum payload size that is set (DevCtl).
    #[schemars(with = "Option<PayloadBytes>", extend("default" = null))]
    mps_bytes: Option<u32>,
    /// Maximum read request size that is set (DevCtl).
    #[schemars(with = "Option<PayloadBytes>", extend("default" = null))]
    mrrs_bytes: Option<u32>,
    /// Whether it may mark requests as relaxed-ordered (DevCtl).
    #[schemars(extend("default" = null))]
    relaxed_ordering: Option<bool>,
    /// Whether address translation services are on.
    #[schemars(extend("default" = null))]
    ats: Option<bool>,
    /// Type of its IOMMU group: `identity`, `DMA` (strict), `DMA-FQ` (lazy).
    #[schemars(extend("default" = null))]
    iommu: Option<String>,
    /// Slot of the port on the upper end of its link.
    #[schemars(extend("default" = null))]
    port: Option<String>,
    /// Whether ACS of that port sends requests and completions between devices up to the root.
    #[schemars(extend("default" = null))]
    redirects: Option<bool>,
}

/// The definitions of the tables of fabric files, with `bar_bytes` instead of addresses.
pub(super) fn definitions(generator: &mut SchemaGenerator) -> Map<String, Json> {
    generator.subschema_for::<FabricParameters>();
    let mut all = generator.take_definitions(true);
    let text = |about: &str| json!({"type": ["string", "null"], "default": null, "description": about});
    if let Some(memory) = all.get_mut("MemoryParameters").and_then(|one| one["properties"].as_object_mut()) {
        memory.shift_remove("bar");
        let mut size = generator.subschema_for::<Option<Size>>().to_value();
        size["description"] = "Size of its BAR; absent: only the device's own engines reach it.".into();
        size["default"] = Json::Null;
        memory.insert("bar_bytes".to_owned(), size);
    }
    if let Some(device) = all.get_mut("DeviceParameters") {
        device["required"] = json!(["engine"]);
        device["properties"]["memories"]["default"] = json!([]);
        device["properties"]["memories"]["description"] = "Its memories.".into();
    }
    if let Some(link) = all.get_mut("LinkParameters") {
        link["properties"]["link"] = text("Generation and lanes in one, for example `gen4x16`.");
    }
    if let Some(node) = all.get_mut("NodeParameters") {
        node["required"] = json!(["name", "kind"]);
        for (key, schema) in keys_of_nodes(generator) {
            node["properties"][key] = schema;
        }
    }
    all
}

/// The keys of a node that only files have.
fn keys_of_nodes(generator: &mut SchemaGenerator) -> Vec<(&'static str, Json)> {
    let text = |about: &str| json!({"type": ["string", "null"], "default": null, "description": about});
    let mut upper = text("The node above it, instead of a table `[[link]]`.");
    upper["minLength"] = 1.into();
    upper["maxLength"] = 200.into();
    let machine = generator.subschema_for::<Option<MachinePart>>().to_value();
    let address = json!({"type": "integer", "minimum": 0, "maximum": i64::MAX});
    vec![
        ("upper", upper),
        ("link", text("With `upper`: generation and lanes of the link, for example `gen4x16`.")),
        (
            "host",
            text("The kind of server, from `[hosts]` or a host profile; hosts only. Absent: `gen5-server`."),
        ),
        (
            "device",
            text(
                "The kind of device, from `[devices]` or a preset; devices only. Absent: only estimates and streams.",
            ),
        ),
        (
            "bar_addresses",
            json!({"type": "object", "additionalProperties": address, "default": {}, "description":
                "First bus address of memories that have a BAR, by the memory's name; others are given free addresses."}),
        ),
        (
            "machine",
            described(
                machine,
                "The node as a part of a machine, as `pcielab fabric from` reads it.",
                Json::Null,
            ),
        ),
    ]
}

fn described(mut schema: Json, about: &str, default: Json) -> Json {
    schema["description"] = about.into();
    schema["default"] = default;
    schema
}

/// The JSON Schema of a fabric file, with the presets of devices as kinds of nodes.
#[must_use]
pub fn fabric_schema(presets: &[String]) -> Json {
    let mut whole = schema();
    let node = &mut whole["$defs"]["NodeParameters"];
    node["required"] = json!(["name"]);
    node["properties"]["kind"] = json!({"enum": written::kinds(presets), "description":
        "Its kind. `gpu`, `nic`, `nvme`, `fpga` and the presets of devices are devices of that preset, `switch` and \
         `root-port` are internal switches, and so is an `adapter`, a slot whose devices need no `link`. May be absent beside `host` or `device`."});
    whole
}

/// The schema of a file whose short forms are replaced.
fn schema() -> Json {
    let mut generator = SchemaGenerator::default();
    let mut all = definitions(&mut generator);
    let mut whole = all.remove("FabricParameters").unwrap_or_default();
    let sources = generator.subschema_for::<Provenance>().to_value();
    let sets = generator.subschema_for::<FlowSets>().to_value();
    all.extend(generator.take_definitions(true));
    let list = |name: &str, about: &str| json!({"type": "array", "items": {"$ref": format!("#/$defs/{name}")}, "default": [], "description": about});
    let kinds = |name: &str, about: &str| {
        json!({"type": "object", "additionalProperties": {"$ref": format!("#/$defs/{name}")}, "default": {},
               "description": about})
    };
    let mut nodes = list("NodeParameters", "The nodes.");
    nodes["minItems"] = 1.into();
    if let Some(keys) = whole["properties"].as_object_mut() {
        keys.shift_remove("nodes");
        for key in ["links", "limits", "peers"] {
            keys.shift_remove(key);
        }
        keys["mps_bytes"]["default"] = 256.into();
        let title = json!({"type": "string", "minLength": 1, "maxLength": 1000, "default": "", "description":
            "One line for people; absent: the name."});
        keys.extend([
            ("title".to_owned(), title),
            (
                "provenance".to_owned(),
                described(sources, "Source of the values.", json!({"source": "not stated"})),
            ),
            ("hosts".to_owned(), kinds("HostParameters", "Kinds of servers.")),
            ("devices".to_owned(), kinds("DeviceParameters", "Kinds of devices.")),
            ("node".to_owned(), nodes),
            (
                "link".to_owned(),
                list("LinkParameters", "The links: one fewer than nodes, with those that nodes give."),
            ),
            ("limit".to_owned(), list("LimitParameters", "Limits that flows share beside those of links.")),
            (
                "peers".to_owned(),
                list("PeersParameters", "Devices that links of their own connect, beside PCIe."),
            ),
            ("flow".to_owned(), list("Traffic", "Flows: the set `flow`, the default one.")),
            ("flows".to_owned(), described(sets, "Sets of flows, with the set `flow`.", json!({}))),
        ]);
    }
    whole["required"] = json!(["node"]);
    whole["description"] = "A file under `profiles/fabrics`.".into();
    whole["$defs"] = Json::Object(all);
    whole
}

/// The shape of a file whose short forms are replaced.
pub(super) fn shape() -> &'static Shape {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::of_schema(&schema()));
    &SHAPE
}
