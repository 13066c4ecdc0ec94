//! Fabrics for Python: handles, and columns of flows.

use std::collections::{HashMap, HashSet};

use pcie_describe::{
    DevicePreset, HostPreset, Kind, Presets, Table, fabric_keys, flow_columns as known_columns, flow_names,
    read_device_preset, read_fabric, read_file,
};
use pcie_fabric::simulate::Traffic;
use pcie_fabric::{FabricParameters, Topology};
use pcie_refusal::shown::named;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value as Json};

use crate::describe::{Opened, ascii, dictionary, read, table, written};
use crate::error::{Error, Result};
use crate::fabric::FLOWS_MOST;
use crate::json::{parse, text};
use crate::progress::Watched;

/// Presets in files that a function of Python opens.
struct Files<'py> {
    hosts: &'py [String],
    devices: &'py [String],
    opened: &'py Bound<'py, PyAny>,
    known: (HashMap<String, HostPreset>, HashMap<String, DevicePreset>),
}

impl Presets for Files<'_> {
    type Error = Error;

    fn hosts(&self) -> &[String] {
        self.hosts
    }

    fn devices(&self) -> &[String] {
        self.devices
    }

    fn host(&mut self, name: &str) -> Result<HostPreset> {
        if let Some(known) = self.known.0.get(name) {
            return Ok(known.clone());
        }
        let file = read_file(Kind::Host, name, &mut Opened(self.opened))?;
        let preset = HostPreset::of_profile(&file.values);
        self.known.0.insert(name.to_owned(), preset.clone());
        Ok(preset)
    }

    fn device(&mut self, name: &str) -> Result<DevicePreset> {
        if let Some(known) = self.known.1.get(name) {
            return Ok(known.clone());
        }
        let (content, path): (String, String) =
            self.opened.call1(("fabric-device", name, None::<&str>))?.extract()?;
        let preset = read_device_preset(&content, &path)?;
        self.known.1.insert(name.to_owned(), preset.clone());
        Ok(preset)
    }
}

/// The file of a fabric, and the changes of its keys.
struct File {
    text: String,
    path: String,
    changes: Table,
    hosts: Vec<String>,
    devices: Vec<String>,
    opened: Py<PyAny>,
}

impl File {
    fn presets<'py>(&'py self, opened: &'py Bound<'py, PyAny>) -> Files<'py> {
        Files { hosts: &self.hosts, devices: &self.devices, opened, known: Default::default() }
    }

    /// The fabric that the file describes.
    fn read(self, py: Python<'_>) -> Result<Fabric> {
        let opened = self.opened.bind(py).clone();
        let mut presets = self.presets(&opened);
        let (topology, content) = read_fabric(&self.text, &self.path, &self.changes, &mut presets)?;
        Ok(Fabric { topology, read: Some((self, content)) })
    }
}

/// A checked fabric.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct Fabric {
    topology: Topology,
    /// The file that it was read from, and its content.
    read: Option<(File, pcie_describe::FabricFile)>,
}

impl Fabric {
    /// The fabric, to estimate or simulate flows on it.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    fn content(&self) -> Option<&pcie_describe::FabricFile> {
        self.read.as_ref().map(|(_, content)| content)
    }

    fn file(&self) -> Result<&File> {
        let file = self.read.as_ref().map(|(file, _)| file);
        Ok(file.ok_or_else(|| {
            Refusal::new("has no file")
                .kind(RefusalKind::Missing)
                .remedy("read it from a file")
                .about("fabric")
        })?)
    }

    fn described(&self) -> FabricParameters {
        FabricParameters {
            name: self.topology.name().to_owned(),
            mps_bytes: self.topology.mps_bytes(),
            nodes: self.topology.nodes().to_vec(),
            links: self.topology.links().to_vec(),
            limits: self.topology.limits().to_vec(),
            peers: self.topology.peers().to_vec(),
        }
    }

    /// The fabric with other nodes and links.
    fn with_parts(&self, change: impl FnOnce(&mut FabricParameters)) -> Result<Self> {
        let mut described = self.described();
        change(&mut described);
        Ok(Self { topology: Topology::new(described)?, read: None })
    }

    fn of_file<'py>(&self, py: Python<'py>, key: &str) -> Result<Bound<'py, PyAny>> {
        let value = self.content().map(|read| read.content[key].clone());
        Ok(written(py, value.unwrap_or_default())?)
    }
}

#[pymethods]
impl Fabric {
    /// Reads a fabric from the text of a file, with changes by dotted key. `path` names it in messages, `hosts` and
    /// `devices` are the names of presets, whose files `opened` reads.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        content: String,
        path: String,
        changes: &Bound<'_, PyDict>,
        hosts: Vec<String>,
        devices: Vec<String>,
        opened: Py<PyAny>,
    ) -> Result<Self> {
        File { text: content, path, changes: table(changes)?, hosts, devices, opened }.read(py)
    }

    /// The fabric with more changes by dotted key.
    fn with_(&self, py: Python<'_>, changes: &Bound<'_, PyDict>) -> Result<Self> {
        let file = self.file()?;
        let mut all = file.changes.clone();
        all.extend(table(changes)?);
        File {
            text: file.text.clone(),
            path: file.path.clone(),
            changes: all,
            hosts: file.hosts.clone(),
            devices: file.devices.clone(),
            opened: file.opened.clone_ref(py),
        }
        .read(py)
    }

    /// The dotted keys that changes may have, each with the first sentence of its meaning.
    fn keys(&self, py: Python<'_>) -> Result<Vec<(String, String)>> {
        let file = self.file()?;
        fabric_keys(&file.text, &file.path, &mut file.presets(file.opened.bind(py)))
    }

    /// The changes of its file's values, by dotted key.
    fn changes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        Ok(dictionary(py, self.read.as_ref().map(|(file, _)| file.changes.clone()).unwrap_or_default())?)
    }

    /// A fabric of JSON with every key.
    #[staticmethod]
    fn of_json(json: &str) -> Result<Self> {
        Ok(Self { topology: Topology::new(parse::<FabricParameters>("", json)?)?, read: None })
    }

    /// The JSON Schema of a fabric file, with the presets of devices as kinds of nodes.
    #[staticmethod]
    fn schema(devices: Vec<String>) -> Result<String> {
        text(&pcie_describe::fabric_schema(&devices))
    }

    /// The JSON Schema of the file of a preset of a device.
    #[staticmethod]
    fn preset_schema() -> Result<String> {
        text(&pcie_describe::device_preset_schema())
    }

    #[getter]
    fn name(&self) -> &str {
        self.topology.name()
    }

    /// Canonical JSON: keys sorted, no spaces, ASCII only.
    fn json(&self) -> Result<String> {
        let mut value = serde_json::to_value(self.described())?;
        value.sort_all_objects();
        Ok(ascii(&text(&value)?))
    }

    /// Nested tables of its nodes and links.
    fn values<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(written(py, serde_json::to_value(self.described())?)?)
    }

    /// The names of its edges, which are the directions of its links, and two capacities of each, GB/s: what streams
    /// get of it, and what its link carries.
    fn edges(&self) -> (Vec<String>, &[f64], &[f64]) {
        let names = (0..).take(self.topology.edge_count()).map(|edge| self.topology.edge_name(edge));
        (names.collect(), self.topology.capacities(), self.topology.link_capacities())
    }

    /// The fabric without the engines and memories of some devices.
    fn without_devices(&self, names: HashSet<String>) -> Result<Self> {
        self.with_parts(|described| {
            let nodes = described.nodes.iter_mut().filter(|node| names.contains(&node.name));
            nodes.for_each(|node| node.device = None);
        })
    }

    /// The fabric with a device, and its link, below another node.
    fn moved(&self, device: &str, upper: &str) -> Result<Self> {
        self.with_parts(|described| {
            let links = described.links.iter_mut().filter(|link| link.lower == device);
            links.for_each(|link| upper.clone_into(&mut link.upper));
        })
    }

    /// The value of a key of its file, with every key of the tables in it; None of a fabric without a file.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> Result<Bound<'py, PyAny>> {
        self.of_file(py, key)
    }

    /// The sources of its values.
    fn provenance<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(written(py, serde_json::to_value(self.content().map(|read| &read.provenance))?)?)
    }

    /// The names of the sets of flows in its file.
    fn flow_sets(&self) -> Vec<&str> {
        self.content().into_iter().flat_map(|read| read.sets.keys()).map(String::as_str).collect()
    }

    /// The set of flows to use if none is named.
    fn default_set(&self) -> Option<&str> {
        self.content()?.default_set()
    }

    /// The flows of a set, as columns with names; `of` names the set in messages.
    fn flows<'py>(&self, py: Python<'py>, name: &str, of: &str) -> Result<Bound<'py, PyDict>> {
        let sets = self.content().into_iter().flat_map(|read| read.sets.get(name));
        let flows: Vec<Json> =
            sets.flatten().map(serde_json::to_value).collect::<std::result::Result<_, _>>()?;
        let made = PyDict::new(py);
        for column in known_columns() {
            let cells = flows.iter().map(|flow| written(py, flow[&column.key].clone()));
            made.set_item(&column.key, PyList::new(py, cells.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        named_columns(&made, of)?;
        self.check_ends(&made, of)?;
        Ok(made)
    }

    /// Refuses columns of flows whose ends are no nodes; `of` names them in messages.
    fn check_ends(&self, columns: &Bound<'_, PyDict>, of: &str) -> Result<()> {
        for key in ["source", "destination"] {
            for (number, end) in (1..).zip(texts(columns, key)?) {
                if self.topology.node(&end).is_none() {
                    let nodes: Vec<&str> =
                        self.topology.nodes().iter().map(|node| node.name.as_str()).collect();
                    let remedy = format!("unknown node: {}", suggestion(&end, &nodes));
                    let refusal = Refusal::of(key, named(&end), remedy).kind(RefusalKind::NotFound);
                    return Err(refusal.about(format!("{of}: flow {number}")).into());
                }
            }
        }
        Ok(())
    }
}

/// A column of texts, which Python keeps: copies of many flows fill memory.
fn texts(columns: &Bound<'_, PyDict>, key: &str) -> Result<Vec<PyBackedStr>> {
    Ok(columns.get_item(key)?.map(|list| list.extract()).transpose()?.unwrap_or_default())
}

/// Names unnamed flows, and refuses repeated names; results refer to flows by name.
fn named_columns(columns: &Bound<'_, PyDict>, of: &str) -> Result<()> {
    let [names, sources, destinations] =
        [texts(columns, "name")?, texts(columns, "source")?, texts(columns, "destination")?];
    let flows = names.iter().zip(&sources).zip(&destinations);
    let names = flow_names(flows.map(|((name, from), to)| (&**name, &**from, &**to)), of)?;
    Ok(columns.set_item("name", names)?)
}

/// Flows given as columns: checked, with defaults for empty cells and absent columns, and names.
///
/// `of` names their source in messages.
#[pyfunction]
pub(crate) fn flow_columns<'py>(
    py: Python<'py>,
    names: Vec<String>,
    columns: Vec<Bound<'py, PyList>>,
    of: &str,
) -> Result<Bound<'py, PyDict>> {
    let keys: Vec<&str> = known_columns().iter().map(|column| column.key.as_str()).collect();
    for (number, name) in names.iter().enumerate() {
        if !keys.contains(&name.as_str()) {
            let refusal =
                Refusal::new(format!("unknown column {}", named(name))).kind(RefusalKind::UnknownKey);
            return Err(refusal.remedy(suggestion(name, &keys)).about(of).into());
        }
        if names[..number].contains(name) {
            return Err(Refusal::new(format!("column {name}: occurs twice"))
                .remedy("give it once")
                .about(of)
                .into());
        }
    }
    let count = columns.first().map_or(0, PyListMethods::len);
    if count == 0 {
        let refusal = Refusal::new("has no flows").kind(RefusalKind::Missing).remedy("give at least one");
        return Err(refusal.about(of).into());
    }
    let made = PyDict::new(py);
    for column in known_columns() {
        let given = names.iter().position(|name| *name == column.key).and_then(|at| columns.get(at));
        let default = column.default.clone().map(|value| written(py, value)).transpose()?;
        if given.is_none() && default.is_none() {
            let problem = format!("missing column {} ({})", column.key, column.meaning);
            return Err(Refusal::new(problem).kind(RefusalKind::Missing).about(of).into());
        }
        let mut cells = Vec::with_capacity(count);
        for number in 0..count {
            let cell = given.map(|cells| cells.get_item(number)).transpose()?;
            let subject = || format!("{of}: flow {}", number + 1);
            cells.push(match (cell.filter(|cell| !is_empty(cell)), &default) {
                (Some(cell), _) => {
                    let value = read(&cell)?.into_json();
                    let checked = column.read(&value, subject)?;
                    if checked == value { cell } else { written(py, checked)? }
                }
                (None, Some(default)) => default.clone(),
                (None, None) => {
                    let problem = format!("{} is empty", column.key);
                    let refusal = Refusal::new(problem).kind(RefusalKind::Missing);
                    let refusal = refusal.remedy(format!("give {}", column.meaning));
                    return Err(refusal.about(subject()).into());
                }
            });
        }
        made.set_item(&column.key, PyList::new(py, cells)?)?;
    }
    named_columns(&made, of)?;
    Ok(made)
}

/// The flows of columns with every key, as a simulator takes them. A signal ends it.
pub(crate) fn flows_in(columns: &Bound<'_, PyDict>) -> Result<Vec<Traffic>> {
    let columns: Vec<(String, Bound<'_, PyList>)> = columns
        .iter()
        .map(|(key, cells)| Ok((key.extract()?, cells.cast_into::<PyList>()?)))
        .collect::<PyResult<_>>()?;
    let count = columns.first().map_or(0, |(_, cells)| cells.len());
    if count > FLOWS_MOST {
        let refusal = Refusal::of("flows", count, format!("give {FLOWS_MOST} at most"));
        return Err(refusal.kind(pcie_refusal::Kind::TooLarge).into());
    }
    let mut watched = Watched::new();
    let mut flows = Vec::with_capacity(count);
    for number in 0..count {
        if watched.is_signalled() {
            break;
        }
        let mut flow = Map::new();
        for (key, cells) in &columns {
            let cell = cells.get_item(number)?;
            let value = if is_empty(&cell) { Json::Null } else { read(&cell)?.into_json() };
            flow.insert(key.clone(), value);
        }
        let wrong = |error| Refusal::new(error).about(format!("flow {}", number + 1));
        flows.push(serde_json::from_value(flow.into()).map_err(wrong)?);
    }
    watched.result(Ok::<_, Error>(flows))
}

/// Whether a cell of a frame or file stands for an absent key.
fn is_empty(cell: &Bound<'_, PyAny>) -> bool {
    cell.is_none() || cell.cast::<pyo3::types::PyFloat>().is_ok_and(|number| number.value().is_nan())
}
