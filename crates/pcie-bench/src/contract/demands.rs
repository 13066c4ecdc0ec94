//! What is asked of back ends of every kind.

use serde::Serialize;
use std::time::Duration;

/// In so much time a device has to end after it was told to, not counting what it waits for a processor.
pub(super) const STOP_WITHIN: Duration = Duration::from_millis(200);
/// A busy machine may be late by itself: a device is found late when it was each time.
pub(super) const TRIES: u32 = 3;
/// The place in a suite that the first test that is to fail is announced with.
pub(super) const FAILING_POSITION: u64 = 100;

/// Whether a refusal says what of the test it is about: one of its keys, or one of its words or numbers.
pub(super) fn names_a_limit(reason: &str, test: &impl Serialize) -> bool {
    let parameters = serde_json::json!(test);
    let told = reason.to_lowercase();
    parameters.as_object().is_some_and(|parameters| {
        parameters.iter().any(|(key, value)| {
            let key = key.trim_end_matches("_bytes").trim_end_matches("_units");
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            told.contains(key) || (value.len() > 1 && told.contains(&value))
        })
    })
}
