//! Sizes written as texts, in a merged system.

use pcie_schema::size::bytes_of_text;
use serde_json::Value;

/// A system whose sizes (`_bytes`) are numbers; texts that are no sizes stay for the check of the system.
#[must_use]
pub fn with_sizes(mut system: Value) -> Value {
    replace(&mut system);
    system
}

fn replace(value: &mut Value) {
    match value {
        Value::Object(table) => {
            for (key, inner) in table {
                let size = inner.as_str().filter(|_| key.ends_with("_bytes")).and_then(bytes_of_text);
                match size.and_then(|bytes| u64::try_from(bytes).ok()) {
                    Some(bytes) => *inner = bytes.into(),
                    None => replace(inner),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(replace),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_sizes_become_numbers() {
        let written = json!({"host": {"llc_bytes": "15M", "name": "4K"}, "list": [{"region_bytes": "x"}]});
        let expected =
            json!({"host": {"llc_bytes": 15 << 20, "name": "4K"}, "list": [{"region_bytes": "x"}]});
        assert_eq!(with_sizes(written), expected);
    }
}
