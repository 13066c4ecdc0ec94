//! Why a value is as it is: answers in sentences. Questions and answers are JSON.

use pcie_refusal::{Refusal, Unfinished};
use pcie_why::{Answer, Ground, Known, PacketRate, StatedPackets};
use pyo3::prelude::*;
use serde::Serialize;
use std::ops::ControlFlow;

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

/// Why a test gives its value on a system.
#[pyfunction]
pub(crate) fn why_test(py: Python<'_>, system: &System, asked: &str, progress: Py<PyAny>) -> Result<String> {
    let asked = parse("question", asked)?;
    answered(py, &progress, |on| pcie_why::why_test(system.system(), &asked, on))
}

/// Why the tests of a store of transfers give their values; without a system, bounds alone are computed again.
#[pyfunction]
pub(crate) fn why_store(
    py: Python<'_>,
    system: Option<&System>,
    asked: &str,
    progress: Py<PyAny>,
) -> Result<String> {
    let asked = parse("question", asked)?;
    answered(py, &progress, |on| pcie_why::why_store(system.map(System::system), &asked, on))
}

/// Refuses an impossible measured value: Gb/s, or ns.
#[pyfunction]
pub(crate) fn check_measured(value: f64) -> Result<()> {
    Ok(pcie_why::check_measured(value)?)
}

/// What a vendor states of the NIC that a text names, in these words; None: no statement is known.
#[derive(Serialize)]
struct Stated {
    rate: usize,
    words: String,
    is_bound: bool,
}

/// The vendor's statement about the NIC that a text names, among `rates`, as JSON: its number, its words, and whether
/// it bounds frames of a size, FCS included.
#[pyfunction]
pub(crate) fn stated_packets(name: &str, frame_bytes: u64, rates: &str) -> Result<String> {
    let rates: Vec<PacketRate> = parse("rates", rates)?;
    let found = StatedPackets::of_name(&rates, name).map(|rate| {
        let stated = &rates[rate];
        Stated { rate, words: stated.words(), is_bound: stated.limits(frame_bytes) }
    });
    text(&found)
}

/// A warning of packets that a NIC is not known to process; `stated` has the statements and the highest published rate.
#[pyfunction]
pub(crate) fn packets_above_stated(
    name: &str,
    frame_bytes: u64,
    rate_mpps: f64,
    stated: &str,
) -> Result<Option<String>> {
    Ok(parse::<StatedPackets>("stated", stated)?.warning(name, frame_bytes, rate_mpps))
}

/// Why frames through a NIC on a system move no faster.
#[pyfunction]
pub(crate) fn why_nic(
    py: Python<'_>,
    nic: &Nic,
    system: &System,
    asked: &str,
    progress: Py<PyAny>,
) -> Result<String> {
    let asked = parse("question", asked)?;
    let described = nic.0.known();
    answered(py, &progress, |on| pcie_why::why_nic(&described, system.system().clone(), &asked, on))
}

/// Why frames through a NIC on a bare link move no faster, in closed form.
#[pyfunction]
pub(crate) fn why_nic_on_link(
    py: Python<'_>,
    nic: &Nic,
    link: &str,
    asked: &str,
    progress: Py<PyAny>,
) -> Result<String> {
    let (link, asked) = (parse("link", link)?, parse("question", asked)?);
    let described = nic.0.known();
    answered(py, &progress, |on| pcie_why::why_nic_on_link(&described, link, &asked, on))
}

/// Possible causes of a bandwidth of a test below its bounds, as phrases.
///
/// Without a system, `known` has the IOMMU and whether the memory is local, as JSON.
#[pyfunction]
pub(crate) fn reasons_of_test(
    system: Option<&System>,
    known: &str,
    parameters: &str,
    tags_charged: bool,
) -> Result<Vec<String>> {
    let parameters = parse("test", parameters)?;
    let ground = match system {
        Some(system) => Ground::System(system.system()),
        None => Ground::Known(parse::<Known>("machine", known)?),
    };
    Ok(pcie_why::reasons(ground, &parameters, tags_charged))
}

/// The parameters of a test of transfers in words; `flushed`: cold caches were flushed line by line.
#[pyfunction]
pub(crate) fn test_in_words(parameters: &str, flushed: bool) -> Result<String> {
    Ok(pcie_why::parameters_in_words(parse("test", parameters)?, flushed)?)
}

/// The keys of a system that each bound is made of, as JSON.
#[pyfunction]
pub(crate) fn keys_of_bounds() -> Result<String> {
    text(&pcie_why::keys_of_bounds())
}

/// A sentence on the borrowed keys behind each bound; `borrowed` has the profile of each key, as JSON.
#[pyfunction]
pub(crate) fn borrowed_sentences(bounds: Vec<String>, borrowed: &str) -> Result<Vec<String>> {
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    Ok(pcie_why::borrowed_sentences(&bounds, &parse("borrowed keys", borrowed)?))
}

fn answered(
    py: Python<'_>,
    progress: &Py<PyAny>,
    answer: impl FnOnce(
        &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> std::result::Result<Answer, Unfinished>
    + Send,
) -> Result<String> {
    let mut watched = Watched::new();
    let result: std::result::Result<_, Unfinished> =
        py.detach(|| answer(&mut |done, total| watched.report(progress, (done, total))));
    text(&watched.result(result)?)
}

/// What the differences of two runs change, together, and those with the largest effects alone.
#[pyfunction]
pub(crate) fn explained_differences(asked: &str) -> Result<Vec<String>> {
    Ok(parse::<pcie_why::Differences>("differences", asked)?.explained())
}

/// Why the tests of two runs differ.
#[pyfunction]
pub(crate) fn why_two(asked: &str) -> Result<String> {
    text(&parse::<pcie_why::TwoRuns>("question", asked)?.answer()?)
}

/// The words about what another engine computed, and the change that they name first: about the `limits` of a run, or
/// about `estimated` or `simulated` flows.
#[pyfunction]
pub(crate) fn why_words(kind: &str, asked: &str) -> Result<String> {
    let worded = match kind {
        "limits" => parse::<pcie_why::Limits>("question", asked)?.worded(),
        "estimated" => parse::<pcie_why::EstimatedFlows>("question", asked)?.worded(),
        "simulated" => parse::<pcie_why::SimulatedFlows>("question", asked)?.worded(),
        _ => return Err(Refusal::of("kind", kind, "give limits, estimated or simulated").into()),
    };
    text(&worded)
}
