//! Changed values, for property tests of readers: whatever a file holds, a reader accepts it or refuses it well.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Letters of the longest message: those of five parts of a refusal.
const MESSAGE_LETTERS_MOST: usize = 5_100;

/// Copies of a value with one to three values replaced, left out, or unknown keys put beside them.
pub fn changed(seed: &Value) -> impl Strategy<Value = Value> + use<> {
    let mut pointers = Vec::new();
    collect(seed, "", &mut pointers);
    let seed = seed.clone();
    let change = (prop::sample::select(pointers), 0..10_u8, replacement());
    prop::collection::vec(change, 1..=3).prop_map(move |changes| {
        let mut copy = seed.clone();
        for (pointer, kind, new) in changes {
            change_at(&mut copy, &pointer, kind, new);
        }
        copy
    })
}

/// Whether a message can be printed as it is: short, and without control characters.
#[must_use]
pub fn is_printable(message: &str) -> bool {
    let plain = message.chars().all(|letter| letter == '\n' || !letter.is_control());
    plain && !message.trim().is_empty() && message.chars().count() <= MESSAGE_LETTERS_MOST
}

/// Pointers to every value within one.
fn collect(value: &Value, at: &str, pointers: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(table) => table.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(index, one)| (index.to_string(), one)).collect(),
        _ => Vec::new(),
    };
    for (key, inner) in inner {
        let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        collect(inner, &pointer, pointers);
        pointers.push(pointer);
    }
}

/// Values that people write by mistake or to do harm: other types, other units, limits, endless texts.
fn replacement() -> impl Strategy<Value = Value> + use<> {
    let whole = [0, 1, -1, 2, 7, 64, 4_096, 65_536, i64::from(u32::MAX), i64::from(u32::MAX) + 1, i64::MAX];
    let real = [0.5, -0.5, 1e-300, 5e-324, 1e9, 1e19, 1e300, f64::MAX];
    let texts = ["", "x", "nan", "1e999", "a\u{1b}[2J", "\u{202e}", "infinite", "random", "64:1"];
    prop_oneof![
        3 => prop::sample::select(whole.to_vec()).prop_map(Value::from),
        2 => prop::sample::select(real.to_vec()).prop_map(Value::from),
        2 => prop::sample::select(texts.to_vec()).prop_map(Value::from),
        1 => Just(Value::from(u64::MAX)),
        1 => Just(Value::from("a".repeat(10_000))),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop::sample::select(vec![Value::Null, json!([]), json!({}), json!([[]]), json!({"key": 1})]),
    ]
}

fn change_at(value: &mut Value, pointer: &str, kind: u8, new: Value) {
    let Some((holder, key)) = pointer.rsplit_once('/') else { return };
    match (kind, value.pointer_mut(holder)) {
        (0, Some(Value::Object(table))) => drop(table.remove(key)),
        (1, Some(Value::Object(table))) => drop(table.insert(format!("{key}\u{7f}"), new)),
        _ => {
            if let Some(place) = value.pointer_mut(pointer) {
                *place = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn a_change_is_somewhere_in_the_value(found in changed(&json!({"a": {"b/~": 3}, "c": [{"d": "e"}]}))) {
            prop_assert!(found.is_object());
        }
    }

    #[test]
    fn messages_that_a_terminal_obeys_are_not_printable() {
        assert!(is_printable("link.tags is 0: give 1 to 16384"));
        for message in ["", " \n", "a\u{1b}[2J", &"x".repeat(6_000)] {
            assert!(!is_printable(message), "{message}");
        }
    }
}
