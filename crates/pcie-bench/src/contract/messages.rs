//! The same for devices that take messages: what each of them has to keep to.

use super::demands::{FAILING_POSITION, STOP_WITHIN, TRIES, names_a_limit};
use super::held::Held;
use crate::backend::Backend;
use crate::device::DeviceError;
use crate::messages::{MessageDevice, MessageResult, MessageStart};
use crate::moment::Moment;
use crate::pulse::Pulse;
use crate::stop::Stop;
use pcie_workload::MessageTest;
use serde::Deserialize;
use std::thread;
use std::time::Duration;

/// After so much time it is told to stop.
const TOLD_AFTER: Duration = Duration::from_millis(20);

/// What a back end for messages is tried with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageTrial {
    /// Tests that it can carry out in a second or so.
    pub possible: Vec<MessageTest>,
    /// Tests that it has to refuse.
    #[serde(default)]
    pub refused: Vec<MessageTest>,
    /// Tests that fail on it, announced as those at place 100 of a suite and after it.
    #[serde(default)]
    pub failing: Vec<MessageTest>,
}

type Device = Box<dyn MessageDevice>;

/// Puts a back end through the contract; what it does not keep to, in words. Nothing, for one that keeps to all of it.
#[must_use]
pub fn check_messages(backend: &dyn Backend<Device>, trial: &MessageTrial) -> Vec<String> {
    let mut findings = Vec::new();
    if trial.possible.is_empty() {
        findings.push("nothing was tried: give a test that it can carry out".to_owned());
    }
    // Once before anything is counted: libraries may keep what they load.
    drop(backend.open());
    let before = Held::now();
    match (backend.open().map(|device| device.identity()), backend.open().map(|device| device.identity())) {
        (Ok(first), Ok(second)) if first == second => {}
        (Ok(_), Ok(_)) => findings.push("its identity differs from one opening to the next".into()),
        (Err(error), _) | (_, Err(error)) => findings.push(format!("it does not open: {error}")),
    }
    for check in [complete, stopping, refusals, failures] {
        match backend.open() {
            Ok(mut device) => check(&mut device, trial, &mut findings),
            Err(error) => findings.push(format!("it does not open: {error}")),
        }
    }
    findings.extend(before.left_behind(&Held::now()));
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

/// A test that nobody breaks off: latencies are told for every message or for none, and fit in the time.
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

/// It ends soon after it was told to, and the next test works.
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
            findings.push(format!("{}: it stopped {fastest:?} after it was told to", named(test)));
        }
        works(device, 0, test, "after it was told to stop", findings);
    }
}

/// How long it goes on after it was told to stop; what it says of the test then is nobody's concern.
fn late(device: &mut Device, endless: &MessageTest) -> Duration {
    let stop = Stop::default();
    let told = thread::spawn({
        let stop = stop.clone();
        move || {
            thread::sleep(TOLD_AFTER);
            stop.request();
            Moment::now()
        }
    });
    let _ = send(device, 0, endless, &stop);
    let ended = Moment::now();
    told.join().map_or(Duration::ZERO, |told| ended.since(&told))
}

/// What it cannot do it refuses, naming the limit, and the next test works.
fn refusals(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for test in &trial.refused {
        match send(device, 0, test, &Stop::default()) {
            Err(DeviceError::NotSupported(reason)) if names_a_limit(&reason, test) => {}
            Err(DeviceError::NotSupported(reason)) => {
                findings.push(format!("{}: refused without naming the limit: {reason:?}", named(test)));
            }
            Err(error) => findings.push(format!("{}: not refused, but {error}", named(test))),
            Ok(_) => findings.push(format!("{}: not refused", named(test))),
        }
        for possible in &trial.possible {
            works(device, 0, possible, "after a refusal", findings);
        }
    }
}

/// After a test that failed the next works.
fn failures(device: &mut Device, trial: &MessageTrial, findings: &mut Vec<String>) {
    for (position, test) in (FAILING_POSITION..).zip(&trial.failing) {
        match send(device, position, test, &Stop::default()) {
            Err(DeviceError::Failed(_)) => {}
            Err(error) => findings.push(format!("{}: it should fail, but {error}", named(test))),
            Ok(_) => findings.push(format!("{}: it should fail, and did not", named(test))),
        }
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
