//! One finished test: parameters, status and results.

use pcie_trace::Segment;
use serde::{Deserialize, Serialize};
#[cfg(not(target_family = "wasm"))]
use serde_json::{Map, Value};

#[cfg(not(target_family = "wasm"))]
use crate::metrics::Kind;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Complete.
    Ok,
    /// Not supported by the device or host.
    NotSupported,
    /// Failed; the message says why.
    Failed,
    /// Stopped before its end; a resumed run repeats it.
    Interrupted,
}

impl Status {
    /// Its word in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotSupported => "not-supported",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    #[cfg(not(target_family = "wasm"))]
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
    /// Subject: empty for the test as a whole, else a flow, an edge, a phase or a message step.
    #[serde(default)]
    pub subject: String,
    /// Metric, for example `median`.
    pub metric: String,
    /// Unit of the value, for example `ns`; `1` for a count.
    pub unit: String,
    /// The value; finite.
    pub value: f64,
}

/// A histogram in integer ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Metric, for example `latency`.
    pub metric: String,
    /// Tick length in ns as an exact fraction, for example `40/3`.
    pub tick: String,
    /// (value in ticks, count), each value once.
    pub bins: Vec<(i64, u64)>,
}

/// Numbers in order, for example the first latencies of a test in ticks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Metric.
    pub metric: String,
    /// The values, in order.
    pub values: Vec<f64>,
}

/// One finished test, stored whole or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRecord {
    /// Position in suite order, from 0.
    pub id: u64,
    /// Family of the suite, for example `lat_cmd_sizes`.
    pub family: String,
    /// Published name, for example `LAT_CMD_RD`.
    pub name: String,
    /// Parameters as canonical JSON: one object of plain values, keys sorted, no spaces.
    pub parameters: String,
    /// How it ended.
    pub status: Status,
    /// Reason of a status other than ok.
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
    /// Its trace, in the order of the starts; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Segment>,
}

#[cfg(not(target_family = "wasm"))]
impl TestRecord {
    /// The kind of its run, from its parameters. None if they do not fit columns of a table: they must be an
    /// object without objects or lists in it.
    pub(crate) fn kind(&self) -> Option<Kind> {
        let parameters = serde_json::from_str::<Map<String, Value>>(&self.parameters).ok()?;
        let is_plain = !parameters.values().any(|value| value.is_object() || value.is_array());
        is_plain.then(|| Kind::of(&parameters))
    }
}
