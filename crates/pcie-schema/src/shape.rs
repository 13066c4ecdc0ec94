//! Schemas compiled into checks of values.

mod problems;

pub use problems::{Problem, Why};

use crate::relief::Relief;
use pcie_refusal::Kind as RefusalKind;
use pcie_refusal::Refusal;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Quantities of bytes.
const SIZES: [&str; 4] = ["Quantum", "Size", "Size32", "SizeOrNone"];

/// A type whose values are checked against its schema before they are read.
pub trait Fitting: DeserializeOwned + JsonSchema {
    /// Its compiled schema.
    fn shape() -> &'static Shape;

    /// Reads a value, or refuses it by the first key that does not fit.
    fn read(value: Value) -> Result<Self, Refusal> {
        Self::shape().check_json(&value)?;
        serde_json::from_value(value).map_err(Refusal::new)
    }
}

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Shape(pub(crate) Kind);

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    required: bool,
    default: Option<Value>,
    meaning: String,
    /// How its value can be changed so that it limits less.
    pub(crate) relief: Option<Relief>,
    /// Whether it states why nobody can change it.
    pub(crate) is_fact: bool,
}

/// Allowed values.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// The keys of a table.
    Table(Vec<Key>),
    /// A table of any keys, whose values have one shape.
    Map(Box<Shape>),
    /// A list, with its least and greatest length.
    List(Box<Shape>, Option<u64>, Option<u64>),
    /// A number, which may have to be whole.
    Number {
        whole: bool,
        range: Range,
        /// Whether it is a quantity of bytes, whatever its key is called.
        is_size: bool,
    },
    /// A text, with its least and greatest length in letters.
    Text(Option<u64>, Option<u64>),
    Boolean,
    /// One of several values.
    Choice(Vec<Value>),
    /// One of several shapes.
    Either(Vec<Shape>),
    /// Absent, or of a shape.
    Optional(Box<Shape>),
    /// Anything: the schema sets no constraint.
    Any,
}

/// Bounds of a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Range {
    pub(crate) least: Option<Value>,
    above: Option<Value>,
    pub(crate) most: Option<Value>,
    multiple: Option<u64>,
}

impl Shape {
    /// The shape of the values of `T`.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        let mut generator = SchemaGenerator::default();
        let whole = generator.subschema_for::<T>().to_value();
        let definitions = generator.take_definitions(true);
        Self::read(&whole, &definitions)
    }

    /// Refuses the first value that does not fit, keys in the order of the type.
    pub fn check<T: Serialize>(&self, value: &T) -> Result<(), Refusal> {
        let written = serde_json::to_value(value).map_err(|error| {
            Refusal::new("no JSON").kind(RefusalKind::Malformed).remedy(error.to_string())
        })?;
        self.check_json(&written)
    }

    /// [`Shape::check`] of a JSON value.
    pub fn check_json(&self, value: &Value) -> Result<(), Refusal> {
        self.fits(value, &mut Vec::new())
    }

    /// The allowed values, as a remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        format!("give {}", self.words())
    }

    /// The shape of a JSON Schema, whose definitions are under `$defs`.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Self {
        Self::read(schema, schema["$defs"].as_object().unwrap_or(&Map::new()))
    }

    /// Every dotted key below a table, those of tables and of the entries of lists included.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.meanings().into_iter().map(|(key, _)| key).collect()
    }

    /// [`Shape::keys`], each with its description.
    #[must_use]
    pub fn meanings(&self) -> Vec<(String, &str)> {
        match &self.0 {
            Kind::Table(keys) => keys.iter().flat_map(Key::meanings).collect(),
            Kind::List(inner, ..) | Kind::Optional(inner) => inner.meanings(),
            Kind::Either(shapes) => shapes.iter().flat_map(Self::meanings).collect(),
            _ => Vec::new(),
        }
    }

    /// The dotted keys of a value that hold no tables, each with its description. An entry of a list has the name that
    /// `name_of` finds in it, else its index.
    #[must_use]
    pub fn keys_in(&self, value: &Value, name_of: fn(&Value) -> Option<&str>) -> Vec<(String, &str)> {
        let mut found = Vec::new();
        self.leaves(value, name_of, String::new(), "", &mut found);
        found
    }

    fn leaves<'a>(
        &'a self,
        value: &Value,
        name_of: fn(&Value) -> Option<&str>,
        key: String,
        meaning: &'a str,
        found: &mut Vec<(String, &'a str)>,
    ) {
        let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        match (&self.0, value) {
            (Kind::Optional(inner), value) => inner.leaves(value, name_of, key, meaning, found),
            (Kind::Table(keys), Value::Object(table)) => {
                for Key { name, shape, meaning, .. } in keys {
                    let value = table.get(name).unwrap_or(&Value::Null);
                    shape.leaves(value, name_of, below(name), meaning, found);
                }
            }
            (Kind::Map(inner), Value::Object(table)) => {
                for (name, value) in table {
                    inner.leaves(value, name_of, below(name), meaning, found);
                }
            }
            (Kind::List(inner, ..), Value::Array(list)) if list.iter().any(Value::is_object) => {
                for (index, value) in list.iter().enumerate() {
                    let name = name_of(value).map_or_else(|| index.to_string(), ToOwned::to_owned);
                    inner.leaves(value, name_of, below(&name), meaning, found);
                }
            }
            _ => found.push((key, meaning)),
        }
    }

    fn read(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let read = |inner: &Value| Self::read(inner, definitions);
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return definitions.get(name).map_or(Self(Kind::Any), read);
        }
        if let Some(options) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
            return Self::either(options, read);
        }
        if let Some(choices) = schema["enum"].as_array() {
            return Self(Kind::Choice(choices.clone()));
        }
        if let Some(only) = schema.get("const") {
            return Self(Kind::Choice(vec![only.clone()]));
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let kind = types.iter().find(|name| **name != "null").copied().unwrap_or_default();
        let shape = Self(Self::plain(kind, schema, definitions));
        if types.contains(&"null") { Self(Kind::Optional(Box::new(shape))) } else { shape }
    }

    fn either(options: &[Value], read: impl Fn(&Value) -> Self) -> Self {
        let (absent, present): (Vec<_>, Vec<_>) = options.iter().partition(|option| option["type"] == "null");
        let mut shapes: Vec<Self> = present.into_iter().map(read).collect();
        let words: Option<Vec<Value>> =
            shapes.iter().map(Self::choices).collect::<Option<Vec<_>>>().map(|all| all.concat());
        let shape = match words {
            Some(words) => Self(Kind::Choice(words)),
            None if shapes.len() == 1 => shapes.remove(0),
            None => Self(Kind::Either(shapes)),
        };
        if absent.is_empty() { shape } else { Self(Kind::Optional(Box::new(shape))) }
    }

    fn choices(&self) -> Option<Vec<Value>> {
        if let Kind::Choice(choices) = &self.0 { Some(choices.clone()) } else { None }
    }

    fn plain(kind: &str, schema: &Value, definitions: &Map<String, Value>) -> Kind {
        let bound = |name: &str| schema[name].as_u64();
        match kind {
            "object" => Self::table(schema, definitions),
            "array" => {
                let items =
                    schema.get("items").map_or(Self(Kind::Any), |items| Self::read(items, definitions));
                Kind::List(Box::new(items), bound("minItems"), bound("maxItems"))
            }
            "number" | "integer" => {
                let is_size = schema["x-quantity"].as_str().is_some_and(|name| SIZES.contains(&name));
                Kind::Number { whole: kind == "integer", range: Range::read(schema), is_size }
            }
            "string" => Kind::Text(bound("minLength"), bound("maxLength")),
            "boolean" => Kind::Boolean,
            _ => Kind::Any,
        }
    }

    fn table(schema: &Value, definitions: &Map<String, Value>) -> Kind {
        let Some(properties) = schema["properties"].as_object() else {
            let of_all = schema.get("additionalProperties").filter(|of_all| of_all.is_object());
            let shape = of_all.map_or(Self(Kind::Any), |of_all| Self::read(of_all, definitions));
            return Kind::Map(Box::new(shape));
        };
        let required = schema["required"].as_array();
        let has_to_be = |key: &str| required.is_some_and(|keys| keys.iter().any(|one| one == key));
        let read = |(name, of): (&String, &Value)| Key {
            name: name.clone(),
            shape: Self::read(of, definitions),
            required: has_to_be(name),
            default: of.get("default").cloned(),
            meaning: of["description"].as_str().unwrap_or_default().to_owned(),
            relief: of.get("x-relief").and_then(|relief| serde_json::from_value(relief.clone()).ok()),
            is_fact: of.get("x-fact").is_some(),
        };
        Kind::Table(properties.iter().map(read).collect())
    }

    fn fits(&self, value: &Value, path: &mut Vec<String>) -> Result<(), Refusal> {
        let fits = match (&self.0, value) {
            (Kind::Table(keys), Value::Object(table)) => return fits_table(keys, table, path),
            (Kind::Map(items), Value::Object(table)) => {
                for (key, item) in table {
                    below(path, key, |path| items.fits(item, path))?;
                }
                true
            }
            (Kind::List(items, least, most), Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    below(path, &index.to_string(), |path| items.fits(item, path))?;
                }
                within(list.len(), *least, *most)
            }
            (Kind::Number { whole, range, .. }, Value::Number(number)) => {
                (!whole || number.is_u64() || number.is_i64()) && range.holds(value)
            }
            (Kind::Text(least, most), Value::String(text)) => within(text.chars().count(), *least, *most),
            (Kind::Boolean, Value::Bool(_)) | (Kind::Optional(_), Value::Null) | (Kind::Any, _) => true,
            (Kind::Choice(choices), value) => choices.contains(value),
            (Kind::Either(shapes), value) => shapes.iter().any(|shape| shape.fits(value, path).is_ok()),
            (Kind::Optional(shape), value) => return shape.fits(value, path),
            _ => false,
        };
        if fits { Ok(()) } else { Err(unfit(path, shown(value), self.remedy(), self.kind_of(value))) }
    }

    /// What is wrong with a value that does not fit.
    fn kind_of(&self, value: &Value) -> RefusalKind {
        match (&self.0, value) {
            (Kind::Number { whole, .. }, Value::Number(number)) if !whole || !number.is_f64() => {
                RefusalKind::OutOfRange
            }
            (Kind::List(_, _, most), Value::Array(list)) => match most {
                Some(most) if list.len() as u64 > *most => RefusalKind::TooLarge,
                _ => RefusalKind::Missing,
            },
            (Kind::Choice(_), _) | (Kind::Text(..), Value::String(_)) => RefusalKind::WrongValue,
            (Kind::Optional(inner), value) => inner.kind_of(value),
            _ => RefusalKind::WrongType,
        }
    }

    fn words(&self) -> String {
        match &self.0 {
            Kind::Table(_) | Kind::Map(_) => "a table".to_owned(),
            Kind::List(_, least, most) => format!("a list{}", lengths(*least, *most, "entries")),
            Kind::Number { whole, range, .. } => range.words(*whole),
            Kind::Text(least, most) => format!("text{}", lengths(*least, *most, "letters")),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Choice(choices) => listed(&choices.iter().map(shown).collect::<Vec<_>>()),
            Kind::Either(shapes) => listed(&shapes.iter().map(Self::words).collect::<Vec<_>>()),
            Kind::Optional(shape) => shape.words(),
            Kind::Any => "a value".to_owned(),
        }
    }
}

impl Key {
    /// Its own description, and those of the keys below it.
    fn meanings(&self) -> Vec<(String, &str)> {
        let below = self.shape.meanings().into_iter();
        let below = below.map(|(key, meaning)| (format!("{}.{key}", self.name), meaning));
        std::iter::once((self.name.clone(), self.meaning.as_str())).chain(below).collect()
    }
}

impl Range {
    fn read(schema: &Value) -> Self {
        let bound = |name: &str| schema.get(name).cloned();
        Self {
            least: bound("minimum"),
            above: bound("exclusiveMinimum"),
            most: bound("maximum"),
            multiple: schema["multipleOf"].as_u64(),
        }
    }

    pub(crate) fn holds(&self, value: &Value) -> bool {
        let low = self.least.as_ref().is_none_or(|least| !less(value, least));
        let above = self.above.as_ref().is_none_or(|above| less(above, value));
        let multiple =
            self.multiple.is_none_or(|step| value.as_u64().is_some_and(|number| number.is_multiple_of(step)));
        low && above && multiple && self.most.as_ref().is_none_or(|most| !less(most, value))
    }

    fn words(&self, whole: bool) -> String {
        if let Some(step) = self.multiple {
            return format!("a multiple of {step}, {}", Self { multiple: None, ..self.clone() }.words(whole));
        }
        let plain = if whole { "a whole number" } else { "a number" };
        let most = self.most.as_ref().map(shown);
        match (self.least.as_ref().map(shown), self.above.as_ref().map(shown), most) {
            (Some(least), _, Some(most)) => format!("{least} to {most}"),
            (Some(least), _, None) => format!("{least} or more"),
            (None, Some(above), Some(most)) => format!("a number above {above}, up to {most}"),
            (None, Some(above), None) => format!("a number above {above}"),
            (None, None, Some(most)) => format!("{plain} up to {most}"),
            (None, None, None) => plain.to_owned(),
        }
    }
}

/// Whether one number is below another; exact for whole numbers.
fn less(one: &Value, other: &Value) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one < other,
        _ => one.as_f64().unwrap_or(f64::NAN) < other.as_f64().unwrap_or(f64::NAN),
    }
}

fn whole(number: &Value) -> Option<i128> {
    number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from))
}

fn fits_table(keys: &[Key], table: &Map<String, Value>, path: &mut Vec<String>) -> Result<(), Refusal> {
    if let Some(unknown) = table.keys().find(|key| !keys.iter().any(|known| known.name == **key)) {
        return below(path, unknown, |path| {
            Err(unfit(path, "unknown".to_owned(), "leave it out".to_owned(), RefusalKind::UnknownKey))
        });
    }
    for Key { name, shape, required, .. } in keys {
        below(path, name, |path| match table.get(name) {
            Some(value) => shape.fits(value, path),
            None if *required => {
                Err(unfit(path, "missing".to_owned(), "give it".to_owned(), RefusalKind::Missing))
            }
            None => Ok(()),
        })?;
    }
    Ok(())
}

fn below(
    path: &mut Vec<String>,
    step: &str,
    check: impl FnOnce(&mut Vec<String>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    path.push(step.to_owned());
    check(path)?;
    path.pop();
    Ok(())
}

fn unfit(path: &[String], value: String, remedy: String, kind: RefusalKind) -> Refusal {
    if path.is_empty() {
        return Refusal::new(value).remedy(remedy).kind(kind);
    }
    Refusal::of(path.join("."), value, remedy).kind(kind)
}

fn within(length: usize, least: Option<u64>, most: Option<u64>) -> bool {
    let length = length as u64;
    least.is_none_or(|least| length >= least) && most.is_none_or(|most| length <= most)
}

fn lengths(least: Option<u64>, most: Option<u64>, of: &str) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" of {least} to {most} {of}"),
        (Some(least), None) => format!(" of {least} or more {of}"),
        (None, Some(most)) => format!(" of {most} {of} at most"),
        (None, None) => String::new(),
    }
}

/// A value as users write it: whole numbers without a point, long values cut to one line.
fn shown(value: &Value) -> String {
    const LETTERS_MOST: usize = 60;
    let text = match value {
        Value::Number(number) => number
            .as_f64()
            .filter(|number| number.fract() == 0.0 && number.abs() < 1e15)
            .map_or_else(|| number.to_string(), |number| format!("{number:.0}")),
        Value::Null => "not a number".to_owned(),
        other => other.to_string(),
    };
    if text.chars().count() <= LETTERS_MOST {
        text
    } else {
        text.chars().take(LETTERS_MOST).chain(['\u{2026}']).collect()
    }
}

fn listed(words: &[String]) -> String {
    match words {
        [first @ .., before, last] => {
            format!("{}{before} or {last}", first.iter().map(|word| format!("{word}, ")).collect::<String>())
        }
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{HeaderCredits, Share, StepTime};
    use serde_json::json;

    /// A table with each kind of value.
    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Table {
        #[schemars(with = "StepTime")]
        step_ns: f64,
        #[schemars(with = "Option<Share>")]
        share: Option<f64>,
        #[schemars(range(min = 1, max = 255))]
        ways: u32,
        #[schemars(extend("exclusiveMinimum" = 0))]
        rate: f64,
        #[schemars(with = "HeaderCredits")]
        credits: u32,
        #[schemars(length(min = 1, max = 2))]
        inner: Vec<Inner>,
        #[schemars(extend("enum" = [64, 128]))]
        boundary: u32,
        order: Order,
        #[serde(default)]
        on: bool,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Inner {
        #[schemars(length(min = 1, max = 3))]
        name: String,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Order {
        /// By turns.
        InTurn,
        /// Any.
        AnyFree,
    }

    fn sample() -> Value {
        json!({"step_ns": 1.5, "ways": 1, "rate": 0.1, "credits": "infinite", "inner": [{"name": "abc"}],
               "boundary": 64, "order": "in-turn"})
    }

    #[test]
    fn values_within_their_ranges_fit() {
        let shape = Shape::of::<Table>();
        assert_eq!(shape.check_json(&sample()), Ok(()));
        for (key, value) in [
            ("share", json!(null)),
            ("share", json!(1)),
            ("credits", json!(65536)),
            ("step_ns", json!(100000)),
        ] {
            let mut table = sample();
            table[key] = value;
            assert_eq!(shape.check_json(&table), Ok(()), "{key}");
        }
    }

    #[test]
    fn refuses_other_values_by_key_with_remedy() {
        for (key, value, expected) in [
            ("step_ns", json!(1e300), "step_ns is 1e+300: give 0 to 100000"),
            ("step_ns", json!(null), "step_ns is not a number: give 0 to 100000"),
            ("share", json!(1.01), "share is 1.01: give 0 to 1"),
            ("ways", json!(0), "ways is 0: give 1 to 255"),
            ("ways", json!(1.5), "ways is 1.5: give 1 to 255"),
            ("rate", json!(0), "rate is 0: give a number above 0"),
            ("credits", json!(65537), "credits is 65537: give 1 to 65536 or \"infinite\""),
            ("boundary", json!(65), "boundary is 65: give 64 or 128"),
            ("order", json!("any"), "order is \"any\": give \"in-turn\" or \"any-free\""),
            ("on", json!(1), "on is 1: give true or false"),
            ("inner", json!([]), "inner is []: give a list of 1 to 2 entries"),
            ("inner", json!([{"name": "abcd"}]), "inner.0.name is \"abcd\": give text of 1 to 3 letters"),
            ("inner", json!([{}]), "inner.0.name is missing: give it"),
            ("outer", json!(1), "outer is unknown: leave it out"),
        ] {
            let mut table = sample();
            table[key] = value;
            assert_eq!(Shape::of::<Table>().check_json(&table).unwrap_err().to_string(), expected);
        }
    }
}
