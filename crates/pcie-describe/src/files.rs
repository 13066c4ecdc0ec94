//! A file and its bases, and the parts of a system, as tables over each other.

use pcie_refusal::Refusal;
use pcie_refusal::shown::quoted;

use crate::value::{Table, Value};

const BASES_MOST: usize = 8;
/// Keys that a file never inherits from its base.
const IDENTITY: [&str; 3] = ["aliases", "name", "title"];

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole system.
    System,
    /// Its link.
    Link,
    /// Its host.
    Host,
    /// Its device.
    Device,
    /// A NIC.
    Nic,
    /// An engine.
    Engine,
    /// A memory expander.
    Expander,
    /// A core, with its host up to the link.
    Core,
    /// A device's memory behind a BAR.
    Bar,
    /// Messages of a core to a device.
    Messages,
}

/// The parts of a system.
pub const PARTS: [Kind; 3] = [Kind::Link, Kind::Host, Kind::Device];
/// Every kind.
pub(crate) const KINDS: [Kind; 10] = [
    Kind::System,
    Kind::Link,
    Kind::Host,
    Kind::Device,
    Kind::Nic,
    Kind::Engine,
    Kind::Expander,
    Kind::Core,
    Kind::Bar,
    Kind::Messages,
];

impl Kind {
    /// The kind of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.word() == word)
    }

    /// Its word; that of a part is a key of a system.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Link => "link",
            Self::Host => "host",
            Self::Device => "device",
            Self::Nic => "nic",
            Self::Engine => "engine",
            Self::Expander => "expander",
            Self::Core => "core",
            Self::Bar => "bar",
            Self::Messages => "messages",
        }
    }
}

/// The table of a file, to be merged over that of its base.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its content.
    pub table: Table,
    /// Its file.
    pub path: String,
    /// Whether it is a whole file, not a part within the file of a system.
    pub is_file: bool,
}

/// The tables of a file and its bases, each over the next.
pub type Stack = Vec<Layer>;

/// What opens files.
pub trait Files {
    /// Why a file cannot be read.
    type Error: From<Refusal>;

    /// A file, by its name or path; paths are relative to the file `beside`.
    fn read(&mut self, kind: Kind, reference: &str, beside: Option<&str>) -> Result<Layer, Self::Error>;

    /// An error of a file that another one names, with that one's path in front.
    fn about(error: Self::Error, file: &str) -> Self::Error;
}

/// A file with its bases: a reference and those that follow, each over the next. Anything but a text has none.
///
/// `giver`: what has the reference, a file or an option, with which a refusal of it begins; `over`: number of tables
/// over the first.
pub(crate) fn layers<F: Files>(
    kind: Kind,
    reference: Option<&Value>,
    giver: Option<&str>,
    beside: Option<&str>,
    over: usize,
    files: &mut F,
) -> Result<Vec<Layer>, F::Error> {
    let mut found: Vec<Layer> = Vec::new();
    let mut next = reference.and_then(Value::as_text).map(ToOwned::to_owned);
    let mut beside = beside.map(ToOwned::to_owned);
    let mut giver = giver.filter(|giver| !giver.is_empty()).map(ToOwned::to_owned);
    while let Some(reference) = next {
        if found.len() + over > BASES_MOST {
            let path = found.last().map(|layer| layer.path.clone()).unwrap_or_default();
            let problem = format!(
                "base is {}: more than {BASES_MOST} files start from each other, or in a circle",
                quoted(&reference)
            );
            return Err(Refusal::new(problem).about(path).into());
        }
        let layer = match (files.read(kind, &reference, beside.as_deref()), &giver) {
            (Err(error), Some(giver)) => return Err(F::about(error, giver)),
            (found, _) => found?,
        };
        next = layer.table.get("base").and_then(Value::as_text).map(ToOwned::to_owned);
        beside = Some(layer.path.clone());
        giver.clone_from(&beside);
        found.push(layer);
    }
    Ok(found)
}

/// The tables of a part that the layers of a system give as a name or as tables; none for anything else.
///
/// Paths are relative to the file of the first layer, `beside`.
pub(crate) fn part_layers<F: Files>(
    kind: Kind,
    given: &[(&Value, &str)],
    beside: &str,
    files: &mut F,
) -> Result<Stack, F::Error> {
    if let Some((name @ Value::Text(_), giver)) = given.first() {
        return layers(kind, Some(name), Some(giver), Some(beside), 0, files);
    }
    let tables = given.iter().map_while(|(value, path)| Some((value.as_table()?, path)));
    let mut found: Stack = tables
        .map(|(table, path)| Layer { table: table.clone(), path: (*path).to_owned(), is_file: false })
        .collect();
    let base = found.iter().find_map(|layer| Some((layer.table.get("base")?.clone(), layer.path.clone())));
    let (base, giver) = base.unzip();
    found.extend(layers(kind, base.as_ref(), giver.as_deref(), Some(beside), 1, files)?);
    Ok(found)
}

/// Merges tables, the first over the next; a file keeps its own name and title. None without tables.
pub(crate) fn flattened(layers: &[Layer]) -> Option<Layer> {
    let (last, over) = layers.split_last()?;
    let mut whole = last.table.clone();
    for layer in over.iter().rev() {
        whole = merged_over(layer, whole);
    }
    layers.first().map(|first| Layer { table: whole, ..first.clone() })
}

/// A file and its bases, by its name or path, and the file merged over them.
///
/// # Errors
/// A file cannot be read, or bases form a circle.
pub fn with_bases<F: Files>(kind: Kind, reference: &str, files: &mut F) -> Result<(Layer, Stack), F::Error> {
    let found = layers(kind, Some(&Value::Text(reference.to_owned())), None, None, 0, files)?;
    match flattened(&found) {
        Some(whole) => Ok((whole, found)),
        None => Err(Refusal::new("give a name or a path")
            .kind(pcie_refusal::Kind::WrongType)
            .key(kind.word())
            .into()),
    }
}

/// A table over that of its base.
fn merged_over(layer: &Layer, base: Table) -> Table {
    let source = |table: &Table| {
        let provenance = table.get("provenance")?.as_table()?;
        provenance.get("source")?.as_text().map(ToOwned::to_owned)
    };
    let sources = source(&layer.table).zip(source(&base));
    let mut kept = base;
    if layer.is_file {
        kept.retain(|key, _| !IDENTITY.contains(&key.as_str()));
    }
    if let Some(Value::Table(settings)) = kept.get_mut("set") {
        settings.retain(|key, _| !has_its_own(&layer.table, key));
    }
    forget_reasons(&mut kept, layer);
    over(&mut kept, &layer.table);
    if let (true, Some((first, second)), Some(base)) = (layer.is_file, sources, layer.table.get("base"))
        && let (Some(base), Some(Value::Table(provenance))) = (base.as_text(), kept.get_mut("provenance"))
    {
        provenance.insert("source".to_owned(), Value::Text(format!("{first}. From {base}: {second}")));
    }
    kept
}

/// Drops from a base what it says of values that the layer over it has notes on: why nobody measured them.
fn forget_reasons(base: &mut Table, layer: &Layer) {
    let Some(Value::Table(provenance)) = base.get_mut("provenance") else { return };
    if layer.is_file {
        provenance.shift_remove("others");
    }
    let notes = layer.table.get("provenance").and_then(|own| own.as_table()?.get("keys")?.as_table());
    if let (Some(notes), Some(Value::Table(unmeasured))) = (notes, provenance.get_mut("unmeasured")) {
        unmeasured.retain(|key, _| !notes.contains_key(key));
    }
}

/// Puts the values of a table over another's.
fn over(under: &mut Table, table: &Table) {
    for (key, value) in table {
        match (under.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(inner)) => over(below, inner),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether a table has the part or value of a setting's key itself, so that the setting of its base is dropped.
pub(crate) fn has_its_own(own: &Table, key: &str) -> bool {
    let mut steps = key.split('.');
    let mut at = steps.next().and_then(|step| own.get(step));
    for step in steps {
        let Some(value) = at else { return false };
        let Some(table) = value.as_table() else { return true };
        if matches!(table.get("base"), Some(Value::Text(_))) {
            return true;
        }
        at = table.get(step);
    }
    at.is_some()
}

/// Refuses files that a table names, because it came without its folder.
///
/// # Errors
/// `base`, a part or a part's `base` is a path.
pub fn without_folder(table: &Table, label: &str) -> Result<(), Refusal> {
    let text_of = |value: Option<&Value>| value.and_then(Value::as_text).map(ToOwned::to_owned);
    for key in ["base", "link", "host", "device"] {
        let Some(value) = table.get(key) else { continue };
        for (named, reference) in [
            (key.to_owned(), text_of(Some(value))),
            (format!("{key}.base"), text_of(value.as_table().and_then(|part| part.get("base")))),
        ] {
            if let Some(path) =
                reference.filter(|reference| reference.ends_with(".toml") || reference.contains('/'))
            {
                let remedy = "give the name of a shipped profile: the file came without its folder";
                return Err(Refusal::of(named, quoted(&path), remedy).about(label));
            }
        }
    }
    Ok(())
}
