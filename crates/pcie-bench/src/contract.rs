//! What every back end has to keep to, as one set of checks that any of them can be put through.

mod demands;
mod found;
mod held;
mod messages;

use crate::backend::{Backend, Bench};
use crate::device::{DeviceError, Start};
use crate::moment::Moment;
use crate::stop::Stop;
use demands::{STOP_WITHIN, TRIES, names_a_limit};
use found::run;
use held::Held;
pub use messages::{MessageTrial, check_messages};
use pcie_workload::{CacheState, Test};
use serde::Deserialize;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

/// After so much time it is told: while caches are prepared, and while it measures.
const TOLD_AFTER: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(60)];
/// Transactions of a test that has to be stopped.
const ENDLESS: u64 = u32::MAX as u64;
const STATES: [CacheState; 4] =
    [CacheState::Cold, CacheState::DeviceThrash, CacheState::DeviceWarm, CacheState::HostWarm];

/// What a back end is tried with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// A latency test that it can carry out in a second or so; none where it measures no latencies.
    pub latency: Option<Test>,
    /// A bandwidth test likewise.
    pub bandwidth: Option<Test>,
    /// Tests that it has to refuse.
    #[serde(default)]
    pub refused: Vec<Test>,
    /// Tests that fail on it, announced as those at [`Trial::FAILING_POSITION`] and after it, so that what comes after a
    /// failure can be tried.
    #[serde(default)]
    pub failing: Vec<Test>,
}

impl Trial {
    /// The place in a suite that the first of the failing tests is announced with. All others come before it.
    pub const FAILING_POSITION: u64 = demands::FAILING_POSITION;

    /// The tests that it can carry out.
    fn possible(&self) -> impl Iterator<Item = &Test> {
        self.latency.iter().chain(&self.bandwidth)
    }
}

/// Puts a back end through the contract; what it does not keep to, in words. Nothing, for one that keeps to all of it.
#[must_use]
pub fn check(backend: &dyn Backend, trial: &Trial) -> Vec<String> {
    let mut findings = Vec::new();
    if trial.possible().next().is_none() {
        findings.push("nothing was tried: give a latency test or a bandwidth test".to_owned());
    }
    // Once before anything is counted: libraries may keep what they load.
    drop(backend.open());
    let before = Held::now();
    findings.extend(opening(backend));
    for check in [unused, complete, stopping, refusals, failures, closing] {
        match backend.open() {
            Ok(mut bench) => check(&mut bench, trial, &mut findings),
            Err(error) => findings.push(format!("it does not open: {error}")),
        }
    }
    findings.extend(before.left_behind(&Held::now()));
    findings
}

/// It says the same of itself each time.
fn opening(backend: &dyn Backend) -> Vec<String> {
    let facts = || backend.open().map(|bench| (bench.device.facts(), bench.host.facts()));
    match (facts(), facts()) {
        (Ok(first), Ok(second)) if first == second => Vec::new(),
        (Ok(_), Ok(_)) => {
            vec!["facts differ from one opening to the next: conditions are no part of them".into()]
        }
        (Err(error), _) => vec![format!("it does not open: {error}")],
        (_, Err(error)) => vec![format!("it does not open again after it was closed: {error}")],
    }
}

/// Closing without having run does no harm, and closing twice neither.
fn unused(bench: &mut Bench, _trial: &Trial, findings: &mut Vec<String>) {
    closed_twice(bench, "unused", findings);
}

/// The same after tests.
fn closing(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for test in trial.possible() {
        works(bench, test, "before it is closed", findings);
    }
    closed_twice(bench, "after tests", findings);
}

fn closed_twice(bench: &mut Bench, when: &str, findings: &mut Vec<String>) {
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

/// A test that nobody breaks off, from every state of the caches: counts add up, and ticks fit in the time.
fn complete(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    let stop = Stop::default();
    for (position, cache) in (0..).zip(STATES) {
        for test in trial.possible() {
            let test = Test { cache, ..test.clone() };
            let result = prepare(bench, position, &test, &stop)
                .and_then(|()| run(&mut *bench.device, &test, &mut || ControlFlow::Continue(())));
            match result {
                Ok(found) => findings.extend(
                    found
                        .problems(&test, &*bench.device)
                        .map(|problem| format!("{}: {problem}", named(&test))),
                ),
                Err(DeviceError::NotSupported(_)) => {}
                Err(error) => findings.push(format!("{}: {error}", named(&test))),
            }
        }
    }
}

/// It ends soon after it was told to, whatever it is at, and the next test works.
fn stopping(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for test in trial.possible() {
        broken_off(bench, test, findings);
        for cache in STATES {
            for after in TOLD_AFTER {
                told_to_stop(bench, &Test { cache, ..test.clone() }, after, findings);
            }
        }
        works(bench, test, "after it was told to stop", findings);
    }
}

/// Whoever takes the results has enough after the first.
fn broken_off(bench: &mut Bench, test: &Test, findings: &mut Vec<String>) {
    let endless = Test { transactions: ENDLESS, ..test.clone() };
    let mut fastest = Duration::MAX;
    for _ in 0..TRIES {
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
            (Ok(_), None) => return findings.push(format!("{}: nothing came out of it", named(test))),
            (Err(error), _) => return findings.push(format!("{}, broken off: {error}", named(test))),
        }
        if fastest <= STOP_WITHIN {
            return;
        }
    }
    findings.push(format!("{}: it ended {fastest:?} after its results were broken off", named(test)));
}

/// Somebody else wants the run to end, at any moment; results are then broken off, as the runner does.
fn told_to_stop(bench: &mut Bench, test: &Test, after: Duration, findings: &mut Vec<String>) {
    let endless = Test { transactions: ENDLESS, ..test.clone() };
    let mut fastest = Duration::MAX;
    for _ in 0..TRIES {
        let stop = Stop::default();
        let told = thread::spawn({
            let stop = stop.clone();
            move || {
                thread::sleep(after);
                stop.request();
                Moment::now()
            }
        });
        let result = prepare(bench, 0, &endless, &stop).and_then(|()| {
            run(&mut *bench.device, &endless, &mut || match stop.is_requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        let ended = Moment::now();
        let late = told.join().map_or(Duration::ZERO, |told| ended.since(&told));
        match result {
            // What it lacks, such as a cache state, it need not stop.
            Err(DeviceError::NotSupported(_)) => return,
            Err(error) => return findings.push(format!("{}, told to stop: {error}", named(test))),
            Ok(_) => fastest = fastest.min(late),
        }
        if fastest <= STOP_WITHIN {
            return;
        }
    }
    findings.push(format!("{}: it stopped {fastest:?} after it was told to", named(test)));
}

fn works(bench: &mut Bench, test: &Test, when: &str, findings: &mut Vec<String>) {
    let stop = Stop::default();
    let result = prepare(bench, 1, test, &stop)
        .and_then(|()| run(&mut *bench.device, test, &mut || ControlFlow::Continue(())));
    match result {
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

/// What it cannot do it refuses, naming the limit, and the next test works.
fn refusals(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for test in &trial.refused {
        let stop = Stop::default();
        let result = prepare(bench, 0, test, &stop)
            .and_then(|()| run(&mut *bench.device, test, &mut || ControlFlow::Continue(())));
        match result {
            Err(DeviceError::NotSupported(reason)) if names_a_limit(&reason, test) => {}
            Err(DeviceError::NotSupported(reason)) => {
                findings.push(format!("{}: refused without naming the limit: {reason:?}", named(test)))
            }
            Err(error) => findings.push(format!("{}: not refused, but {error}", named(test))),
            Ok(_) => findings.push(format!("{}: not refused", named(test))),
        }
        for possible in trial.possible() {
            works(bench, possible, "after a refusal", findings);
        }
    }
}

/// After a test that failed, and after one that was announced and never run, the next works.
fn failures(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for (position, test) in (Trial::FAILING_POSITION..).zip(&trial.failing) {
        let stop = Stop::default();
        let result = prepare(bench, position, test, &stop)
            .and_then(|()| run(&mut *bench.device, test, &mut || ControlFlow::Continue(())));
        match result {
            Err(DeviceError::Failed(_)) => {}
            Err(error) => findings.push(format!("{}: it should fail, but {error}", named(test))),
            Ok(_) => findings.push(format!("{}: it should fail, and did not", named(test))),
        }
        recovers(bench, trial, "after a failure", findings);
    }
    for test in trial.possible() {
        let stop = Stop::default();
        bench.device.begin(Start { position: 2, seed: 1, test, stop: &stop });
        recovers(bench, trial, "after a test that was never run", findings);
    }
}

fn recovers(bench: &mut Bench, trial: &Trial, when: &str, findings: &mut Vec<String>) {
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
