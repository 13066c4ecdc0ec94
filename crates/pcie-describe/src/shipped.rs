//! Shipped files as tables, for callers that carry them.

use crate::files::{Files, Kind, Layer};
use crate::value::Value;
use pcie_refusal::shown::quoted;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use serde_json::{Map, Value as Json};

/// Tables of shipped files by kind and name, found by name and alias in any case.
#[derive(Clone, Copy, Debug)]
pub struct Shipped<'a>(pub &'a Map<String, Json>);

impl<'a> Shipped<'a> {
    /// The name and the table of a file.
    ///
    /// # Errors
    /// No file of the kind has the name.
    pub fn found(&self, kind: Kind, reference: &str) -> Result<(&'a str, &'a Json), Refusal> {
        let (known, wanted) = (self.0.get(kind.word()).and_then(Json::as_object), reference.to_lowercase());
        let Some(known) = known else {
            return Err(Refusal::new(format!("no {} is shipped", kind.word())).kind(RefusalKind::NotFound));
        };
        let called = |(name, content): &(&String, &Json)| {
            let aliases = content.get("aliases").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            let names = aliases.iter().filter_map(Json::as_str).chain([name.as_str()]);
            names.map(str::to_lowercase).any(|one| one == wanted)
        };
        known.iter().find(called).map(|(name, content)| (name.as_str(), content)).ok_or_else(|| {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let problem = format!("no {} profile is named {}", kind.word(), quoted(reference));
            Refusal::new(problem).kind(RefusalKind::NotFound).remedy(suggestion(reference, &names))
        })
    }
}

impl Files for Shipped<'_> {
    type Error = Refusal;

    fn read(&mut self, kind: Kind, reference: &str, _: Option<&str>) -> Result<Layer, Refusal> {
        let (name, content) = self.found(kind, reference)?;
        let Value::Table(table) = Value::of_json(content.clone()) else {
            return Err(Refusal::new(format!("{name}: not a table")).kind(RefusalKind::WrongType));
        };
        Ok(Layer { table, path: format!("{name}.toml"), is_file: true })
    }

    fn about(error: Refusal, file: &str) -> Refusal {
        error.about(file)
    }
}
