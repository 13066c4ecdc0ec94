//! Machines: files with `kind = "machine"`, which describe a whole server as people know it.
//!
//! Names may be ranges, and each name of a range gets the same keys. What a file does not say is unknown.

mod as_fabric;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pcie_refusal::shown::{named, quoted};
use pcie_refusal::{Kind, Refusal};
use pcie_schema::Shape;
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::blame::{Giver, refused};
use crate::value::{Table, Value};

const LANES: [u32; 5] = [1, 2, 4, 8, 16];
const PAYLOADS: [u32; 6] = [128, 256, 512, 1024, 2048, 4096];
/// Digits of the numbers of a range.
const DIGITS_MOST: usize = 3;
const LETTERS_MOST: usize = 200;

/// A machine in a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MachineText {
    /// Says that the file is a machine's.
    #[expect(dead_code, reason = "the schema checks it")]
    #[schemars(extend("enum" = ["machine"]))]
    kind: String,
    /// Short name.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// One line for people.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    title: Option<String>,
    /// Its processors, as `lscpu` names them: their family decides which published figures are comparable.
    #[serde(default)]
    #[schemars(length(max = 200))]
    processor: Option<String>,
    /// The host profile whose times the fabric simulator uses; absent: `gen5-server`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    host: Option<String>,
    /// Number of sockets.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    sockets: Option<u32>,
    /// Whether drivers let devices exchange data directly.
    #[serde(default)]
    p2p: Option<bool>,
    /// Switches.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    switch: Vec<SwitchText>,
    /// Devices.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    device: Vec<DeviceText>,
    /// Links of devices beside PCIe.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    peers: Vec<PeersText>,
    /// Source of the values.
    #[expect(dead_code, reason = "it is for people")]
    #[serde(default)]
    provenance: BTreeMap<String, Json>,
}

/// A switch, or several alike.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchText {
    /// Its name, or a range of names.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// The link above it: `gen5x16`, or with its MPS `gen5x16-mps512`.
    #[serde(default)]
    link: Option<String>,
    /// Socket of its root port.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    socket: Option<u32>,
    /// Stack of the root complex: host bridge, or quadrant of an I/O die.
    #[serde(default)]
    stack: Option<Json>,
    /// The switch above it; absent: a root port.
    #[serde(default)]
    below: Option<String>,
    /// Whether ACS at its ports sends requests between its devices up to the root port.
    #[serde(default)]
    redirects: Option<bool>,
    /// One line for people.
    #[serde(default)]
    title: Option<String>,
}

/// A device, or several alike.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeviceText {
    /// Its name, or a range of names.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// What it is.
    kind: DeviceKind,
    /// The link above it: `gen5x16`, or with its MPS `gen5x16-mps512`.
    #[serde(default)]
    link: Option<String>,
    /// Socket of its root port.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    socket: Option<u32>,
    /// Stack of the root complex: host bridge, or quadrant of an I/O die.
    #[serde(default)]
    stack: Option<Json>,
    /// The switch above it; absent: a root port.
    #[serde(default)]
    below: Option<String>,
    /// Whether ACS at its port sends requests between devices up to the root port.
    #[serde(default)]
    redirects: Option<bool>,
    /// One line for people.
    #[serde(default)]
    title: Option<String>,
    /// Vendor of a GPU.
    #[serde(default)]
    #[schemars(extend("enum" = ["nvidia", "amd", "intel", null]))]
    vendor: Option<String>,
    /// Line of a NIC, all its ports together, Gb/s.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 100000))]
    line_gbps: Option<f64>,
    /// What the medium of a drive reads, GB/s.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 100000))]
    read_gbytes_per_s: Option<f64>,
    /// What the medium of a drive writes, GB/s.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 100000))]
    write_gbytes_per_s: Option<f64>,
}

/// Devices that links of their own connect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PeersText {
    /// Kind of the links: `nvlink`, `infinity-fabric`.
    #[serde(default = "peers")]
    kind: String,
    /// Their names, or ranges of names.
    #[schemars(length(min = 1, max = 200))]
    devices: String,
    /// What one device sends to all others, raw, GB/s.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 100000))]
    gbytes_per_s: Option<f64>,
    /// What one device sends to one other, raw, GB/s; absent: as to all.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 100000))]
    pair_gbytes_per_s: Option<f64>,
}

fn peers() -> String {
    "peers".to_owned()
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// A NIC.
    Nic,
    /// A drive.
    Nvme,
    /// Other storage.
    Storage,
    /// An accelerator.
    Accelerator,
    /// An FPGA.
    Fpga,
    /// A CXL device.
    Cxl,
    /// Another device.
    Device,
}

/// A machine, its ranges of names expanded.
#[derive(Debug, Serialize)]
pub struct MachineFile {
    name: String,
    title: String,
    processor: String,
    host: Option<String>,
    sockets: Option<u32>,
    p2p: Option<bool>,
    parts: Vec<Part>,
    peers: Vec<Peers>,
}

/// A switch or a device.
#[derive(Clone, Debug, Serialize)]
struct Part {
    name: String,
    kind: String,
    link: Option<Link>,
    upper: Option<String>,
    socket: Option<u32>,
    stack: Option<String>,
    redirects: Option<bool>,
    line_gbps: Option<f64>,
    read_gbytes_per_s: Option<f64>,
    write_gbytes_per_s: Option<f64>,
    vendor: Option<String>,
    title: String,
}

/// A link.
#[derive(Clone, Copy, Debug, Serialize)]
struct Link {
    generation: u32,
    lanes: u32,
    mps_bytes: Option<u32>,
}

/// Devices that links of their own connect.
#[derive(Debug, Serialize)]
struct Peers {
    kind: String,
    devices: Vec<String>,
    gbytes_per_s: Option<f64>,
    pair_gbytes_per_s: Option<f64>,
}

/// Reads a machine from the content of its file; `path` names it in messages.
///
/// # Errors
/// A key is unknown, or a value is wrong: the message names file, key, value and remedy.
pub fn read_machine(content: Table, path: &str) -> Result<MachineFile, Refusal> {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::of_schema(&machine_schema()));
    let content = Value::Table(content).into_json();
    refused(&SHAPE.problems(&content), |_| Giver::file(path))?;
    let read = serde_json::from_value(content).map_err(Refusal::new);
    let machine = read.and_then(expanded_machine);
    machine.map_err(|wrong| if path.is_empty() { wrong } else { wrong.about(path) })
}

/// The JSON Schema of a machine's file.
fn machine_schema() -> Json {
    SchemaGenerator::default().into_root_schema_for::<MachineText>().to_value()
}

fn expanded_machine(text: MachineText) -> Result<MachineFile, Refusal> {
    let mut parts = Vec::new();
    for (number, switch) in text.switch.iter().enumerate() {
        parts.extend(switch.parts().map_err(|wrong| wrong.below(&format!("switch.{number}")))?);
    }
    for (number, device) in text.device.iter().enumerate() {
        parts.extend(device.parts().map_err(|wrong| wrong.below(&format!("device.{number}")))?);
    }
    if text.device.is_empty() {
        let missing = Refusal::new("no device").kind(Kind::Missing);
        return Err(missing.remedy("give it as [[device]] with name, kind and link"));
    }
    let peers = text.peers.into_iter().enumerate().map(|(number, peers)| {
        let devices = expanded_names(&peers.devices);
        Ok(Peers {
            devices: devices.map_err(|wrong| wrong.key("devices").below(&format!("peers.{number}")))?,
            kind: peers.kind,
            gbytes_per_s: peers.gbytes_per_s,
            pair_gbytes_per_s: peers.pair_gbytes_per_s,
        })
    });
    Ok(MachineFile {
        peers: peers.collect::<Result<_, Refusal>>()?,
        name: text.name.unwrap_or_else(|| "machine".to_owned()),
        title: text.title.unwrap_or_default(),
        processor: text.processor.unwrap_or_default(),
        host: text.host,
        sockets: text.sockets,
        p2p: text.p2p,
        parts,
    })
}

impl SwitchText {
    fn parts(&self) -> Result<impl Iterator<Item = Part>, Refusal> {
        let part = Part {
            name: String::new(),
            kind: "switch".to_owned(),
            link: link_of(self.link.as_deref())?,
            upper: self.below.clone(),
            socket: self.socket,
            stack: stack_of(self.stack.as_ref())?,
            redirects: self.redirects,
            line_gbps: None,
            read_gbytes_per_s: None,
            write_gbytes_per_s: None,
            vendor: None,
            title: self.title.clone().unwrap_or_default(),
        };
        Ok(names_of(&self.name)?.into_iter().map(move |name| Part { name, ..part.clone() }))
    }
}

impl DeviceText {
    fn parts(&self) -> Result<impl Iterator<Item = Part>, Refusal> {
        let kind = serde_json::to_value(self.kind).map_err(Refusal::new)?;
        let part = Part {
            name: String::new(),
            kind: kind.as_str().unwrap_or_default().to_owned(),
            link: link_of(self.link.as_deref())?,
            upper: self.below.clone(),
            socket: self.socket,
            stack: stack_of(self.stack.as_ref())?,
            redirects: self.redirects,
            line_gbps: self.line_gbps,
            read_gbytes_per_s: self.read_gbytes_per_s,
            write_gbytes_per_s: self.write_gbytes_per_s,
            vendor: self.vendor.clone(),
            title: self.title.clone().unwrap_or_default(),
        };
        Ok(names_of(&self.name)?.into_iter().map(move |name| Part { name, ..part.clone() }))
    }
}

fn names_of(name: &str) -> Result<Vec<String>, Refusal> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_.,-".contains(letter);
    if !name.chars().all(is_plain) || name.len() > LETTERS_MOST {
        return Err(Refusal::of("name", quoted(name), "give letters and digits, as gpu0 or gpu0..7"));
    }
    expanded_names(name).map_err(|wrong| wrong.key("name"))
}

fn stack_of(stack: Option<&Json>) -> Result<Option<String>, Refusal> {
    match stack {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.chars().take(32).collect())),
        Some(Json::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(Refusal::of("stack", other, "give a text or a number").kind(Kind::WrongType)),
    }
}

/// The link of a text, `gen5x16` or `gen5x16-mps512`.
fn link_of(text: Option<&str>) -> Result<Option<Link>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let (link, mps) = text.split_once("-mps").map_or((text, None), |(link, mps)| (link, Some(mps)));
    let mps_bytes = mps.map(|mps| mps.parse().ok().filter(|bytes| PAYLOADS.contains(bytes)));
    let link = pcie_wire::generation_and_lanes(link);
    let link = link.filter(|(generation, lanes)| (1..=6).contains(generation) && LANES.contains(lanes));
    match (link, mps_bytes) {
        (Some((generation, lanes)), None | Some(Some(_))) => {
            Ok(Some(Link { generation, lanes, mps_bytes: mps_bytes.flatten() }))
        }
        _ => {
            let remedy = "give generation and lanes, as gen5x16 or gen5x16-mps512";
            Err(Refusal::of("link", quoted(text), remedy))
        }
    }
}

/// The names of a text: `gpu0`, `gpu0..3`, `gpu0..1,gpu4`.
///
/// # Errors
/// A range has no numbers, or is empty.
pub fn expanded_names(text: &str) -> Result<Vec<String>, Refusal> {
    let mut names = Vec::new();
    for one in text.split(',') {
        names.extend(range_of(one.trim())?);
    }
    Ok(names)
}

fn range_of(text: &str) -> Result<Vec<String>, Refusal> {
    let Some((first, last)) = text.split_once("..") else { return Ok(vec![text.to_owned()]) };
    let stem = first.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let last = last.strip_prefix(stem).unwrap_or(last);
    let number = |digits: &str| digits.parse::<u32>().ok().filter(|_| digits.len() <= DIGITS_MOST);
    let (Some(low), Some(high)) = (number(&first[stem.len()..]), number(last)) else {
        let wrong = Refusal::new(format!("{}: not a range of names", named(text)));
        return Err(wrong.kind(Kind::Malformed).remedy("give one as gpu0..7"));
    };
    if high < low {
        let empty = Refusal::new(format!("{}: the range is empty", named(text)));
        return Err(empty.kind(Kind::Malformed).remedy("give the lower number first"));
    }
    Ok((low..=high).map(|number| format!("{stem}{number}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_names_are_expanded() {
        assert_eq!(expanded_names("gpu0..2,nic4").unwrap(), ["gpu0", "gpu1", "gpu2", "nic4"]);
        assert_eq!(expanded_names("gpu6..gpu7").unwrap(), ["gpu6", "gpu7"]);
        for wrong in ["gpu..x", "gpu3..0", "gpu0..9999"] {
            expanded_names(wrong).unwrap_err();
        }
    }

    #[test]
    fn links_have_a_generation_lanes_and_perhaps_an_mps() {
        let link = link_of(Some("gen5x16-mps512")).unwrap().unwrap();
        assert_eq!((link.generation, link.lanes, link.mps_bytes), (5, 16, Some(512)));
        for wrong in ["gen9x16", "gen5x3", "gen5x16-mps100", "x16"] {
            link_of(Some(wrong)).unwrap_err();
        }
    }
}
