//! The type of rules.

use crate::cause::causes;
use crate::finding::{Finding, Observation, Symptom};
use crate::machine::Machine;

const GUIDE: &str = "guides/is-my-link-right/";

/// A function that looks for one cause of low numbers.
pub(crate) struct Rule {
    /// Name in findings.
    pub(crate) name: &'static str,
    /// Key of the cause.
    pub(crate) cause: &'static str,
    /// Heading of its section in the guide, as an anchor.
    pub(crate) section: &'static str,
    /// Symptoms that the cause explains where they show.
    pub(crate) explains: &'static [Symptom],
    /// What would confirm the cause.
    pub(crate) confirm: Option<&'static str>,
    /// The reason, the section of the specification, and when the rule is silent.
    pub(crate) about: &'static str,
    /// The function.
    pub(crate) see: fn(&Machine<'_>) -> Vec<Observation>,
}

impl Rule {
    /// Its findings in a machine.
    pub(crate) fn findings(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let observations = (self.see)(machine);
        observations
            .into_iter()
            .filter_map(|seen| {
                finding(self.name, self.cause, seen, self.explains, self.confirm, Some(self.section))
            })
            .collect()
    }
}

/// An observation with its rule and the evidence for its cause; None if the table lacks the cause.
pub(crate) fn finding(
    rule: &'static str,
    cause: &'static str,
    seen: Observation,
    explains: &'static [Symptom],
    confirm: Option<&'static str>,
    section: Option<&str>,
) -> Option<Finding> {
    let known = causes().get(cause)?;
    Some(Finding {
        seen,
        rule: rule.into(),
        cause: cause.into(),
        evidence: known.expect.as_str().into(),
        grade: known.grade,
        sources: known.sources.as_slice().into(),
        explains: explains.into(),
        confirm: confirm.map(Into::into),
        guide: section.map_or_else(|| GUIDE.to_owned(), |section| format!("{GUIDE}#{section}")),
    })
}
