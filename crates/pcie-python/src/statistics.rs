//! `pcie-statistics` for Python.

use pyo3::prelude::*;

use crate::error::{Result, refused};

/// Rank, from 1, of the percentile of a share, 0 to 1, among `count` sorted values.
#[pyfunction]
pub(crate) fn nearest_rank(share: f64, count: u64) -> Result<u64> {
    if !(0.0..=1.0).contains(&share) {
        return Err(refused(format!("share {share}: a percentile's share lies from 0 to 1")));
    }
    Ok(pcie_statistics::nearest_rank(share, count))
}
