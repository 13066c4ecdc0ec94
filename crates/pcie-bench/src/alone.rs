//! A single test without a store, for sweeps over many systems and live questions.

use crate::error::RunError;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::Work;
use pcie_refusal::{Kind, Refusal};
use pcie_store::TestRecord;

/// Carries out the only test of `work` in this thread and returns its record, the same as a run would store.
///
/// # Errors
/// The number of tests is not one, or the device does not open. The record of a failed test is not an error.
pub fn run_alone(work: &dyn Work, stop: &Stop) -> Result<TestRecord, RunError> {
    let tests = work.tests()?;
    let [test] = &*tests else {
        let refusal = Refusal::new(format!("{} tests", tests.len())).kind(Kind::WrongValue);
        return Err(refusal.remedy("give a suite of one test").into());
    };
    let mut worker = work.open()?;
    let outcome = worker.carry_out(0, stop, &Pulse::default()).unwrap_or_else(Outcome::from);
    Ok(outcome.record(0, test, worker.take_trace()))
}
