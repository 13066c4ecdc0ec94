//! Tables of TOML files.

use indexmap::IndexMap;
use pcie_refusal::Refusal;
use pcie_refusal::shown::named;

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

/// The table of a TOML text; `path` names its file.
///
/// # Errors
/// The text is not TOML, or holds dates, inf or nan.
pub fn read_table(text: &str, path: &str) -> Result<Table, Refusal> {
    let parsed =
        parse_toml(text).map_err(|problem| Refusal::new(format!("not valid TOML: {problem}")).about(path))?;
    parsed
        .into_iter()
        .map(|(key, value)| {
            let read = Value::of_toml(value).ok_or_else(|| {
                let remedy = "give numbers, texts, lists and tables";
                Refusal::new(format!("{} holds a date, inf or nan", named(&key))).remedy(remedy).about(path)
            })?;
            Ok((key, read))
        })
        .collect()
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
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        format!("line {line}, column {column}: {}", error.message().trim_end().replace('\n', ", "))
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
            ("when = 2000-01-01", "mine.toml: when holds a date, inf or nan: give numbers"),
            ("[a]\nb = [nan]", "a holds a date"),
            (&"a.".repeat(1000), "more than 64 parts"),
        ] {
            let message = read_table(text, "mine.toml").unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
