//! Sentences about what other engines computed: limits of any run, and flows of a fabric.

mod flows;
mod limits;

pub use flows::{Edge, EstimatedFlows, SimulatedFlows};
pub use limits::{Limited, Limits, Remedies};

use crate::certainty::Certainty;
use crate::gains::Effect;
use serde::Serialize;

/// The words of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worded {
    /// The value in question.
    pub question: String,
    /// What binds, how sure that is, and what to change; three at most.
    pub sentences: Vec<String>,
    /// How sure that is.
    pub sure: Certainty,
    /// The change that they name first.
    pub best: Option<Effect>,
}

#[cfg(test)]
mod tests;
