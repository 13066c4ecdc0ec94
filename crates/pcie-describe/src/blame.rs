//! Problems of a description, each blamed on the file or option that gave the value.

use pcie_refusal::Refusal;
use pcie_refusal::shown::{named, quoted};
use pcie_schema::{Problem, Why};
use serde_json::Value as Json;

use crate::changes::SET;
use crate::files::{Kind, Layer};
use crate::merged::{Merged, setter};
use crate::value::{Table, Value};

const PROBLEMS_SHOWN: usize = 8;
/// Entries of a list or table that a message shows.
const ENTRIES_SHOWN: usize = 4;
const DEPTH_SHOWN: usize = 4;

/// What gave a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Giver {
    /// A file, or `--set`.
    pub(crate) file: String,
    /// Whether the file's `[set]` gave it.
    pub(crate) by_set: bool,
}

impl Giver {
    pub(crate) fn file(path: &str) -> Self {
        Self { file: path.to_owned(), by_set: false }
    }
}

impl Merged {
    /// What gave the value of a dotted key; of a missing one, the file that lacks it.
    pub(crate) fn giver(&self, key: &str) -> Giver {
        if changed_by(&self.changes, key).is_some() {
            return Giver::file(SET);
        }
        let system = &self.parts[0];
        if let Some(setting) = changed_by(&self.own_changes, key) {
            let file = setter(&system.stack, setting).unwrap_or(&system.whole.path);
            return Giver { file: file.to_owned(), by_set: true };
        }
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        let part = self.parts.iter().find(|part| part.kind != Kind::System && part.kind.word() == first);
        let (stack, key) = part.map_or((&system.stack, key), |part| (&part.stack, rest));
        Giver::file(giver_in(stack, key))
    }
}

/// The change that gave the value of a key: of the key itself, of a table around it, or of a value in it.
pub(crate) fn changed_by<'a>(changes: &'a Table, key: &str) -> Option<&'a str> {
    let around = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    changes.keys().map(String::as_str).find(|change| around(change, key) || around(key, change))
}

/// The file that gave the value of a dotted key; the first one if none did.
pub(crate) fn giver_in<'a>(stack: &'a [Layer], key: &str) -> &'a str {
    let gives = |layer: &&Layer| {
        let mut at: Option<&Value> = None;
        for (nth, step) in key.split('.').enumerate() {
            let table = if nth == 0 { Some(&layer.table) } else { at.and_then(Value::as_table) };
            // A list or a plain value in the place of a table is what is wrong.
            let Some(table) = table else { return at.is_some() };
            at = table.get(step);
            if at.is_none() {
                return false;
            }
        }
        true
    };
    stack.iter().find(gives).or(stack.first()).map_or("", |layer| layer.path.as_str())
}

/// The refusal of all problems; none without problems. `giver` names what gave the value of a dotted key; an empty name
/// stays out of the message.
pub(crate) fn refused(problems: &[Problem<'_>], giver: impl Fn(&str) -> Giver) -> Result<(), Refusal> {
    let Some(first) = problems.first() else { return Ok(()) };
    // Of a missing key, the file that gave its table: the file itself, for its own name.
    let place = |one: &Problem<'_>| match one.why {
        Why::Missing => one.path.split_last().map(|(_, parents)| parents.join(".")).unwrap_or_default(),
        _ => one.key(),
    };
    let givers: Vec<Giver> = problems.iter().map(|one| giver(&place(one))).collect();
    let words = |nth: usize| {
        let set = if givers[nth].by_set { "[set] " } else { "" };
        format!("{set}{}", text_of(&problems[nth]))
    };
    let refusal = if problems.len() == 1 {
        let value = (first.why != Why::Missing).then(|| shown(first.value));
        Refusal::worded(words(0)).key(key_of(first)).remedy(first.remedy()).value(value)
    } else {
        let is_shared = givers.iter().all(|one| one.file == givers[0].file);
        let lines = (0..problems.len().min(PROBLEMS_SHOWN)).map(|nth| {
            let file = if is_shared { String::new() } else { format!("{}: ", givers[nth].file) };
            format!("\n  {file}{}", words(nth))
        });
        let more = problems.len().saturating_sub(PROBLEMS_SHOWN);
        let rest = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        Refusal::worded(format!("{} problems{}{rest}", problems.len(), lines.collect::<String>()))
    };
    let refusal = refusal.kind(first.kind());
    Err(if givers[0].file.is_empty() { refusal } else { refusal.about(&givers[0].file) })
}

fn text_of(problem: &Problem<'_>) -> String {
    let key = key_of(problem);
    let meaning = problem.meaning.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
    let meaning = match meaning.trim_end_matches('.') {
        "" => String::new(),
        meaning => format!(" ({meaning})"),
    };
    match problem.why {
        Why::Unknown => format!("unknown key {key}: {}", problem.remedy()),
        Why::Missing => format!("missing key {key}{meaning}"),
        Why::Wrong => format!("{key} is {}: {}{meaning}", shown(problem.value), problem.remedy()),
    }
}

fn key_of(problem: &Problem<'_>) -> String {
    problem.path.iter().map(|step| named(step)).collect::<Vec<_>>().join(".")
}

/// A value in a message: on one line, short.
pub(crate) fn shown(value: &Json) -> String {
    shown_within(value, DEPTH_SHOWN)
}

fn shown_within(value: &Json, depth: usize) -> String {
    let listed = |entries: Vec<String>, count: usize| {
        let more = if count > ENTRIES_SHOWN { ", ..." } else { "" };
        format!("{}{more}", entries.join(", "))
    };
    match value {
        Json::Null => "none".to_owned(),
        Json::String(text) => quoted(text),
        Json::Array(list) if depth > 0 => {
            let entries = list.iter().take(ENTRIES_SHOWN).map(|one| shown_within(one, depth - 1)).collect();
            format!("[{}]", listed(entries, list.len()))
        }
        Json::Object(table) if depth > 0 => {
            let entry =
                |(key, one): (&String, &Json)| format!("{} = {}", named(key), shown_within(one, depth - 1));
            format!("{{{}}}", listed(table.iter().take(ENTRIES_SHOWN).map(entry).collect(), table.len()))
        }
        Json::Array(_) | Json::Object(_) => "...".to_owned(),
        other => other.to_string(),
    }
}

/// Blames a rule across keys on what was changed, else on the file of the system.
pub(crate) fn blamed(refusal: Refusal, merged: &Merged) -> Refusal {
    let system = &merged.parts[0].whole.path;
    let giver = refusal.key.as_deref().map(|key| merged.giver(key));
    match giver {
        Some(giver) if giver.file == SET => refusal.about(SET),
        Some(giver) if giver.by_set => refusal.about(format!("{}: [set]", giver.file)),
        _ if merged.changes.is_empty() => refusal.about(system),
        _ => refusal.about(format!("{system} with {SET}")),
    }
}
