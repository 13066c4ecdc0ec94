//! Systems: read from files with changes, or changed.

use indexmap::IndexMap;
use pcie_refusal::Refusal;
use pcie_schema::{Fitting, Why};
use pcie_sim::Machine;
use pcie_sim::profile::{Ruled as _, System};
use serde_json::Value as Json;

use crate::blame::{Giver, blamed, refused};
use crate::changes::{SET, change, changed_title, refuse_whole_tables};
use crate::documents::checked;
use crate::files::{Files, Kind, PARTS};
use crate::merged::{Merged, Source, resolve};
use crate::provenance::{Provenance, Unmeasured};
use crate::value::{Table, Value};

/// A system that was read from files, complete and checked.
#[derive(Clone, Debug)]
pub struct Description {
    /// The system.
    pub system: System,
    /// What it was merged from.
    pub merged: Merged,
    /// The sources of the values of each file.
    pub provenance: Vec<(Kind, Provenance)>,
}

impl Description {
    /// What gave the value of a dotted key: a file, `FILE: [set]`, or `--set`.
    #[must_use]
    pub fn source(&self, key: &str) -> String {
        let giver = self.merged.giver(key);
        if giver.by_set { format!("{}: [set]", giver.file) } else { giver.file }
    }

    /// One line for people, with the caller's changes.
    #[must_use]
    pub fn title(&self) -> String {
        changed_title(&self.system.title, &self.merged.changes)
    }

    /// Why nobody measured the value of a dotted key; `None` if somebody did, or the caller gave it.
    fn unmeasured_of(&self, key: &str) -> Option<&Unmeasured> {
        if self.merged.changes.contains_key(key) {
            return None;
        }
        let of =
            |kind: Kind| self.provenance.iter().find(|(own, _)| *own == kind).map(|(_, sources)| sources);
        let system = of(Kind::System)?;
        if system.has_note(key) {
            return system.unmeasured_of(key);
        }
        if self.merged.own_changes.contains_key(key) {
            return None;
        }
        let (part, within) = key.split_once('.')?;
        let kind = PARTS.into_iter().find(|kind| kind.word() == part)?;
        of(kind)?.unmeasured_of(within)
    }

    /// The keys that nobody measured, and a word on each: `assumed`, `borrowed`, `unidentified`.
    ///
    /// # Errors
    /// The system has no JSON.
    pub fn unmeasured(&self) -> Result<IndexMap<String, &'static str>, Refusal> {
        Ok(self.reasons()?.map(|(key, reason)| (key, reason.word())).collect())
    }

    /// The borrowed keys, and the profile that each comes from.
    ///
    /// # Errors
    /// The system has no JSON.
    pub fn borrowed(&self) -> Result<IndexMap<String, String>, Refusal> {
        Ok(self.reasons()?.filter_map(|(key, reason)| Some((key, reason.profile()?.to_owned()))).collect())
    }

    /// The present keys whose values nobody measured, and why.
    fn reasons(&self) -> Result<impl Iterator<Item = (String, &Unmeasured)>, Refusal> {
        let mut keys = Vec::new();
        present(&serde_json::to_value(&self.system).map_err(Refusal::new)?, "", &mut keys);
        Ok(keys.into_iter().filter_map(|key| {
            let reason = self.unmeasured_of(&key)?;
            Some((key, reason))
        }))
    }
}

/// Adds the dotted keys with a single value that is present.
fn present(values: &Json, path: &str, found: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match values {
        Json::Object(table) => table.iter().for_each(|(name, value)| present(value, &below(name), found)),
        Json::Array(list) => {
            let tables = list.iter().enumerate().filter(|(_, one)| one.is_object());
            tables.for_each(|(nth, one)| present(one, &below(&nth.to_string()), found));
        }
        Json::Null => {}
        _ => found.push(path.to_owned()),
    }
}

/// Reads a system with the caller's changes by dotted key; `link`, `host` and `device` exchange a part.
///
/// # Errors
/// A file cannot be read, a key is unknown or missing, or a value wrong: the message names what gave it.
pub fn read_system<F: Files>(source: Source, changes: Table, files: &mut F) -> Result<Description, F::Error> {
    refuse_whole_tables(&changes)?;
    let merged = resolve(source, changes, files)?;
    Ok(described(merged)?)
}

fn described(merged: Merged) -> Result<Description, Refusal> {
    let mut provenance = Vec::new();
    for part in merged.parts.iter().filter(|part| part.whole.is_file) {
        let file = checked(part.kind, part.whole.clone(), &part.stack)?;
        provenance.push((part.kind, file.provenance));
    }
    let shape = System::shape();
    let table = shape.with_sizes(Value::Table(merged.table.clone()).into_json());
    refused(&shape.problems(&table), |key| merged.giver(key))?;
    let system: System = serde_json::from_value(table).map_err(Refusal::new)?;
    system.check().and_then(|()| Machine::check(&system)).map_err(|refusal| blamed(refusal, &merged))?;
    Ok(Description { system, merged, provenance })
}

/// A complete system with changes by dotted key.
///
/// # Errors
/// A key is unknown, a value is wrong, or the system cannot be simulated.
pub fn changed(mut system: Table, changes: &Table) -> Result<System, Refusal> {
    for (key, value) in changes {
        change(&mut system, key, value, &format!("{SET} "))?;
    }
    let shape = System::shape();
    let table = shape.with_sizes(Value::Table(system).into_json());
    refused(&shape.problems(&table), |_| Giver::file(SET))?;
    let system: System = serde_json::from_value(table).map_err(Refusal::new)?;
    Machine::check(&system)?;
    Ok(system)
}

/// A system that an earlier or later version recorded. None if a key is missing, null or unknown.
///
/// `giver` names its source in messages, and `below` the table there that holds it.
///
/// # Errors
/// A value is wrong, or the system cannot be simulated.
pub fn recorded(table: Json, giver: &str, below: &str) -> Result<Option<System>, Refusal> {
    let Some(system) = recorded_as::<System>(table, giver, below)? else { return Ok(None) };
    Machine::check(&system).map_err(|refusal| refusal.about(format!("{giver}: {below}")))?;
    Ok(Some(system))
}

/// A recorded description of any kind, checked by its types alone.
pub(crate) fn recorded_as<T: Fitting>(table: Json, giver: &str, below: &str) -> Result<Option<T>, Refusal> {
    let shape = T::shape();
    let table = shape.with_sizes(table);
    let mut problems = shape.problems(&table);
    let is_complete = problems.is_empty();
    problems.retain(|one| one.why == Why::Wrong && !one.value.is_null());
    problems.truncate(1);
    problems.iter_mut().for_each(|one| one.path.insert(0, below.to_owned()));
    refused(&problems, |_| Giver::file(giver))?;
    if !is_complete {
        return Ok(None);
    }
    serde_json::from_value(table).map(Some).map_err(Refusal::new)
}
