//! A test by itself: what a sweep over many systems, or a live question, asks for. No store is written.

use super::error::RunError;
use super::recorder;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::Work;
use pcie_refusal::Refusal;
use pcie_store::TestRecord;

/// Carries out the only test of `work` in this thread, and returns what a store would keep of it.
///
/// The numbers are those of a run of a suite of this one test.
///
/// # Errors
/// There is not one test, or nothing to carry it out with. A test that fails is not an error: its record says so.
pub fn run_alone(work: &dyn Work, stop: &Stop) -> Result<TestRecord, RunError> {
    let tests = work.tests()?;
    let [test] = tests.as_slice() else {
        let refusal = Refusal::new(format!("{} tests", tests.len()));
        return Err(refusal.remedy("give a suite of one: this is about a test by itself").into());
    };
    let mut worker = work.open()?;
    let outcome = worker.carry_out(0, stop, &Pulse::default()).unwrap_or_else(Outcome::from);
    Ok(recorder::record(0, test, outcome))
}
