//! `pcie-describe` for Python: tables are dictionaries, and systems are handles.

use pcie_describe::{Description, Files, Kind, Layer, Source, Table, Value};
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_schema::Fitting as _;
use pcie_sim::Machine;
use pcie_sim::profile::System as Inner;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Number, Value as Json};

use crate::error::{Error, Result, refused};
use crate::json::{parse, text};

/// Letters of a text that stands for a number or object without a value of TOML.
const LETTERS_MOST: usize = 40;

/// Opens files by a function of Python: kind, reference and the file beside it give a text and its path.
pub(crate) struct Opened<'py>(pub(crate) &'py Bound<'py, PyAny>);

impl Files for Opened<'_> {
    type Error = Error;

    fn read(&mut self, kind: Kind, reference: &str, beside: Option<&str>) -> Result<Layer> {
        let (text, path): (String, String) = self.0.call1((kind.word(), reference, beside))?.extract()?;
        Ok(Layer {
            table: pcie_describe::read_table(&text, &path, |key| kind.remedy(key))?,
            path,
            is_file: true,
        })
    }

    fn about(error: Error, file: &str) -> Error {
        error.about(file)
    }
}

/// The dictionary of Python as a table of a file.
pub(crate) fn table(content: &Bound<'_, PyDict>) -> PyResult<Table> {
    content.iter().map(|(key, value)| Ok((key.extract()?, read(&value)?))).collect()
}

pub(crate) fn read(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Leaf(Json::Null));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.to_string_lossy().into_owned()));
    }
    if let Ok(is) = value.cast::<PyBool>() {
        return Ok(Value::Leaf(is.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        if let Ok(number) = value.extract::<i64>() {
            return Ok(Value::Leaf(number.into()));
        }
        if let Ok(number) = value.extract::<u64>() {
            return Ok(Value::Leaf(number.into()));
        }
        // Beyond all ranges, as a number of the nearest size.
        let near = value.extract::<f64>().unwrap_or(f64::MAX);
        return Ok(
            Number::from_f64(near).map_or_else(|| stand_in(value), |number| Value::Leaf(number.into()))
        );
    }
    if value.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(value.extract()?);
        return Ok(number.map_or_else(|| stand_in(value), |number| Value::Leaf(number.into())));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(|one| read(&one)).collect::<PyResult<_>>()?));
    }
    if let Ok(list) = value.cast::<PyTuple>() {
        return Ok(Value::List(list.iter().map(|one| read(&one)).collect::<PyResult<_>>()?));
    }
    match value.cast::<PyDict>() {
        Ok(content) => Ok(Value::Table(table(content)?)),
        Err(_) => Ok(stand_in(value)),
    }
}

/// A text in the place of a value that no description has: refused wherever a number or table is expected.
fn stand_in(value: &Bound<'_, PyAny>) -> Value {
    let text = value.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    Value::List(vec![Value::Text(text.chars().take(LETTERS_MOST).collect())])
}

pub(crate) fn dictionary<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (key, value) in table {
        made.set_item(key, written(py, value.into_json())?)?;
    }
    Ok(made)
}

/// A value of JSON as Python's.
pub(crate) fn written(py: Python<'_>, value: Json) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(is) => is.into_bound_py_any(py),
        Json::String(text) => text.into_bound_py_any(py),
        Json::Number(number) => {
            if let Some(whole) = number.as_i64() {
                return whole.into_bound_py_any(py);
            }
            match number.as_u64() {
                Some(whole) => whole.into_bound_py_any(py),
                None => number.as_f64().into_bound_py_any(py),
            }
        }
        Json::Array(list) => {
            let made = list.into_iter().map(|one| written(py, one)).collect::<PyResult<Vec<_>>>()?;
            made.into_bound_py_any(py)
        }
        Json::Object(table) => {
            let made = PyDict::new(py);
            for (key, value) in table {
                made.set_item(key, written(py, value)?)?;
            }
            Ok(made.into_any())
        }
    }
}

fn kind_of(word: &str) -> Result<Kind> {
    Kind::of_word(word).ok_or_else(|| refused(format!("{word}: not a kind of profile")))
}

/// Values, changes of the file, files and sources of a system.
type Origins<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
);

/// A complete, checked system.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct System {
    inner: Inner,
    /// What it was read from; None if it came complete.
    read: Option<Description>,
}

impl System {
    /// The system, to simulate it.
    pub(crate) fn machine(&self) -> Result<Machine> {
        Ok(Machine::new(self.inner.clone())?)
    }

    /// The system.
    pub(crate) fn system(&self) -> &Inner {
        &self.inner
    }

    fn of(read: Description) -> Self {
        Self { inner: read.system.clone(), read: Some(read) }
    }

    fn value(&self) -> Result<Json> {
        Ok(serde_json::to_value(&self.inner)?)
    }
}

#[pymethods]
impl System {
    /// Reads a system by the name or path of its file, with changes by dotted key; `opened` reads files.
    #[staticmethod]
    fn read(reference: &str, changes: &Bound<'_, PyDict>, opened: &Bound<'_, PyAny>) -> Result<Self> {
        let source = Source::Named(reference.to_owned());
        Ok(Self::of(pcie_describe::read_system(source, table(changes)?, &mut Opened(opened))?))
    }

    /// Reads a system from the text of a file that came without its folder; `label` names it in messages.
    #[staticmethod]
    fn read_text(
        content: &str,
        label: &str,
        changes: &Bound<'_, PyDict>,
        opened: &Bound<'_, PyAny>,
    ) -> Result<Self> {
        let own = pcie_describe::read_table(content, label, |key| Kind::System.remedy(key))?;
        pcie_describe::without_folder(&own, label)?;
        let source = Source::Content(Layer { table: own, path: label.to_owned(), is_file: true });
        Ok(Self::of(pcie_describe::read_system(source, table(changes)?, &mut Opened(opened))?))
    }

    /// A system of JSON with every key.
    #[staticmethod]
    fn of_json(json: &str) -> Result<Self> {
        let content: Json = parse("system", json)?;
        let name = content["name"].as_str().unwrap_or_default();
        let subject = format!("system {name}").trim_end().to_owned();
        let inner = Inner::read(content).map_err(|refusal| refusal.about(subject))?;
        Machine::check(&inner)?;
        Ok(Self { inner, read: None })
    }

    /// A system that an earlier or later version recorded. None if a key is missing, null or unknown.
    ///
    /// `giver` names its source in messages, and `below` its table there.
    #[staticmethod]
    fn recorded(json: &str, giver: &str, below: &str) -> Result<Option<Self>> {
        let content: Json = parse(giver, json)?;
        let inner = pcie_describe::recorded(content, giver, below)?;
        Ok(inner.map(|inner| Self { inner, read: None }))
    }

    /// The JSON Schema of a system.
    #[staticmethod]
    fn schema() -> Result<String> {
        text(&pcie_describe::system_schema())
    }

    /// The system with changes by dotted key, without its files.
    fn with_(&self, changes: &Bound<'_, PyDict>) -> Result<Self> {
        let Value::Table(own) = Value::of_json(self.value()?) else { return Err(refused("no table")) };
        Ok(Self { inner: pcie_describe::changed(own, &table(changes)?)?, read: None })
    }

    /// The system with the changes of each variant, like `with_`; None where they make it impossible.
    fn each_with(&self, py: Python<'_>, variants: Vec<Bound<'_, PyDict>>) -> Result<Vec<Option<Self>>> {
        let Value::Table(own) = Value::of_json(self.value()?) else { return Err(refused("no table")) };
        let changed = |changes: &Bound<'_, PyDict>| {
            py.check_signals()?;
            let inner = pcie_describe::changed(own.clone(), &table(changes)?).ok();
            Ok(inner.map(|inner| Self { inner, read: None }))
        };
        variants.iter().map(changed).collect()
    }

    /// Canonical JSON: keys sorted, no spaces, ASCII only.
    fn json(&self) -> Result<String> {
        let mut value = self.value()?;
        value.sort_all_objects();
        Ok(ascii(&text(&value)?))
    }

    /// Nested tables of all values.
    fn values<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        Ok(written(py, self.value()?)?)
    }

    /// The value of a dotted key; None where the system lacks its part.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> Result<Bound<'py, PyAny>> {
        let pointer = format!("/{}", key.replace('.', "/"));
        let value = self.value()?.pointer(&pointer).cloned();
        if value.is_none() && Inner::shape().at(key).is_none() {
            return Err(Refusal::new("unknown key").kind(RefusalKind::UnknownKey).key(key).into());
        }
        Ok(written(py, value.unwrap_or_default())?)
    }

    /// One step of every key that limits something, as JSON: words, new values by dotted key, what it is of, and who can
    /// make it.
    fn changes(&self) -> Result<String> {
        text(&pcie_why::of_system(&self.inner)?)
    }

    /// Every dotted key of a system, those of tables included, with the first sentence of its meaning.
    #[staticmethod]
    fn keys() -> Vec<(String, String)> {
        pcie_describe::meanings()
    }

    /// What gave the value of a dotted key: a file, `FILE: [set]`, or `--set`; None of a system without files.
    fn source(&self, key: &str) -> Option<String> {
        self.read.as_ref().map(|read| read.source(key))
    }

    /// Its values as nested tables; the changes of its file's `[set]`; the file of the system and of each part, by
    /// kind; the sources of the values of each file, by kind; the keys that nobody measured, with a word on each
    /// (`assumed`, `borrowed`, `unidentified`); and the borrowed keys, with the profile that each comes from.
    fn described<'py>(&self, py: Python<'py>) -> Result<Origins<'py>> {
        let (files, provenance) = (PyDict::new(py), PyDict::new(py));
        let changes = self.read.as_ref().map(|read| read.merged.own_changes.clone()).unwrap_or_default();
        for part in self.read.iter().flat_map(|read| &read.merged.parts) {
            files.set_item(part.kind.word(), &part.whole.path)?;
        }
        for (kind, sources) in self.read.iter().flat_map(|read| &read.provenance) {
            provenance.set_item(kind.word(), written(py, serde_json::to_value(sources)?)?)?;
        }
        let (unmeasured, borrowed) = match &self.read {
            Some(read) => (read.unmeasured()?, read.borrowed()?),
            None => Default::default(),
        };
        let (unmeasured, borrowed) = (unmeasured.into_py_dict(py)?, borrowed.into_py_dict(py)?);
        Ok((written(py, self.value()?)?, dictionary(py, changes)?, files, provenance, unmeasured, borrowed))
    }

    /// Capacities that a window can exceed, as JSON.
    fn capacities(&self) -> Result<String> {
        text(&self.inner.capacities())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

/// JSON with escapes for letters beyond ASCII, as Python writes it.
pub(crate) fn ascii(json: &str) -> String {
    let mut made = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            made.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                made.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    made
}

/// A file by itself, checked: its values, its head (title and base), its provenance, and its path.
type CheckedFile<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, String);

/// Reads and checks a file by itself, over its bases; `opened` reads files.
#[pyfunction]
pub(crate) fn read_profile<'py>(
    py: Python<'py>,
    kind: &str,
    reference: &str,
    opened: &Bound<'py, PyAny>,
) -> Result<CheckedFile<'py>> {
    let file = pcie_describe::read_file(kind_of(kind)?, reference, &mut Opened(opened))?;
    let provenance = written(py, serde_json::to_value(&file.provenance)?)?;
    Ok((written(py, file.values)?, written(py, file.table)?, provenance, file.path))
}

/// A link, host or device with every key, checked; `giver` names its source in messages.
#[pyfunction]
pub(crate) fn complete_part<'py>(
    py: Python<'py>,
    kind: &str,
    values: &Bound<'py, PyDict>,
    giver: &str,
) -> Result<Bound<'py, PyAny>> {
    let values = Value::Table(table(values)?).into_json();
    Ok(written(py, pcie_describe::read_part(kind_of(kind)?, values, giver)?)?)
}

/// The JSON Schema of a kind of file.
#[pyfunction]
pub(crate) fn profile_schema(kind: &str) -> Result<String> {
    text(&pcie_describe::file_schema(kind_of(kind)?))
}

/// Changes written as KEY=VALUE, by key.
#[pyfunction]
pub(crate) fn typed_changes(py: Python<'_>, texts: Vec<String>) -> Result<Bound<'_, PyDict>> {
    Ok(dictionary(py, pcie_describe::typed_changes(&texts)?)?)
}

/// The value that a text stands for in a change.
#[pyfunction]
pub(crate) fn typed<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>> {
    Ok(written(py, pcie_describe::typed(text).into_json())?)
}

/// A copy of nested tables with the value of a dotted key replaced.
#[pyfunction]
pub(crate) fn replaced<'py>(
    py: Python<'py>,
    content: &Bound<'py, PyDict>,
    key: &str,
    value: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDict>> {
    let mut changed = table(content)?;
    pcie_describe::replaced(&mut changed, key, read(value)?, "")?;
    Ok(dictionary(py, changed)?)
}
