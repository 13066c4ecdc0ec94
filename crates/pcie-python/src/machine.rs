//! `pcie-evidence` and `pcie-doctor` for Python: machines, examinations and findings are JSON.
//!
//! A signal ends a reading, and whatever takes long with a large machine.

use std::io::BufReader;
use std::path::PathBuf;

use pcie_doctor::{Examination, Finding};
use pcie_evidence::{Stop, Tree};
use pcie_refusal::{Kind, Refusal, Unfinished};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::json::text;
use crate::progress::{InPieces, Signals};

/// The tree of a text: of one form (`lspci`, `saved` or `topology`), or else of the form that its content shows.
#[pyfunction]
#[pyo3(signature = (content, source, form = None))]
pub(crate) fn read_machine(
    py: Python<'_>,
    content: &str,
    source: &str,
    form: Option<&str>,
) -> Result<String> {
    read(py, |stop| match form {
        Some("lspci") => pcie_evidence::read_lspci_until(content, source, stop),
        Some("saved") => pcie_evidence::read_saved(content, source, stop),
        Some("topology") => Ok(pcie_evidence::read_nccl(content, source)?),
        _ => pcie_evidence::machine_of_text_until(content, source, stop),
    })
}

/// The tree of this machine, or of a copy of its `/sys`.
#[pyfunction]
pub(crate) fn read_sysfs(py: Python<'_>, root: Option<PathBuf>) -> Result<String> {
    read(py, |stop| pcie_evidence::read_sysfs_until(root.as_deref(), stop))
}

/// The content of the file of a tree.
#[pyfunction]
pub(crate) fn saved_machine(py: Python<'_>, tree: &str, version: &str) -> Result<String> {
    with_tree(py, tree, |tree| Ok(pcie_evidence::saved(tree, version)))?.map_err(Into::into)
}

/// Every finding in a tree and `more`, worst first, or those first that explain a symptom.
#[pyfunction]
pub(crate) fn examine_machine(
    py: Python<'_>,
    tree: &str,
    more: &str,
    symptom: Option<&str>,
) -> Result<String> {
    let more: Vec<Finding> = parsed(py, "findings", more)?;
    text(&with_tree(py, tree, |tree| pcie_doctor::examine(tree, more, symptom))?)
}

/// Findings from two readings of one machine, some time apart.
#[pyfunction]
pub(crate) fn machine_changes(py: Python<'_>, before: &str, after: &str, seconds: f64) -> Result<String> {
    let before: Tree = parsed(py, "tree", before)?;
    text(&with_tree(py, after, |after| Ok(pcie_doctor::changes(&before, after, seconds)))?)
}

/// Every function with its link, in depth-first order.
#[pyfunction]
pub(crate) fn machine_branches(py: Python<'_>, tree: &str) -> Result<String> {
    text(&with_tree(py, tree, |tree| Ok(pcie_doctor::branches(tree)))?)
}

/// Sockets, stacks, root ports, switches and devices of a tree, with what is left out and assumed.
#[pyfunction]
pub(crate) fn machine_topology(py: Python<'_>, tree: &str) -> Result<String> {
    text(&with_tree(py, tree, |tree| Ok(pcie_doctor::topology(tree)))?)
}

/// The findings as text for people.
#[pyfunction]
pub(crate) fn describe_examination(
    py: Python<'_>,
    examination: &str,
    tree: &str,
    width: usize,
    in_order: bool,
) -> Result<String> {
    let examination: Examination = parsed(py, "examination", examination)?;
    with_tree(py, tree, |tree| Ok(pcie_doctor::describe(&examination, tree, width, in_order)))
}

/// One finding as text for people.
#[pyfunction]
pub(crate) fn describe_finding(py: Python<'_>, finding: &str, tree: &str, width: usize) -> Result<String> {
    let finding: Finding = parsed(py, "finding", finding)?;
    with_tree(py, tree, |tree| Ok(pcie_doctor::finding_text(&finding, tree, width)))
}

/// The tree as text for people.
#[pyfunction]
pub(crate) fn draw_machine(py: Python<'_>, tree: &str, examination: &str) -> Result<String> {
    let examination: Examination = parsed(py, "examination", examination)?;
    with_tree(py, tree, |tree| Ok(pcie_doctor::draw(tree, &examination)))
}

/// Every rule of the doctor, in the order of the reference.
#[pyfunction]
pub(crate) fn doctor_rules() -> Result<String> {
    text(&pcie_doctor::rules().collect::<Vec<_>>())
}

fn read<T: Serialize + Send>(
    py: Python<'_>,
    reading: impl FnOnce(Stop<'_>) -> std::result::Result<T, Unfinished> + Send,
) -> Result<String> {
    let signals = Signals::new();
    let read = py.detach(|| reading(Stop::asking(&|| signals.came())));
    text(&signals.result(read)?)
}

fn with_tree<T: Send>(
    py: Python<'_>,
    json: &str,
    work: impl FnOnce(&Tree) -> std::result::Result<T, Refusal> + Send,
) -> Result<T> {
    let tree: Tree = parsed(py, "tree", json)?;
    Ok(py.detach(|| work(&tree))?)
}

/// A value that Python wrote, until a signal comes; `subject` leads messages.
fn parsed<T: DeserializeOwned + Send>(py: Python<'_>, subject: &str, json: &str) -> Result<T> {
    let signals = Signals::new();
    let read = py.detach(|| {
        let pieces = BufReader::new(InPieces::new(json.as_bytes(), &signals));
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_reader(pieces))
    });
    signals.result(read.map_err(|error| {
        Refusal::new(error.inner()).kind(Kind::WrongType).key(error.path().to_string()).about(subject)
    }))
}
