//! Changes of systems and NICs, and searches of what they give. Tests, frames and answers are JSON.

use pcie_refusal::Unfinished;
use pcie_why::{Engine, NicQuestion, TestQuestion};
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::Result;
use crate::json::{parse, text};
use crate::progress::Watched;
use crate::single::Nic;

/// One step of every key of a link, as JSON; `link` may leave keys out.
#[pyfunction]
pub(crate) fn link_changes(link: &str) -> Result<String> {
    text(&pcie_why::of_link(&parse("link", link)?))
}

/// What every change of a system and of tests gives to the tests, together; null if one of them cannot run.
#[pyfunction]
pub(crate) fn why_tests(py: Python<'_>, system: &System, tests: &str, progress: Py<PyAny>) -> Result<String> {
    searched(py, TestQuestion::new(system.system().clone(), parse("tests", tests)?)?, &progress)
}

/// What every change of a NIC and of a system gives to frames through the NIC on it; null if it cannot run.
#[pyfunction]
pub(crate) fn why_nic(
    py: Python<'_>,
    nic: &Nic,
    system: &System,
    traffic: &str,
    progress: Py<PyAny>,
) -> Result<String> {
    let traffic = parse("traffic", traffic)?;
    let mut described = nic.0.content.clone();
    // Whoever gives a value knows it.
    described.plain.assumed.retain(|key, _| !nic.0.is_changed(key));
    searched(py, NicQuestion::on_system(&described, system.system().clone(), traffic)?, &progress)
}

/// What every change of a NIC and of a bare link gives to frames, in closed form; null if it has no rate.
#[pyfunction]
pub(crate) fn why_nic_on_link(
    py: Python<'_>,
    nic: &Nic,
    link: &str,
    traffic: &str,
    progress: Py<PyAny>,
) -> Result<String> {
    let (link, traffic) = (parse("link", link)?, parse("traffic", traffic)?);
    searched(py, NicQuestion::on_link(&nic.0.content, link, traffic)?, &progress)
}

fn searched(py: Python<'_>, mut engine: impl Engine + Send, progress: &Py<PyAny>) -> Result<String> {
    let mut watched = Watched::new();
    let result: std::result::Result<_, Unfinished> = py
        .detach(|| pcie_why::search(&mut engine, &mut |done, total| watched.report(progress, (done, total))));
    text(&watched.result(result)?)
}
