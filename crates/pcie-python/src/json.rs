//! JSON between Python and Rust. Messages name the path of a wrong value instead of a line and column.

use serde::Serialize;
use serde::de::DeserializeOwned;

use pcie_refusal::{Kind, Refusal};
use pcie_schema::Fitting;

use crate::error::Result;
use crate::progress::{InPieces, Signals};

/// Longest description, bytes: ten times the largest suite of ours, or twice the largest file of a fabric.
pub(crate) const BYTES_MOST: usize = 8 << 20;
/// Length from which on parsing looks for signals.
const LONG_BYTES: usize = 1 << 20;

/// Reads JSON; `subject`, unless empty, leads messages.
pub(crate) fn parse<T: DeserializeOwned>(subject: &str, json: &str) -> Result<T> {
    // Parse to a value first: text that is not JSON gets its own message.
    let value = value(subject, json)?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let refusal = Refusal::new(error.inner()).kind(Kind::WrongType).key(error.path().to_string());
        if subject.is_empty() { refusal.into() } else { refusal.about(subject).into() }
    })
}

/// Reads JSON that must match the schema of its type; `subject` leads messages.
pub(crate) fn fitting<T: Fitting>(subject: &str, json: &str) -> Result<T> {
    Ok(T::read(value(subject, json)?).map_err(|refusal| refusal.about(subject))?)
}

fn value(subject: &str, json: &str) -> Result<serde_json::Value> {
    if json.len() > BYTES_MOST {
        let refusal = Refusal::new(format!("has {} bytes", json.len())).kind(Kind::TooLarge);
        return Err(refusal.remedy(format!("give {BYTES_MOST} at most")).about(subject).into());
    }
    of_any_length(subject, json)
}

/// Reads JSON of any length that Python itself has made, for example results, until a signal comes.
pub(crate) fn of_any_length<T: DeserializeOwned>(subject: &str, json: &str) -> Result<T> {
    let failed = |error| Refusal::new(format!("{subject}: {error}")).kind(Kind::Malformed).into();
    if json.len() < LONG_BYTES {
        return serde_json::from_str(json).map_err(failed);
    }
    let signals = Signals::new();
    signals.result(serde_json::from_reader(InPieces::new(json.as_bytes(), &signals)).map_err(failed))
}

/// Reads a word for one of several choices.
pub(crate) fn word<T: DeserializeOwned>(subject: &str, word: &str) -> Result<T> {
    parse(subject, &serde_json::Value::from(word).to_string())
}

/// Writes JSON.
pub(crate) fn text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}
