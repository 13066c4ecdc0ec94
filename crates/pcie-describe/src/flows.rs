//! Flows of fabrics as columns, of tables in files, CSV files and frames: checked, with defaults and names.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use pcie_fabric::simulate::Traffic;
use pcie_refusal::shown::named;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_schema::Shape;
use pcie_schema::size::bytes_of_text;
use serde_json::{Value as Json, json};

use crate::blame::{Giver, refused};

/// A key of flows, as a column of a file.
#[derive(Debug)]
pub struct Column {
    /// The key.
    pub key: String,
    /// The value of an empty cell; None if there must be one.
    pub default: Option<Json>,
    /// What the key means.
    pub meaning: String,
    shape: &'static Shape,
    /// How a text in a file is read.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Size,
    Whole,
    Real,
    Text,
}

static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Traffic>);
static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Traffic).to_value();
    let needed = schema["required"].as_array().cloned().unwrap_or_default();
    let column = |(key, described): (&String, &Json)| {
        let shape = SHAPE.at(key)?;
        let types = described["type"].to_string();
        let kind = match (key.as_str(), types.contains("integer"), types.contains("number")) {
            ("size_bytes", ..) => Kind::Size,
            (_, true, _) => Kind::Whole,
            (_, _, true) => Kind::Real,
            _ => Kind::Text,
        };
        let default = described.get("default").cloned().filter(|_| !needed.iter().any(|one| one == key));
        let meaning = described["description"].as_str().unwrap_or_default();
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Column { key: key.clone(), default, meaning, shape, kind })
    };
    schema["properties"].as_object().into_iter().flatten().filter_map(column).collect()
});

/// The keys of flows.
pub(crate) fn flow_shape() -> &'static Shape {
    &SHAPE
}

/// The keys of flows, in their order.
#[must_use]
pub fn flow_columns() -> &'static [Column] {
    &COLUMNS
}

impl Column {
    /// A cell as a value; `subject` names its flow in messages.
    ///
    /// Cells of CSV files are texts, and Parquet has floats for whole numbers beside empty cells.
    ///
    /// # Errors
    /// The key does not take it.
    pub fn read(&self, given: &Json, subject: impl Fn() -> String) -> Result<Json, Refusal> {
        let value = self.converted(given);
        let mut problems = self.shape.problems(&value);
        let Some(problem) = problems.first_mut() else { return Ok(value) };
        problem.path = vec![self.key.clone()];
        problem.value = given;
        problem.meaning = &self.meaning;
        problems.truncate(1);
        refused(&problems, |_| Giver::file(&subject())).map(|()| value.clone())
    }

    fn converted(&self, given: &Json) -> Json {
        let read = match (self.kind, given) {
            (Kind::Size, Json::String(text)) => {
                bytes_of_text(text).and_then(|bytes| u64::try_from(bytes).ok()).map(Json::from)
            }
            (Kind::Whole, Json::String(text)) => whole(text),
            (Kind::Size | Kind::Whole, Json::Number(number)) => {
                let real = number.as_f64().filter(|real| number.is_f64() && real.fract() == 0.0);
                real.and_then(|real| whole(&format!("{real:.0}")))
            }
            (Kind::Real, Json::String(text)) => text.trim().parse::<f64>().ok().and_then(finite),
            (Kind::Real, Json::Number(number)) => number.as_f64().and_then(finite),
            _ => None,
        };
        read.unwrap_or_else(|| given.clone())
    }
}

/// A whole number, which may have a sign.
fn whole(text: &str) -> Option<Json> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    digits.parse::<i64>().map(Json::from).or_else(|_| digits.parse::<u64>().map(Json::from)).ok()
}

fn finite(number: f64) -> Option<Json> {
    number.is_finite().then(|| json!(number))
}

/// Names for flows given as name, source and destination; unnamed ones are numbered between the same nodes.
///
/// # Errors
/// There are none, or two have the same name; `of` names their source.
pub fn flow_names<'a>(
    flows: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
    of: &str,
) -> Result<Vec<String>, Refusal> {
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let names: Vec<String> = flows
        .map(|(name, source, destination)| {
            if !name.is_empty() {
                return name.to_owned();
            }
            let count = counts.entry((source, destination)).or_default();
            *count += 1;
            match *count {
                1 => format!("{source}->{destination}"),
                count => format!("{source}->{destination} ({count})"),
            }
        })
        .collect();
    if names.is_empty() {
        return Err(Refusal::new("has no flows")
            .kind(RefusalKind::Missing)
            .remedy("give at least one")
            .about(of));
    }
    let mut seen: HashSet<&str> = HashSet::with_capacity(names.len());
    for (number, name) in (1..).zip(&names) {
        if !seen.insert(name) {
            let problem = "another flow has this name";
            let refusal = Refusal::of("name", named(name), "give unique names").problem(problem);
            return Err(refusal.about(format!("{of}: flow {number}")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_files_have_them() {
        let read = |key: &str, cell: Json| {
            let column = flow_columns().iter().find(|column| column.key == key).unwrap();
            column.read(&cell, || "mine.csv: flow 1".to_owned()).map_err(|refusal| refusal.to_string())
        };
        for (key, cell, expected) in [
            ("size_bytes", json!("4K"), json!(4096)),
            ("size_bytes", json!(64.0), json!(64)),
            ("outstanding", json!("+8"), json!(8)),
            ("standalone_gbytes_per_s", json!("1.5"), json!(1.5)),
            ("standalone_gbytes_per_s", json!(2), json!(2.0)),
            ("primitive", json!("h2d"), json!("h2d")),
        ] {
            assert_eq!(read(key, cell), Ok(expected), "{key}");
        }
        for (key, cell, expected) in [
            ("size_bytes", json!("big"), "mine.csv: flow 1: size_bytes is 'big': give bytes"),
            ("queue", json!("1.5"), "mine.csv: flow 1: queue is '1.5': give 0 to 255 (Command queue"),
            ("standalone_gbytes_per_s", json!("nan"), "standalone_gbytes_per_s is 'nan': give 0 to 1000000"),
            ("primitive", json!("teleport"), "primitive is 'teleport': give \"stream\", "),
            ("name", json!("a\u{7f}"), "give letters that can be printed"),
        ] {
            let refusal = read(key, cell).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
    }

    #[test]
    fn unnamed_flows_between_the_same_nodes_are_numbered() {
        let flows = [("", "a", "b"), ("x", "a", "b"), ("", "a", "b")];
        assert_eq!(flow_names(flows.into_iter(), "f").unwrap(), ["a->b", "x", "a->b (2)"]);
        let twice = flow_names([("x", "a", "b"), ("x", "b", "a")].into_iter(), "f").unwrap_err();
        assert_eq!(twice.to_string(), "f: flow 2: name is x: another flow has this name: give unique names");
    }
}
