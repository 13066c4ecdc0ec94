//! Suites: groups of tests in files, and the tests that they stand for.

mod experiments;
mod messages;
mod transfers;

use std::fmt::Display;

use pcie_refusal::shown::named;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_schema::Shape;
use pcie_workload::{MessageSuite, Suite as TransferSuite};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::blame::{Giver, refused, shown};
use crate::provenance::Provenance;
use crate::value::{Value, read_table};
use experiments::FabricSuite;

/// Most tests of a suite: forty times those of the published one.
const TESTS_MOST: u128 = 100_000;
/// Most sizes of one list, with its ranges expanded.
const SIZES_MOST: usize = 100_000;

/// A suite of a kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Suite {
    /// Tests of transfers.
    Transfers(TransferSuite),
    /// Tests of messages, for a real device: without the defaults that only a simulated core has.
    Messages(MessageSuite),
    /// Experiments on a fabric.
    Fabric(FabricSuite),
}

/// A kind of suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteKind {
    /// Tests of transfers.
    Transfers,
    /// Tests of messages.
    Messages,
    /// Experiments on a fabric.
    Fabric,
}

/// A file of groups.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File<G> {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// One line for people.
    #[schemars(length(min = 1, max = 1000))]
    title: String,
    /// Source of the list of tests.
    provenance: Provenance,
    /// Groups of tests, in run order.
    #[schemars(length(min = 1))]
    group: Vec<G>,
}

/// Tests that share a family: all combinations of some lists.
trait Group: DeserializeOwned + JsonSchema {
    /// A test with its family and name.
    type Test;
    /// A list that can vary.
    type Axis: Copy + PartialEq + Serialize + 'static;
    /// Every axis, in the order of those that the loop leaves out.
    const AXES: &'static [Self::Axis];

    /// The order of the nested loops, outermost first.
    fn order(&self) -> &[Self::Axis];

    /// Number of values of an axis.
    fn length(&self, axis: Self::Axis) -> usize;

    /// Refuses lists that contradict each other.
    fn check(&self) -> Result<(), Refusal>;

    /// The test at an index of each axis.
    fn test(&self, at: &[(Self::Axis, usize)]) -> Result<Self::Test, Refusal>;

    /// Number of tests.
    fn count(&self) -> u128 {
        Self::AXES.iter().fold(1, |count, axis| count.saturating_mul(self.length(*axis) as u128))
    }

    /// Refuses a loop that repeats an axis or lacks one with several entries, and too many tests.
    fn check_loop(&self) -> Result<(), Refusal> {
        let order = self.order();
        let wrong = |remedy: String| Err(Refusal::of("loop", shown(&json!(order)), remedy));
        if (1..order.len()).any(|nth| order[..nth].contains(&order[nth])) {
            return wrong("give each entry once".to_owned());
        }
        let lacking = Self::AXES.iter().filter(|axis| self.length(**axis) > 1 && !order.contains(axis));
        let lacking: Vec<String> = lacking.map(|axis| text_of(*axis)).collect();
        if !lacking.is_empty() {
            return wrong(format!("add {}, which has several entries", lacking.join(", ")));
        }
        check_count(self.count())
    }

    /// The tests, in run order.
    fn unfold(&self) -> Result<Vec<Self::Test>, Refusal> {
        let left = Self::AXES.iter().copied().filter(|axis| !self.order().contains(axis));
        let order: Vec<Self::Axis> = self.order().iter().copied().chain(left).collect();
        let mut at: Vec<(Self::Axis, usize)> = order.into_iter().map(|axis| (axis, 0)).collect();
        let mut tests = Vec::new();
        loop {
            tests.push(self.test(&at)?);
            // The last axis varies fastest.
            let Some(next) = at.iter().rposition(|(axis, index)| index + 1 < self.length(*axis)) else {
                return Ok(tests);
            };
            at[next].1 += 1;
            at[next + 1..].iter_mut().for_each(|(_, index)| *index = 0);
        }
    }
}

/// The word of an axis.
fn text_of(axis: impl Serialize) -> String {
    serde_json::to_value(axis).ok().and_then(|word| word.as_str().map(ToOwned::to_owned)).unwrap_or_default()
}

/// Refuses a suite of too many tests before it is unfolded.
pub(crate) fn check_count(tests: u128) -> Result<(), Refusal> {
    if tests <= TESTS_MOST {
        return Ok(());
    }
    let remedy = format!("give {TESTS_MOST} at most: fewer entries in the lists, or several suites");
    Err(Refusal::new(format!("{tests} tests")).kind(RefusalKind::TooLarge).remedy(remedy))
}

impl SuiteKind {
    /// The kind of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "transfers" => Some(Self::Transfers),
            "messages" => Some(Self::Messages),
            "fabric" => Some(Self::Fabric),
            _ => None,
        }
    }

    /// The JSON Schema of its files.
    #[must_use]
    pub fn schema(self) -> Json {
        match self {
            Self::Transfers => schema::<File<transfers::TransferGroup>>("A file under `suites`."),
            Self::Messages => schema::<File<messages::MessageGroup>>("A file under `suites/messages`."),
            Self::Fabric => experiments::file_schema(),
        }
    }

    /// Reads a suite from the text of a file; `path` names it in messages.
    ///
    /// # Errors
    /// A value is wrong, or a test impossible: the message names file, group, key, value and remedy.
    pub fn read(self, text: &str, path: &str) -> Result<(Suite, Provenance), Refusal> {
        let remedy = |key: &str| Shape::of_schema(&self.schema()).at(key).map(Shape::remedy);
        let content = Value::Table(read_table(text, path, remedy)?).into_json();
        match self {
            Self::Transfers => {
                let (file, tests) = unfolded::<transfers::TransferGroup>(content, path)?;
                let suite = TransferSuite { name: file.name, title: file.title, tests };
                Ok((Suite::Transfers(suite), file.provenance))
            }
            Self::Messages => {
                let (file, tests) = unfolded::<messages::MessageGroup>(content, path)?;
                let suite = Suite::Messages(MessageSuite { name: file.name, title: file.title, tests });
                // Whether a machine can carry a test out is known with the values that a simulated core has.
                if let Suite::Messages(simulated) = suite.simulated() {
                    simulated.validate().map_err(|refusal| refusal.about(path))?;
                }
                Ok((suite, file.provenance))
            }
            Self::Fabric => {
                let (suite, provenance) = experiments::read(content, path)?;
                Ok((Suite::Fabric(suite), provenance))
            }
        }
    }
}

/// The JSON Schema of a type, its definitions below it.
pub(crate) fn schema<T: JsonSchema>(about: &str) -> Json {
    let mut generator = SchemaGenerator::default();
    let root = generator.root_schema_for::<T>();
    let mut whole = root.to_value();
    if let Some(keys) = whole.as_object_mut() {
        keys.shift_remove("$schema");
        keys.shift_remove("title");
    }
    whole["description"] = about.into();
    whole
}

/// A checked file, and the tests of its groups.
fn unfolded<G: Group>(mut content: Json, path: &str) -> Result<(File<G>, Vec<G::Test>), Refusal> {
    let shape = Shape::of_schema(&schema::<File<G>>(""));
    let families: Vec<String> = content["group"].as_array().into_iter().flatten().map(family).collect();
    let subject = |nth: usize| format!("{path}: group {} ({})", nth + 1, named(&families[nth]));
    let groups = content.get_mut("group").and_then(Json::as_array_mut);
    for (nth, group) in groups.into_iter().flatten().enumerate() {
        expand_ranges(group).map_err(|refusal| refusal.about(subject(nth)))?;
    }
    let content = shape.with_sizes(content);
    // A group with problems is named by its family; its keys are its own.
    let of_group = Shape::of_schema(&schema::<G>(""));
    let groups = content["group"].as_array().into_iter().flatten().enumerate();
    for (nth, group) in groups.filter(|(_, group)| group.is_object()) {
        refused(&of_group.problems(group), |_| Giver::file(&subject(nth)))?;
    }
    refused(&shape.problems(&content), |_| Giver::file(path))?;
    let file: File<G> = serde_json::from_value(content).map_err(Refusal::new)?;
    for (nth, group) in file.group.iter().enumerate() {
        group.check().and_then(|()| group.check_loop()).map_err(|refusal| refusal.about(subject(nth)))?;
    }
    check_count(file.group.iter().map(Group::count).sum()).map_err(|refusal| refusal.about(path))?;
    let mut tests = Vec::new();
    for (nth, group) in file.group.iter().enumerate() {
        tests.extend(group.unfold().map_err(|refusal| refusal.about(subject(nth)))?);
    }
    Ok((file, tests))
}

/// The family of a group in messages.
fn family(group: &Json) -> String {
    match (group.is_object(), &group["family"]) {
        (false, _) => "not a table".to_owned(),
        (true, Json::Null) => "no family".to_owned(),
        (true, Json::String(family)) => family.clone(),
        (true, other) => shown(other),
    }
}

/// Replaces ranges of sizes (`"240:271"`) by their sizes.
fn expand_ranges(group: &mut Json) -> Result<(), Refusal> {
    for key in ["sizes", "windows"] {
        if let Some(list) = group.get_mut(key).and_then(Json::as_array_mut) {
            expand(list, key)?;
        }
    }
    let connections = group.get_mut("connections").and_then(Json::as_array_mut);
    for (nth, connection) in connections.into_iter().flatten().enumerate() {
        if let Some(list) = connection.get_mut("sizes").and_then(Json::as_array_mut) {
            expand(list, &format!("connections.{nth}.sizes"))?;
        }
    }
    Ok(())
}

fn expand(list: &mut Vec<Json>, key: &str) -> Result<(), Refusal> {
    let mut sizes = Vec::with_capacity(list.len());
    for (nth, item) in list.drain(..).enumerate() {
        match item.as_str() {
            Some(text) if text.contains([':', '-']) => {
                let read = pcie_schema::size::read_sizes(text).map_err(|refusal| {
                    let remedy = refusal.into_parts().remedy.unwrap_or_default();
                    Refusal::of(format!("{key}.{nth}"), shown(&item), remedy)
                })?;
                sizes.extend(read.into_iter().map(Json::from));
            }
            _ => sizes.push(item),
        }
        if sizes.len() > SIZES_MOST {
            return Err(Refusal::new(format!("more than {SIZES_MOST} sizes"))
                .kind(RefusalKind::TooLarge)
                .remedy("give a step")
                .key(key));
        }
    }
    *list = sizes;
    Ok(())
}

impl Suite {
    /// Short name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Transfers(suite) => &suite.name,
            Self::Messages(suite) => &suite.name,
            Self::Fabric(suite) => &suite.name,
        }
    }

    /// One line for people.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Transfers(suite) => &suite.title,
            Self::Messages(suite) => &suite.title,
            Self::Fabric(suite) => &suite.title,
        }
    }

    /// The family of each test.
    #[must_use]
    pub fn families(&self) -> Vec<&str> {
        match self {
            Self::Transfers(suite) => suite.tests.iter().map(|test| test.family.as_str()).collect(),
            Self::Messages(suite) => suite.tests.iter().map(|test| test.family.as_str()).collect(),
            Self::Fabric(suite) => suite.experiments.iter().map(|one| one.family.as_str()).collect(),
        }
    }

    /// The fabric of a suite of experiments.
    #[must_use]
    pub fn fabric(&self) -> Option<&str> {
        if let Self::Fabric(suite) = self { Some(&suite.fabric) } else { None }
    }

    /// The suite with the values that a simulated core has where the file gives none.
    #[must_use]
    pub fn simulated(&self) -> Self {
        let mut whole = self.clone();
        if let Self::Messages(suite) = &mut whole {
            for test in &mut suite.tests {
                test.parameters.eviction.get_or_insert(pcie_workload::BufferEviction::InOrder);
                test.parameters.pressure.get_or_insert(0.0);
            }
        }
        whole
    }

    /// The tests of some families, in the suite's order, as a suite of another name.
    #[must_use]
    pub fn only(&self, families: &[String], name: &str) -> Self {
        let mut part = self.clone();
        name.clone_into(match &mut part {
            Self::Transfers(suite) => {
                suite.tests.retain(|test| families.contains(&test.family));
                &mut suite.name
            }
            Self::Messages(suite) => {
                suite.tests.retain(|test| families.contains(&test.family));
                &mut suite.name
            }
            Self::Fabric(suite) => {
                suite.experiments.retain(|one| families.contains(&one.family));
                &mut suite.name
            }
        });
        part
    }

    /// The tests as JSON.
    ///
    /// # Errors
    /// Never: a suite is JSON.
    pub fn tests(&self) -> Result<Json, serde_json::Error> {
        match self {
            Self::Transfers(suite) => serde_json::to_value(&suite.tests),
            Self::Messages(suite) => serde_json::to_value(&suite.tests),
            Self::Fabric(suite) => serde_json::to_value(&suite.experiments),
        }
    }

    /// JSON with sorted keys, without spaces.
    ///
    /// # Errors
    /// Never: a suite is JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Transfers(suite) => canonical(&suite.name, &suite.tests, &suite.title),
            Self::Messages(suite) => canonical(&suite.name, &suite.tests, &suite.title),
            Self::Fabric(suite) => canonical(&suite.name, &suite.experiments, &suite.title),
        }
    }
}

fn canonical<T: Serialize>(name: &str, tests: &[T], title: &str) -> Result<String, serde_json::Error> {
    /// In the order of the alphabet, as are the keys of tests.
    #[derive(Serialize)]
    struct Sorted<'a, T> {
        name: &'a str,
        tests: &'a [T],
        title: &'a str,
    }
    serde_json::to_string(&Sorted { name, tests, title })
}

/// The refusal of a key whose value contradicts others.
fn wrong(key: &str, value: impl Display, remedy: impl Into<String>) -> Result<(), Refusal> {
    Err(Refusal::of(key, value, remedy))
}
