//! The contract of back ends, as checks for any of them.

mod demands;
mod found;
mod held;
mod messages;

use crate::backend::{Backend, Bench};
use crate::device::{DeviceError, Start};
use crate::moment::Moment;
use crate::stop::Stop;
use demands::{STOP_WITHIN, TRIES, failure_problem, refusal_problem, request_after};
use found::{Found, run};
use held::Held;
pub use messages::{MessageTrial, check_messages};
use pcie_workload::{CacheState, Test};
use serde::Deserialize;
use std::ops::ControlFlow;
use std::time::Duration;

/// Delays before a stop request: while caches are prepared, and while the device measures.
const STOP_AFTER: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(60)];
/// Transactions of a test that runs until it is stopped.
const ENDLESS: u64 = u32::MAX as u64;
const STATES: [CacheState; 4] =
    [CacheState::Cold, CacheState::DeviceThrash, CacheState::DeviceWarm, CacheState::HostWarm];

/// The tests for checking a back end.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// A latency test that takes it about a second; none where it measures no latencies.
    pub latency: Option<Test>,
    /// A bandwidth test likewise.
    pub bandwidth: Option<Test>,
    /// Tests that it must refuse.
    #[serde(default)]
    pub refused: Vec<Test>,
    /// Tests that fail on it, run at [`Trial::FAILING_POSITION`] and later positions, to check recovery.
    #[serde(default)]
    pub failing: Vec<Test>,
}

impl Trial {
    /// Position in the suite of the first failing test. All others have lower positions.
    pub const FAILING_POSITION: u64 = demands::FAILING_POSITION;

    /// The tests that it can carry out.
    fn possible(&self) -> impl Iterator<Item = &Test> {
        self.latency.iter().chain(&self.bandwidth)
    }
}

/// Checks a back end against the contract; returns its violations in words.
#[must_use]
pub fn check(backend: &dyn Backend, trial: &Trial) -> Vec<String> {
    check_until(backend, trial, &Stop::default())
}

/// The same until `stop` is requested: then what was found by then, and what the stop itself looks like.
#[must_use]
pub fn check_until(backend: &dyn Backend, trial: &Trial, stop: &Stop) -> Vec<String> {
    let mut findings = Findings { problems: Vec::new(), stop: stop.clone() };
    if trial.possible().next().is_none() {
        findings.push("nothing was tried: give a latency test or a bandwidth test".to_owned());
    }
    // Open once before counting: libraries may keep files and threads open.
    drop(backend.open());
    let before = Held::now();
    findings.extend(opening(backend));
    for check in [unused, complete, stopping, refusals, failures, closing] {
        if stop.is_requested() {
            break;
        }
        match backend.open() {
            Ok(mut bench) => check(&mut bench, trial, &mut findings),
            Err(error) => findings.push(format!("it does not open: {error}")),
        }
    }
    findings.extend(before.left_behind());
    findings.problems
}

/// Violations in words, and what ends the search for them.
struct Findings {
    problems: Vec<String>,
    stop: Stop,
}

impl Findings {
    fn push(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn extend(&mut self, problems: impl IntoIterator<Item = String>) {
        self.problems.extend(problems);
    }
}

/// Facts are the same on each opening.
fn opening(backend: &dyn Backend) -> Vec<String> {
    let facts = || backend.open().map(|bench| (bench.device.facts(), bench.host.facts()));
    match (facts(), facts()) {
        (Ok(first), Ok(second)) if first == second => Vec::new(),
        (Ok(_), Ok(_)) => {
            vec!["facts differ between openings: report changing values as conditions".into()]
        }
        (Err(error), _) => vec![format!("it does not open: {error}")],
        (_, Err(error)) => vec![format!("it does not open again after it was closed: {error}")],
    }
}

/// Closing an unused device works, also twice.
fn unused(bench: &mut Bench, _trial: &Trial, findings: &mut Findings) {
    closed_twice(bench, "unused", findings);
}

/// Closing works after tests, also twice.
fn closing(bench: &mut Bench, trial: &Trial, findings: &mut Findings) {
    for test in trial.possible() {
        works(bench, test, "before it is closed", findings);
    }
    closed_twice(bench, "after tests", findings);
}

fn closed_twice(bench: &mut Bench, when: &str, findings: &mut Findings) {
    for time in ["once", "twice"] {
        if let Err(error) = bench.device.close() {
            findings.push(format!("closed {time}, {when}: {error}"));
        }
    }
}

/// Brings the caches into the state that a test asks for.
fn prepare(bench: &mut Bench, position: u64, test: &Test, stop: &Stop) -> Result<(), DeviceError> {
    let start = Start { position, seed: 1, test, stop };
    bench.device.begin(start);
    bench.host.begin(start);
    bench.host.thrash()?;
    match test.cache {
        CacheState::Cold => Ok(()),
        CacheState::DeviceThrash => bench.device.thrash(),
        CacheState::DeviceWarm => bench.device.warm(test.window_bytes),
        CacheState::HostWarm => bench.host.warm(test.window_bytes),
    }
}

/// A whole test from each cache state: counts are right, and latencies fit into the time.
fn complete(bench: &mut Bench, trial: &Trial, findings: &mut Findings) {
    for (position, cache) in (0..).zip(STATES) {
        for test in trial.possible() {
            let test = Test { cache, ..test.clone() };
            match whole(bench, position, &test, &findings.stop) {
                Ok(found) => {
                    let timer = bench.device.remarks().timer.unwrap_or(bench.device.facts().timer);
                    let problems = found.problems(&test, timer);
                    findings.extend(problems.map(|problem| format!("{}: {problem}", named(&test))));
                }
                Err(DeviceError::NotSupported(_)) => {}
                Err(error) => findings.push(format!("{}: {error}", named(&test))),
            }
        }
    }
}

/// The device ends soon after a stop request at any moment, and the next test works.
fn stopping(bench: &mut Bench, trial: &Trial, findings: &mut Findings) {
    for test in trial.possible() {
        broken_off(bench, test, findings);
        for cache in STATES {
            for after in STOP_AFTER {
                stopped_after(bench, &Test { cache, ..test.clone() }, after, findings);
            }
        }
        works(bench, test, "after a stop", findings);
    }
}

/// The sink breaks off after the first slice.
fn broken_off(bench: &mut Bench, test: &Test, findings: &mut Findings) {
    let endless = Test { transactions: ENDLESS, ..test.clone() };
    let mut fastest = Duration::MAX;
    for _ in 0..TRIES {
        if findings.stop.is_requested() {
            return;
        }
        let stop = Stop::default();
        let mut asked = None;
        let result = prepare(bench, 0, &endless, &stop).and_then(|()| {
            run(&mut *bench.device, &endless, &mut || {
                asked.get_or_insert_with(Moment::now);
                ControlFlow::Break(())
            })
        });
        match (result, asked) {
            (Ok(_), Some(asked)) => fastest = fastest.min(Moment::now().since(&asked)),
            (Ok(_), None) => return findings.push(format!("{}: it returned no slice", named(test))),
            (Err(error), _) => return findings.push(format!("{}, broken off: {error}", named(test))),
        }
        if fastest <= STOP_WITHIN {
            return;
        }
    }
    findings.push(format!("{}: it ended {fastest:?} after the sink broke off", named(test)));
}

/// Another thread requests the stop; the sink then breaks off, as the runner's does.
fn stopped_after(bench: &mut Bench, test: &Test, after: Duration, findings: &mut Findings) {
    let endless = Test { transactions: ENDLESS, ..test.clone() };
    let mut fastest = Duration::MAX;
    for _ in 0..TRIES {
        if findings.stop.is_requested() {
            return;
        }
        let stop = Stop::default();
        let requested = request_after(&stop, after);
        let result = prepare(bench, 0, &endless, &stop).and_then(|()| {
            run(&mut *bench.device, &endless, &mut || match stop.is_requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        let ended = Moment::now();
        let late = requested.join().map_or(Duration::ZERO, |requested| ended.since(&requested));
        match result {
            // A device need not stop a test that it does not support.
            Err(DeviceError::NotSupported(_)) => return,
            Err(error) => return findings.push(format!("{}, stopped: {error}", named(test))),
            Ok(_) => fastest = fastest.min(late),
        }
        if fastest <= STOP_WITHIN {
            return;
        }
    }
    findings.push(format!("{}: it stopped {fastest:?} after the request", named(test)));
}

/// Prepares and runs a whole test.
fn whole(bench: &mut Bench, position: u64, test: &Test, stop: &Stop) -> Result<Found, DeviceError> {
    prepare(bench, position, test, stop)?;
    run(&mut *bench.device, test, &mut || match stop.is_requested() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
}

fn works(bench: &mut Bench, test: &Test, when: &str, findings: &mut Findings) {
    if findings.stop.is_requested() {
        return;
    }
    match whole(bench, 1, test, &findings.stop) {
        Ok(found) if found.transactions == test.transactions => {}
        Ok(found) => findings.push(format!(
            "{}, {when}: {} results of {}",
            named(test),
            found.transactions,
            test.transactions
        )),
        Err(error) => findings.push(format!("{}, {when}: {error}", named(test))),
    }
}

/// The device refuses a test that it does not support, naming the limit, and the next test works.
fn refusals(bench: &mut Bench, trial: &Trial, findings: &mut Findings) {
    for test in &trial.refused {
        let problem = refusal_problem(whole(bench, 0, test, &findings.stop), test);
        findings.extend(problem.map(|problem| format!("{}: {problem}", named(test))));
        for possible in trial.possible() {
            works(bench, possible, "after a refusal", findings);
        }
    }
}

/// The next test works after a failed test, and after one that began and never ran.
fn failures(bench: &mut Bench, trial: &Trial, findings: &mut Findings) {
    for (position, test) in (Trial::FAILING_POSITION..).zip(&trial.failing) {
        let problem = failure_problem(whole(bench, position, test, &findings.stop));
        findings.extend(problem.map(|problem| format!("{}: {problem}", named(test))));
        recovers(bench, trial, "after a failure", findings);
    }
    for test in trial.possible() {
        let stop = Stop::default();
        bench.device.begin(Start { position: 2, seed: 1, test, stop: &stop });
        recovers(bench, trial, "after a test that was never run", findings);
    }
}

fn recovers(bench: &mut Bench, trial: &Trial, when: &str, findings: &mut Findings) {
    if let Err(error) = bench.device.recover() {
        findings.push(format!("{when}, it does not recover: {error}"));
    }
    for test in trial.possible() {
        works(bench, test, when, findings);
    }
}

fn named(test: &Test) -> String {
    let operation = serde_json::json!([test.operation, test.path, test.cache]);
    format!("{operation} of {} bytes", test.size_bytes)
}
