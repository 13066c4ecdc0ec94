//! Why a test of a question gives its value: the sentences of `pcielab why`.

use pcie_bench::Stop;
use pcie_refusal::{Refusal, Unfinished};
use pcie_why::{Answer, TestAsked, check_measured, why_test};
use pcie_workload::Operation;
use serde::Deserialize;
use serde_json::Value;
use std::ops::ControlFlow;

use crate::point::system_of;
use crate::question::Question;

/// A system, a question about it, and one of its two tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    system: Value,
    title: String,
    question: Question,
    operation: Operation,
    /// Keys of the system that nobody measured, and a word on each.
    #[serde(default)]
    unmeasured: Vec<(String, String)>,
    /// Keys of the system that are borrowed, and the profile that each comes from.
    #[serde(default)]
    borrowed: Vec<(String, String)>,
}

/// The answer, as `pcielab why --test` gives it.
pub(crate) fn why(asked: Asked, stop: &Stop) -> Result<Answer, Refusal> {
    let test = asked.question.test(asked.operation, false);
    test.validate()?;
    asked.question.measured.map_or(Ok(()), check_measured)?;
    let system = system_of(asked.system)?;
    let question = TestAsked {
        title: asked.title,
        test,
        measured: asked.question.measured.filter(|_| asked.operation == asked.question.bandwidth),
        origin: String::from("measured"),
        unmeasured: asked.unmeasured.into_iter().collect(),
        borrowed: asked.borrowed.into_iter().collect(),
        notes: Vec::new(),
    };
    answered(why_test(&system, &question, &mut until(stop)))
}

/// Continues a search of changes until it is to stop.
pub(crate) fn until(stop: &Stop) -> impl FnMut(usize, usize) -> ControlFlow<()> {
    |_, _| if stop.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// An answer, or why there is none.
pub(crate) fn answered(found: Result<Answer, Unfinished>) -> Result<Answer, Refusal> {
    found.map_err(|unfinished| match unfinished {
        Unfinished::Refused(refusal) => refusal,
        Unfinished::Stopped => Refusal::new(Unfinished::Stopped),
    })
}
