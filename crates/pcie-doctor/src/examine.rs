//! Examine a tree: apply every rule and sort the findings, worst first.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use pcie_evidence::{Piece, Tree};
use pcie_refusal::Refusal;
use serde::{Deserialize, Serialize};

use crate::branches::Branch;
use crate::finding::{Finding, Severity};
use crate::machine::Machine;
use crate::readings::differences;
use crate::rules::{all, findings};
use crate::signs::{explained, signs};
use crate::symptom::Complaint;

const FORMAT: &str = "pcielab-doctor-1";
const VERSION: u32 = 2;

/// The doctor's report on a machine, as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// The name of the format.
    pub format: Cow<'static, str>,
    /// Version of the fields: 2 adds `explains`, `explained`, `confirm`, `commands`, `guide` and `pieces` to 1.
    pub version: u32,
    /// The file, folder or machine that was read.
    pub source: String,
    /// Number of functions that were read.
    pub functions: usize,
    /// Number of links with something on the lower end.
    pub links: usize,
    /// The hypervisor, if the machine shows one: then its links may be made up.
    pub hypervisor: Option<String>,
    /// Registers and files that could not be read, and how to show them.
    pub unseen: Vec<String>,
    /// The forms that the source has, and what each was used for.
    pub pieces: Vec<Piece>,
    /// Worst first.
    pub findings: Vec<Finding>,
    /// Every function with its link, if asked for.
    pub tree: Option<Vec<Branch>>,
}

impl Examination {
    /// Whether a finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Whether a link was shown, and every register that the doctor reads could be read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.links > 0 && self.unseen.is_empty()
    }
}

/// Apply every rule to a tree.
///
/// Findings are sorted by severity; of one severity, those come first that explain most of the visible evidence. With
/// a symptom, as `RX slow`, findings that explain it come before all others. `more` are findings from several readings
/// of the machine ([`changes`](crate::changes)).
///
/// # Errors
/// [`Refusal`]: the symptom is not known.
pub fn examine(tree: &Tree, more: Vec<Finding>, symptom: Option<&str>) -> Result<Examination, Refusal> {
    let complaint = symptom.map(Complaint::of).transpose()?;
    let machine = Machine::of(tree);
    let shown = signs(tree);
    let first = findings(&machine);
    let later = in_later_readings(tree, &first);
    let mut found: Vec<_> = more.into_iter().chain(first).chain(later).collect();
    for finding in &mut found {
        let more = explained(finding, &shown);
        finding.seen.explained.extend(more);
    }
    found.sort_by(rank);
    if let Some(complaint) = complaint {
        complaint.order(&mut found);
    }
    Ok(Examination {
        format: FORMAT.into(),
        version: VERSION,
        source: tree.source.clone(),
        functions: tree.functions().len(),
        links: machine.links().len(),
        hypervisor: tree.host().hypervisor.clone(),
        unseen: tree.unseen.clone(),
        pieces: tree.pieces.clone(),
        findings: found,
        tree: None,
    })
}

/// Severity, then the evidence that it explains, then whether it explains any symptom, then what it costs.
fn rank(one: &Finding, other: &Finding) -> Ordering {
    let is_setting = |finding: &Finding| finding.explains.is_empty() && finding.severity == Severity::Note;
    (one.severity.cmp(&other.severity))
        .then(other.explained.len().cmp(&one.explained.len()))
        .then(is_setting(one).cmp(&is_setting(other)))
        .then(other.lost_gbps().total_cmp(&one.lost_gbps()))
}

/// What differs in later readings of the same machine, and the errors and warnings that only those have.
fn in_later_readings(tree: &Tree, first: &[Finding]) -> Vec<Finding> {
    let known: HashSet<(&str, Option<&str>)> =
        first.iter().map(|finding| (&*finding.rule, finding.device.as_deref())).collect();
    let mut found = Vec::new();
    for later in &tree.later {
        found.extend(differences(tree, later));
        let machine = Machine::of(later);
        for mut finding in all().flat_map(|rule| rule.findings(&machine)) {
            if finding.severity != Severity::Note
                && !known.contains(&(&*finding.rule, finding.device.as_deref()))
            {
                let reading = later.source.rsplit_once(',').map_or(later.source.as_str(), |(_, last)| last);
                finding.seen.what = format!("{} (in the reading{reading})", finding.what);
                found.push(finding);
            }
        }
    }
    found
}
