//! Every problem of a value that people wrote, and sizes that they wrote as texts.

use pcie_refusal::unknown::{closest, suggestion};
use serde_json::Value;

use super::{Key, Kind, Shape, within};
use crate::size::bytes_of_text;

/// Unknown keys whose meant ones are looked for.
const COMPARED_MOST: usize = 100;
const PRINTABLE: &str = "give letters that can be printed, on one line";
const SIZE: &str = "give bytes, for example 64, '4K' or '1.5M'";

/// Why a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its value does not fit.
    Wrong,
    /// It is required.
    Missing,
    /// No table here has it.
    Unknown,
}

/// A key that is refused.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// The steps of its path.
    pub path: Vec<String>,
    /// Why it is refused.
    pub why: Why,
    /// Its value; null if it is missing.
    pub value: &'a Value,
    /// The meaning of a known key.
    pub meaning: &'a str,
    /// The keys beside it.
    beside: &'a [Key],
    remedy: String,
    /// Of a wrong value.
    kind: pcie_refusal::Kind,
}

impl Problem<'_> {
    /// What is wrong, for programs.
    #[must_use]
    pub fn kind(&self) -> pcie_refusal::Kind {
        match self.why {
            Why::Wrong => self.kind,
            Why::Missing => pcie_refusal::Kind::Missing,
            Why::Unknown => pcie_refusal::Kind::UnknownKey,
        }
    }

    /// Its dotted key.
    #[must_use]
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> String {
        match (self.why, self.path.last()) {
            (Why::Unknown, Some(word)) => suggestion(word, &self.known()),
            _ => self.remedy.clone(),
        }
    }

    /// The path of the known key that an unknown one means.
    fn meant(&self) -> Option<Vec<String>> {
        let (word, parents) = self.path.split_last()?;
        let meant = closest(word, &self.known())?;
        Some(parents.iter().cloned().chain([meant.to_owned()]).collect())
    }

    fn known(&self) -> Vec<&str> {
        self.beside.iter().map(|key| key.name.as_str()).collect()
    }
}

impl Shape {
    /// Every key that does not fit, in the order of the type; of a table its unknown keys come last.
    ///
    /// A missing key that an unknown one means is left out.
    #[must_use]
    pub fn problems<'a>(&'a self, value: &'a Value) -> Vec<Problem<'a>> {
        let mut found = Vec::new();
        self.collect(value, &mut Vec::new(), &mut found);
        let unknown = found.iter().filter(|one| one.why == Why::Unknown).take(COMPARED_MOST);
        let meant: Vec<_> = unknown.filter_map(Problem::meant).collect();
        found.retain(|one| one.why != Why::Missing || !meant.contains(&one.path));
        found
    }

    fn collect<'a>(&'a self, value: &'a Value, path: &mut Vec<String>, found: &mut Vec<Problem<'a>>) {
        let of_whole = |why, value, remedy, path: &[String]| Problem {
            path: path.to_vec(),
            why,
            value,
            meaning: "",
            beside: &[],
            remedy,
            kind: self.kind_of(value),
        };
        match (&self.0, value) {
            (Kind::Table(keys), Value::Object(table)) => collect_table(keys, table, path, found),
            (Kind::Map(inner), Value::Object(table)) => {
                for (key, value) in table {
                    path.push(key.clone());
                    inner.collect(value, path, found);
                    path.pop();
                }
            }
            (Kind::List(inner, least, most), Value::Array(list)) => {
                if !within(list.len(), *least, *most) {
                    found.push(of_whole(Why::Wrong, value, self.remedy(), path));
                }
                for (index, item) in list.iter().enumerate() {
                    path.push(index.to_string());
                    inner.collect(item, path, found);
                    path.pop();
                }
            }
            (Kind::Optional(_), Value::Null) => {}
            (Kind::Optional(inner), value) => inner.collect(value, path, found),
            (Kind::Text(_, Some(_)), Value::String(text)) if !pcie_refusal::shown::is_plain(text) => {
                found.push(of_whole(Why::Wrong, value, PRINTABLE.to_owned(), path));
            }
            _ if self.check_json(value).is_ok() => {}
            (Kind::Number { whole: true, is_size, .. }, Value::String(_))
                if *is_size || path.last().is_some_and(|key| self::is_size(key)) =>
            {
                found.push(of_whole(Why::Wrong, value, SIZE.to_owned(), path));
            }
            _ => found.push(of_whole(Why::Wrong, value, self.remedy(), path)),
        }
    }

    /// A value whose sizes (`_bytes`) are numbers; texts that are no sizes stay for the check.
    #[must_use]
    pub fn with_sizes(&self, value: Value) -> Value {
        self.sized("", value)
    }

    fn sized(&self, key: &str, value: Value) -> Value {
        match (&self.0, value) {
            (Kind::Table(keys), Value::Object(table)) => {
                let sized = |(key, value): (String, Value)| match keys.iter().find(|one| one.name == key) {
                    Some(known) => {
                        let value = known.shape.sized(&key, value);
                        (key, value)
                    }
                    None => (key, value),
                };
                Value::Object(table.into_iter().map(sized).collect())
            }
            (Kind::Map(inner), Value::Object(table)) => {
                Value::Object(table.into_iter().map(|(key, value)| (key, inner.sized("", value))).collect())
            }
            (Kind::List(inner, ..), Value::Array(list)) => {
                Value::Array(list.into_iter().map(|item| inner.sized(key, item)).collect())
            }
            (Kind::Optional(inner), value) => inner.sized(key, value),
            (Kind::Number { whole: true, is_size, .. }, Value::String(text))
                if *is_size || self::is_size(key) =>
            {
                let bytes = bytes_of_text(&text).and_then(|bytes| u64::try_from(bytes).ok());
                bytes.map_or(Value::String(text), Value::from)
            }
            (_, value) => value,
        }
    }

    /// A checked value with the defaults of its absent keys, in the order of the type.
    #[must_use]
    pub fn with_defaults(&self, value: Value) -> Value {
        match (&self.0, value) {
            (Kind::Table(keys), Value::Object(mut table)) => {
                let key = |key: &Key| {
                    let value = table.remove(&key.name).or_else(|| key.default.clone())?;
                    Some((key.name.clone(), key.shape.with_defaults(value)))
                };
                Value::Object(keys.iter().filter_map(key).collect())
            }
            (Kind::Map(inner), Value::Object(table)) => Value::Object(
                table.into_iter().map(|(key, value)| (key, inner.with_defaults(value))).collect(),
            ),
            (Kind::List(inner, ..), Value::Array(list)) => {
                list.into_iter().map(|item| inner.with_defaults(item)).collect()
            }
            (Kind::Optional(inner), value) if !value.is_null() => inner.with_defaults(value),
            (_, value) => value,
        }
    }

    /// The shape of a dotted key, in which a number is an index of a list.
    #[must_use]
    pub fn at(&self, key: &str) -> Option<&Self> {
        let mut here = self;
        for step in key.split('.') {
            while let Kind::Optional(inner) = &here.0 {
                here = inner;
            }
            here = match &here.0 {
                Kind::Table(keys) => &keys.iter().find(|known| known.name == step)?.shape,
                Kind::List(inner, ..) if step.bytes().all(|letter| letter.is_ascii_digit()) => inner,
                Kind::Map(inner) => inner,
                _ => return None,
            };
        }
        Some(here)
    }

    /// The keys of a table; empty for any other shape.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match &self.0 {
            Kind::Table(keys) => keys.iter().map(|key| key.name.as_str()).collect(),
            Kind::Optional(inner) => inner.names(),
            _ => Vec::new(),
        }
    }
}

fn collect_table<'a>(
    keys: &'a [Key],
    table: &'a serde_json::Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<Problem<'a>>,
) {
    for key in keys {
        path.push(key.name.clone());
        let first = found.len();
        match table.get(&key.name) {
            Some(value) => key.shape.collect(value, path, found),
            None if key.required => found.push(Problem {
                path: path.clone(),
                why: Why::Missing,
                value: &Value::Null,
                meaning: &key.meaning,
                beside: keys,
                remedy: "give it".to_owned(),
                kind: pcie_refusal::Kind::Missing,
            }),
            None => {}
        }
        // An entry of a list has the list's meaning.
        let bare = found[first..].iter_mut().filter(|one| one.why == Why::Wrong && one.meaning.is_empty());
        bare.for_each(|problem| problem.meaning = &key.meaning);
        path.pop();
    }
    for (key, value) in table.iter().filter(|(key, _)| !keys.iter().any(|known| known.name == **key)) {
        let path = path.iter().cloned().chain([key.clone()]).collect();
        found.push(Problem {
            path,
            why: Why::Unknown,
            value,
            meaning: "",
            beside: keys,
            remedy: String::new(),
            kind: pcie_refusal::Kind::UnknownKey,
        });
    }
}

fn is_size(key: &str) -> bool {
    key.contains("_bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Cache {
        /// How long a walk takes.
        #[schemars(range(min = 0, max = 9))]
        walk_ns: f64,
        #[schemars(range(min = 1, max = 65536))]
        llc_bytes: u32,
        /// Its name.
        #[schemars(length(max = 5))]
        name: Option<String>,
        inner: Option<Inner>,
        notes: std::collections::BTreeMap<String, bool>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Inner {
        /// Its numbers.
        #[schemars(length(min = 1), inner(range(min = 1, max = 3)))]
        list: Vec<u8>,
    }

    fn problems(value: Value) -> Vec<String> {
        let shape = Shape::of::<Cache>();
        let sized = shape.with_sizes(value);
        let text = |one: &Problem<'_>| {
            format!("{} {} {} {}", one.kind().word(), one.key(), one.remedy(), one.meaning)
        };
        shape.problems(&sized).iter().map(text).map(|text| text.trim_end().to_owned()).collect()
    }

    #[test]
    fn every_wrong_missing_and_unknown_key_is_found_once() {
        let good = json!({"walk_ns": 3, "llc_bytes": "4K", "notes": {"a": true}, "inner": {"list": [1]}});
        assert!(problems(good).is_empty());
        let wrong = json!({"walk_us": 3, "llc_bytes": "4Q", "name": "a\u{7f}", "notes": {"b": 3},
                           "inner": {"list": [7], "lists": 3}});
        assert_eq!(
            problems(wrong),
            [
                "wrong-type llc_bytes give bytes, for example 64, '4K' or '1.5M'",
                "wrong-value name give letters that can be printed, on one line Its name.",
                "out-of-range inner.list.0 give 1 to 3 Its numbers.",
                "unknown-key inner.lists did you mean list? (known: list)",
                "wrong-type notes.b give true or false",
                "unknown-key walk_us the key is walk_ns: its unit is part of its name",
            ],
            "walk_us is meant for walk_ns, which is not missing as well"
        );
        assert_eq!(
            problems(json!({"llc_bytes": 1, "notes": []})),
            ["missing walk_ns give it How long a walk takes.", "wrong-type notes give a table"]
        );
    }

    #[test]
    fn only_the_first_hundred_unknown_keys_are_compared_with_known_ones() {
        for (before, is_missing) in [(99, false), (100, true)] {
            let mut table = json!({"llc_bytes": 1, "notes": {}});
            (0..before).for_each(|nth| table[format!("{nth}")] = 0.into());
            table["walk_us"] = 3.into();
            let found = problems(table).iter().any(|problem| problem.starts_with("missing walk_ns"));
            assert_eq!(found, is_missing, "{before}");
        }
    }

    #[test]
    fn keys_have_shapes() {
        let shape = Shape::of::<Cache>();
        assert_eq!(shape.at("inner.list.0").map(Shape::remedy).as_deref(), Some("give 1 to 3"));
        assert_eq!(shape.at("inner").map(Shape::names), Some(vec!["list"]));
        assert_eq!(shape.at("notes.any").map(Shape::remedy).as_deref(), Some("give true or false"));
        assert!(["inner.list.0.x", "inner.list.x", "frob"].iter().all(|key| shape.at(key).is_none()));
    }

    #[test]
    fn a_value_has_the_keys_of_its_entries_by_name_or_index() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Caches {
            /// Some caches.
            caches: Vec<Cache>,
        }
        let value = json!({"caches": [{"name": "l1", "inner": {}, "notes": {"hot": true}}, {}]});
        let shape = Shape::of::<Caches>();
        let found = shape.keys_in(&value, |entry| entry["name"].as_str());
        let [first, second] = ["l1", "1"].map(|name| format!("caches.{name}.walk_ns"));
        assert_eq!(found[0], (first, "How long a walk takes."));
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert!(keys.contains(&"caches.l1.notes.hot") && keys.contains(&"caches.l1.inner.list"), "{keys:?}");
        assert!(keys.contains(&second.as_str()) && !keys.contains(&"caches.l1.notes"), "{keys:?}");
    }
}
