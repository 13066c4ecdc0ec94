//! Tables of TOML files, whose numbers and dates are the caller's.

use indexmap::IndexMap;

/// Most parts of a dotted key.
const KEY_PARTS_MOST: usize = 64;

/// A table of a file, in its order.
pub type Table<L> = IndexMap<String, Value<L>>;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<L> {
    /// A table.
    Table(Table<L>),
    /// A list.
    List(Vec<Value<L>>),
    /// A text.
    Text(String),
    /// Any other value.
    Leaf(L),
}

/// The values that are neither tables, lists nor texts.
pub trait Leaf: Clone {
    /// The value that `none` stands for.
    fn none() -> Self;

    /// A number or truth value of TOML; None for those that have no such value (dates).
    fn of_toml(value: &toml::Value) -> Option<Self>;
}

impl<L: Leaf> Value<L> {
    /// A value of TOML; None if a part of it has no such value.
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
            other => Self::Leaf(L::of_toml(&other)?),
        })
    }
}

impl<L> Value<L> {
    /// A text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A table.
    #[must_use]
    pub fn as_table(&self) -> Option<&Table<L>> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }
}

impl Leaf for serde_json::Value {
    fn none() -> Self {
        Self::Null
    }

    fn of_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(number) => Some((*number).into()),
            toml::Value::Float(number) => serde_json::Number::from_f64(*number).map(Self::Number),
            toml::Value::Boolean(is) => Some((*is).into()),
            _ => None,
        }
    }
}

impl Value<serde_json::Value> {
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
    text.parse::<toml::Table>().map_err(|error| error.to_string().trim_end().to_owned())
}
