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

impl Unmeasured {
    /// In a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Unidentified => "unidentified",
            Self::Borrowed(_) => "borrowed",
        }
    }

    /// The profile that a borrowed value comes from.
    #[must_use]
    pub fn profile(&self) -> Option<&str> {
        if let Self::Borrowed(profile) = self { Some(profile) } else { None }
    }
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

impl Provenance {
    /// Whether a dotted key, or a table around it, has a note.
    pub(crate) fn has_note(&self, key: &str) -> bool {
        around(key).any(|one| self.keys.get(one).is_some_and(|note| !note.is_empty()))
    }

    /// Why nobody measured a dotted key, as the innermost table around it with an entry or a note says.
    ///
    /// A key without either is one of the `others`.
    pub(crate) fn unmeasured_of(&self, key: &str) -> Option<&Unmeasured> {
        for one in around(key) {
            if let Some(reason) = self.unmeasured.get(one) {
                return Some(reason);
            }
            if self.keys.contains_key(one) {
                return None;
            }
        }
        self.others.as_ref()
    }
}

/// A dotted key, and the tables around it, the innermost first.
fn around(key: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(key), |key| key.rsplit_once('.').map(|(table, _)| table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_innermost_entry_or_note_says_why_nobody_measured_a_key() {
        let sources: Provenance = serde_json::from_value(json!({
            "source": "a book",
            "keys": {"iommu": "measured", "memory.miss_ns": ""},
            "unmeasured": {"iommu.tlb": "assumed", "load": {"borrowed": "mine"}},
            "others": "unidentified",
        }))
        .unwrap();
        let word = |key| sources.unmeasured_of(key).map(Unmeasured::word);
        assert_eq!(word("iommu.tlb.entries"), Some("assumed"));
        assert_eq!(word("iommu.walk_ns"), None);
        assert_eq!(word("memory.miss_ns"), None);
        assert_eq!(word("sockets"), Some("unidentified"));
        assert_eq!(sources.unmeasured_of("load.cores").and_then(Unmeasured::profile), Some("mine"));
        assert_eq!(
            ["iommu.walk_ns", "memory.miss_ns", "load"].map(|key| sources.has_note(key)),
            [true, false, false]
        );
    }
}
