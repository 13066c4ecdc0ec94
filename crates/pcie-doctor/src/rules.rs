//! The rules: each is a function from a machine to its observations.
//!
//! A new rule needs a function and its line in a module of this folder, a machine on which it fires, and an example in
//! the guide.

mod atomics;
mod bars;
mod errata;
mod errors;
mod faults;
mod host;
pub(crate) mod link;
mod log;
mod ordering;
mod payload;
mod power;
mod requests;
mod sharing;

use serde::Serialize;

use crate::finding::{Finding, Symptom};
use crate::machine::Machine;
use crate::rule::Rule;

const MODULES: [&[Rule]; 13] = [
    faults::RULES,
    link::RULES,
    payload::RULES,
    requests::RULES,
    ordering::RULES,
    errors::RULES,
    power::RULES,
    sharing::RULES,
    atomics::RULES,
    host::RULES,
    bars::RULES,
    errata::RULES,
    log::RULES,
];

/// What a rule looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuleDescription {
    /// Its name in findings.
    pub name: &'static str,
    /// Key of the cause.
    pub cause: &'static str,
    /// The reason, the section of the specification, and when the rule is silent.
    pub about: &'static str,
    /// Symptoms that the cause explains where they show.
    pub explains: &'static [Symptom],
    /// What would confirm the cause.
    pub confirm: Option<&'static str>,
}

/// Every rule, in the order of the reference.
pub fn rules() -> impl Iterator<Item = RuleDescription> {
    all().map(|rule| RuleDescription {
        name: rule.name,
        cause: rule.cause,
        about: rule.about,
        explains: rule.explains,
        confirm: rule.confirm,
    })
}

/// Every rule, in the order of the reference; findings are sorted by cost.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    MODULES.into_iter().flatten()
}

/// The findings of every rule.
pub(crate) fn findings(machine: &Machine<'_>) -> Vec<Finding> {
    all().flat_map(|rule| rule.findings(machine)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::causes;

    #[test]
    fn every_rule_has_a_cause_of_the_table() {
        let unknown: Vec<_> =
            all().filter(|rule| !causes().contains_key(rule.cause)).map(|rule| rule.name).collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }
}
