//! Systems and NICs: those that the binary carries, by name, and files.

use pcie_describe::{
    Description, Files, Kind, Layer, Shipped, Single, Source, Table, read_nic, read_system, read_table,
};
use pcie_model::Nic;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The option of changes, which messages name.
const SET: &str = "--set";
/// The kind, name and text of every shipped profile of a NIC, a system or a part of one.
const SHIPPED: &[(&str, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Reads the system of a name or a path with changes by dotted key.
pub(crate) fn system(reference: &str, changes: Table) -> Result<Description, Refusal> {
    let shipped = shipped()?;
    let mut files = Profiles(Shipped(&shipped));
    read_system(Source::Named(reference.to_owned()), changes, &mut files)
}

/// Reads the NIC of a name or a path with changes by dotted key; `NAME+SWITCH` turns a switch on.
pub(crate) fn nic(reference: &str, changes: &Table) -> Result<Single<Nic>, Refusal> {
    let shipped = shipped()?;
    let (file, switches) = Nic::split(reference);
    let mut files = Profiles(Shipped(&shipped));
    let read = read_nic(Source::Named(file.to_owned()), Table::new(), &mut files)?;
    read.with_switches(&switches)?.with_(changes, SET)
}

/// The tables of shipped profiles, by kind and name.
fn shipped() -> Result<Map<String, Value>, Refusal> {
    let mut found = Map::new();
    for (kind, name, text) in SHIPPED {
        let table = pcie_describe::Value::Table(read_table(text, name, |_| None)?).into_json();
        if let Some(of_kind) = found.entry(*kind).or_insert_with(|| json!({})).as_object_mut() {
            of_kind.insert((*name).to_owned(), table);
        }
    }
    Ok(found)
}

/// Profiles by name, and by path.
struct Profiles<'a>(Shipped<'a>);

impl Files for Profiles<'_> {
    type Error = Refusal;

    fn read(&mut self, kind: Kind, reference: &str, beside: Option<&str>) -> Result<Layer, Refusal> {
        if !reference.ends_with(".toml") && !reference.contains('/') {
            return self.0.read(kind, reference, beside);
        }
        let folder = beside.and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""));
        let path = folder.join(reference);
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Refusal::new(error).kind(RefusalKind::NotFound).about(&shown))?;
        Ok(Layer { table: read_table(&text, &shown, |key| kind.remedy(key))?, path: shown, is_file: true })
    }

    fn about(error: Refusal, file: &str) -> Refusal {
        error.about(file)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;
    use pcie_describe::typed_changes;

    #[test]
    fn every_shipped_nic_is_carried() {
        let names = SHIPPED.iter().filter(|(kind, ..)| *kind == "nic").map(|(_, name, _)| *name);
        let mut count = 0;
        for name in names {
            assert_eq!(nic(name, &Table::new()).unwrap().content.plain.name, name);
            count += 1;
        }
        assert!(count > 3, "{count}");
        let switched = nic("connectx-5+mprq", &Table::new()).unwrap().content;
        assert_eq!(switched.plain.name, "connectx-5+mprq");
        assert!(nic("connectx", &Table::new()).unwrap_err().to_string().contains("did you mean connectx-5"));
    }

    #[test]
    fn every_shipped_system_is_carried() {
        let names = SHIPPED.iter().filter(|(kind, ..)| *kind == "system").map(|(_, name, _)| *name);
        let mut count = 0;
        for name in names {
            assert_eq!(system(name, Table::new()).unwrap().system.name, name);
            count += 1;
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn files_may_name_carried_profiles_and_files_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("mine.toml");
        std::fs::write(
            &mine,
            "name = \"mine\"\ntitle = \"M\"\nbase = \"gen5-x16\"\nlink = \"link.toml\"\n[provenance]\nsource = \"me\"",
        )
        .unwrap();
        let path = mine.to_str().unwrap();
        let missing = system(path, Table::new()).unwrap_err().to_string();
        assert!(missing.contains("link.toml"), "{missing}");
        let link = "name = \"l\"\ntitle = \"L\"\nbase = \"gen3-x8\"\n[provenance]\nsource = \"me\"";
        std::fs::write(folder.path().join("link.toml"), link).unwrap();
        let read = system(path, typed_changes(&["link.tags=16".to_owned()]).unwrap()).unwrap();
        assert_eq!((read.system.link.tags, read.system.link.lanes), (16, 8));
        assert!(system("gen5", Table::new()).unwrap_err().to_string().contains("did you mean"));
    }
}
