//! JSON in and out.

use crate::failure::Failure;
use pcie_refusal::{Kind, Refusal};
use pcie_schema::Fitting;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a JSON file.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Refusal::new(error).kind(Kind::NotFound).about(path.display().to_string()))?;
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let refusal = Refusal::new(error.inner()).kind(Kind::Malformed).about(path.display().to_string());
        match error.path().to_string() {
            root if root == "." => refusal.into(),
            key => refusal.key(key).into(),
        }
    })
}

/// Reads a JSON file that must match the schema of its type; refusals name the remedy.
pub(crate) fn read_fitting<T: Fitting>(path: &Path) -> Result<T, Failure> {
    Ok(T::read(read(path)?).map_err(|refusal| refusal.about(path.display().to_string()))?)
}

/// Writes a value as indented JSON.
pub(crate) fn pretty<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|error| Refusal::new(error).into())
}
