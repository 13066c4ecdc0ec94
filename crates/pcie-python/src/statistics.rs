//! `pcie-statistics` for Python.

use pyo3::prelude::*;

use crate::error::{Result, refused};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(nearest_rank, module)?)
}

/// Which of `count` values in order, from 1, is the percentile of a share from 0 to 1.
#[pyfunction]
fn nearest_rank(share: f64, count: u64) -> Result<u64> {
    if !(0.0..=1.0).contains(&share) {
        return Err(refused(format!("share {share}: a percentile's share lies from 0 to 1")));
    }
    Ok(pcie_statistics::nearest_rank(share, count))
}
