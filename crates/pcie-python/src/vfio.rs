//! Real devices: what there is, and binding. What carries work out on them is a back end (`backend`).

use std::path::PathBuf;

use pcie_vfio::{Purpose, Tree};
use pyo3::prelude::*;

use crate::backend::address;
use crate::error::Result;
use crate::json::text;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list_devices, module)?)?;
    module.add_function(wrap_pyfunction!(bind_device, module)?)?;
    module.add_function(wrap_pyfunction!(release_device, module)?)
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
