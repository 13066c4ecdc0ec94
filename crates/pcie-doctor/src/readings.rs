//! Compare two readings of one machine in one text, as before and after a change.

use std::collections::HashMap;

use pcie_evidence::{Function, Tree};

use crate::finding::{Finding, Observation, Severity, Sureness, Symptom, Value};
use crate::rule::finding;
use crate::rules::link::shown;

const SECTION: &str = "several-readings";

/// A setting that changed: its name, and what it was before and after.
type Change = (&'static str, String, String);

/// One note for each function whose link or settings differ between two readings.
pub(crate) fn differences(first: &Tree, later: &Tree) -> Vec<Finding> {
    let known: HashMap<&str, &Function> =
        first.functions().iter().map(|function| (function.slot.as_str(), function)).collect();
    let mut found = Vec::new();
    for now in later.functions() {
        let Some(before) = known.get(now.slot.as_str()) else { continue };
        let changed = changes(before, now);
        if changed.is_empty() {
            continue;
        }
        let named: Vec<String> =
            changed.iter().map(|(name, old, new)| format!("{name} {old}, then {new}")).collect();
        let what = format!("two readings of this machine differ: {}", named.join("; "));
        let values = changed.iter().flat_map(|(name, old, new)| {
            [Value::of(now, format!("{name} before"), old), Value::of(now, format!("{name} after"), new)]
        });
        let seen = Observation::new(Severity::Note, Sureness::Certain, what)
            .on(now)
            .below(later.parent(now))
            .values(values)
            .remedy(
                "what changed between them is where to look; findings are of the first reading unless they name \
                 another",
            );
        found.extend(finding("readings-differ", "D05", seen, &[Symptom::LostRate], None, Some(SECTION)));
    }
    found
}

fn changes(before: &Function, now: &Function) -> Vec<Change> {
    let mut found = Vec::new();
    let mut add = |name, old: Option<String>, new: Option<String>| {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            found.push((name, old, new));
        }
    };
    let answers = |function: &Function| Some(sign(function.answers != Some(false)));
    add("answers", answers(before), answers(now));
    if let (Some(old), Some(new)) = (&before.link, &now.link) {
        add("LnkSta", Some(shown(old.speed_gtps, old.lanes)), Some(shown(new.speed_gtps, new.lanes)));
        add("LnkCtl ASPM", words(old.aspm_enabled.as_deref()), words(new.aspm_enabled.as_deref()));
        let target = |speed: Option<f64>| speed.map(|speed| format!("{speed:?}"));
        add("LnkCtl2 target speed", target(old.target_speed_gtps), target(new.target_speed_gtps));
        add("L1 substates", words(old.l1_substates.as_deref()), words(new.l1_substates.as_deref()));
    }
    if let (Some(old), Some(new)) = (&before.control, &now.control) {
        add("MPS", number(old.mps_bytes), number(new.mps_bytes));
        add("MRRS", number(old.mrrs_bytes), number(new.mrrs_bytes));
        add("ExtTag", old.extended_tags.map(sign), new.extended_tags.map(sign));
    }
    if let (Some(old), Some(new)) = (&before.errors, &now.errors) {
        add("CESta", words(old.correctable_status.as_deref()), words(new.correctable_status.as_deref()));
        add("UESta", words(old.uncorrectable_status.as_deref()), words(new.uncorrectable_status.as_deref()));
    }
    add("ACSCtl", words(before.acs_enabled.as_deref()), words(now.acs_enabled.as_deref()));
    found
}

fn number(bytes: Option<u32>) -> Option<String> {
    bytes.map(|bytes| bytes.to_string())
}

/// A flag as the findings of two readings show it.
fn sign(flag: bool) -> String {
    if flag { "True" } else { "False" }.to_owned()
}

fn words(names: Option<&[String]>) -> Option<String> {
    names.map(|names| if names.is_empty() { "none".to_owned() } else { names.join(" ") })
}
