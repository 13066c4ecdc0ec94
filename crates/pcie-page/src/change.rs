//! A resolved system with changes, by the rules of `--set`.

use pcie_describe::{Table, Value as Written};
use pcie_refusal::Refusal;
use pcie_sim::profile::System;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resolved system and its changes by dotted key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    system: Map<String, Value>,
    sets: Map<String, Value>,
}

/// The changed system, and its title.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    system: System,
    title: String,
}

/// A system with changes.
pub(crate) fn change(asked: Asked) -> Result<Changed, Refusal> {
    let changes = pcie_describe::typed_values(table(asked.sets));
    let title = asked.system.get("title").and_then(Value::as_str).unwrap_or_default();
    let title = pcie_describe::changed_title(title, &changes);
    Ok(Changed { system: pcie_describe::changed(table(asked.system), &changes)?, title })
}

fn table(values: Map<String, Value>) -> Table {
    values.into_iter().map(|(key, value)| (key, Written::of_json(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_parts_and_unknown_keys_are_refused() {
        for (sets, words) in
            [(json!({"host": "x"}), "host.KEY"), (json!({"host.lcc.ways": 1}), "did you mean")]
        {
            let asked = Asked { system: Map::new(), sets: sets.as_object().unwrap().clone() };
            let error = change(asked).unwrap_err().to_string();
            assert!(error.starts_with("--set host") && error.contains(words), "{error}");
        }
    }
}
