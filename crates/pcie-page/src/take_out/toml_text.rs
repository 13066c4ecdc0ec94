//! Tables as TOML. Source: TOML 1.0.0, toml.io.

use serde_json::{Map, Value};

/// A table as a file: its values, then its tables, then its lists of tables. Null and empty tables are left out.
pub(super) fn table_text(table: &Value) -> String {
    let mut text = String::new();
    let Some(table) = table.as_object() else { return text };
    write_values(&mut text, table);
    for (key, value) in table {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text += &format!("\n[{}]\n", key_text(key));
                write_values(&mut text, inner);
            }
            Value::Array(entries) => {
                for entry in entries.iter().filter_map(Value::as_object) {
                    text += &format!("\n[[{}]]\n", key_text(key));
                    write_values(&mut text, entry);
                }
            }
            _ => {}
        }
    }
    text
}

fn write_values(text: &mut String, table: &Map<String, Value>) {
    let is_plain = |value: &Value| match value {
        Value::Null | Value::Object(_) => false,
        Value::Array(entries) => !entries.iter().any(Value::is_object),
        _ => true,
    };
    for (key, value) in table.iter().filter(|(_, value)| is_plain(value)) {
        *text += &format!("{} = {}\n", key_text(key), value_text(value));
    }
}

fn key_text(key: &str) -> String {
    let is_bare =
        !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if is_bare { key.to_owned() } else { string_text(key) }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => string_text(text),
        Value::Array(entries) => {
            format!("[{}]", entries.iter().map(value_text).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A basic string. JSON's escapes are TOML's; DEL, which JSON leaves as it is, TOML forbids.
fn string_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hostile_texts_stay_texts() {
        let hostile = "\"\\\n[set]\r\u{0}\u{1f}\u{7f}é";
        let text = table_text(&json!({"title": hostile, "set": {hostile: hostile}}));
        let read: Value = toml::from_str(&text).unwrap();
        assert_eq!(read, json!({"title": hostile, "set": {hostile: hostile}}));
    }

    #[test]
    fn tables_follow_values() {
        let text = table_text(
            &json!({"group": [{"a": [1, 2]}, {"b": true}], "empty": {}, "x": 1.5, "t": {"y": "z"}}),
        );
        assert_eq!(text, "x = 1.5\n\n[[group]]\na = [1, 2]\n\n[[group]]\nb = true\n\n[t]\ny = \"z\"\n");
    }
}
