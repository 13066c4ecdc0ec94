//! A system in a file of the user: its text, over shipped files, as a checked system.

use pcie_describe::{Files, Kind, Layer, Source, Table, Value as Written};
use pcie_refusal::shown::quoted;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_sim::profile::System;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const BYTES_MOST: usize = 1 << 20;

/// The text of a file, its name, and the tables of the shipped files by kind and name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    file: String,
    text: String,
    shipped: Map<String, Value>,
}

/// A system, with every key.
#[derive(Debug, Serialize)]
pub(crate) struct Own {
    kind: &'static str,
    name: String,
    title: String,
    /// The shipped system that the file starts from, if it names one.
    base: Option<String>,
    system: System,
}

/// Reads, merges and checks a file.
pub(crate) fn own(asked: &Asked) -> Result<Own, Refusal> {
    let file = &asked.file;
    if asked.text.len() > BYTES_MOST {
        return Err(Refusal::new(format!("is longer than {BYTES_MOST} bytes: give a shorter file"))
            .kind(RefusalKind::TooLarge)
            .about(file));
    }
    let table = pcie_describe::read_table(&asked.text, file)?;
    if table.contains_key("node") {
        let remedy = format!("fabrics need the command on your machine: pcielab explore {file}");
        return Err(Refusal::new(remedy).about(file));
    }
    pcie_describe::without_folder(&table, file)?;
    let mut files = Shipped(&asked.shipped);
    let base = table.get("base").and_then(Written::as_text).map(|name| files.found(Kind::System, name));
    let base = base.transpose().map_err(|refusal| refusal.about(file))?.map(|(name, _)| name.to_owned());
    let content = Layer { table, path: file.clone(), is_file: true };
    let system = pcie_describe::read_system(Source::Content(content), Table::new(), &mut files)?.system;
    Ok(Own { kind: "system", name: system.name.clone(), title: system.title.clone(), base, system })
}

/// Shipped files, by name and alias in any case.
pub(crate) struct Shipped<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Shipped<'a> {
    fn found(&self, kind: Kind, reference: &str) -> Result<(&'a str, &'a Value), Refusal> {
        let (known, wanted) = (self.0.get(kind.word()).and_then(Value::as_object), reference.to_lowercase());
        let Some(known) = known else {
            return Err(Refusal::new(format!("no {} is shipped", kind.word())).kind(RefusalKind::NotFound));
        };
        let called = |(name, content): &(&String, &Value)| {
            let aliases = content.get("aliases").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let names = aliases.iter().filter_map(Value::as_str).chain([name.as_str()]);
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
        let Written::Table(table) = Written::of_json(content.clone()) else {
            return Err(Refusal::new(format!("{name}: not a table")).kind(RefusalKind::WrongType));
        };
        Ok(Layer { table, path: format!("{name}.toml"), is_file: true })
    }

    fn about(error: Refusal, file: &str) -> Refusal {
        error.about(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(text: &str) -> String {
        let shipped = json!({"system": {"base": {"name": "base", "aliases": ["Other"]}}});
        let shipped = shipped.as_object().unwrap().clone();
        own(&Asked { file: "mine.toml".into(), text: text.into(), shipped }).unwrap_err().to_string()
    }

    #[test]
    fn wrong_files_are_refused_with_file_and_remedy() {
        let source = "[provenance]\nsource = \"me\"";
        for (text, words) in [
            ("name =", "not valid TOML"),
            ("when = 2000-01-01", "when is 2000-01-01: give a number"),
            ("name = \"a\"", "missing key provenance"),
            (&format!("base = \"bse\"\n{source}"), "no system profile is named 'bse': did you mean base?"),
            (&format!("base = \"../base.toml\"\n{source}"), "the file came without its folder"),
            (&format!("base = \"OTHER\"\n{source}"), "missing key calibrated"),
            (
                &format!("base = \"base\"\n[set]\n\"link.tgs\" = 1\n{source}"),
                "link.tgs: unknown key: did you mean tags?",
            ),
            (
                &format!("base = \"base\"\niommu = \"on\"\n{source}"),
                "iommu is 'on': give \"off\", \"super-pages\" or \"four-kib-pages\"",
            ),
            (&"a.".repeat(1000), "more than 64 parts"),
            ("[[node]]", "fabrics need the command"),
            (&"#".repeat(BYTES_MOST + 1), "give a shorter file"),
        ] {
            let message = refused(text);
            assert!(message.starts_with("mine.toml: ") && message.contains(words), "{message}");
        }
    }
}
