//! What the registers, counters and log of a machine show of trouble, apart from its causes.
//!
//! A finding is ranked by how many of these signs its cause explains: a setting without a sign comes after.

use std::collections::HashSet;

use pcie_evidence::{Function, LogKind, Tree};

use crate::finding::{Finding, Symptom};

/// Correctable errors of the link itself; the others are about requests.
pub(crate) const OF_THE_LINK: [&str; 5] = ["RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"];

/// A sign of trouble.
pub(crate) struct Sign {
    /// What it is a sign of.
    symptoms: &'static [Symptom],
    /// The function that shows it; None where its source names none.
    slot: Option<String>,
    /// The sign, in words.
    what: String,
    is_of_the_log: bool,
}

impl Sign {
    fn of(function: &Function, symptoms: &'static [Symptom], saw: &str) -> Self {
        let what = format!("{} {saw}", function.short_slot());
        Self { symptoms, slot: Some(function.slot.clone()), what, is_of_the_log: false }
    }
}

const fn symptoms_of(kind: LogKind) -> &'static [Symptom] {
    match kind {
        LogKind::CorrectedError => &[Symptom::Errors],
        LogKind::UncorrectedError | LogKind::AddressFault => &[Symptom::Errors, Symptom::Hang],
        LogKind::Contained => &[Symptom::Errors, Symptom::Missing],
        LogKind::LinkDown | LogKind::OffBus => &[Symptom::Missing, Symptom::Hang],
        LogKind::RetrainFailed => &[Symptom::LostRate, Symptom::Missing],
        LogKind::BandwidthLimited => &[Symptom::LostRate],
        LogKind::NoSpace => &[Symptom::Missing],
        LogKind::NoAtomics => &[Symptom::PeerToPeer],
        LogKind::DeviceStopped => &[Symptom::Hang],
    }
}

/// Every sign of a tree.
pub(crate) fn signs(tree: &Tree) -> Vec<Sign> {
    let events = tree.log.iter().map(|event| Sign {
        symptoms: symptoms_of(event.kind),
        slot: event.slot.clone(),
        what: format!("log: {}", event.text),
        is_of_the_log: true,
    });
    tree.functions().iter().flat_map(of_function).chain(events).collect()
}

fn of_function(function: &Function) -> Vec<Sign> {
    let mut found = Vec::new();
    let seen = link_errors(function);
    if !seen.is_empty() {
        let saw = format!("saw {}", seen.join(" "));
        found.push(Sign::of(function, &[Symptom::Errors, Symptom::LostRate], &saw));
    }
    let status = function.errors.as_ref().and_then(|errors| errors.uncorrectable_status.as_ref());
    if let Some(bits) = status.filter(|bits| !bits.is_empty()) {
        let saw = format!("saw {}", bits.join(" "));
        found.push(Sign::of(function, &[Symptom::Errors, Symptom::Hang], &saw));
    }
    if function.contained.is_some() {
        found.push(Sign::of(function, &[Symptom::Errors, Symptom::Missing], "contained an error"));
    }
    if function.answers == Some(false) {
        found.push(Sign::of(function, &[Symptom::Missing, Symptom::Hang], "does not answer"));
    }
    found
}

/// Correctable errors of the link that a function saw: in its register, or in the kernel's counters.
pub(crate) fn link_errors(function: &Function) -> Vec<&'static str> {
    let Some(errors) = &function.errors else { return Vec::new() };
    let is_seen = |name: &&&str| {
        let in_status =
            errors.correctable_status.as_ref().is_some_and(|status| status.iter().any(|bit| bit == **name));
        let count = errors.correctable.as_ref().and_then(|counted| counted.get(**name));
        in_status || count.is_some_and(|count| *count > 0)
    };
    OF_THE_LINK.iter().filter(is_seen).copied().collect()
}

/// The signs that a finding explains: of its symptoms, and shown by a function that it names.
pub(crate) fn explained(finding: &Finding, signs: &[Sign]) -> Vec<String> {
    let values = finding.values.iter().map(|value| &value.function);
    let named: HashSet<&str> =
        [&finding.device, &finding.port].into_iter().chain(values).filter_map(Option::as_deref).collect();
    signs
        .iter()
        .filter(|sign| sign.symptoms.iter().any(|symptom| finding.explains.contains(symptom)))
        .filter(|sign| sign.slot.as_deref().map_or(sign.is_of_the_log, |slot| named.contains(slot)))
        .map(|sign| sign.what.clone())
        .collect()
}
