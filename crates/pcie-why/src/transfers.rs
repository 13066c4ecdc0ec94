//! Why the tests of a store of transfers give their values: the bound that binds most of them, in detail.

use crate::answer::{Answer, Bar, Role, Row, effects};
use crate::bound_keys::borrowed_sentences;
use crate::certainty::{Certainty, Named, certainties, fewest, possible_in_turn};
use crate::gains::{Gain, advice, best_of, bound_advice};
use crate::numbers::{counted, listed};
use crate::one_test::{Unmeasured, clause_of, shortest};
use crate::resource::Resource;
use crate::search::search;
use crate::tests_on_systems::TestQuestion;
use indexmap::IndexMap;
use pcie_refusal::{Refusal, Unfinished};
use pcie_sim::profile::System;
use pcie_workload::Test;
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;

/// The bound of DMAs in flight, whose name alone does not tell what is in flight.
const IN_FLIGHT: &str = "latency";
const GBPS: &str = "Gb/s";
const REASONS_MOST: usize = 2;

/// A question about the tests of bandwidth of a store.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreAsked {
    /// The store's title.
    pub title: String,
    /// Origin of its values.
    pub origin: String,
    /// Its tests, at least one.
    pub rows: Vec<StoreRow>,
    /// Those of the bound that binds most of them, at least one, by index.
    pub group: Vec<usize>,
    /// A few of the group, whose changes are tried, by index.
    pub focus: Vec<usize>,
    /// The tests of the focus.
    pub tests: Vec<Test>,
    /// What changes of the link give to the bounds of the focus, where the machine has no complete system.
    #[serde(default)]
    pub gains: Vec<Gain>,
    /// A cause to check by hand that fits.
    #[serde(default)]
    pub fits: Option<String>,
    /// Keys of the system that nobody measured, and a word on each.
    #[serde(default)]
    pub unmeasured: IndexMap<String, String>,
    /// Keys of the system that are borrowed, and the profile that each comes from.
    #[serde(default)]
    pub borrowed: IndexMap<String, String>,
    /// Notes for the answer.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A test of bandwidth with its bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRow {
    /// Its number.
    pub test: i64,
    /// Its name.
    pub name: String,
    /// `bw-rd`, `bw-wr` or `bw-rdwr`.
    pub operation: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its window.
    pub window_bytes: u64,
    /// Its caches.
    pub cache: String,
    /// Most requests in flight.
    pub outstanding: Option<u64>,
    /// Its value.
    pub value_gbps: f64,
    /// Its bounds, tightest first, at least one.
    pub bounds: Vec<Named>,
    /// Possible causes of the rest.
    pub reasons: Vec<String>,
}

impl StoreRow {
    fn bound(&self) -> &str {
        self.bounds.first().map_or("", |(name, _)| name)
    }

    fn bound_gbps(&self) -> f64 {
        self.bounds.first().map_or(f64::NAN, |(_, gbps)| *gbps)
    }

    fn share(&self) -> f64 {
        self.value_gbps / self.bound_gbps()
    }
}

/// Why the tests of a store give their values. Without a complete system, the bounds alone are computed again.
///
/// # Errors
/// A number of a test is wrong, or it was stopped.
pub fn why_store(
    system: Option<&System>,
    asked: &StoreAsked,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Answer, Unfinished> {
    let of = |numbers: &[usize]| -> Option<Vec<&StoreRow>> {
        let rows: Option<Vec<&StoreRow>> = numbers.iter().map(|nth| asked.rows.get(*nth)).collect();
        rows.filter(|rows| !rows.is_empty() && rows.iter().all(|row| !row.bounds.is_empty()))
    };
    let (Some(group), Some(focus)) = (of(&asked.group), of(&asked.focus)) else {
        return Err(Refusal::new("tests").remedy("give tests with bounds, and their numbers").into());
    };
    let (mut gains, mut resources, mut notes) = (asked.gains.clone(), Vec::new(), asked.notes.clone());
    let last = if let Some(system) = system {
        let mut engine = TestQuestion::new(system.clone(), asked.tests.clone())?;
        if let Some(found) = search(&mut engine, progress)? {
            (gains, resources) = (Gain::of_search(&found, GBPS), found.resources);
        }
        let these =
            if focus.len() == 1 { "that test".to_owned() } else { format!("{} of these tests", focus.len()) };
        let of = match focus[..] {
            [row] if asked.rows.len() > 1 => format!("test {}", row.test),
            _ => String::new(),
        };
        advice(&gains, &format!("{these} simulated again"), &of, "")
    } else {
        notes.push("`pcielab calibrate` makes a system on which changes can be simulated".to_owned());
        bound_advice(&gains)
    };
    let common = common_resource(&resources);
    let clause = match common {
        Some(resource) => clause_of(resource, &asked.unmeasured),
        None if system.is_none() => requests(&group),
        None => String::new(),
    };
    let sure = certainty(asked, &group, common);
    notes.extend(borrowed_sentences(&[group[0].bound()], &asked.borrowed));
    Ok(Answer {
        question: format!("{}, {} tests of bandwidth ({})", asked.title, asked.rows.len(), asked.origin),
        sentences: vec![binding(&asked.rows, &group, &clause), sure.sentence(), last],
        binds: Some(group[0].bound().to_owned()),
        sure,
        change: best_of(&gains).cloned(),
        changes: effects(&gains),
        unit: GBPS.to_owned(),
        bars: bars(&focus, &asked.origin, &gains),
        rows: asked.rows.iter().map(|row| cells(row, &asked.origin)).collect(),
        notes,
    })
}

/// The resource behind the bound of every test; none if they have several or none.
fn common_resource(resources: &[Option<Resource>]) -> Option<&Resource> {
    let first = resources.first()?.as_ref()?;
    let is_same = |other: &Option<Resource>| other.as_ref().is_some_and(|other| other.clause == first.clause);
    resources.iter().all(is_same).then_some(first)
}

/// The clause on the requests in flight of tests that they limit on a machine without a profile.
fn requests(group: &[&StoreRow]) -> String {
    let first = group[0];
    let is_one = group.iter().all(|row| row.outstanding == first.outstanding);
    match first.outstanding {
        Some(many) if is_one && first.bound() == IN_FLIGHT => format!("with {many} DMAs in flight"),
        _ => String::new(),
    }
}

/// Which bounds bind how many tests, the most common one in detail with its resource.
fn binding(rows: &[StoreRow], group: &[&StoreRow], clause: &str) -> String {
    let bound = group[0].bound();
    let tests = counted(group.len(), rows.len(), "test of bandwidth", "tests of bandwidth");
    let binds = format!("{bound} binds {tests}");
    let extent = format!(", {}", extent(group));
    let clause = if clause.is_empty() { String::new() } else { format!(" {clause}") };
    let others = others(rows, bound);
    let whole = |clause: &str, extent: &str, many: usize| {
        let more: Vec<String> =
            others[..many].iter().map(|(name, count)| format!("{name} {count}")).collect();
        let rest: usize = others[many..].iter().map(|(_, count)| count).sum();
        let rest = if rest > 0 { Some(format!("others {rest}")) } else { None };
        let more: Vec<String> = more.into_iter().chain(rest).collect();
        let more = if more.is_empty() { String::new() } else { format!("; {}", listed(&more, "and")) };
        format!("{binds}{clause}{extent}{more}.")
    };
    let all = others.len();
    let shorter =
        if bound == IN_FLIGHT && !clause.is_empty() { (clause.as_str(), "") } else { ("", extent.as_str()) };
    let first = [whole(&clause, &extent, all), whole(shorter.0, shorter.1, all)];
    shortest(first.into_iter().chain((0..all).rev().map(|many| whole(shorter.0, shorter.1, many))))
}

/// The other bounds and the tests that each binds, the most first.
fn others<'a>(rows: &'a [StoreRow], bound: &str) -> Vec<(&'a str, usize)> {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for row in rows.iter().filter(|row| row.bound() != bound) {
        *counts.entry(row.bound()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The operations and sizes of some tests: `reads of 64 to 512 B`.
fn extent(rows: &[&StoreRow]) -> String {
    let mut operations: Vec<&str> = Vec::new();
    for row in rows {
        let word = match row.operation.as_str() {
            "bw-rd" => "reads",
            "bw-wr" => "writes",
            _ => "both at once",
        };
        if !operations.contains(&word) {
            operations.push(word);
        }
    }
    let sizes = rows.iter().map(|row| row.size_bytes);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    let span = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    format!("{} of {span} B", listed(&operations, "and"))
}

/// How sure the bound of a group is: that of its median test.
fn certainty(asked: &StoreAsked, group: &[&StoreRow], common: Option<&Resource>) -> Certainty {
    let mut by_share = group.to_vec();
    by_share.sort_by(|one, other| one.share().total_cmp(&other.share()));
    let median = by_share[group.len() / 2];
    let besides = match &asked.fits {
        Some(title) => {
            let fits = "one cause to check by hand fits";
            vec![format!("{fits}: {title}"), fits.to_owned()]
        }
        None => possible_in_turn(&median.reasons, REASONS_MOST),
    };
    let unmeasured = Unmeasured::behind(&median.bounds, common, &asked.unmeasured);
    let found = certainties(&median.bounds, Some(median.value_gbps), &asked.origin, &besides);
    let said = found.into_iter().map(|mut sure| {
        if group.len() > 1 {
            sure.reason = format!("in the median test, {}", sure.reason);
        }
        unmeasured.of(sure, &median.bounds)
    });
    fewest(said.collect())
}

/// Each test beside its bound; a single test beside all of its bounds and what changes would give.
fn bars(focus: &[&StoreRow], origin: &str, gains: &[Gain]) -> Vec<Bar> {
    if let [row] = focus {
        let name = format!("{} {} B, test {}, {origin}", row.name, row.size_bytes, row.test);
        let mut bars = vec![Bar::new(name, row.value_gbps, Role::Value)];
        bars.extend(Bar::of_bounds(&row.bounds));
        bars.extend(Bar::of_changes(gains));
        return bars;
    }
    let of_row = |row: &&StoreRow| {
        let name = format!("{} {} B, test {}", row.name, row.size_bytes, row.test);
        [
            Bar::new(format!("{name}, {origin}"), row.value_gbps, Role::Value),
            Bar::new(format!("{name}, {}", row.bound()), row.bound_gbps(), Role::Bound),
        ]
    };
    focus.iter().flat_map(of_row).collect()
}

fn cells(row: &StoreRow, origin: &str) -> Row {
    let may_explain = if row.reasons.is_empty() { None } else { Some(row.reasons.join("; ")) };
    let cells = [
        ("test", json!(row.test)),
        ("name", json!(row.name)),
        ("size_bytes", json!(row.size_bytes)),
        ("window_bytes", json!(row.window_bytes)),
        ("cache", json!(row.cache)),
        ("origin", json!(origin)),
        ("value_gbps", json!(row.value_gbps)),
        ("bound", json!(row.bound())),
        ("bound_gbps", json!(row.bound_gbps())),
        ("share_percent", json!(100.0 * row.share())),
        ("may_explain", json!(may_explain)),
    ];
    cells.into_iter().map(|(column, cell)| (column.to_owned(), cell)).collect()
}

#[cfg(test)]
mod tests;
