//! Bounds of tests on a system. Tests and answers are JSON.

use pcie_sim::HostQuestion;
use pcie_workload::Test;
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::Result;
use crate::json::{parse, text};
use crate::progress::Watched;

/// For each test its bounds on a system, and the time that a read request holds its tag; null for a test
/// without a bound.
#[pyfunction]
pub(crate) fn test_bounds(system: &System, tests: &str) -> Result<String> {
    let machine = system.machine()?;
    let tests: Vec<Test> = parse("tests", tests)?;
    let mut watched = Watched::new();
    let asked = tests.iter().take_while(|_| !watched.is_signalled());
    let bounds: std::result::Result<Vec<_>, _> = asked.map(|test| machine.bounds(test)).collect();
    text(&watched.result(bounds.map_err(|refusal| refusal.about("system")))?)
}

/// For each number of busy cores what a system's host gives to its devices.
#[pyfunction]
pub(crate) fn model_host(system: &System, question: &str) -> Result<String> {
    let question: HostQuestion = parse("", question)?;
    text(&system.machine()?.host_rates(&question)?)
}
