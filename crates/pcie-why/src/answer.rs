//! An answer: at most three sentences, the bars of a picture, and the rows of a table.

use crate::certainty::{Certainty, Named, near};
use crate::gains::{Effect, Gain, helpful};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

/// Bars of changes in a picture.
pub(crate) const SHOWN_CHANGES: usize = 5;

/// What a bar of the picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A measured, simulated or estimated value.
    Value,
    /// The rate that a bound allows.
    Bound,
    /// The value with a change.
    Change,
    /// The value with a possible cause of the gap.
    Cause,
    /// The value in the first of two runs.
    A,
    /// The value in the second of two runs.
    B,
}

/// A bar of the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Its label.
    pub name: String,
    /// Its length, in the answer's unit.
    pub value: f64,
    /// What it shows.
    pub role: Role,
}

impl Bar {
    pub(crate) fn new(name: impl Into<String>, value: f64, role: Role) -> Self {
        Self { name: name.into(), value, role }
    }

    /// A bar for each bound that a picture shows.
    pub(crate) fn of_bounds(bounds: &[Named]) -> impl Iterator<Item = Self> {
        near(bounds).map(|(name, value)| Self::new(name, *value, Role::Bound))
    }

    /// A bar for each of the best changes.
    pub(crate) fn of_changes(gains: &[Gain]) -> impl Iterator<Item = Self> {
        let best = helpful(gains).take(SHOWN_CHANGES);
        best.map(|gain| Self::new(&gain.change.what, gain.change.after, Role::Change))
    }
}

/// A row of the table, by column.
pub type Row = IndexMap<String, Value>;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The value in question, in words.
    pub question: String,
    /// What binds, how sure that is, and what to change; three at most.
    pub sentences: Vec<String>,
    /// The bound that binds; none if no bound applies.
    pub binds: Option<String>,
    /// How sure that is.
    pub sure: Certainty,
    /// The change that gives most; none if none gives anything.
    pub change: Option<Effect>,
    /// Every change that was tried, the best first.
    pub changes: Vec<Effect>,
    /// Unit of the bars and changes.
    pub unit: String,
    /// The value, the bounds, the possible causes of a gap, and the best changes.
    pub bars: Vec<Bar>,
    /// The table.
    pub rows: Vec<Row>,
    /// Assumptions and omissions.
    pub notes: Vec<String>,
}

/// The changes of gains.
pub(crate) fn effects(gains: &[Gain]) -> Vec<Effect> {
    gains.iter().map(|gain| gain.change.clone()).collect()
}
