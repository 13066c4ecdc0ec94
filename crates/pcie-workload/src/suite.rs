//! A suite: tests in the order in which they run.

use crate::{TestError, TestRecord};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A suite, as it is handed to the runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Its tests. The order matters: caches and TLBs carry state from one to the next.
    pub tests: Vec<TestRecord>,
}

/// A test of the suite is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("suite {suite}: test {position} ({family}, {name}): {error}")]
pub struct SuiteError {
    /// Name of the suite.
    pub suite: String,
    /// Place of the test in it, counted from 0.
    pub position: usize,
    /// The test's family.
    pub family: String,
    /// Its published name.
    pub name: String,
    /// What is wrong with it.
    pub error: TestError,
}

impl Suite {
    /// Refuses a suite with a test that no machine could carry out.
    ///
    /// # Errors
    /// Names the first such test.
    pub fn validate(&self) -> Result<(), SuiteError> {
        for (position, test) in self.tests.iter().enumerate() {
            test.parameters.validate().map_err(|error| SuiteError {
                suite: self.name.clone(),
                position,
                family: test.family.clone(),
                name: test.name.clone(),
                error,
            })?;
        }
        Ok(())
    }
}
