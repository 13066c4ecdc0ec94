//! The doctor: rules over a machine's PCIe tree, with what each finding costs by the model, and how to mend it.
//!
//! [`examine`] applies every rule to a tree of `pcie-evidence`. Findings are sorted by severity; of one severity,
//! those come first that explain most of the visible evidence. Costs are modelled, not measured. The tables of
//! hardware and causes in `data/` name the source of each line.

mod branches;
mod cause;
mod examine;
mod finding;
mod hardware;
mod internal_links;
mod line_rates;
mod loss;
mod machine;
mod made_up_links;
mod readings;
mod register_writes;
mod rule;
mod rules;
mod signs;
mod symptom;
mod text;
mod topology;
mod tunnel;
mod watch;
#[cfg(target_family = "wasm")]
mod web;

pub use branches::{Branch, branches};
pub use cause::{Cause, Grade, causes};
pub use examine::{Examination, examine};
pub use finding::{Finding, Loss, Observation, Operation, Severity, Sureness, Symptom, Value};
pub use rules::{RuleDescription, rules};
pub use text::{describe, draw, finding_text};
pub use topology::{Part, Position, Topology, topology};
pub use tunnel::Tunnel;
pub use watch::changes;

#[cfg(test)]
mod tests;
