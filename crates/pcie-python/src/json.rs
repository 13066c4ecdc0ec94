//! What crosses as JSON. Messages name the path of what is wrong instead of a line and column that nobody typed.

use serde::Serialize;
use serde::de::DeserializeOwned;

use pcie_refusal::Refusal;
use pcie_schema::Fitting;

use crate::error::{Result, refused};

/// Reads JSON; `what` leads the message, where it has a name.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, json: &str) -> Result<T> {
    // Through a value first, so that what is no JSON at all is said as that.
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| refused(format!("{what}: {error}")))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let refusal = Refusal::new(error.inner()).key(error.path().to_string());
        if what.is_empty() { refusal.into() } else { refusal.about(what).into() }
    })
}

/// Reads JSON that has to fit the schema of its type; `what` leads the message.
pub(crate) fn fitting<T: Fitting>(what: &str, json: &str) -> Result<T> {
    let value = serde_json::from_str(json).map_err(|error| refused(format!("{what}: {error}")))?;
    Ok(T::read(value).map_err(|refusal| refusal.about(what))?)
}

/// A word for one of several choices.
pub(crate) fn word<T: DeserializeOwned>(what: &str, word: &str) -> Result<T> {
    parse(what, &serde_json::Value::from(word).to_string())
}

/// Writes JSON.
pub(crate) fn text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}
