//! A suite: tests in the order in which they run.

use crate::TestRecord;
use pcie_refusal::Refusal;
use pcie_schema::{Fitting, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A suite as the runner takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Its tests. The order matters: caches and TLBs carry state from one to the next.
    pub tests: Vec<TestRecord>,
}

impl Fitting for Suite {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Suite>);
        &SHAPE
    }
}

impl Suite {
    /// Refuses a suite with a test that no machine could carry out, and names the first.
    pub fn validate(&self) -> Result<(), Refusal> {
        for (position, test) in self.tests.iter().enumerate() {
            let test_at = || test_at(&self.name, position, &test.family, &test.name);
            test.parameters.validate().map_err(|wrong| wrong.about(test_at()))?;
        }
        Ok(())
    }
}

/// Name of a test in messages; `position` counts from 0.
pub(crate) fn test_at(suite: &str, position: usize, family: &str, name: &str) -> String {
    format!("suite {suite}: test {position} ({family}, {name})")
}
