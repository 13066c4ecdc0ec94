//! Real devices: what there is, binding, and stores into BARs. Drives and boards are back ends (`backend`).

use std::path::PathBuf;
use std::sync::Arc;

use pcie_bench::{Messages, Options};
use pcie_vfio::{Pio, Purpose, Tree};
use pyo3::prelude::*;

use crate::backend::address;
use crate::error::Result;
use crate::json::{parse, text};
use crate::run::carry_out;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list_devices, module)?)?;
    module.add_function(wrap_pyfunction!(bind_device, module)?)?;
    module.add_function(wrap_pyfunction!(release_device, module)?)?;
    module.add_function(wrap_pyfunction!(device_origin, module)?)?;
    module.add_function(wrap_pyfunction!(run_stores, module)?)
}

/// The devices that back ends could measure, as JSON; `root` is where `sys`, `proc`, `dev` and `etc` are.
#[pyfunction]
fn list_devices(root: PathBuf) -> Result<String> {
    text(&pcie_vfio::devices(&Tree::at(root)))
}

/// Makes a device ready: for DMA, or, `unbound`, for stores into its BARs.
#[pyfunction]
#[pyo3(signature = (root, place, *, unbound, user))]
fn bind_device(root: PathBuf, place: &str, unbound: bool, user: Option<&str>) -> Result<()> {
    let purpose = if unbound { Purpose::Stores } else { Purpose::Vfio };
    Ok(pcie_vfio::bind(&Tree::at(root), address(place)?, purpose, user)?)
}

/// Gives a device back to the driver that the kernel chooses.
#[pyfunction]
fn release_device(root: PathBuf, place: &str) -> Result<()> {
    Ok(pcie_vfio::release(&Tree::at(root), address(place)?)?)
}

/// Where numbers of the device at an address come from: the word of the manifest.
#[pyfunction]
fn device_origin(place: &str) -> Result<&'static str> {
    let function = Tree::here().function(address(place)?)?;
    Ok(pcie_vfio::origin(&function).as_str())
}

/// Runs a suite of messages into a BAR and into a store; see `run_suite`.
#[pyfunction]
#[pyo3(signature = (path, place, device, host, suite, manifest, *, resume, overwrite, progress, repeat_damaged = false))]
#[expect(clippy::too_many_arguments, reason = "the arguments are keywords in Python")]
fn run_stores(
    py: Python<'_>,
    path: PathBuf,
    place: &str,
    device: &str,
    host: &str,
    suite: &str,
    manifest: &str,
    resume: bool,
    overwrite: bool,
    progress: Py<PyAny>,
    repeat_damaged: bool,
) -> Result<()> {
    let backend = Pio::new(address(place)?, parse("device", device)?, parse("host", host)?)?;
    let work = Messages::new(parse("suite", suite)?, Arc::new(backend))?;
    let options = Options { jobs: 1, resume, repeat_damaged, overwrite };
    carry_out(py, Arc::new(work), options, &path, manifest, &progress)
}
