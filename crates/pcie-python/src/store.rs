//! Writes stores for importers, and reads stores. Manifests and tests are JSON.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pcie_capture::{Facts, Format, WriteOptions, Writer};
use pcie_store::{Contents, Damage, Kind, Manifest, Origin, Stop, Store, TestRecord};
use pcie_wire::Generation;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use serde_json::{Map, Value};

use crate::error::{Error, Result, refused};
use crate::json::{of_any_length, text};
use crate::progress::{ITEMS_BETWEEN_LOOKS, Signals, listed};

/// Writes a store, which appears at its path when it is closed. As a context manager it closes at the end,
/// and leaves nothing after an exception.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct StoreWriter {
    /// None once closed.
    store: Mutex<Option<Store>>,
}

#[pymethods]
impl StoreWriter {
    /// Creates the store. `manifest` is a JSON object with at least `origin`.
    #[staticmethod]
    #[pyo3(signature = (path, manifest, *, overwrite = false))]
    fn create(path: PathBuf, manifest: &str, overwrite: bool) -> Result<Self> {
        let entries = serde_json::from_str(manifest)
            .map_err(|error| refused(format!("manifest: {error}: it must be a JSON object")))?;
        let store = Manifest::from_entries(entries)
            .and_then(|manifest| Store::create_beside(path, &manifest, overwrite))?;
        Ok(Self { store: Mutex::new(Some(store)) })
    }

    /// Appends a test, as the JSON of a test record, unless a signal comes before.
    fn write_test(&self, py: Python<'_>, record: &str) -> Result<()> {
        let record: TestRecord = of_any_length("test record", record)?;
        let signals = Signals::new();
        let asked = signals.clone();
        signals.result(
            py.detach(|| self.with(|store| store.write_test_until(&record, Arc::new(move || asked.came())))),
        )
    }

    /// Attaches a text.
    fn attach(&self, name: &str, content: &str) -> Result<()> {
        self.with(|store| store.attach(name, content))
    }

    /// Moves the store to its path. Closing again has no effect.
    fn close(&self) -> Result<()> {
        Ok(self.take().map_or(Ok(()), Store::close)?)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        &self,
        exception: Option<Py<PyAny>>,
        _value: Option<Py<PyAny>>,
        _traceback: Option<Py<PyAny>>,
    ) -> Result<()> {
        match exception {
            None => self.close(),
            Some(_) => {
                drop(self.take());
                Ok(())
            }
        }
    }
}

impl StoreWriter {
    fn take(&self) -> Option<Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with(&self, write: impl FnOnce(&mut Store) -> pcie_store::Result<()>) -> Result<()> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let store = store.as_mut().ok_or_else(|| Error::Failed("the store is closed".into()))?;
        Ok(write(store)?)
    }
}

/// The contents of a store at one moment, checked against its digests.
#[pyclass(frozen, module = "pcielab._core")]
pub(crate) struct StoreContents {
    contents: Contents,
    positions: BTreeMap<u64, usize>,
}

/// A histogram: tick, bins, counts.
type Histogram<'a, 'py> = (&'a str, Bound<'py, PyList>, Bound<'py, PyList>);

/// A file of captures, and what its format cannot hold with its count.
type Captured<'py> = (Bound<'py, PyBytes>, Vec<(String, u64)>);

/// Rows of `scalar` by their columns: test, subject, metric, unit, value.
type ScalarColumns<'py> =
    (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl StoreContents {
    /// The manifest, as a JSON object.
    #[getter]
    fn manifest(&self) -> String {
        json_of(&self.contents.manifest)
    }

    /// The kind of its tests; `transfers` of a store without tests.
    #[getter]
    fn kind(&self) -> &'static str {
        self.contents.kind().as_str()
    }

    /// Id, family, name, parameters (JSON), status and message of each test.
    fn tests<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let row = |test: &'_ TestRecord| {
            let (status, message) = (test.status.as_str(), test.message.clone());
            (test.id, test.family.clone(), test.name.clone(), test.parameters.clone(), status, message)
        };
        listed(py, self.contents.tests.iter().map(row))
    }

    /// All scalars of all tests, by column. Texts repeat from row to row, and are one object each.
    fn scalars<'py>(&self, py: Python<'py>) -> Result<ScalarColumns<'py>> {
        let rows = || {
            self.contents.tests.iter().flat_map(|test| test.scalars.iter().map(|scalar| (test.id, scalar)))
        };
        let mut known: HashMap<&str, Bound<'py, PyString>> = HashMap::new();
        let mut shared = |text| known.entry(text).or_insert_with(|| PyString::new(py, text)).clone();
        Ok((
            listed(py, rows().map(|(test, _)| test))?,
            listed(py, rows().map(|(_, scalar)| shared(&scalar.subject)))?,
            listed(py, rows().map(|(_, scalar)| shared(&scalar.metric)))?,
            listed(py, rows().map(|(_, scalar)| shared(&scalar.unit)))?,
            listed(py, rows().map(|(_, scalar)| scalar.value))?,
        ))
    }

    /// A histogram of a test: tick, bins and counts; None without one.
    fn distribution<'py>(
        &self,
        py: Python<'py>,
        test: u64,
        metric: &str,
    ) -> Result<Option<Histogram<'_, 'py>>> {
        let found =
            self.test(test).and_then(|test| test.distributions.iter().find(|one| one.metric == metric));
        let Some(found) = found else { return Ok(None) };
        let bins = listed(py, found.bins.iter().map(|(bin, _)| *bin))?;
        Ok(Some((&found.tick, bins, listed(py, found.bins.iter().map(|(_, count)| *count))?)))
    }

    /// A series of a test; empty without one.
    fn series<'py>(&self, py: Python<'py>, test: u64, metric: &str) -> Result<Bound<'py, PyList>> {
        let found = self.test(test).and_then(|test| test.series.iter().find(|one| one.metric == metric));
        listed(py, found.into_iter().flat_map(|found| found.values.iter().copied()))
    }

    /// The trace of a test by its columns: kind, lane, name, start_ps, end_ps, request, tag, address, bytes, value.
    fn trace<'py>(&self, py: Python<'py>, test: u64) -> Result<Vec<Bound<'py, PyList>>> {
        let trace = self.test(test).map_or(&[][..], |test| &test.trace[..]);
        let mut known: HashMap<&str, Bound<'py, PyString>> = HashMap::new();
        let mut shared = |text| known.entry(text).or_insert_with(|| PyString::new(py, text)).clone();
        Ok(vec![
            listed(py, trace.iter().map(|segment| shared(segment.kind.as_str())))?,
            listed(py, trace.iter().map(|segment| shared(&segment.lane)))?,
            listed(py, trace.iter().map(|segment| shared(&segment.name)))?,
            listed(py, trace.iter().map(|segment| segment.start_ps))?,
            listed(py, trace.iter().map(|segment| segment.end_ps))?,
            listed(py, trace.iter().map(|segment| segment.request))?,
            listed(py, trace.iter().map(|segment| segment.tag))?,
            listed(py, trace.iter().map(|segment| segment.address))?,
            listed(py, trace.iter().map(|segment| segment.bytes))?,
            listed(py, trace.iter().map(|segment| segment.value))?,
        ])
    }

    /// The TLPs of a test's trace as a file of captures, and what its format cannot hold with its count.
    fn capture<'py>(&self, py: Python<'py>, test: u64, form: &str) -> Result<Captured<'py>> {
        let trace = self.test(test).map_or(&[][..], |test| &test.trace[..]);
        let ports = pcie_store::ports(trace);
        let link = self.contents.manifest.get("system").map(|system| &system["link"]);
        let number =
            |key| link.and_then(|link| link[key].as_u64()).and_then(|number| u8::try_from(number).ok());
        let facts = Facts {
            format: "pcielab".into(),
            ports: ports.clone(),
            rate_tenths: number("generation").and_then(rate_tenths),
            lanes: number("lanes"),
            resolution_ps: Some(1),
            simulated: Some(self.contents.manifest.origin()? == Origin::Simulated),
            skipped: Vec::new(),
        };
        let format = Format::of_word(form)?;
        let failed = |error: std::io::Error| refused(format!("the capture: {error}"));
        let mut writer = Writer::new(format, &facts, &WriteOptions::default(), Vec::new())?;
        for (number, event) in pcie_store::captured(trace, &ports).enumerate() {
            if number.is_multiple_of(ITEMS_BETWEEN_LOOKS) {
                py.check_signals()?;
            }
            writer.event(&event).map_err(failed)?;
        }
        let (written, content) = writer.finish().map_err(failed)?;
        let left_out = written.left_out.into_iter().map(|(what, count)| (what.to_owned(), count)).collect();
        Ok((PyBytes::new(py, &content), left_out))
    }

    /// The attached texts, by name.
    fn attachments(&self) -> Vec<(String, String)> {
        self.contents.attachments.clone()
    }

    /// The records of all tests, as JSON, in suite order.
    fn records(&self, py: Python<'_>) -> Result<Vec<String>> {
        let record = |test| {
            py.check_signals()?;
            text(test)
        };
        self.contents.tests.iter().map(record).collect()
    }
}

impl StoreContents {
    fn test(&self, id: u64) -> Option<&TestRecord> {
        self.contents.tests.get(*self.positions.get(&id)?)
    }
}

/// Reads a whole store.
#[pyfunction]
pub(crate) fn read_store(py: Python<'_>, path: PathBuf) -> Result<StoreContents> {
    let contents = watched(py, |stop| pcie_store::read_until(path, stop))??;
    let positions = contents.tests.iter().enumerate().map(|(position, test)| (test.id, position)).collect();
    Ok(StoreContents { contents, positions })
}

/// Reads the manifest of a store, as a JSON object.
#[pyfunction]
pub(crate) fn read_manifest(py: Python<'_>, path: PathBuf) -> Result<String> {
    Ok(json_of(&watched(py, |stop| pcie_store::read_manifest_until(path, stop))??))
}

/// Reads until a signal comes, which raises its exception.
fn watched<T: Send>(
    py: Python<'_>,
    read: impl FnOnce(Stop) -> pcie_store::Result<T> + Send,
) -> Result<pcie_store::Result<T>> {
    let signals = Signals::new();
    let asked = signals.clone();
    let found = py.detach(|| read(Arc::new(move || asked.came())));
    signals.result(Ok::<_, Error>(found))
}

/// The damaged tests of a store, in words; an error if other parts are damaged, too.
#[pyfunction]
pub(crate) fn damaged_tests(py: Python<'_>, path: PathBuf) -> Result<Vec<String>> {
    match watched(py, |stop| pcie_store::read_until(path, stop))? {
        Ok(_) => Ok(Vec::new()),
        Err(pcie_store::Error::Damaged { damage, .. }) if damage.iter().all(Damage::is_of_tests) => {
            Ok(damage.iter().map(ToString::to_string).collect())
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses a path where no store can be written.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite))]
pub(crate) fn check_new_store(path: PathBuf, overwrite: bool) -> Result<()> {
    let target = pcie_store::accept(&path, overwrite)?;
    crate::output::try_out(target)
}

/// The metrics of tests by kind of run, as JSON: table, subjects, names, and the quantity with unit and range.
#[pyfunction]
pub(crate) fn store_metrics() -> Result<String> {
    text(&Kind::ALL.map(|kind| (kind, pcie_store::metrics(kind))))
}

/// Transfer rate of a generation in tenths of GT/s.
fn rate_tenths(generation: u8) -> Option<u16> {
    let found = Generation::ALL.into_iter().find(|one| one.number() == u32::from(generation))?;
    u16::try_from(found.megatransfers_per_second() / 100).ok()
}

fn json_of(manifest: &Manifest) -> String {
    let entries: Map<String, Value> =
        manifest.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    Value::Object(entries).to_string()
}
