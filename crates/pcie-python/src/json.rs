//! JSON between Python and Rust. Messages name the path of a wrong value instead of a line and column.

use serde::Serialize;
use serde::de::DeserializeOwned;

use pcie_refusal::Refusal;
use pcie_schema::Fitting;

use crate::error::{Result, refused};

/// Reads JSON; `subject`, unless empty, leads messages.
pub(crate) fn parse<T: DeserializeOwned>(subject: &str, json: &str) -> Result<T> {
    // Parse to a value first: text that is not JSON gets its own message.
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| refused(format!("{subject}: {error}")))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let refusal = Refusal::new(error.inner()).key(error.path().to_string());
        if subject.is_empty() { refusal.into() } else { refusal.about(subject).into() }
    })
}

/// Reads JSON that must match the schema of its type; `subject` leads messages.
pub(crate) fn fitting<T: Fitting>(subject: &str, json: &str) -> Result<T> {
    let value = serde_json::from_str(json).map_err(|error| refused(format!("{subject}: {error}")))?;
    Ok(T::read(value).map_err(|refusal| refusal.about(subject))?)
}

/// Reads a word for one of several choices.
pub(crate) fn word<T: DeserializeOwned>(subject: &str, word: &str) -> Result<T> {
    parse(subject, &serde_json::Value::from(word).to_string())
}

/// Writes JSON.
pub(crate) fn text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}
