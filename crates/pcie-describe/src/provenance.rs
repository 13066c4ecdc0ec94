//! Sources of the values of a file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Origins of rows that values can be fitted to. Emulated times mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FittedTo {
    /// Measured rows.
    #[default]
    Measured,
    /// Simulated rows.
    Simulated,
    /// Rows of the RTL simulation.
    Rtl,
    /// Rows of the closed form.
    Modelled,
}

/// Why nobody measured a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unmeasured {
    /// It is a guess, or a typical value.
    Assumed,
    /// No row determines it.
    Unidentified,
    /// It is the value of another profile, by name.
    Borrowed(String),
}

/// Sources of the values of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Documents, files or measurements that the values were taken from.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Further notes, for example which values are assumptions.
    #[serde(default)]
    pub notes: String,
    /// Why a system is experimental, in one sentence: its machine was measured, but the description is not good
    /// enough to be called calibrated. Lists show it apart. Absent for all others.
    #[serde(default)]
    pub experimental: String,
    /// Origin of the rows that the values were fitted to, if they were. Only measured rows calibrate a system.
    #[serde(default)]
    pub origin: FittedTo,
    /// Ranges of keys of this file (dotted), that measurements cover; answers outside are marked.
    #[serde(default)]
    pub fitted: BTreeMap<String, [f64; 2]>,
    /// Notes on single keys of this file (dotted); the note of a table holds for all its keys.
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
    /// Why nobody measured keys of this file (dotted): `"assumed"`, `"unidentified"`, or `{ borrowed = "PROFILE" }`. An
    /// entry for a table holds for all its keys that have no note of their own.
    #[serde(default)]
    pub unmeasured: BTreeMap<String, Unmeasured>,
    /// Why nobody measured the keys of this file without a note, if nobody did.
    #[serde(default)]
    pub others: Option<Unmeasured>,
}
