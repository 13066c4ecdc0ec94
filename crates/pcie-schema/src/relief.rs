//! How a value can be changed so that it limits less, stated on fields as `x-relief`; or, as `x-fact`, why nobody can.
//!
//! [`Shape::reliefs`] lists the next step of every key of a value; what a step gives is for engines to compute.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::{Key, Kind, Shape};

/// Who can change a value, the easiest change first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// Whoever asks for the work: a parameter of the test.
    Workload,
    /// Whoever runs the machine: a register, a setting of firmware or kernel.
    Setting,
    /// The driver, by an option or a change of its code.
    Driver,
    /// Whoever builds the machine: another slot, board or memory.
    Slot,
    /// Whoever builds the machine, with a device that supports it: both ends of a link.
    SlotAndDevice,
    /// The device's design.
    Device,
    /// The processor's design.
    Processor,
}

/// The direction of a step, and its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Twice as much.
    More,
    /// Half as much.
    Less,
    /// Twice or half as much: either can help.
    Either,
    /// The next allowed value.
    Next,
    /// Zero, which switches it off.
    Off,
    /// None: the part is left out.
    Without,
    /// Any other word.
    Any,
    /// A word further on, from the worst to the best.
    Better(Vec<Value>),
    /// The value of another key of the whole description.
    Like(String),
}

/// A way to change a value so that it limits less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relief {
    /// Who can make the change.
    pub who: Who,
    /// The change.
    pub step: Step,
    /// The greatest value that exists, where the key allows more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// What an absent value stands for; none: an absent value sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<Value>,
}

impl Relief {
    const fn new(who: Who, step: Step) -> Self {
        Self { who, step, most: None, absent: None }
    }

    /// The greatest value that exists.
    #[must_use]
    pub fn most(self, most: u64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// What an absent value stands for.
    #[must_use]
    pub fn absent(self, value: impl Into<Value>) -> Self {
        Self { absent: Some(value.into()), ..self }
    }
}

/// Twice as much relieves.
#[must_use]
pub const fn more(who: Who) -> Relief {
    Relief::new(who, Step::More)
}

/// Half as much relieves.
#[must_use]
pub const fn less(who: Who) -> Relief {
    Relief::new(who, Step::Less)
}

/// Twice or half as much may relieve.
#[must_use]
pub const fn either(who: Who) -> Relief {
    Relief::new(who, Step::Either)
}

/// The next allowed value relieves.
#[must_use]
pub const fn next(who: Who) -> Relief {
    Relief::new(who, Step::Next)
}

/// Zero relieves.
#[must_use]
pub const fn off(who: Who) -> Relief {
    Relief::new(who, Step::Off)
}

/// A part that is left out relieves.
#[must_use]
pub const fn without(who: Who) -> Relief {
    Relief::new(who, Step::Without)
}

/// Any other word may relieve.
#[must_use]
pub const fn any(who: Who) -> Relief {
    Relief::new(who, Step::Any)
}

/// Words from the worst to the best.
#[must_use]
pub fn better<const N: usize>(who: Who, words: [impl Into<Value>; N]) -> Relief {
    Relief::new(who, Step::Better(words.map(Into::into).into()))
}

/// The value of another key relieves.
#[must_use]
pub fn like(who: Who, key: &str) -> Relief {
    Relief::new(who, Step::Like(key.to_owned()))
}

/// A step of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relieved {
    /// Its dotted key.
    pub key: String,
    /// Its value; null if it is absent.
    pub from: Value,
    /// The value after the step.
    pub to: Value,
    /// Who can make it.
    pub who: Who,
}

impl Shape {
    /// The next step of every key of a checked value, in the order of the type.
    #[must_use]
    pub fn reliefs(&self, value: &Value) -> Vec<Relieved> {
        let mut found = Vec::new();
        self.relieve(value, value, "", &mut found);
        found
    }

    /// The steps of one key from a value on; `whole` is the description.
    #[must_use]
    pub fn steps_of(&self, key: &str, from: &Value, whole: &Value) -> Vec<Relieved> {
        let (above, last) = key.rsplit_once('.').map_or((None, key), |(above, last)| (Some(above), last));
        let table = above.map_or(Some(self), |above| self.at(above));
        table.and_then(|table| table.key(last)).map_or_else(Vec::new, |found| found.steps(key, from, whole))
    }

    /// Keys of numbers and words that state neither a relief nor why there is none.
    #[must_use]
    pub fn without_relief(&self) -> Vec<String> {
        match &self.0 {
            Kind::Table(keys) => keys.iter().flat_map(Key::without_relief).collect(),
            Kind::List(inner, ..) | Kind::Optional(inner) | Kind::Map(inner) => inner.without_relief(),
            _ => Vec::new(),
        }
    }

    /// The key of a table.
    fn key(&self, name: &str) -> Option<&Key> {
        match &self.0 {
            Kind::Table(keys) => keys.iter().find(|key| key.name == name),
            Kind::Optional(inner) => inner.key(name),
            _ => None,
        }
    }

    fn relieve(&self, value: &Value, whole: &Value, path: &str, found: &mut Vec<Relieved>) {
        match (&self.0, value) {
            (Kind::Table(keys), Value::Object(table)) => {
                for key in keys {
                    let own = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
                    let value = table.get(&key.name).unwrap_or(&Value::Null);
                    found.extend(key.steps(&own, value, whole));
                    key.shape.relieve(value, whole, &own, found);
                }
            }
            (Kind::List(inner, ..), Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    inner.relieve(item, whole, &format!("{path}.{index}"), found);
                }
            }
            (Kind::Optional(inner), value) if !value.is_null() => inner.relieve(value, whole, path, found),
            _ => {}
        }
    }

    fn is_limit(&self) -> bool {
        match &self.0 {
            Kind::Number { .. } | Kind::Boolean | Kind::Choice(_) => true,
            Kind::Either(shapes) => shapes.iter().any(Self::is_limit),
            Kind::Optional(inner) | Kind::List(inner, ..) => inner.is_limit(),
            _ => false,
        }
    }

    /// The values after a step from a value that is present.
    fn steps(&self, from: &Value, relief: &Relief) -> Vec<Value> {
        match (&self.0, &relief.step) {
            (Kind::Optional(inner), _) => inner.steps(from, relief),
            (Kind::Either(shapes), _) => {
                let own = shapes.iter().find(|shape| shape.check_json(from).is_ok());
                own.map_or_else(Vec::new, |shape| shape.steps(from, relief))
            }
            (Kind::Number { whole, .. }, step) => {
                let scaled = |factor: f64| self.scaled(from, factor, *whole, relief.most);
                match step {
                    Step::More => scaled(2.0).into_iter().collect(),
                    Step::Less => scaled(0.5).into_iter().collect(),
                    Step::Either => [scaled(0.5), scaled(2.0)].into_iter().flatten().collect(),
                    Step::Off if from.as_f64() != Some(0.0) => vec![Value::from(0)],
                    _ => Vec::new(),
                }
            }
            (Kind::Choice(choices), Step::Next | Step::More) => {
                let (number, most) = (from.as_f64(), relief.most.map_or(f64::INFINITY, |most| most as f64));
                let least = if relief.step == Step::More { number.map(|one| 2.0 * one) } else { number };
                let higher = choices.iter().filter(|one| {
                    let one = one.as_f64();
                    one > number && one >= least && one <= Some(most)
                });
                higher
                    .min_by(|one, other| one.as_f64().total_cmp_of(other.as_f64()))
                    .cloned()
                    .into_iter()
                    .collect()
            }
            (Kind::Choice(choices), Step::Any) => {
                choices.iter().filter(|one| *one != from).cloned().collect()
            }
            (_, Step::Better(words)) => {
                let at = words.iter().position(|word| word == from);
                at.map_or_else(Vec::new, |at| words[at + 1..].to_vec())
            }
            _ => Vec::new(),
        }
    }

    /// A number times a factor, within its range; none if that changes nothing.
    fn scaled(&self, from: &Value, factor: f64, whole: bool, most: Option<u64>) -> Option<Value> {
        let Kind::Number { range, .. } = &self.0 else { return None };
        let old = from.as_f64()?;
        let bound = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        let highest = bound(&range.most).unwrap_or(f64::MAX).min(most.map_or(f64::MAX, |most| most as f64));
        let new = (old * factor).min(highest).max(bound(&range.least).unwrap_or(f64::MIN));
        let new = if whole { new.floor() } else { new };
        let is_further = if factor > 1.0 { new > old } else { new < old };
        let value = if whole { Value::from(new as i64) } else { Value::from(new) };
        (is_further && range.holds(&value)).then_some(value)
    }
}

impl Key {
    fn steps(&self, key: &str, from: &Value, whole: &Value) -> Vec<Relieved> {
        let Some(relief) = &self.relief else { return Vec::new() };
        let present = if from.is_null() { relief.absent.as_ref() } else { Some(from) };
        let Some(present) = present else { return Vec::new() };
        let values = match &relief.step {
            Step::Without => vec![Value::Null],
            Step::Like(other) => {
                let like = whole.pointer(&format!("/{}", other.replace('.', "/")));
                like.filter(|like| *like != present).cloned().into_iter().collect()
            }
            _ => self.shape.steps(present, relief),
        };
        let step = |to| Relieved { key: key.to_owned(), from: from.clone(), to, who: relief.who };
        values.into_iter().map(step).collect()
    }

    fn without_relief(&self) -> Vec<String> {
        let below = self.shape.without_relief().into_iter().map(|key| format!("{}.{key}", self.name));
        let own =
            (self.shape.is_limit() && self.relief.is_none() && !self.is_fact).then(|| self.name.clone());
        own.into_iter().chain(below).collect()
    }
}

/// Order of numbers that are there.
trait TotalOrder {
    fn total_cmp_of(self, other: Self) -> std::cmp::Ordering;
}

impl TotalOrder for Option<f64> {
    fn total_cmp_of(self, other: Self) -> std::cmp::Ordering {
        self.unwrap_or(f64::NAN).total_cmp(&other.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{HeaderCredits, StepTime};
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Table {
        #[schemars(range(min = 1, max = 100), extend("x-relief" = more(Who::Device)))]
        tags: Option<u32>,
        #[schemars(range(min = 1, max = 100), extend("x-relief" = more(Who::Driver).absent(1)))]
        every: Option<u32>,
        #[schemars(with = "StepTime", extend("x-relief" = less(Who::Processor)))]
        step_ns: f64,
        #[schemars(with = "HeaderCredits", extend("x-relief" = more(Who::Processor)))]
        credits: u32,
        #[schemars(extend("enum" = [1, 2, 4, 8, 12, 16, 32], "x-relief" = more(Who::Slot).most(16)))]
        lanes: u32,
        #[schemars(extend("enum" = [1, 2, 3], "x-relief" = next(Who::Slot)))]
        generation: u32,
        #[schemars(extend("x-relief" = better(Who::Setting, ["small", "large", "off"])))]
        pages: Pages,
        #[schemars(range(min = 0, max = 9), extend("x-relief" = like(Who::Setting, "socket")))]
        memory: u32,
        #[schemars(range(min = 0, max = 9), extend("x-fact" = "where the device is"))]
        socket: u32,
        #[schemars(range(min = 0, max = 4096), extend("x-relief" = either(Who::Driver)))]
        bytes: u32,
        #[schemars(extend("x-relief" = without(Who::Setting)))]
        idle: Option<Inner>,
        list: Vec<Inner>,
        name: String,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Pages {
        Off,
        Large,
        Small,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Inner {
        #[schemars(range(min = 1, max = 9), extend("x-relief" = off(Who::Setting)))]
        wake_ns: u32,
        plain: u32,
    }

    fn steps(value: &Value) -> Vec<(String, Value)> {
        Shape::of::<Table>().reliefs(value).into_iter().map(|one| (one.key, one.to)).collect()
    }

    #[test]
    fn steps_go_in_their_direction_within_the_range() {
        let value = json!({"tags": 64, "every": null, "step_ns": 5.0, "credits": 8, "lanes": 8, "generation": 2,
            "pages": "large", "memory": 1, "socket": 0, "bytes": 64, "idle": null,
            "list": [{"wake_ns": 3, "plain": 1}]});
        let expected = [
            ("tags", json!(100)),
            ("every", json!(2)),
            ("step_ns", json!(2.5)),
            ("credits", json!(16)),
            ("lanes", json!(16)),
            ("generation", json!(3)),
            ("pages", json!("off")),
            ("memory", json!(0)),
            ("bytes", json!(32)),
            ("bytes", json!(128)),
            ("list.0.wake_ns", json!(0)),
        ];
        assert_eq!(steps(&value), expected.map(|(key, to)| (key.to_owned(), to)));
    }

    #[test]
    fn what_sets_no_limit_or_is_at_its_end_has_no_step() {
        let value = json!({"tags": null, "every": 100, "step_ns": 0.0, "credits": "infinite", "lanes": 16,
            "generation": 3, "pages": "off", "memory": 0, "socket": 0, "bytes": 0, "list": [],
            "idle": {"wake_ns": 0, "plain": 1}});
        assert_eq!(steps(&value), [("idle".to_owned(), Value::Null)]);
    }

    #[test]
    fn the_steps_of_a_key_go_on() {
        let shape = Shape::of::<Table>();
        let next = |from: Value| shape.steps_of("tags", &from, &json!({})).pop().map(|one| one.to);
        assert_eq!(
            (next(json!(10)), next(json!(20)), next(json!(100))),
            (Some(json!(20)), Some(json!(40)), None)
        );
    }

    #[test]
    fn keys_that_state_nothing_are_listed() {
        assert_eq!(Shape::of::<Table>().without_relief(), ["idle.plain", "list.plain"]);
    }
}
