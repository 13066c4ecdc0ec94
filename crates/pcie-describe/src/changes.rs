//! Changes by dotted key, of `[set]` and `--set`: their values, and the keys that exist.

use std::sync::LazyLock;

use pcie_refusal::alike::{alike, either, with_most_parts};
use pcie_refusal::shown::{named, quoted};
use pcie_refusal::unknown::{closest, suggestion};
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_schema::{Fitting as _, Shape};
use pcie_sim::profile::System;

use crate::blame::shown;
use crate::files::PARTS;
use crate::value::{Table, Value, parse_toml};

/// Twice the length of the longest key.
pub(crate) const LETTERS_MOST: usize = 200;
const INDEX_DIGITS_MOST: usize = 9;
const ALIKE_MOST: usize = 3;
/// Keys of the same name elsewhere that are named without a choice among them.
const ELSEWHERE_MOST: usize = 4;
const KEYS_NAMED: usize = 4;
/// The option that changes a system, as the giver of a value.
pub(crate) const SET: &str = "--set";

static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| System::shape().keys());

/// Every dotted key of a system, those of tables included.
#[must_use]
pub fn known_keys() -> &'static [String] {
    &KEYS
}

/// Every dotted key of a system with the first sentence of its meaning.
#[must_use]
pub fn meanings() -> Vec<(String, String)> {
    System::shape().meanings().into_iter().map(|(key, text)| (key, sentence(text))).collect()
}

/// The first sentence of a description, on one line.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[`", "`").replace("`]", "`");
    text.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// Changes written as `KEY=VALUE`.
///
/// # Errors
/// A text has no key or no `=`, or a key is given twice.
pub fn typed_changes(texts: &[String]) -> Result<Table, Refusal> {
    let mut changes = Table::new();
    for text in texts {
        let (key, value) = text.split_once('=').map_or(("", ""), |(key, value)| (key.trim(), value.trim()));
        if key.is_empty() {
            let remedy = "give KEY=VALUE, for example host.iommu.walk_ns=300";
            return Err(Refusal::new(remedy)
                .kind(RefusalKind::Malformed)
                .about(format!("--set {}", named(text.trim()))));
        }
        if changes.insert(key.to_owned(), typed(value)).is_some() {
            let remedy = "given twice: give one value for a key";
            return Err(Refusal::new(remedy).about(format!("--set {}", named(key))));
        }
    }
    Ok(changes)
}

/// A value as `--set` takes it.
#[must_use]
pub fn set_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "none".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The title of a system with changes.
#[must_use]
pub fn changed_title(title: &str, changes: &Table) -> String {
    if changes.is_empty() {
        return title.to_owned();
    }
    let listed = changes.iter().map(|(key, value)| format!("{key}={}", set_text(&value.clone().into_json())));
    format!("{title}, with {}", listed.collect::<Vec<_>>().join(", "))
}

/// A text as the value that it stands for: `none`, a value of TOML, else itself.
#[must_use]
pub fn typed(text: &str) -> Value {
    if text == "none" {
        return Value::Leaf(serde_json::Value::Null);
    }
    let read = parse_toml(&format!("value = {text}")).ok().filter(|table| table.len() == 1);
    read.and_then(|mut table| table.remove("value").and_then(Value::of_toml))
        .unwrap_or_else(|| Value::Text(text.to_owned()))
}

/// Changes whose texts stand for values.
#[must_use]
pub fn typed_values(given: Table) -> Table {
    let value = |value| if let Value::Text(text) = &value { typed(text) } else { value };
    given.into_iter().map(|(key, given)| (key, value(given))).collect()
}

/// Changes a single value of a system; `of` precedes keys in messages.
///
/// # Errors
/// A key is unknown or names a whole part, or an index is beyond its list.
pub fn change(system: &mut Table, key: &str, value: &Value, of: &str) -> Result<(), Refusal> {
    if PARTS.iter().any(|part| part.word() == key) {
        let remedy = format!("is a whole part: change single values, like {key}.KEY");
        return Err(Refusal::new(remedy).about(format!("{of}{key}")));
    }
    refuse_unknown(key, of, System::shape(), &[])?;
    replaced(system, key, value.clone(), of)
}

/// Refuses a plain value for a table, with the table's keys and those of its name that take a value.
///
/// `host.iommu` holds the IOMMU's times; its mode is the system's own key `iommu`.
pub(crate) fn refuse_whole_tables(changes: &Table) -> Result<(), Refusal> {
    for (key, value) in changes {
        let is_plain =
            !matches!(value, Value::Table(_) | Value::List(_) | Value::Leaf(serde_json::Value::Null));
        let below = System::shape().at(key).map(Shape::names).unwrap_or_default();
        if !is_plain || below.is_empty() || PARTS.iter().any(|part| part.word() == key) {
            continue;
        }
        let last = split(key).1;
        let own = System::shape().at(last).filter(|_| last != key);
        let words = own.map(|shape| format!("; {last} takes values: {}", shape.remedy())).unwrap_or_default();
        let more = if below.len() > KEYS_NAMED { ", ..." } else { "" };
        let keys: Vec<String> = below.iter().take(KEYS_NAMED).map(|one| format!("{key}.{one}")).collect();
        let remedy = format!("give a table, or one of its keys: {}{more}{words}", keys.join(", "));
        let refusal = Refusal::of(key, shown(&value.clone().into_json()), remedy);
        return Err(refusal.kind(RefusalKind::WrongType).about(SET));
    }
    Ok(())
}

/// Replaces the value of a dotted key, in which a number is an index of a list; missing tables are made.
///
/// `of` precedes the key in messages: `--set `.
///
/// # Errors
/// An index is beyond its list.
pub fn replaced(table: &mut Table, key: &str, value: Value, of: &str) -> Result<(), Refusal> {
    let mut steps = key.split('.');
    let mut at = table.entry(steps.next().unwrap_or_default().to_owned()).or_insert_with(new_table);
    for step in steps {
        at = match at {
            Value::List(list) => {
                let length = list.len();
                let found = is_index(step).then(|| step.parse().ok()).flatten();
                found.and_then(|index: usize| list.get_mut(index)).ok_or_else(|| {
                    let problem = format!("{} is not an index of a list of {length}", quoted(step));
                    Refusal::new(problem).kind(RefusalKind::UnknownKey).about(format!("{of}{}", named(key)))
                })?
            }
            Value::Table(inner) => inner.entry(step.to_owned()).or_insert_with(new_table),
            other => {
                *other = new_table();
                let Value::Table(inner) = other else { return Ok(()) };
                inner.entry(step.to_owned()).or_insert_with(new_table)
            }
        };
    }
    *at = value;
    Ok(())
}

fn new_table() -> Value {
    Value::Table(Table::new())
}

/// Whether a step of a key is an index of a list.
fn is_index(step: &str) -> bool {
    (1..=INDEX_DIGITS_MOST).contains(&step.len()) && step.bytes().all(|letter| letter.is_ascii_digit())
}

/// The refusal of an unknown key.
pub(crate) fn unknown_key(remedy: String) -> Refusal {
    Refusal::new("unknown key").kind(RefusalKind::UnknownKey).remedy(remedy)
}

/// Refuses an unknown key of a description, and suggests the closest known one.
///
/// `of` precedes it in messages; keys of the tables `except` are unknown.
pub(crate) fn refuse_unknown(key: &str, of: &str, shape: &Shape, except: &[&str]) -> Result<(), Refusal> {
    match remedy_of_unknown(key, shape, except) {
        Some(remedy) => Err(unknown_key(remedy).about(format!("{of}{}", named(key)))),
        None => Ok(()),
    }
}

/// What to give instead of an unknown key; `None` if it is known. Keys of the tables `except` are unknown.
pub(crate) fn remedy_of_unknown(key: &str, shape: &Shape, except: &[&str]) -> Option<String> {
    if key.chars().count() > LETTERS_MOST {
        return Some(format!("keys have fewer than {LETTERS_MOST} letters"));
    }
    let wanted = key.split('.').filter(|step| !is_index(step)).collect::<Vec<_>>().join(".");
    let is_known = |key: &str| !except.contains(&key.split('.').next().unwrap_or_default());
    let is_too_long = |step: &str| !is_index(step) && step.bytes().all(|letter| letter.is_ascii_digit());
    if is_known(key) && !key.split('.').any(is_too_long) && shape.at(key).is_some() {
        return None;
    }
    let all = shape.keys();
    let known: Vec<&str> = all.iter().map(String::as_str).filter(|key| is_known(key)).collect();
    if known.contains(&wanted.as_str()) { None } else { Some(remedy(&wanted, &known)) }
}

/// Where an unknown key may belong: under the same name elsewhere, beside its siblings, or anywhere.
pub(crate) fn remedy(wanted: &str, known: &[&str]) -> String {
    let (parent, last) = split(wanted);
    let siblings: Vec<&str> =
        known.iter().map(|key| split(key)).filter(|(of, _)| *of == parent).map(|(_, key)| key).collect();
    let elsewhere: Vec<&str> = known.iter().copied().filter(|key| split(key).1 == last).collect();
    let with_its_parts = if parent.is_empty() { alike(wanted, known, ALIKE_MOST) } else { Vec::new() };
    if elsewhere.len() > ELSEWHERE_MOST && closest(last, &siblings).is_none() {
        let near = alike(wanted, &elsewhere, ALIKE_MOST);
        return format!(
            "did you mean {}?",
            either(if near.is_empty() { &elsewhere[..ALIKE_MOST] } else { &near })
        );
    }
    if (1..=ELSEWHERE_MOST).contains(&elsewhere.len()) {
        return format!("did you mean {}?", elsewhere.join(" or "));
    }
    if !with_its_parts.is_empty() {
        return format!("did you mean {}?", either(&with_its_parts));
    }
    if !siblings.is_empty() && closest(last, &siblings).is_some() {
        return suggestion(last, &siblings);
    }
    let mut nearest = alike(wanted, known, ALIKE_MOST);
    if nearest.is_empty() {
        nearest = with_most_parts(wanted, known, ALIKE_MOST);
    }
    if nearest.is_empty() {
        let top: Vec<&str> = known.iter().copied().filter(|key| !key.contains('.')).collect();
        return suggestion(last, if siblings.is_empty() { &top } else { &siblings });
    }
    format!("did you mean {}?", either(&nearest))
}

/// A dotted key as its table and its last word.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn table(json: Json) -> Table {
        let Value::Table(table) = Value::of_json(json) else { panic!("a table") };
        table
    }

    #[test]
    fn replaces_values_at_dotted_keys_and_indices() {
        let mut system = table(json!({"link": {"tags": 8}, "list": [1, {"a": 2}], "load": null}));
        for (key, value) in [("link.tags", 9), ("list.1.a", 3), ("load.cores", 4)] {
            replaced(&mut system, key, Value::Leaf(json!(value)), "--set ").unwrap();
        }
        let expected = json!({"link": {"tags": 9}, "list": [1, {"a": 3}], "load": {"cores": 4}});
        assert_eq!(system, table(expected));
        let error = replaced(&mut system, "list.2", Value::Leaf(json!(0)), "--set ").unwrap_err().to_string();
        assert_eq!(error, "--set list.2: '2' is not an index of a list of 2");
    }

    #[test]
    fn texts_are_values_of_toml_or_themselves() {
        let of = |text: &str| typed(text).into_json();
        assert_eq!(
            (of("none"), of("3"), of("0.5"), of("true")),
            (json!(null), json!(3), json!(0.5), json!(true))
        );
        assert_eq!((of("[1, 2]"), of("\"a\""), of("6M")), (json!([1, 2]), json!("a"), json!("6M")));
        assert_eq!(
            (of("1\nother = 2"), of(&"a.".repeat(500))),
            (json!("1\nother = 2"), json!("a.".repeat(500)))
        );
    }

    #[test]
    fn a_change_has_a_key_and_one_value() {
        let error = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            typed_changes(&texts).unwrap_err().to_string()
        };
        assert!(error(&["host"]).starts_with("--set host: give KEY=VALUE"));
        assert!(error(&["a=1", " a = 2"]).starts_with("--set a: given twice"));
    }

    #[test]
    fn unknown_keys_are_refused_with_the_known_one_that_is_meant() {
        for (key, remedy) in [
            ("host.iommu.wlak_ns", "did you mean walk_ns?"),
            ("host.iommu.walk_us", "the key is walk_ns: its unit is part of its name"),
            ("walk_ns", "did you mean host.iommu.walk_ns?"),
            ("link.mps", "the key is mps_bytes: its unit is part of its name"),
        ] {
            let error = refuse_unknown(key, "--set ", System::shape(), &[]).unwrap_err();
            assert!(error.remedy.as_deref().unwrap_or_default().starts_with(remedy), "{error}");
            assert!(error.to_string().starts_with(&format!("--set {key}: unknown key: ")), "{error}");
        }
        assert_eq!(refuse_unknown("host.idle.clusters.3.share", "", System::shape(), &[]), Ok(()));
        assert!(refuse_unknown(&"a".repeat(300), "", System::shape(), &[]).is_err());
        let index = format!("chunk_addresses.{}", "1".repeat(INDEX_DIGITS_MOST + 1));
        let error = refuse_unknown(&index, "", System::shape(), &[]).unwrap_err().to_string();
        assert!(error.ends_with("unknown key: did you mean chunk_addresses?"), "{error}");
    }

    proptest! {
        #[test]
        fn any_texts_are_changes_or_refused(texts in vec("[a-z.=0-9\\[\\]\"{}²\u{7f}\u{1b}]{0,12}(=|=1|=none)?", 0..3)) {
            let mut system = table(json!({"link": {"tags": 8}, "host": {"list": [1]}}));
            let found = typed_changes(&texts).and_then(|changes| {
                changes.iter().try_for_each(|(key, value)| change(&mut system, key, value, "--set "))?;
                Ok(changes.len())
            });
            match found {
                Ok(keys) => prop_assert!(keys == texts.len()),
                Err(refused) => prop_assert!(!refused.to_string().contains(char::is_control), "{}", refused),
            }
        }

        #[test]
        fn a_text_that_is_no_value_is_itself(text in "[ -~²\u{7f}]{0,40}") {
            let is_value = parse_toml(&format!("value = {text}")).is_ok();
            let found = typed(&text).into_json();
            prop_assert!(is_value || text == "none" || found == json!(text), "{}", found);
        }
    }
}
