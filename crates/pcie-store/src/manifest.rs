//! The manifest: suite, system and conditions of a run, as an ordered list of keys with JSON values.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::origin::Origin;
use crate::schema::{SCHEMA_VERSION, TRACED_SCHEMA_VERSION};

/// Key of the number of tests of a run, which shows readers whether it is complete.
pub(crate) const TESTS: &str = "tests";

/// Key of the time of each test whose trace a run keeps, ns.
pub(crate) const TRACE: &str = "trace_ns";

/// Suite, system and conditions of a run. Keys keep their order, after `format`, `version` and `origin`.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    entries: Map<String, Value>,
}

impl Manifest {
    /// A manifest with the format, the pcielab version and the origin.
    pub fn new(origin: Origin) -> Self {
        let mut manifest = Self { entries: Map::new() };
        manifest.set("format", json!({"name": "pcielab", "schema": SCHEMA_VERSION}));
        manifest.set("version", env!("CARGO_PKG_VERSION"));
        manifest.set("origin", origin.as_str());
        manifest
    }

    /// A manifest from `entries`, with this crate's `format` and `version`. [`Error::Manifest`] without valid
    /// `origin`.
    pub fn from_entries(entries: Map<String, Value>) -> Result<Self> {
        let mut manifest = Self::new(origin_of(entries.get("origin"))?);
        for (key, value) in entries {
            if key != "format" && key != "version" {
                manifest.set(&key, value);
            }
        }
        Ok(manifest)
    }

    /// A manifest as stored.
    pub(crate) fn stored(entries: Map<String, Value>) -> Self {
        Self { entries }
    }

    /// Origin of the numbers. [`Error::Manifest`] if it is missing or invalid.
    pub fn origin(&self) -> Result<Origin> {
        origin_of(self.get("origin"))
    }

    /// Sets `key`; an existing key keeps its position. A manifest with a trace is of the schema that has traces.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.entries.insert(key.to_owned(), value.into());
        if key == TRACE {
            self.set("format", json!({"name": "pcielab", "schema": TRACED_SCHEMA_VERSION}));
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Number of tests of the run, done or not, if the manifest has it.
    pub fn tests(&self) -> Option<u64> {
        self.get(TESTS).and_then(Value::as_u64)
    }

    /// The schema of its store.
    pub(crate) fn schema(&self) -> i64 {
        if self.get(TRACE).is_some() { TRACED_SCHEMA_VERSION } else { SCHEMA_VERSION }
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }
}

fn origin_of(value: Option<&Value>) -> Result<Origin> {
    let word = value.and_then(Value::as_str);
    Origin::ALL.into_iter().find(|origin| Some(origin.as_str()) == word).ok_or_else(|| Error::Manifest {
        key: "origin".to_owned(),
        found: value.map_or_else(|| "missing".to_owned(), Value::to_string),
        expected: Origin::ALL.map(Origin::as_str).join(", ").replace(", modelled", " or modelled"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_missing_and_unknown_origins() {
        let missing = Manifest::from_entries(Map::new()).unwrap_err().to_string();
        let remedy = "give measured, simulated, emulated, rtl or modelled";
        assert_eq!(missing, format!("manifest: `origin` is missing: {remedy}"));
        let entries = json!({"origin": "Measured"}).as_object().unwrap().clone();
        assert!(Manifest::from_entries(entries).unwrap_err().to_string().contains("\"Measured\""));
    }

    #[test]
    fn keys_keep_their_order_after_this_crates_format() {
        let entries = json!({"title": "t", "format": "forged", "origin": "rtl"}).as_object().unwrap().clone();
        let manifest = Manifest::from_entries(entries).unwrap();
        let keys: Vec<_> = manifest.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["format", "version", "origin", "title"]);
        assert_eq!(manifest.get("format"), Some(&json!({"name": "pcielab", "schema": 2})));
        let mut traced = manifest;
        traced.set(TRACE, 20_000.0);
        assert_eq!(traced.get("format"), Some(&json!({"name": "pcielab", "schema": 3})));
    }
}
