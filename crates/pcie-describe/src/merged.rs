//! A system as one table: its file over its bases, its parts, `[set]`, and the caller's changes.

use pcie_refusal::Refusal;

use crate::changes::{SET, change, typed_values};
use crate::files::{Files, Kind, Layer, PARTS, Stack, flattened, has_its_own, layers, part_layers};
use crate::value::{Table, Value};

/// Keys that only files have.
const FILE_ONLY: [&str; 4] = ["aliases", "base", "provenance", "set"];

/// What a system is read from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The name or path of its file.
    Named(String),
    /// The content of its file.
    Content(Layer),
}

/// The files of a system, or of a part of it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its kind.
    pub kind: Kind,
    /// Its file over its bases, without changes.
    pub whole: Layer,
    /// Its file, its base, and so on.
    pub stack: Stack,
}

/// A system as one table, with the files that it was merged from.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The system with all changes.
    pub table: Table,
    /// The system, and its parts that are named or tables.
    pub parts: Vec<Part>,
    /// The system's own `[set]`.
    pub own_changes: Table,
    /// The caller's changes, without exchanged parts.
    pub changes: Table,
}

/// Reads and merges a system, with the caller's changes by dotted key; `link`, `host` and `device` exchange a part.
///
/// # Errors
/// A file cannot be read, or bases form a circle; a change has an unknown key, or an index beyond its list.
pub fn resolve<F: Files>(source: Source, changes: Table, files: &mut F) -> Result<Merged, F::Error> {
    let stack = match source {
        Source::Named(name) => layers(Kind::System, Some(&Value::Text(name)), None, None, 0, files)?,
        Source::Content(own) => {
            let bases = layers(Kind::System, own.table.get("base"), Some(&own.path), None, 1, files)?;
            [vec![own], bases].concat()
        }
    };
    let (exchanged, changes): (Table, Table) =
        changes.into_iter().partition(|(key, _)| PARTS.iter().any(|part| part.word() == key));
    let Some(mut whole) = flattened(&stack) else {
        return Err(Refusal::new("give a name or a path")
            .kind(pcie_refusal::Kind::WrongType)
            .key("system")
            .into());
    };
    whole.table.extend(exchanged.clone());
    let mut parts = Vec::new();
    for kind in PARTS {
        let in_files =
            stack.iter().filter_map(|layer| Some((layer.table.get(kind.word())?, layer.path.as_str())));
        let given: Vec<(&Value, &str)> =
            exchanged.get(kind.word()).map_or(in_files.collect(), |value| vec![(value, SET)]);
        let of_part = part_layers(kind, &given, &whole.path, files)?;
        if let Some(part) = flattened(&of_part) {
            parts.push(Part { kind, whole: part, stack: of_part });
        }
    }
    Ok(merged(Part { kind: Kind::System, whole, stack }, parts, &exchanged, changes)?)
}

fn merged(system: Part, parts: Vec<Part>, exchanged: &Table, changes: Table) -> Result<Merged, Refusal> {
    let mut table = system.whole.table.clone();
    table.retain(|key, _| !FILE_ONLY.contains(&key.as_str()));
    for part in &parts {
        let values = values_of(part.kind, part.whole.table.clone());
        table.insert(part.kind.word().to_owned(), Value::Table(values));
    }
    let settings = system.whole.table.get("set").and_then(Value::as_table).cloned().unwrap_or_default();
    let own_changes = settings.into_iter().filter(|(key, _)| !has_its_own(exchanged, key)).collect();
    let own_changes = typed_values(own_changes);
    for (key, value) in &own_changes {
        let file = setter(&system.stack, key).unwrap_or(&system.whole.path);
        change(&mut table, key, value, &format!("{file}: [set] "))?;
    }
    for (key, value) in &changes {
        change(&mut table, key, value, &format!("{SET} "))?;
    }
    let parts = std::iter::once(system).chain(parts).collect();
    Ok(Merged { table, parts, own_changes, changes })
}

/// The file whose `[set]` has a key.
pub(crate) fn setter<'a>(stack: &'a [Layer], key: &str) -> Option<&'a str> {
    let has_it = |layer: &&Layer| {
        layer.table.get("set").and_then(Value::as_table).is_some_and(|set| set.contains_key(key))
    };
    stack.iter().find(has_it).map(|layer| layer.path.as_str())
}

/// The values of a link, host or device, without the keys that only its file has.
#[must_use]
pub fn values_of(kind: Kind, mut content: Table) -> Table {
    let is_files =
        |key: &str| FILE_ONLY.contains(&key) || key == "title" || (key == "name" && kind == Kind::Link);
    content.retain(|key, _| !is_files(key));
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    struct Shipped(Json);

    impl Files for Shipped {
        type Error = Refusal;

        fn read(&mut self, kind: Kind, reference: &str, _beside: Option<&str>) -> Result<Layer, Refusal> {
            let found = self.0[kind.word()].get(reference);
            let found = found.ok_or_else(|| Refusal::of(kind.word(), reference, "unknown"))?;
            Ok(Layer { table: table(found.clone()), path: format!("{reference}.toml"), is_file: true })
        }

        fn about(error: Refusal, file: &str) -> Refusal {
            error.about(file)
        }
    }

    fn table(json: Json) -> Table {
        let Value::Table(table) = Value::of_json(json) else { panic!("a table") };
        table
    }

    fn shipped() -> Shipped {
        Shipped(json!({
            "system": {
                "base": {"name": "base", "link": "fast", "host": "big", "device": "nic", "iommu": "off",
                    "set": {"host.iommu.walk_ns": "300", "link.tags": 8}, "provenance": {"source": "a book"}},
                "circle": {"base": "circle"},
            },
            "link": {"fast": {"name": "fast", "title": "Fast", "tags": 64}, "slow": {"tags": 1}},
            "host": {"big": {"name": "big", "title": "Big", "iommu": {"walk_ns": 1, "tlb_entries": 64}}},
            "device": {"nic": {"name": "nic"}},
        }))
    }

    fn resolved(own: Json, changes: Json) -> Result<Merged, Refusal> {
        let own = Layer { table: table(own), path: "mine.toml".into(), is_file: true };
        resolve(Source::Content(own), table(changes), &mut shipped())
    }

    #[test]
    fn a_file_is_merged_over_its_base_with_its_settings_and_changes() {
        let own = json!({"name": "mine", "base": "base", "link": {"base": "fast", "mps_bytes": 256},
                         "provenance": {"source": "me"}});
        let merged = resolved(own, json!({"iommu": "super-pages"})).unwrap();
        assert_eq!(
            merged.own_changes,
            table(json!({"host.iommu.walk_ns": 300})),
            "its own link drops link.tags"
        );
        let expected = json!({
            "link": {"tags": 64, "mps_bytes": 256}, "iommu": "super-pages", "name": "mine",
            "host": {"name": "big", "iommu": {"walk_ns": 300, "tlb_entries": 64}}, "device": {"name": "nic"},
        });
        assert_eq!(merged.table, table(expected));
        let source = merged.parts[0].whole.table["provenance"].as_table().unwrap()["source"].as_text();
        assert_eq!(source, Some("me. From base: a book"));
    }

    #[test]
    fn a_part_is_exchanged_as_a_whole_and_loses_the_settings_of_the_file() {
        let merged =
            resolve(Source::Named("base".into()), table(json!({"link": "slow"})), &mut shipped()).unwrap();
        assert_eq!(merged.table["link"], Value::of_json(json!({"tags": 1})));
        assert!(merged.changes.is_empty());
    }

    #[test]
    fn circles_unknown_keys_and_paths_are_refused() {
        let circle = resolve(Source::Named("circle".into()), Table::new(), &mut shipped()).unwrap_err();
        assert!(circle.to_string().ends_with("or in a circle"), "{circle}");
        let unknown = resolved(json!({"base": "base", "set": {"walk": 3}}), json!({})).unwrap_err();
        assert!(
            unknown.to_string().starts_with("mine.toml: [set] walk: unknown key: did you mean"),
            "{unknown}"
        );
        let own = table(json!({"link": {"base": "../fast.toml"}}));
        let path = crate::without_folder(&own, "mine.toml").unwrap_err().to_string();
        assert!(
            path.starts_with("mine.toml: link.base is '../fast.toml': give the name of a shipped"),
            "{path}"
        );
    }
}
