//! Systems: read from files with changes, or changed.

use pcie_refusal::Refusal;
use pcie_schema::{Fitting, Why};
use pcie_sim::Machine;
use pcie_sim::profile::{Ruled as _, System};
use serde_json::Value as Json;

use crate::blame::{Giver, blamed, refused};
use crate::changes::{SET, change, refuse_whole_tables};
use crate::documents::checked;
use crate::files::{Files, Kind};
use crate::merged::{Merged, Source, resolve};
use crate::provenance::Provenance;
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
