//! Tables of TOML files.

use indexmap::IndexMap;
use pcie_refusal::shown::named;
use pcie_refusal::{Kind, Refusal};

/// Most parts of a dotted key.
const KEY_PARTS_MOST: usize = 64;

/// A table of a file, in its order.
pub type Table = IndexMap<String, Value>;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A table.
    Table(Table),
    /// A list.
    List(Vec<Value>),
    /// A text.
    Text(String),
    /// A number, a truth value, or null, which stands for `none`.
    Leaf(serde_json::Value),
}

impl Value {
    /// A value of TOML; None if a part of it is a date, inf or nan, which no description has.
    #[must_use]
    pub fn of_toml(value: toml::Value) -> Option<Self> {
        Some(match value {
            toml::Value::String(text) => Self::Text(text),
            toml::Value::Array(list) => {
                Self::List(list.into_iter().map(Self::of_toml).collect::<Option<_>>()?)
            }
            toml::Value::Table(table) => Self::Table(
                table
                    .into_iter()
                    .map(|(key, value)| Some((key, Self::of_toml(value)?)))
                    .collect::<Option<_>>()?,
            ),
            toml::Value::Integer(number) => Self::Leaf(number.into()),
            toml::Value::Float(number) => {
                Self::Leaf(serde_json::Value::Number(serde_json::Number::from_f64(number)?))
            }
            toml::Value::Boolean(is) => Self::Leaf(is.into()),
            toml::Value::Datetime(_) => return None,
        })
    }

    /// A text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A table.
    #[must_use]
    pub fn as_table(&self) -> Option<&Table> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// The value of JSON.
    #[must_use]
    pub fn of_json(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(list) => Self::List(list.into_iter().map(Self::of_json).collect()),
            serde_json::Value::Object(table) => {
                Self::Table(table.into_iter().map(|(key, value)| (key, Self::of_json(value))).collect())
            }
            other => Self::Leaf(other),
        }
    }

    /// The value as JSON.
    #[must_use]
    pub fn into_json(self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.into(),
            Self::List(list) => list.into_iter().map(Self::into_json).collect(),
            Self::Table(table) => serde_json::Value::Object(
                table.into_iter().map(|(key, value)| (key, value.into_json())).collect(),
            ),
            Self::Leaf(leaf) => leaf,
        }
    }
}

/// The table of a TOML text; `path` names its file, and `remedy` says what to give for a dotted key that it knows.
///
/// # Errors
/// The text is not TOML, or holds dates, inf or nan.
pub fn read_table(text: &str, path: &str, remedy: impl Fn(&str) -> Option<String>) -> Result<Table, Refusal> {
    let parsed =
        parse_toml(text).map_err(|problem| malformed(&format!("not valid TOML: {problem}")).about(path))?;
    let parsed = toml::Value::Table(parsed);
    let mut steps = Vec::new();
    if let Some(value) = foreign(&parsed, &mut steps) {
        let wanted = remedy(&steps.join("."));
        let wanted = wanted.unwrap_or_else(|| "give a number, a text, a list or a table".to_owned());
        let key = steps.iter().map(|step| named(step)).collect::<Vec<_>>().join(".");
        return Err(Refusal::of(key, value, wanted).kind(Kind::WrongType).about(path));
    }
    match Value::of_toml(parsed) {
        Some(Value::Table(table)) => Ok(table),
        _ => Err(Refusal::new("no table").about(path)),
    }
}

fn malformed(problem: &str) -> Refusal {
    Refusal::new(problem).kind(Kind::Malformed)
}

/// The first date, inf or nan in a value; the steps of its key are left in `path`.
fn foreign(value: &toml::Value, path: &mut Vec<String>) -> Option<String> {
    let mut below = |step: String, inner: &toml::Value| {
        path.push(step);
        let found = foreign(inner, path);
        if found.is_none() {
            path.pop();
        }
        found
    };
    match value {
        toml::Value::Table(table) => table.iter().find_map(|(key, inner)| below(key.clone(), inner)),
        toml::Value::Array(list) => {
            list.iter().enumerate().find_map(|(index, inner)| below(index.to_string(), inner))
        }
        toml::Value::Float(number) if !number.is_finite() => Some(number.to_string().to_lowercase()),
        toml::Value::Datetime(date) => Some(date.to_string()),
        _ => None,
    }
}

/// Parses TOML.
///
/// # Errors
/// It is invalid, or a key has more than 64 parts: freeing deeper tables overflows the stack.
pub fn parse_toml(text: &str) -> Result<toml::Table, String> {
    let mut dots = 0;
    for letter in text.chars() {
        match letter {
            '.' => dots += 1,
            ',' | '=' | '[' | ']' | '{' | '}' | '\n' => dots = 0,
            _ => {}
        }
        if dots >= KEY_PARTS_MOST {
            return Err(format!("more than {KEY_PARTS_MOST} parts of a key or dots in a row"));
        }
    }
    text.parse::<toml::Table>().map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        // The parser's own words are about its code.
        let message = match error.message() {
            message if message.contains("recurs") => "brackets are nested too deeply".to_owned(),
            message
                if ["overflow", "as i128", "value was too large"].iter().any(|one| message.contains(one)) =>
            {
                format!("a number has too many digits: give {} at most", i64::MAX)
            }
            message => message.trim_end().replace('\n', ", "),
        };
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        format!("line {line}, column {column}: {message}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_texts_are_refused_with_their_place() {
        for (text, words) in [
            ("a = 1\nb = oops", "mine.toml: not valid TOML: line 2, column 5: "),
            ("a = 1\na = 2", "line 2, column 1: duplicate key"),
            ("when = 2000-01-01", "mine.toml: when is 2000-01-01: give a number, a text"),
            ("[a]\nb = [1, nan]", "mine.toml: a.b.1 is nan: give a number"),
            (&format!("a = {}", "[".repeat(10_000)), "brackets are nested too deeply"),
            (
                &format!("a = {}", "9".repeat(30)),
                "line 1, column 5: a number has too many digits: give 9223372",
            ),
            ("a = 18446744073709551616", "line 1, column 5: a number has too many digits"),
            (&"a.".repeat(1000), "more than 64 parts"),
        ] {
            let message = read_table(text, "mine.toml", |_| None).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
