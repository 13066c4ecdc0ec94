//! The causes of low numbers that findings name, from `data/causes.toml`.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Quality of the evidence for a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// A controlled measurement or a paper.
    A,
    /// A report with before and after.
    B,
    /// A statement without both.
    C,
    /// The specification alone.
    D,
}

impl Grade {
    /// Its letter.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// What it is.
    pub title: String,
    /// Quality of the evidence.
    pub grade: Grade,
    /// What a measurement looks like.
    pub looks_like: String,
    /// How to check it by hand.
    pub check: String,
    /// Its measured cost.
    pub expect: String,
    /// How to mend it.
    pub remedy: String,
    /// Kinds of rows of a run that suggest checking for it.
    pub symptoms: Vec<String>,
    /// Where that is from.
    pub sources: Vec<String>,
    /// Maker of processors: others do not have the cause.
    pub maker: Option<String>,
    /// Engine of `pcielab normal --engine` that rules it out.
    pub not_engine: Option<String>,
}

#[expect(clippy::expect_used, reason = "a test reads the table that this crate embeds")]
static CAUSES: LazyLock<IndexMap<String, Cause>> =
    LazyLock::new(|| toml::from_str(include_str!("../data/causes.toml")).expect("the table of causes"));

/// All causes by their key, in the order of the table.
#[must_use]
pub fn causes() -> &'static IndexMap<String, Cause> {
    &CAUSES
}
