//! Requirements on back ends of every kind.

use crate::device::DeviceError;
use crate::moment::Moment;
use crate::stop::Stop;
use serde::Serialize;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest time from a stop request to the end of a test, without waits for a processor.
pub(super) const STOP_WITHIN: Duration = Duration::from_millis(200);
/// Attempts before a device counts as late: a busy machine may delay several, above all one that emulates the device.
pub(super) const TRIES: u32 = 5;
/// Position in the suite of the first failing test.
pub(super) const FAILING_POSITION: u64 = 100;

/// Whether a refusal names a key, word or number of the test.
fn names_a_limit(reason: &str, test: &impl Serialize) -> bool {
    let parameters = serde_json::json!(test);
    let reason = reason.to_lowercase();
    parameters.as_object().is_some_and(|parameters| {
        parameters.iter().any(|(key, value)| {
            let key = key.trim_end_matches("_bytes").trim_end_matches("_units");
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            reason.contains(key) || (value.len() > 1 && reason.contains(&value))
        })
    })
}

/// Requests a stop after a delay, from a thread that returns the moment of the request.
pub(super) fn request_after(stop: &Stop, delay: Duration) -> JoinHandle<Moment> {
    let stop = stop.clone();
    thread::spawn(move || {
        thread::sleep(delay);
        stop.request();
        Moment::now()
    })
}

/// The violation of a test that must be refused, if any.
pub(super) fn refusal_problem<T>(result: Result<T, DeviceError>, test: &impl Serialize) -> Option<String> {
    match result {
        Err(DeviceError::NotSupported(reason)) if names_a_limit(&reason, test) => None,
        Err(DeviceError::NotSupported(reason)) => {
            Some(format!("refused without naming the limit: {reason:?}"))
        }
        Err(error) => Some(format!("not refused, but {error}")),
        Ok(_) => Some("not refused".to_owned()),
    }
}

/// The violation of a test that must fail, if any.
pub(super) fn failure_problem<T>(result: Result<T, DeviceError>) -> Option<String> {
    match result {
        Err(DeviceError::Failed(_)) => None,
        Err(error) => Some(format!("it should fail, but {error}")),
        Ok(_) => Some("it should fail, and did not".to_owned()),
    }
}
