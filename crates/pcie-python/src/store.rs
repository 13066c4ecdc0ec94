//! Writing a store from Python, for importers. Manifests and tests come as JSON.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pcie_store::{Error, Manifest, Store, TestRecord};
use pyo3::prelude::*;

use crate::error::{InputError, RunError};

/// Writes one store; used as a context manager, it is closed at the end.
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
    fn create(path: PathBuf, manifest: &str, overwrite: bool) -> PyResult<Self> {
        let entries = serde_json::from_str(manifest)
            .map_err(|error| InputError::new_err(format!("manifest: {error}: it must be a JSON object")))?;
        let store = Manifest::from_entries(entries)
            .and_then(|manifest| Store::create(path, &manifest, overwrite))
            .map_err(raised)?;
        Ok(Self { store: Mutex::new(Some(store)) })
    }

    /// Appends a test, as the JSON of a test record.
    fn write_test(&self, record: &str) -> PyResult<()> {
        let record: TestRecord = serde_json::from_str(record)
            .map_err(|error| InputError::new_err(format!("test record: {error}")))?;
        self.with(|store| store.write_test(&record))
    }

    /// Keeps a text beside the numbers.
    fn attach(&self, name: &str, content: &str) -> PyResult<()> {
        self.with(|store| store.attach(name, content))
    }

    /// Folds everything into the one file. Closing twice does nothing.
    fn close(&self) -> PyResult<()> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        store.map_or(Ok(()), Store::close).map_err(raised)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close()
    }
}

impl StoreWriter {
    fn with(&self, write: impl FnOnce(&mut Store) -> pcie_store::Result<()>) -> PyResult<()> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let store = store.as_mut().ok_or_else(|| RunError::new_err("the store is closed"))?;
        write(store).map_err(raised)
    }
}

pub(crate) fn raised(error: Error) -> PyErr {
    if error.is_input() {
        InputError::new_err(error.to_string())
    } else {
        RunError::new_err(error.to_string())
    }
}
