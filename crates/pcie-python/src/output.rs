//! The writer of files and folders for Python; `pcielab.outputs` documents its guarantees. And what makes a page small.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pcie_output::{Beside, Found, Target};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Result, refused};

/// Refuses a path where no file can be written, by trying.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite))]
pub(crate) fn check_file(path: PathBuf, overwrite: bool) -> Result<()> {
    try_out(file_target(path, overwrite)?)
}

/// Refuses a path where no folder can be written, by trying.
#[pyfunction]
#[pyo3(signature = (path, *, overwrite, mark))]
pub(crate) fn check_folder(path: PathBuf, overwrite: bool, mark: &str) -> Result<()> {
    let target = Target::find(&path)?;
    target.accept_folder(overwrite, mark)?;
    try_out(target)
}

/// Refuses a name that is not the plain name of a file.
#[pyfunction]
pub(crate) fn check_name(name: &str) -> Result<()> {
    Ok(pcie_output::plain_file_name(name)?)
}

/// Writes a file.
#[pyfunction]
#[pyo3(signature = (path, content, *, overwrite))]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, content: &[u8], overwrite: bool) -> Result<()> {
    file_target(path.clone(), overwrite)?;
    Ok(py.detach(|| pcie_output::write_file(&path, content, overwrite))?)
}

/// Writes a folder of files.
#[pyfunction]
#[pyo3(signature = (path, files, *, overwrite, mark))]
pub(crate) fn write_folder(
    py: Python<'_>,
    path: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    overwrite: bool,
    mark: &str,
) -> Result<()> {
    Ok(py.detach(|| pcie_output::write_folder(&path, &files, overwrite, mark))?)
}

/// Bytes in the zlib format, the same on every machine: Python's own module links libraries that pack differently.
#[pyfunction]
pub(crate) fn compressed<'py>(py: Python<'py>, content: &[u8]) -> Bound<'py, PyBytes> {
    let packed = py.detach(|| miniz_oxide::deflate::compress_to_vec_zlib(content, PACKED_HARD));
    PyBytes::new(py, &packed)
}

/// Of 10 levels: the next ones take longer and save less than 1 %.
const PACKED_HARD: u8 = 7;

/// The target of a file. Refuses to replace a store, which may have taken hours.
fn file_target(path: PathBuf, overwrite: bool) -> Result<Target> {
    let target = Target::find(&path)?;
    target.accept_file(overwrite)?;
    if pcie_store::is_store(&target.path) && matches!(target.found, Found::File(_)) {
        let shown = path.display();
        return Err(refused(format!(
            "{shown}: is a store, and is replaced only by another: choose another name"
        )));
    }
    Ok(target)
}

/// Checks that a file can be created beside the target.
pub(crate) fn try_out(target: Target) -> Result<()> {
    match target.found {
        Found::Stream | Found::Stdout => Ok(()),
        _ => Ok(Beside::new(target).map(drop)?),
    }
}
