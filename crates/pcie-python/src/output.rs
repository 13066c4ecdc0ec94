//! The one writer of files and folders, for Python. `pcielab.outputs` says what it promises.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pcie_output::{Beside, Found, Target};
use pyo3::prelude::*;

use crate::error::{Result, refused};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_file, module)?)?;
    module.add_function(wrap_pyfunction!(check_folder, module)?)?;
    module.add_function(wrap_pyfunction!(check_name, module)?)?;
    module.add_function(wrap_pyfunction!(write_file, module)?)?;
    module.add_function(wrap_pyfunction!(write_folder, module)?)
}

/// Refuses a place where no file could be written, by trying to.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite))]
fn check_file(path: PathBuf, overwrite: bool) -> Result<()> {
    try_out(file_target(path, overwrite)?)
}

/// Refuses a place where no folder could be written, by trying to.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite, mark))]
fn check_folder(path: PathBuf, overwrite: bool, mark: &str) -> Result<()> {
    let target = Target::find(&path)?;
    target.accept_folder(overwrite, mark)?;
    try_out(target)
}

/// Refuses a name that is not the plain name of a file.
#[pyfunction]
fn check_name(name: &str) -> Result<()> {
    Ok(pcie_output::plain_file_name(name)?)
}

/// Writes a file.
#[pyfunction]
#[pyo3(signature = (path, content, *, overwrite))]
fn write_file(py: Python<'_>, path: PathBuf, content: &[u8], overwrite: bool) -> Result<()> {
    file_target(path.clone(), overwrite)?;
    Ok(py.detach(|| pcie_output::write_file(&path, content, overwrite))?)
}

/// Writes a folder of files.
#[pyfunction]
#[pyo3(signature = (path, files, *, overwrite, mark))]
fn write_folder(
    py: Python<'_>,
    path: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    overwrite: bool,
    mark: &str,
) -> Result<()> {
    Ok(py.detach(|| pcie_output::write_folder(&path, &files, overwrite, mark))?)
}

/// The place of a file that is no store: hours of work are not replaced by a picture of them.
fn file_target(path: PathBuf, overwrite: bool) -> Result<Target> {
    let target = Target::find(&path)?;
    target.accept_file(overwrite)?;
    if pcie_store::is_store(&target.place) && matches!(target.found, Found::File(_)) {
        let shown = path.display();
        return Err(refused(format!(
            "{shown}: is a store, and is replaced only by another: choose another name"
        )));
    }
    Ok(target)
}

/// Tries whether something can be put beside a place.
pub(crate) fn try_out(target: Target) -> Result<()> {
    match target.found {
        Found::Stream | Found::Stdout => Ok(()),
        _ => Ok(Beside::new(target).map(drop)?),
    }
}
