//! Real devices: listing and binding. Back ends (`backend`) run tests on them.

use std::path::PathBuf;

use pcie_vfio::{Purpose, Tree};
use pyo3::prelude::*;

use crate::backend::parse_address;
use crate::error::Result;
use crate::json::text;

/// The devices that back ends can measure, as JSON; `root` contains `sys`, `proc`, `dev` and `etc`.
#[pyfunction]
pub(crate) fn list_devices(root: PathBuf) -> Result<String> {
    text(&pcie_vfio::devices(&Tree::at(root)))
}

/// Binds a device for DMA or, if `unbound`, leaves it without a driver for stores into its BARs.
#[pyfunction]
#[pyo3(signature = (root, address, *, unbound, user))]
pub(crate) fn bind_device(root: PathBuf, address: &str, unbound: bool, user: Option<&str>) -> Result<()> {
    let purpose = if unbound { Purpose::Stores } else { Purpose::Vfio };
    Ok(pcie_vfio::bind(&Tree::at(root), parse_address(address)?, purpose, user)?)
}

/// What binding a device would look at, what holds the device, and the refusal, as JSON; changes nothing.
#[pyfunction]
#[pyo3(signature = (root, address, *, unbound))]
pub(crate) fn survey_device(root: PathBuf, address: &str, unbound: bool) -> Result<String> {
    let purpose = if unbound { Purpose::Stores } else { Purpose::Vfio };
    text(&pcie_vfio::survey(&Tree::at(root), parse_address(address)?, purpose)?)
}

/// Returns a device to the driver that the kernel chooses.
#[pyfunction]
pub(crate) fn release_device(root: PathBuf, address: &str) -> Result<()> {
    Ok(pcie_vfio::release(&Tree::at(root), parse_address(address)?)?)
}
