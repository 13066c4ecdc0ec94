//! Whether a store belongs to the run that is to resume.

use crate::work::Asked;
use pcie_refusal::Refusal;
use pcie_store::Manifest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Manifest keys that must be the same for a run to resume.
const IDENTITY: [&str; 13] = [
    "version",
    "origin",
    "suite",
    "suite_digest",
    "system",
    "messages",
    "seed",
    "trace_ns",
    "options",
    "backend",
    "source",
    "device",
    "host",
];

/// Hash of a list of tests (FNV-1a over their JSON).
pub(super) fn digest(tests: &[Asked]) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(tests)?;
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}

/// Refuses to resume a store of another run; names the first difference.
pub(super) fn check(path: &Path, stored: &Manifest, asked: &Manifest) -> Result<(), Refusal> {
    let differs = |key: &&str| stored.get(key) != asked.get(key);
    let Some(key) = IDENTITY.into_iter().find(|key| differs(key)) else { return Ok(()) };
    // Readers know tests, not digests.
    let named = if key == "suite_digest" { "list of tests (digest)" } else { key };
    let (key, stored, asked) = first_difference(named.to_owned(), stored.get(key), asked.get(key));
    let refusal =
        Refusal::of(key, shortened(asked, "missing"), "give the same to --resume, or another output");
    Err(refusal
        .problem(format!("the store has {}", shortened(stored, "none")))
        .about(path.display().to_string()))
}

/// Descends into two different values to the first key, by name, whose values differ.
fn first_difference<'a>(
    key: String,
    stored: Option<&'a Value>,
    asked: Option<&'a Value>,
) -> (String, Option<&'a Value>, Option<&'a Value>) {
    if let (Some(Value::Object(left)), Some(Value::Object(right))) = (stored, asked) {
        let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        // `name` comes first: systems of different names differ in many values.
        let named = std::iter::once("name").filter(|name| left.contains_key(*name));
        for inner in named.chain(keys.into_iter().map(String::as_str)) {
            if left.get(inner) != right.get(inner) {
                return first_difference(format!("{key}.{inner}"), left.get(inner), right.get(inner));
            }
        }
    }
    (key, stored, asked)
}

/// A value shortened for a message, or `none`.
fn shortened(value: Option<&Value>, none: &str) -> String {
    let text = value.map_or_else(|| none.to_owned(), Value::to_string);
    if text.len() > 60 { format!("{}...", text.chars().take(57).collect::<String>()) } else { text }
}
