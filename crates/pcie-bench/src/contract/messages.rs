//! The contract of devices that take messages.

use super::demands::{FAILING_POSITION, STOP_WITHIN, TRIES, failure_problem, refusal_problem, request_after};
use super::held::Held;
use crate::backend::Backend;
use crate::device::DeviceError;
use crate::messages::{MessageDevice, MessageResult, MessageStart};
use crate::moment::Moment;
use crate::pulse::Pulse;
use crate::stop::Stop;
use pcie_workload::MessageTest;
use serde::Deserialize;
use std::time::Duration;

/// Delay before the stop request.
const STOP_AFTER: Duration = Duration::from_millis(20);

/// The tests for checking a back end for messages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageTrial {
    /// Tests that take it about a second.
    pub possible: Vec<MessageTest>,
    /// Tests that it must refuse.
    #[serde(default)]
    pub refused: Vec<MessageTest>,
    /// Tests that fail on it, run at position 100 of a suite and later.
    #[serde(default)]
    pub failing: Vec<MessageTest>,
}

type Device = Box<dyn MessageDevice>;

/// Checks a back end against the contract; returns its violations in words.
#[must_use]
pub fn check_messages(backend: &dyn Backend<Device>, trial: &MessageTrial) -> Vec<String> {
    let mut findings = Vec::new();
    if trial.possible.is_empty() {
        findings.push("nothing was tried: give a test that it can carry out".to_owned());
    }
    // Open once before counting: libraries may keep files and threads open.
    drop(backend.open());
    let before = Held::now();
    match (backend.open().map(|device| device.identity()), backend.open().map(|device| device.identity())) {
        (Ok(first), Ok(second)) if first == second => {}
        (Ok(_), Ok(_)) => findings.push("its identity differs between openings".into()),
        (Err(error), _) | (_, Err(error)) => findings.push(format!("it does not open: {error}")),
    }
    for check in [complete, stopping, refusals, failures] {
        match backend.open() {
            Ok(mut device) => check(&mut device, trial, &mut findings),
            Err(error) => findings.push(format!("it does not open: {error}")),
        }
    }
    findings.extend(before.left_behind());
    findings
}

fn send(
    device: &mut Device,
    position: u64,
    test: &MessageTest,
    stop: &Stop,
) -> Result<MessageResult, DeviceError> {
    device.send(MessageStart { position, test, stop, pulse: &Pulse::default() })
}

/// A whole test: it reports latencies for every message or for none, and they fit into the time.
fn complete(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for (position, test) in (0..).zip(&trial.possible) {
        works(device, position, test, "to its end", findings);
    }
}

fn works(device: &mut Device, position: u64, test: &MessageTest, when: &str, findings: &mut Vec<String>) {
    match send(device, position, test, &Stop::default()) {
        Ok(result) => {
            findings
                .extend(problems(test, &result).map(|problem| format!("{}, {when}: {problem}", named(test))));
        }
        Err(error) => findings.push(format!("{}, {when}: {error}", named(test))),
    }
}

fn problems(test: &MessageTest, result: &MessageResult) -> impl Iterator<Item = String> {
    let (elapsed_ns, count) = (result.elapsed_ns, result.latencies_ns.len() as u64);
    let asked = u64::from(test.messages) * u64::from(test.cores);
    let wrong_time = |time: &&f64| !time.is_finite() || **time < 0.0 || **time > elapsed_ns;
    [
        (!elapsed_ns.is_finite() || elapsed_ns <= 0.0).then(|| format!("it took {elapsed_ns} ns")),
        (count != 0 && count != asked).then(|| format!("{count} latencies of {asked}")),
        result
            .latencies_ns
            .iter()
            .find(wrong_time)
            .map(|time| format!("a message took {time} ns of {elapsed_ns}")),
    ]
    .into_iter()
    .flatten()
}

/// The device ends soon after a stop request, and the next test works.
fn stopping(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for test in &trial.possible {
        let endless = MessageTest { messages: u32::MAX, ..test.clone() };
        let mut fastest = Duration::MAX;
        for _ in 0..TRIES {
            fastest = fastest.min(late(device, &endless));
            if fastest <= STOP_WITHIN {
                break;
            }
        }
        if fastest > STOP_WITHIN {
            findings.push(format!("{}: it stopped {fastest:?} after the request", named(test)));
        }
        works(device, 0, test, "after a stop", findings);
    }
}

/// Time from a stop request to the end of the test, whatever its result.
fn late(device: &mut Device, endless: &MessageTest) -> Duration {
    let stop = Stop::default();
    let requested = request_after(&stop, STOP_AFTER);
    let _ = send(device, 0, endless, &stop);
    let ended = Moment::now();
    requested.join().map_or(Duration::ZERO, |requested| ended.since(&requested))
}

/// The device refuses a test that it does not support, naming the limit, and the next test works.
fn refusals(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for test in &trial.refused {
        let problem = refusal_problem(send(device, 0, test, &Stop::default()), test);
        findings.extend(problem.map(|problem| format!("{}: {problem}", named(test))));
        for possible in &trial.possible {
            works(device, 0, possible, "after a refusal", findings);
        }
    }
}

/// The next test works after a failed one.
fn failures(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for (position, test) in (FAILING_POSITION..).zip(&trial.failing) {
        let problem = failure_problem(send(device, position, test, &Stop::default()));
        findings.extend(problem.map(|problem| format!("{}: {problem}", named(test))));
        if let Err(error) = device.recover() {
            findings.push(format!("after a failure, it does not recover: {error}"));
        }
        for possible in &trial.possible {
            works(device, 0, possible, "after a failure", findings);
        }
    }
}

fn named(test: &MessageTest) -> String {
    format!("{} of {} bytes", serde_json::json!([test.way, test.pace]), test.size_bytes)
}
