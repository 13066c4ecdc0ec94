//! A resolved system with changes, as `--set` makes them.

use pcie_refusal::Refusal;
use pcie_sim::Machine;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::point::system_of;

/// Parts that are replaced by files only.
const WHOLE_PARTS: [&str; 3] = ["link", "host", "device"];
const STEPS_MOST: usize = 16;

/// A resolved system and its changes by dotted key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    system: Value,
    sets: Map<String, Value>,
}

/// The changed system, and its title.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    system: Value,
    title: String,
}

/// A system with changes.
pub(crate) fn change(asked: Asked) -> Result<Changed, Refusal> {
    let mut system = asked.system;
    let mut title = system.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut listed = Vec::new();
    for (key, given) in asked.sets {
        if WHOLE_PARTS.contains(&key.as_str()) {
            let remedy = format!("is a whole part: change single values, like {key}.KEY");
            return Err(Refusal::new(remedy).about(key));
        }
        let value = typed(given);
        listed.push(format!("{key}={}", shown(&value)));
        replace(&mut system, &key, value)?;
    }
    Machine::check(&system_of(system.clone()).map_err(|refusal| refusal.about("--set"))?)?;
    if !listed.is_empty() {
        title = format!("{title}, with {}", listed.join(", "));
    }
    Ok(Changed { system, title })
}

/// A text as the value that it stands for in `--set`: `none`, a boolean, a number, else itself.
fn typed(value: Value) -> Value {
    let Value::String(text) = value else { return value };
    match serde_json::from_str(&text) {
        _ if text == "none" => Value::Null,
        Ok(plain @ (Value::Bool(_) | Value::Number(_))) => plain,
        _ => Value::String(text),
    }
}

/// A value as `--set` takes it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Replaces the value of a dotted key; a number in it is an index of a list. Missing tables are made.
fn replace(system: &mut Value, key: &str, value: Value) -> Result<(), Refusal> {
    let mut at = system;
    if key.split('.').count() > STEPS_MOST {
        return Err(Refusal::new("unknown key").about(key));
    }
    for step in key.split('.') {
        at = match at {
            Value::Array(entries) => {
                let length = entries.len();
                let found = step.parse().ok().and_then(|index: usize| entries.get_mut(index));
                let problem = || Refusal::new(format!("{step} is not an index of a list of {length}"));
                found.ok_or_else(|| problem().about(format!("--set {key}")))?
            }
            other => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                &mut other[step]
            }
        };
    }
    *at = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replaces_values_at_dotted_keys_and_indices() {
        let mut system = json!({"link": {"tags": 8}, "list": [1, {"a": 2}], "load": null});
        replace(&mut system, "link.tags", json!(9)).unwrap();
        replace(&mut system, "list.1.a", json!(3)).unwrap();
        replace(&mut system, "load.cores", json!(4)).unwrap();
        assert_eq!(system, json!({"link": {"tags": 9}, "list": [1, {"a": 3}], "load": {"cores": 4}}));
        let error = replace(&mut system, "list.2", json!(0)).unwrap_err().to_string();
        assert_eq!(error, "--set list.2: 2 is not an index of a list of 2");
        assert!(replace(&mut system, &"a.".repeat(100), json!(0)).is_err());
    }

    #[test]
    fn texts_stand_for_values() {
        let values = ["none", "true", "12", "1.5", "off", "[1]"].map(|text| typed(json!(text)));
        assert_eq!(values, [json!(null), json!(true), json!(12), json!(1.5), json!("off"), json!("[1]")]);
    }

    #[test]
    fn whole_parts_are_refused() {
        let asked = Asked { system: json!({}), sets: json!({"host": "x"}).as_object().unwrap().clone() };
        assert!(change(asked).unwrap_err().to_string().contains("host.KEY"));
    }
}
