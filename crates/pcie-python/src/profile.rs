//! `pcie-profile` for Python: tables are dictionaries, and numbers keep their Python objects.

use pcie_profile::{Files, Kind, Layer, Leaf, PARTS, System, Table, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::error::{Error, Result, refused};

/// A value of Python that is neither a table, a list nor a text.
#[derive(Debug)]
struct Object(Py<PyAny>);

impl Clone for Object {
    fn clone(&self) -> Self {
        Python::attach(|py| Self(self.0.clone_ref(py)))
    }
}

impl Leaf for Object {
    fn none() -> Self {
        Python::attach(|py| Self(py.None()))
    }

    fn of_toml(value: &toml::Value) -> Option<Self> {
        let made = Python::attach(|py| match value {
            toml::Value::Integer(number) => number.into_py_any(py).ok(),
            toml::Value::Float(number) => number.into_py_any(py).ok(),
            toml::Value::Boolean(is) => is.into_py_any(py).ok(),
            _ => None,
        });
        made.map(Self)
    }
}

/// Opens files by a function of Python: kind, reference and the file beside it give a table and its path.
struct Opened<'py>(&'py Bound<'py, PyAny>);

impl Files<Object> for Opened<'_> {
    type Error = Error;

    fn read(&mut self, kind: Kind, reference: &str, beside: Option<&str>) -> Result<Layer<Object>> {
        let found = self.0.call1((kind.word(), reference, beside))?;
        let (content, path): (Bound<'_, PyDict>, String) = found.extract()?;
        Ok(Layer { table: table(&content)?, path, is_file: true })
    }
}

fn table(content: &Bound<'_, PyDict>) -> PyResult<Table<Object>> {
    content.iter().map(|(key, value)| Ok((key.extract()?, read(&value)?))).collect()
}

fn read(value: &Bound<'_, PyAny>) -> PyResult<Value<Object>> {
    if let Ok(text) = value.cast::<PyString>() {
        // A text with a lone surrogate has no encoding: it stays an object of Python.
        return Ok(text.to_str().map_or_else(|_| leaf(value), |text| Value::Text(text.to_owned())));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(|one| read(&one)).collect::<PyResult<_>>()?));
    }
    if let Ok(content) = value.cast::<PyDict>() {
        return Ok(table(content).map_or_else(|_| leaf(value), Value::Table));
    }
    Ok(leaf(value))
}

fn leaf(value: &Bound<'_, PyAny>) -> Value<Object> {
    Value::Leaf(Object(value.clone().unbind()))
}

fn dictionary<'py>(py: Python<'py>, table: Table<Object>) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (key, value) in table {
        made.set_item(key, written(py, value)?)?;
    }
    Ok(made)
}

fn written<'py>(py: Python<'py>, value: Value<Object>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Leaf(object) => Ok(object.0.into_bound(py)),
        Value::Table(table) => Ok(dictionary(py, table)?.into_any()),
        Value::List(list) => {
            let made = list.into_iter().map(|one| written(py, one)).collect::<PyResult<Vec<_>>>()?;
            made.into_bound_py_any(py)
        }
    }
}

fn kind_of(word: &str) -> Result<Kind> {
    let known = std::iter::once(Kind::System).chain(PARTS).find(|kind| kind.word() == word);
    known.ok_or_else(|| refused(format!("{word}: not a kind of profile")))
}

/// A merged system: its table, the table and path of each file by kind, its own changes, the caller's.
type MergedSystem<'py> = (
    Bound<'py, PyDict>,
    Vec<(&'static str, Bound<'py, PyDict>, String, bool)>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
);

/// Merges a system with changes; `system` is a name, a path, or a table that came without its folder.
///
/// `label` names a table in messages; `opened` reads files.
#[pyfunction]
pub(crate) fn merge_profile<'py>(
    py: Python<'py>,
    system: &Bound<'py, PyAny>,
    label: &str,
    changes: &Bound<'py, PyDict>,
    opened: &Bound<'py, PyAny>,
) -> Result<MergedSystem<'py>> {
    let system = match read(system)? {
        Value::Text(name) => System::Named(name),
        Value::Table(table) => {
            pcie_profile::without_folder(&table, label)?;
            System::Content(Layer { table, path: label.to_owned(), is_file: true })
        }
        _ => return Err(Error::Raised(PyTypeError::new_err("system: give a text or a dictionary"))),
    };
    let merged = pcie_profile::resolve(system, table(changes)?, &mut Opened(opened))?;
    let layers = merged.layers.into_iter();
    let layers =
        layers.map(|(kind, one)| Ok((kind.word(), dictionary(py, one.table)?, one.path, one.is_file)));
    Ok((
        dictionary(py, merged.table)?,
        layers.collect::<PyResult<_>>()?,
        dictionary(py, merged.own_changes)?,
        dictionary(py, merged.changes)?,
    ))
}

/// A file merged over its bases, and its path; `opened` reads files.
#[pyfunction]
pub(crate) fn merge_bases<'py>(
    py: Python<'py>,
    kind: &str,
    reference: &str,
    opened: &Bound<'py, PyAny>,
) -> Result<(Bound<'py, PyDict>, String)> {
    let layer = pcie_profile::with_bases(kind_of(kind)?, reference, &mut Opened(opened))?;
    Ok((dictionary(py, layer.table)?, layer.path))
}

/// Changes written as KEY=VALUE, by key.
#[pyfunction]
pub(crate) fn typed_changes(py: Python<'_>, texts: Vec<String>) -> Result<Bound<'_, PyDict>> {
    Ok(dictionary(py, pcie_profile::typed_changes(&texts)?)?)
}

/// The value that a text stands for in a change.
#[pyfunction]
pub(crate) fn typed<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>> {
    Ok(written(py, pcie_profile::typed(text))?)
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
    pcie_profile::replaced(&mut changed, key, read(value)?, "")?;
    Ok(dictionary(py, changed)?)
}

/// The values of a link, host or device in a file, without the keys that only files have.
#[pyfunction]
pub(crate) fn profile_values<'py>(
    py: Python<'py>,
    kind: &str,
    content: &Bound<'py, PyDict>,
) -> Result<Bound<'py, PyDict>> {
    Ok(dictionary(py, pcie_profile::values_of(kind_of(kind)?, table(content)?))?)
}
