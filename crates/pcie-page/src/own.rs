//! A system in a file of the user: its text, over shipped files, as a checked system.

use indexmap::IndexMap;
use pcie_describe::{Kind, Layer, Shipped, Source, Table, Value as Written};
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
    /// Keys of the system that nobody measured, and a word on each.
    unmeasured: IndexMap<String, &'static str>,
    /// Keys of the system that are borrowed, and the profile that each comes from.
    borrowed: IndexMap<String, String>,
}

/// Reads, merges and checks a file.
pub(crate) fn own(asked: &Asked) -> Result<Own, Refusal> {
    let file = &asked.file;
    if asked.text.len() > BYTES_MOST {
        return Err(Refusal::new(format!("is longer than {BYTES_MOST} bytes: give a shorter file"))
            .kind(RefusalKind::TooLarge)
            .about(file));
    }
    let table = pcie_describe::read_table(&asked.text, file, |key| Kind::System.remedy(key))?;
    if table.contains_key("node") {
        let remedy = format!("fabrics need the command on your machine: pcielab explore {file}");
        return Err(Refusal::new(remedy).about(file));
    }
    pcie_describe::without_folder(&table, file)?;
    let mut files = Shipped(&asked.shipped);
    let base = table.get("base").and_then(Written::as_text).map(|name| files.found(Kind::System, name));
    let base = base.transpose().map_err(|refusal| refusal.about(file))?.map(|(name, _)| name.to_owned());
    let content = Layer { table, path: file.clone(), is_file: true };
    let read = pcie_describe::read_system(Source::Content(content), Table::new(), &mut files)?;
    let (unmeasured, borrowed) = (read.unmeasured()?, read.borrowed()?);
    let system = read.system;
    let (name, title) = (system.name.clone(), system.title.clone());
    Ok(Own { kind: "system", name, title, base, system, unmeasured, borrowed })
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
