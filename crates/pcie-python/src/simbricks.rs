//! A brick of SimBricks around the host of a system.

use std::path::PathBuf;
use std::time::Duration;

use pcie_port::simbricks::{Brick, BrickError, Passed};
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::{Error, Result};
use crate::trace::Host;

/// Couples devices with their hosts, or stands in for them, until all connections have ended; returns the simulated
/// time in picoseconds and the number of messages. `hosts` is empty or has a socket for each device.
#[pyfunction]
#[pyo3(signature = (system, devices, hosts, *, cache, window_bytes, seed, latency_ps, patience_s))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn simbricks(
    py: Python<'_>,
    system: &System,
    devices: Vec<PathBuf>,
    hosts: Vec<PathBuf>,
    cache: &str,
    window_bytes: u64,
    seed: u64,
    latency_ps: u64,
    patience_s: f64,
) -> Result<(u64, u64)> {
    let patience = Duration::try_from_secs_f64(patience_s)
        .map_err(|error| crate::error::refused(format!("patience is {patience_s}: {error}")))?;
    let host = Host::new(system, cache, window_bytes, seed)?;
    let brick = Brick { devices, hosts, latency_ps, patience };
    let mut raised = None;
    let mut stop = || {
        raised = Python::attach(|py| py.check_signals()).err();
        raised.is_some()
    };
    let ran = py.detach(|| brick.run(|| host.endpoint(), &mut stop));
    match ran {
        Ok(Passed { time_ps, messages }) => Ok((time_ps, messages)),
        Err(BrickError::Refused(refusal)) => Err(refusal.into()),
        Err(error) => Err(raised.map_or_else(|| Error::Failed(error.to_string()), Error::Raised)),
    }
}
