//! The options of a single test, one for each parameter of the schema of tests.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use pcie_schema::size::read_size;
use pcie_workload::{Test, published_transactions};
use schemars::schema_for;
use serde_json::{Map, Value};
use std::sync::LazyLock;

const OPERATION: &str = "operation";

/// A parameter of tests.
struct Parameter {
    /// Its key in a test.
    key: String,
    /// Its option, without the dashes.
    option: String,
    meaning: String,
    default: Value,
    is_size: bool,
    is_switch: bool,
    is_number: bool,
}

static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let schema = schema_for!(Test).to_value();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(key, described): (String, Value)| {
        let kinds = described["type"].to_string();
        let meaning = described["description"].as_str().unwrap_or_default();
        Some(Parameter {
            option: described["x-word"].as_str()?.replace('_', "-"),
            meaning: meaning.trim_end_matches('.').to_owned(),
            default: described["default"].clone(),
            is_size: described["x-size"] == true,
            is_switch: kinds.contains("boolean"),
            is_number: kinds.contains("integer"),
            key,
        })
    };
    properties.into_iter().filter_map(parameter).collect()
});

/// The parameters that differ from the defaults, by their keys, as texts.
#[derive(Debug, Default)]
pub(crate) struct TestOptions(Map<String, Value>);

impl TestOptions {
    /// The first option that is given, without its dashes.
    pub(crate) fn first(&self) -> Option<&str> {
        let is_given =
            |one: &&Parameter| self.0.get(&one.key).is_some_and(|value| *value != Value::Bool(false));
        PARAMETERS.iter().find(is_given).map(|one| one.option.as_str())
    }

    /// The test of an operation with these parameters, and the published number of transactions.
    pub(crate) fn test(&self, operation: &str) -> Result<Test, Refusal> {
        let mut values = Map::new();
        for parameter in PARAMETERS.iter() {
            let value = match self.0.get(&parameter.key) {
                _ if parameter.key == OPERATION => operation.into(),
                Some(given) => parameter.read(given)?,
                None => parameter.default.clone(),
            };
            values.insert(parameter.key.clone(), value);
        }
        let mut test = Test::read(Value::Object(values)).map_err(of_option)?;
        if !self.0.contains_key("transactions") {
            test.transactions = published_transactions(test.operation, test.details);
        }
        test.validate().map_err(of_option)?;
        Ok(test)
    }
}

/// A refusal of a test that names the option of its key.
fn of_option(refusal: Refusal) -> Refusal {
    let parameter = PARAMETERS.iter().find(|one| refusal.key.as_deref() == Some(one.key.as_str()));
    match parameter {
        Some(one) => refusal.about(format!("--{}", one.option)),
        None => refusal,
    }
}

impl Parameter {
    fn read(&self, given: &Value) -> Result<Value, Refusal> {
        let Some(text) = given.as_str() else { return Ok(given.clone()) };
        let about = |refusal: Refusal| refusal.about(format!("--{}", self.option));
        if self.is_size {
            return read_size(text).map(Value::from).map_err(about);
        }
        if self.is_number {
            let read = text.parse::<u64>().map(Value::from);
            return read.map_err(|_| about(Refusal::of(&self.key, text, "give a whole number")));
        }
        Ok(text.into())
    }
}

impl Args for TestOptions {
    fn augment_args(command: Command) -> Command {
        PARAMETERS.iter().filter(|one| one.key != OPERATION).fold(command, |command, one| {
            let option = Arg::new(one.key.as_str()).long(one.option.as_str()).help(one.meaning.as_str());
            let action = if one.is_switch { ArgAction::SetTrue } else { ArgAction::Set };
            command.arg(option.action(action))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TestOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut found = Self::default();
        found.update_from_arg_matches(matches)?;
        Ok(found)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for one in PARAMETERS.iter().filter(|one| one.key != OPERATION) {
            if one.is_switch {
                self.0.insert(one.key.clone(), matches.get_flag(&one.key).into());
            } else if let Some(text) = matches.get_one::<String>(&one.key) {
                self.0.insert(one.key.clone(), text.clone().into());
            }
        }
        Ok(())
    }
}
