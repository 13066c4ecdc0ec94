//! One finished test: what was asked, how it ended, and its numbers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It ran and gave numbers.
    Ok,
    /// The device or host lacks what it needs.
    NotSupported,
    /// It ran and went wrong; the message says how.
    Failed,
    /// It was stopped before its end; a resumed run does it again.
    Interrupted,
}

impl Status {
    /// The word that stands in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotSupported => "not-supported",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Ok, Self::NotSupported, Self::Failed, Self::Interrupted]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// What the number is about: empty for the test as a whole, else a flow, an edge, a phase or a message step.
    #[serde(default)]
    pub subject: String,
    /// What was measured, such as `median`.
    pub metric: String,
    /// The unit of the value, such as `ns`; `1` for a count.
    pub unit: String,
    /// The value; finite.
    pub value: f64,
}

/// A histogram in integer ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// What was measured, such as `latency`.
    pub metric: String,
    /// The tick's length in ns as an exact fraction: `40/3`.
    pub tick: String,
    /// (value in ticks, how often it occurred), each value once.
    pub bins: Vec<(i64, u64)>,
}

/// Numbers in order, such as the first latencies of a test in ticks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What was measured.
    pub metric: String,
    /// The values, in order.
    pub values: Vec<f64>,
}

/// One finished test. It is stored whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// Its place in suite order, from 0.
    pub id: u64,
    /// The family of the suite that it belongs to, such as `lat_cmd_sizes`.
    pub family: String,
    /// Its published name, such as `LAT_CMD_RD`.
    pub name: String,
    /// Its parameters as canonical JSON: one object of plain values, keys sorted, no spaces.
    pub parameters: String,
    /// How it ended.
    pub status: Status,
    /// Why, where it did not end well.
    #[serde(default)]
    pub message: Option<String>,
    /// Its numbers.
    #[serde(default)]
    pub scalars: Vec<Scalar>,
    /// Its histograms.
    #[serde(default)]
    pub distributions: Vec<Distribution>,
    /// Its series.
    #[serde(default)]
    pub series: Vec<Series>,
}

impl TestRecord {
    /// True if the parameters are what a table can have as columns: an object without objects or lists in it.
    pub(crate) fn has_plain_parameters(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.parameters)
            .is_ok_and(|parameters| !parameters.values().any(|value| value.is_object() || value.is_array()))
    }
}
