//! Files by themselves: their schemas, checks, and complete values.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pcie_model::mmio::{Bar, CoreProfile};
use pcie_model::pio::MessageProfile;
use pcie_model::{Engine, Expander, Nic};
use pcie_refusal::Refusal;
use pcie_refusal::shown::named;
use pcie_schema::{Fitting, Shape};
use pcie_sim::profile::{Card, Host, Link, Placement, Ruled, System};
use schemars::SchemaGenerator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::blame::{Giver, giver_in, refused, shown};
use crate::changes::remedy_of_unknown;
use crate::files::{Files, KINDS, Kind, Layer, Stack, with_bases};
use crate::merged::values_of;
use crate::provenance::Provenance;
use crate::value::Value;

/// A file by itself, over its bases.
#[derive(Clone, Debug)]
pub struct File {
    /// Its table over those of its bases, with sizes as numbers.
    pub table: Json,
    /// The values of a part, with every key; of a system, its table without its head.
    pub values: Json,
    /// Sources of its values.
    pub provenance: Provenance,
    /// Its path.
    pub path: String,
}

/// Keys that only files have: a change of one would have no effect, and a note on one no meaning.
pub(crate) const FILE_ONLY: [&str; 4] = ["aliases", "base", "provenance", "title"];

/// Keys of the head of a file, which are no values.
const HEAD: [&str; 3] = ["title", "provenance", "base"];

/// The JSON Schema of a kind of file.
#[must_use]
pub fn file_schema(kind: Kind) -> Json {
    let mut generator = SchemaGenerator::default();
    let (root, about) = match kind {
        Kind::System => (generator.subschema_for::<System>(), "A file under `profiles/systems`."),
        Kind::Link => (generator.subschema_for::<Link>(), "A file under `profiles/links`."),
        Kind::Host => (generator.subschema_for::<Host>(), "A file under `profiles/hosts`."),
        Kind::Device => (generator.subschema_for::<Card>(), "A file under `profiles/devices`."),
        Kind::Nic => (generator.subschema_for::<Nic>(), "A file under `profiles/nics`."),
        Kind::Engine => (generator.subschema_for::<Engine>(), "A file under `profiles/engines`."),
        Kind::Expander => (generator.subschema_for::<Expander>(), "A file under `profiles/expanders`."),
        Kind::Core => (generator.subschema_for::<CoreProfile>(), "A file under `profiles/cores`."),
        Kind::Bar => (generator.subschema_for::<Bar>(), "A file under `profiles/bars`."),
        Kind::Messages => (generator.subschema_for::<MessageProfile>(), "A file under `profiles/pio`."),
    };
    let sources = generator.subschema_for::<Provenance>().to_value();
    let mut definitions = generator.take_definitions(true);
    let name =
        root.to_value()["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map(ToOwned::to_owned);
    let mut whole = name.and_then(|name| definitions.remove(&name)).unwrap_or_default();
    let base = json!({"type": ["string", "null"], "default": null, "description":
        "Another file of the same kind, by name or path, that gives the values that this one lacks."});
    let mut more = vec![
        ("title", text(1000, "One line for people.")),
        ("provenance", with_description(sources, "Source of the values.")),
    ];
    let mut needed = vec!["title", "provenance"];
    match kind {
        Kind::System => more.extend([vec![("base", base)], keys_of_systems()].concat()),
        Kind::Link => {
            more.extend([("base", base), ("name", text(200, "Short name."))]);
            needed.push("name");
        }
        Kind::Host | Kind::Device => more.push(("base", base)),
        // A NIC has a description and, as a text, its provenance.
        Kind::Nic => {
            let others = "Other names of a shipped NIC; case is ignored.";
            more = vec![("base", base), ("aliases", texts(others))];
            needed.clear();
        }
        Kind::Engine | Kind::Expander | Kind::Core | Kind::Bar => {}
        Kind::Messages => {
            more.extend(keys_of_messages());
            needed.extend(["system", "address_bits"]);
            without_link(&mut whole);
        }
    }
    for (key, schema) in more {
        whole["properties"][key] = schema;
    }
    if let Some(required) = whole["required"].as_array_mut() {
        let lacking = needed.into_iter().filter(|key| !required.iter().any(|one| one == key));
        let lacking: Vec<Json> = lacking.map(Json::from).collect();
        required.extend(lacking);
    }
    whole["description"] = about.into();
    whole["additionalProperties"] = false.into();
    let used = reachable(&whole, &definitions);
    definitions.retain(|name, _| used.contains(name));
    whole["$defs"] = Json::Object(definitions);
    whole
}

fn text(most: u32, about: &str) -> Json {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": about})
}

fn texts(about: &str) -> Json {
    json!({"type": "array", "items": {"type": "string"}, "default": [], "description": about})
}

/// Messages without their link, which is that of their system.
fn without_link(schema: &mut Json) {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.shift_remove("link");
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|key| key != "link");
    }
}

/// The keys of a file of messages besides its values.
fn keys_of_messages() -> Vec<(&'static str, Json)> {
    let system = "The system that the times were measured on: the name of a shipped one, or a path.";
    let bits = "Width of the addresses of the device's memory and of the buffers: headers of 3 or 4 DW.";
    vec![
        ("system", text(200, system)),
        ("address_bits", json!({"type": "integer", "enum": [32, 64], "description": bits})),
    ]
}

/// The definitions that a schema refers to, and those that these refer to.
fn reachable(schema: &Json, definitions: &Map<String, Json>) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![schema]);
    while let Some(one) = open.pop() {
        match one {
            Json::Object(table) => open.extend(table.values()),
            Json::Array(list) => open.extend(list),
            Json::String(text) => {
                if let Some(name) = text.strip_prefix("#/$defs/")
                    && found.insert(name.to_owned())
                {
                    open.extend(definitions.get(name));
                }
            }
            _ => {}
        }
    }
    found
}

/// The JSON Schema of a system with every key.
#[must_use]
pub fn system_schema() -> Json {
    let mut generator = SchemaGenerator::default();
    generator.subschema_for::<System>();
    let mut definitions = generator.take_definitions(true);
    let mut whole = definitions.remove("System").unwrap_or_default();
    whole["$defs"] = Json::Object(definitions);
    whole
}

/// The keys of a system's file besides its values: other names, its parts, and changes.
fn keys_of_systems() -> Vec<(&'static str, Json)> {
    let part = |about: &str| json!({"anyOf": [{"type": "string"}, {"type": "object"}], "description": about});
    vec![
        (
            "aliases",
            texts("Other names of a shipped system, for example the paper's, in upper or lower case."),
        ),
        (
            "link",
            part(
                "The link: the name of a shipped one, a path relative to this file, or a table with its keys and, \
                 if it starts from another one, `base`.",
            ),
        ),
        ("host", part("The host, likewise.")),
        ("device", part("The device, likewise.")),
        (
            "set",
            json!({"type": "object", "default": {}, "description":
                "Changes to single values, by dotted key, applied after merging, as by `--set`."}),
        ),
    ]
}

fn with_description(mut schema: Json, text: &str) -> Json {
    schema["description"] = text.into();
    schema
}

pub(crate) fn shape_of(kind: Kind) -> &'static Shape {
    static SHAPES: LazyLock<Vec<(Kind, Shape)>> = LazyLock::new(|| {
        KINDS.into_iter().map(|kind| (kind, Shape::of_schema(&file_schema(kind)))).collect()
    });
    let found = SHAPES.iter().find(|(known, _)| *known == kind);
    found.map_or_else(System::shape, |(_, shape)| shape)
}

impl Kind {
    /// What to give for a dotted key of a file of this kind; None for an unknown key.
    #[must_use]
    pub fn remedy(self, key: &str) -> Option<String> {
        let in_system = || System::shape().at(key.strip_prefix("set.").unwrap_or(key));
        let of_system = if self == Self::System { in_system() } else { None };
        of_system.or_else(|| shape_of(self).at(key)).map(Shape::remedy)
    }
}

/// Reads and checks a file by itself, over its bases.
///
/// # Errors
/// It cannot be read, or a value is wrong: the message names the file that gave it.
pub fn read_file<F: Files>(kind: Kind, reference: &str, files: &mut F) -> Result<File, F::Error> {
    let (whole, stack) = with_bases(kind, reference, files)?;
    Ok(checked(kind, whole, &stack)?)
}

/// Checks a file that was merged over its bases.
pub(crate) fn checked(kind: Kind, whole: Layer, stack: &Stack) -> Result<File, Refusal> {
    let shape = shape_of(kind);
    let table = shape.with_sizes(Value::Table(whole.table).into_json());
    refused(&shape.problems(&table), |key| Giver::file(giver_in(stack, key)))?;
    refuse_unknown_notes(kind, &table, stack)?;
    let about = |refusal: Refusal| refusal.about(&whole.path);
    let provenance = read(table["provenance"].clone()).map_err(about)?;
    let values = match kind {
        Kind::System => {
            read::<Placement>(table.clone()).and_then(|placement| placement.check()).map_err(about)?;
            without(&table, &HEAD)
        }
        _ => {
            let Value::Table(own) = Value::of_json(table.clone()) else {
                return Err(Refusal::new("no table"));
            };
            let own = Value::Table(values_of(kind, own)).into_json();
            let mut values = read_part(kind, own, &whole.path)?;
            if kind == Kind::Link {
                values["name"] = table["name"].clone();
            }
            values
        }
    };
    Ok(File { table, values, provenance, path: whole.path })
}

/// Refuses notes of `[provenance.keys]` on keys that files of this kind do not have, blamed on the file with the note.
pub(crate) fn refuse_unknown_notes(kind: Kind, table: &Json, stack: &Stack) -> Result<(), Refusal> {
    let shape = if kind == Kind::System { System::shape() } else { shape_of(kind) };
    for (key, note) in table["provenance"]["keys"].as_object().into_iter().flatten() {
        let Some(remedy) = remedy_of_unknown(key, shape, &FILE_ONLY) else { continue };
        let has_note = |layer: &&Layer| {
            let sources = layer.table.get("provenance").and_then(Value::as_table);
            let notes = sources.and_then(|sources| sources.get("keys")?.as_table());
            notes.is_some_and(|notes| notes.contains_key(key))
        };
        let path = stack.iter().find(has_note).map_or("", |layer| layer.path.as_str());
        let key = format!("provenance.keys.{}", named(key));
        return Err(Refusal::worded(format!("unknown key {key}: {remedy}"))
            .kind(pcie_refusal::Kind::UnknownKey)
            .key(key)
            .value(Some(shown(note)))
            .remedy(remedy)
            .about(path));
    }
    Ok(())
}

fn without(table: &Json, keys: &[&str]) -> Json {
    let kept = table.as_object().into_iter().flatten().filter(|(key, _)| !keys.contains(&key.as_str()));
    Json::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
}

/// A link, host or device with every key, checked by itself; `giver` names its source in messages.
///
/// # Errors
/// A value is wrong, or keys contradict each other.
pub fn read_part(kind: Kind, values: Json, giver: &str) -> Result<Json, Refusal> {
    match kind {
        Kind::System => complete::<System>(values, giver),
        Kind::Link => complete::<Link>(values, giver),
        Kind::Host => complete::<Host>(values, giver),
        Kind::Device => complete::<Card>(values, giver),
        Kind::Nic | Kind::Engine | Kind::Expander | Kind::Core | Kind::Bar | Kind::Messages => {
            Err(Refusal::new(format!("a file of kind {}", kind.word()))
                .kind(pcie_refusal::Kind::Unsupported)
                .remedy("give a part of a system"))
        }
    }
}

fn complete<T: Ruled + Fitting + Serialize>(values: Json, giver: &str) -> Result<Json, Refusal> {
    let shape = T::shape();
    let values = shape.with_sizes(values);
    refused(&shape.problems(&values), |_| Giver::file(giver))?;
    let part: T = read(values)?;
    part.check().map_err(|refusal| refusal.about(giver))?;
    serde_json::to_value(part).map_err(Refusal::new)
}

pub(crate) fn read<T: DeserializeOwned>(values: Json) -> Result<T, Refusal> {
    serde_json::from_value(values).map_err(Refusal::new)
}
