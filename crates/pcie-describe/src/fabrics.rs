//! Fabrics: files of nodes and links with short forms, kinds of hosts and devices, and sets of flows.

mod changes;
mod presets;
mod schemas;
mod written;

use indexmap::IndexMap;
use pcie_fabric::simulate::Traffic;
use pcie_fabric::{BarParameters, FabricParameters, NodeParameters, Topology};
use pcie_refusal::shown::{is_plain, quoted};
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind, Refusal};
use pcie_schema::Shape;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::blame::{Giver, refused};
use crate::changes::SET;
use crate::provenance::Provenance;
use crate::value::{Table, Value, read_table};

pub use presets::{DevicePreset, HostPreset, Presets, device_preset_schema, read_device_preset};
pub use schemas::fabric_schema;
pub use written::INSIDE_GBYTES_PER_S;

/// Above the memory of hosts, which begins at 0.
const FIRST_ADDRESS: u128 = 0x10_0000_0000;
/// Keys of a node that only files have.
const OF_FILES: [&str; 6] = ["host", "device", "bar_addresses", "upper", "link", "machine"];

/// The file of a fabric, complete and checked.
#[derive(Debug)]
pub struct FabricFile {
    /// Its content, with every key.
    pub content: Json,
    /// Source of its values.
    pub provenance: Provenance,
    /// Sets of flows in the file.
    pub sets: IndexMap<String, Vec<Traffic>>,
}

/// Reads a fabric from the text of a file, with changes by dotted key; `path` names it in messages, and the fabric
/// without a name.
///
/// # Errors
/// A key is unknown, a value is wrong, or the fabric impossible: the message names file, key, value and remedy.
pub fn read_fabric<P: Presets>(
    text: &str,
    path: &str,
    changes: &Table,
    presets: &mut P,
) -> Result<(Topology, FabricFile), P::Error> {
    let mut content = table_of(text, path)?;
    let changed = changes::apply(&mut content, changes, path, presets)?;
    let about = |refusal: Refusal| changed.blamed(refusal, path);
    let mut content = Value::Table(content).into_json();
    refuse_other_tables(&content).map_err(about)?;
    written::expand(&mut content, presets.devices()).map_err(about)?;
    let shape = schemas::shape();
    let content = shape.with_sizes(content);
    let mut problems = shape.problems(&content);
    problems.iter_mut().for_each(|problem| changed.name(problem));
    refused(&problems, |key| Giver::file(if changed.has(key) { SET } else { path }))?;
    let given: Vec<bool> =
        content["node"].as_array().into_iter().flatten().map(|node| node.get("delay_ns").is_some()).collect();
    let mut content = shape.with_defaults(content);
    if content["title"] == "" {
        content["title"] = content["name"].clone();
    }
    check_kinds(&content, presets).map_err(about)?;
    let parameters = described(&content, &given, presets)?;
    let topology = Topology::new(parameters).map_err(about)?;
    let sets = sets(&content).map_err(about)?;
    let provenance = of_json(content["provenance"].clone()).map_err(about)?;
    Ok((topology, FabricFile { content, provenance, sets }))
}

/// The table of a file, with a name.
fn table_of(text: &str, path: &str) -> Result<Table, Refusal> {
    let mut content = read_table(text, path, |key| schemas::shape().at(key).map(Shape::remedy))?;
    content.entry("name".to_owned()).or_insert_with(|| Value::Text(stem(path)));
    Ok(content)
}

/// The dotted keys that changes of a fabric may have, each with the first sentence of its meaning.
///
/// # Errors
/// The text is not TOML, has an impossible short form, or a preset cannot be read.
pub fn fabric_keys<P: Presets>(
    text: &str,
    path: &str,
    presets: &mut P,
) -> Result<Vec<(String, String)>, P::Error> {
    let content = table_of(text, path)?;
    changes::expanded(&content, presets).map_err(|refusal| refusal.about(path))?;
    changes::keys(content, presets)
}

fn stem(path: &str) -> String {
    let stem = std::path::Path::new(path).file_stem();
    stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn of_json<T: DeserializeOwned>(content: Json) -> Result<T, Refusal> {
    serde_json::from_value(content).map_err(Refusal::new)
}

/// Refuses a table where a list of tables is meant, and the other way round.
fn refuse_other_tables(content: &Json) -> Result<(), Refusal> {
    for key in ["node", "link", "limit", "peers", "flow"] {
        if content[key].is_object() {
            let refusal = Refusal::of(key, "a table", format!("write [[{key}]] for each"));
            return Err(refusal.kind(Kind::WrongType));
        }
    }
    if content["flows"].is_array() {
        let remedy = "write [[flow]] for each flow, or [[flows.sets.NAME]] for a set";
        return Err(Refusal::of("flows", "a list", remedy).kind(Kind::WrongType));
    }
    if content["flow"].as_array().is_some_and(|flows| !flows.is_empty())
        && content["flows"]["sets"].get("flow").is_some()
    {
        let remedy = "leave it out: [flows.sets] has the set flow";
        return Err(Refusal::of("flow", "a list of flows", remedy));
    }
    Ok(())
}

/// Refuses unknown kinds of hosts and devices, links without an end, and addresses of memories without a BAR.
fn check_kinds<P: Presets>(content: &Json, presets: &mut P) -> Result<(), Refusal> {
    for (number, node) in tables(&content["node"]) {
        let key = |name: &str| format!("node.{number}.{name}");
        for (name, own, shipped) in [
            ("host", &content["hosts"], presets.hosts().to_vec()),
            ("device", &content["devices"], presets.devices().to_vec()),
        ] {
            let Some(kind) = node[name].as_str() else { continue };
            let mut known: Vec<&str> =
                own.as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
            known.extend(shipped.iter().map(String::as_str));
            if !known.contains(&kind) {
                let remedy = format!("neither a preset nor in [{name}s]: {}", suggestion(kind, &known));
                return Err(Refusal::of(key(name), quoted(kind), remedy).kind(Kind::NotFound));
            }
        }
        if let (Some(link), true) = (node["link"].as_str(), node["upper"].is_null()) {
            let refusal = Refusal::of(key("link"), quoted(link), "give upper, too: the node above");
            return Err(refusal.kind(Kind::Missing));
        }
    }
    Ok(())
}

/// The entries of a list that are tables, with their numbers.
fn tables(list: &Json) -> impl Iterator<Item = (usize, &Map<String, Json>)> {
    let entries = list.as_array().into_iter().flatten().enumerate();
    entries.filter_map(|(number, entry)| Some((number, entry.as_object()?)))
}

/// The fabric as estimators and simulator take it.
fn described<P: Presets>(
    content: &Json,
    given: &[bool],
    presets: &mut P,
) -> Result<FabricParameters, P::Error> {
    let mut nodes = Vec::new();
    let mut bars = Vec::new();
    for (number, node) in tables(&content["node"]) {
        let (host, device) = (node["host"].as_str(), node["device"].as_str());
        let mut described = node.clone();
        described.retain(|key, _| !OF_FILES.contains(&key.as_str()));
        let mut delay_ns = None;
        let own = host.and_then(|kind| content["hosts"].get(kind));
        let host = match (host, own) {
            (Some(_), Some(own)) => own.clone(),
            (Some(kind), None) => {
                let preset = presets.host(kind)?;
                delay_ns = Some(preset.delay_ns);
                serde_json::to_value(preset.host).map_err(Refusal::new)?
            }
            (None, _) => Json::Null,
        };
        described.insert("host".to_owned(), host);
        let own = device.and_then(|kind| content["devices"].get(kind));
        let kind = match (device, own) {
            (Some(_), Some(own)) => Some(own.clone()),
            (Some(kind), None) => {
                let preset = presets.device(kind)?;
                delay_ns = delay_ns.or(Some(preset.delay_ns));
                Some(preset.device)
            }
            (None, _) => None,
        };
        let device = kind.map_or(Json::Null, |kind| with_bars(kind, number, node, &mut bars));
        described.insert("device".to_owned(), device);
        if let (false, Some(delay_ns)) = (given[number], delay_ns) {
            described.insert("delay_ns".to_owned(), delay_ns.into());
        }
        check_bars(number, node, &bars)?;
        nodes.push(of_json::<NodeParameters>(Json::Object(described))?);
    }
    place(&mut nodes, &bars)?;
    let links = tables(&content["link"]).map(|(_, link)| {
        let mut described = link.clone();
        described.shift_remove("link");
        of_json(Json::Object(described))
    });
    Ok(FabricParameters {
        name: of_json(content["name"].clone())?,
        mps_bytes: of_json(content["mps_bytes"].clone())?,
        nodes,
        links: links.collect::<Result<_, _>>()?,
        limits: of_json(content["limit"].clone())?,
        peers: of_json(content["peers"].clone())?,
    })
}

/// A BAR: the numbers of its node and memory, the memory's name, its size, and its address if the file gives one.
#[derive(Debug)]
struct Bar {
    node: usize,
    memory: usize,
    name: String,
    size_bytes: u64,
    address: Option<u64>,
}

/// A device without the sizes of its BARs, which go to `bars`.
fn with_bars(mut device: Json, node: usize, table: &Map<String, Json>, bars: &mut Vec<Bar>) -> Json {
    let memories = device["memories"].as_array_mut().into_iter().flatten().enumerate();
    for (memory, described) in memories {
        let Some(described) = described.as_object_mut() else { continue };
        let size = described.shift_remove("bar_bytes").and_then(|size| size.as_u64());
        if let (Some(size_bytes), Some(name)) = (size, described["name"].as_str()) {
            let address = table["bar_addresses"].get(name).and_then(Json::as_u64);
            bars.push(Bar { node, memory, name: name.to_owned(), size_bytes, address });
        }
    }
    device
}

/// Refuses addresses of memories without a BAR.
fn check_bars(number: usize, node: &Map<String, Json>, bars: &[Bar]) -> Result<(), Refusal> {
    let mut mapped: Vec<&str> =
        bars.iter().filter(|bar| bar.node == number).map(|bar| bar.name.as_str()).collect();
    mapped.sort_unstable();
    let given = node["bar_addresses"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let mut extra: Vec<&str> = given.filter(|name| !mapped.contains(name)).collect();
    if extra.is_empty() {
        return Ok(());
    }
    extra.sort_unstable();
    let wanted = if mapped.is_empty() { "none".to_owned() } else { mapped.join(", ") };
    let name = node["name"].as_str().unwrap_or_default();
    let remedy = format!("node {name}: give addresses for memories that have bar_bytes: {wanted}");
    Err(Refusal::of(format!("node.{number}.bar_addresses"), extra.join(", "), remedy))
}

/// Gives each BAR an address: those without one follow the highest given one, in order.
///
/// A BAR is aligned to its size, rounded up to a power of two.
fn place(nodes: &mut [NodeParameters], bars: &[Bar]) -> Result<(), Refusal> {
    let end = |bar: &Bar| Some(u128::from(bar.address?) + u128::from(bar.size_bytes));
    let mut free = bars.iter().filter_map(end).fold(FIRST_ADDRESS, u128::max);
    for bar in bars {
        let size_bytes = u128::from(bar.size_bytes);
        let address = bar.address.map_or_else(
            || {
                let address = free.next_multiple_of(size_bytes.next_power_of_two());
                free = address + size_bytes;
                address
            },
            u128::from,
        );
        let memory = nodes[bar.node].device.as_mut().and_then(|device| device.memories.get_mut(bar.memory));
        if let (Some(memory), Ok(address)) = (memory, u64::try_from(address)) {
            memory.bar = Some(BarParameters { address, size_bytes: bar.size_bytes });
        }
    }
    if free > 1 << 64 {
        let problem = "the BARs of all devices end beyond 2^64";
        return Err(Refusal::new(problem)
            .kind(Kind::TooLarge)
            .remedy("give smaller bar_bytes or bar_addresses"));
    }
    Ok(())
}

/// The sets of flows, with the set `flow` of the tables `[[flow]]`.
fn sets(content: &Json) -> Result<IndexMap<String, Vec<Traffic>>, Refusal> {
    let mut sets = IndexMap::new();
    if content["flow"] != json!([]) {
        sets.insert("flow".to_owned(), of_json(content["flow"].clone())?);
    }
    for (name, flows) in content["flows"]["sets"].as_object().into_iter().flatten() {
        if !is_plain(name) {
            let remedy = "give names of letters that can be printed, on one line";
            return Err(Refusal::of("flows.sets", quoted(name), remedy));
        }
        sets.insert(name.clone(), of_json(flows.clone())?);
    }
    Ok(sets)
}

impl FabricFile {
    /// The set of flows to use if none is named.
    #[must_use]
    pub fn default_set(&self) -> Option<&str> {
        let given = self.content["flows"]["default"].as_str();
        given.or_else(|| self.content["flow"].as_array().is_some_and(|own| !own.is_empty()).then_some("flow"))
    }
}
