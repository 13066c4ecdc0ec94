//! Why two runs differ: what the differences of their machines change, together and alone.

use crate::answer::{Answer, Bar, Role, Row};
use crate::certainty::{Certainty, SIMULATED};
use crate::gains::{Effect, NS};
use crate::numbers::{listed, percent_text};
use crate::one_test::shortest;
use indexmap::IndexMap;
use pcie_refusal::Refusal;
use pcie_refusal::numbers::{byte_size, significant};
use serde::Deserialize;
use serde_json::json;

/// The effects of single changes explain a test if their sum is this near that of all together.
const REST_PERCENT: f64 = 5.0;
/// Smallest effect that counts as a change.
const NOTICED_PERCENT: f64 = 1.0;
const SHOWN_TESTS: usize = 6;
const NAMED_KEYS: usize = 3;
/// Changes with a sentence of their own.
const CHANGES_MOST: usize = 3;
const SIZES_MOST: usize = 4;
/// Percents from here on have no digit after the point.
const EXACT_BELOW: f64 = 9.95;

/// A run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its title.
    pub title: String,
    /// The name of its file.
    pub file: String,
    /// Origin of its values.
    pub origin: String,
}

/// A test of both runs, or a flow of one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// Its number in the first run.
    pub test: i64,
    /// Its published name.
    pub name: String,
    /// Tests like it in the plural: reads, latencies, frames sent.
    pub sort: String,
    /// Bytes of its transfer, frame, message or request.
    pub size_bytes: Option<u64>,
    /// `Gb/s` or `GB/s` of a rate, `ns` of a latency.
    pub unit: String,
    /// The value on the first machine.
    pub a: f64,
    /// The value on the second.
    pub b: f64,
    /// The effect of each single change on `a`, percent.
    pub effects_percent: Vec<f64>,
    /// What binds the first and the second, in the same unit.
    pub bounds: [Option<f64>; 2],
}

/// The differences of two machines, and what those do to tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// The differences, in words, tried one at a time; values that make no sense alone change together.
    pub changes: Vec<Vec<String>>,
    /// Whether the values were simulated again with one change at a time.
    ///
    /// Otherwise they are the runs' own, and there is at most one change, with all differences.
    pub is_simulated: bool,
    /// The tests, in the order of the first run.
    pub rows: Vec<Moved>,
}

/// Two runs with their differences.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoRuns {
    /// The first.
    pub a: Run,
    /// The second.
    pub b: Run,
    /// The differences of their machines; at least one test.
    pub differences: Differences,
    /// Omissions.
    pub notes: Vec<String>,
}

impl Moved {
    fn change_percent(&self) -> f64 {
        if self.a == 0.0 { 0.0 } else { 100.0 * (self.b / self.a - 1.0) }
    }

    /// The joint effect of all changes beyond the sum of the single ones.
    fn rest_percent(&self) -> f64 {
        self.change_percent() - self.effects_percent.iter().sum::<f64>()
    }

    fn is_unchanged(&self) -> bool {
        let effects = self.effects_percent.iter().copied().chain([self.change_percent()]);
        effects.map(f64::abs).fold(0.0, f64::max) < NOTICED_PERCENT
    }

    fn named(&self) -> String {
        let size = self.size_bytes.map_or_else(String::new, |size| format!(" of {size} B"));
        format!("{}, {}{size}", self.name, self.sort)
    }

    fn effect(&self, nth: usize) -> f64 {
        self.effects_percent.get(nth).copied().unwrap_or(0.0)
    }
}

impl TwoRuns {
    /// Why the tests of the runs differ.
    ///
    /// # Errors
    /// There is no test.
    pub fn answer(&self) -> Result<Answer, Refusal> {
        let found = &self.differences;
        let by_change = |row: &&Moved| row.change_percent().abs();
        let largest = found.rows.iter().max_by(|one, other| by_change(one).total_cmp(&by_change(other)));
        let largest =
            largest.ok_or_else(|| Refusal::new("tests").remedy("give two runs with common tests"))?;
        let moved: Vec<&Moved> = found.rows.iter().filter(|row| !row.is_unchanged()).collect();
        let sure = self.certainty(&moved);
        let of_first = found.of_each_change().into_iter().take(1).map(|text| format!("{text}."));
        let most_moves = (!moved.is_empty()).then(|| most_moves(largest));
        let last: Vec<String> = of_first.chain(most_moves).collect();
        let last = (!last.is_empty()).then(|| shortest(last));
        let changes = found.alone_on(largest);
        let unmoved = match found.rows.len() - moved.len() {
            0 => None,
            1 => Some("1 test that does not change is left out".to_owned()),
            many => Some(format!("{many} tests that do not change are left out")),
        };
        Ok(Answer {
            question: format!("A: {}, {}; B: {}, {}", self.a.title, self.a.file, self.b.title, self.b.file),
            sentences: [found.together(), sure.sentence()].into_iter().chain(last).collect(),
            binds: found.order().first().map(|nth| found.keys(*nth)),
            sure,
            change: changes.first().cloned(),
            changes,
            unit: largest.unit.clone(),
            bars: bars(&moved, largest),
            rows: if moved.is_empty() {
                vec![cells(largest)]
            } else {
                moved.into_iter().map(cells).collect()
            },
            notes: self.notes.iter().cloned().chain(unmoved).collect(),
        })
    }

    fn certainty(&self, moved: &[&Moved]) -> Certainty {
        if !self.differences.is_simulated {
            return self.certainty_of_values();
        }
        if self.differences.changes.len() == 1 {
            return Certainty::sure("it is the only difference of the systems, and both were simulated");
        }
        let rest = moved.iter().map(|row| row.rest_percent().abs()).fold(0.0, f64::max);
        if rest <= REST_PERCENT {
            let within = format!("add up to the whole difference within {rest:.1} %");
            return Certainty::sure(format!("single changes, simulated, {within}"));
        }
        Certainty::not(format!("single changes, simulated, leave up to {rest:.0} % to their joint effect"))
    }

    /// How sure it is where nothing is simulated again.
    fn certainty_of_values(&self) -> Certainty {
        let are_simulated = [&self.a, &self.b].iter().all(|run| run.origin == SIMULATED);
        match self.differences.changes.iter().flatten().count() {
            0 if are_simulated => Certainty::sure("both runs simulate one system"),
            0 => Certainty::not(
                "the values are the runs' own, and a run without a profile does not tell how its machine differs",
            ),
            1 if are_simulated => {
                Certainty::sure("it is the only difference of the profiles, and both runs were simulated")
            }
            1 => Certainty::fairly(
                "it is the only difference of the profiles, but measured machines differ in more",
            ),
            keys => Certainty::not(format!("{keys} values differ, and none was changed alone")),
        }
    }
}

impl Differences {
    /// What all differences change; then, if there are several, what those with the largest effects do.
    #[must_use]
    pub fn explained(&self) -> Vec<String> {
        let together = joined(&clauses(&self.rows, &Moved::change_percent));
        let all = [format!("{}: {together}", self.subject_of(NAMED_KEYS))];
        all.into_iter().chain(self.of_each_change()).collect()
    }

    /// What all differences change, in few words.
    fn together(&self) -> String {
        let clauses = clauses(&self.rows, &Moved::change_percent);
        let many = clauses.len();
        let subjects = [self.subject_of(NAMED_KEYS), self.subject_of(1)];
        shortest((1..=many).rev().flat_map(|shown| {
            let rest = if shown == many { "" } else { "; the table has the rest" };
            let said = joined(&clauses[..shown]);
            subjects.clone().map(|subject| format!("{subject}: {said}{rest}."))
        }))
    }

    /// The differences, in words; of more than `most`, the one with the largest effect.
    fn subject_of(&self, most: usize) -> String {
        let keys: Vec<&str> = self.changes.iter().flatten().map(String::as_str).collect();
        if keys.is_empty() {
            return "B against A".to_owned();
        }
        if keys.len() <= most {
            let together = if self.changes.len() == 1 { "" } else { ", together" };
            return format!("{}{together}", keys.join(", "));
        }
        let largest = self.by_largest().first().map_or(keys[0], |nth| &self.changes[*nth][0]);
        format!("{largest} and {} more values", keys.len() - 1)
    }

    fn of_each_change(&self) -> Vec<String> {
        if !self.is_simulated || self.changes.len() < 2 {
            return Vec::new();
        }
        let moving: Vec<usize> =
            self.by_largest().into_iter().filter(|nth| self.largest(*nth) >= NOTICED_PERCENT).collect();
        let shown = &moving[..moving.len().min(CHANGES_MOST)];
        let alone = |nth: &usize| {
            let said = joined(&clauses(&self.rows, &|row: &Moved| row.effect(*nth)));
            format!("{} alone: {said}", self.changes[*nth].join(" with "))
        };
        let mut said: Vec<String> = shown.iter().map(alone).collect();
        let rest = self.changes.len() - shown.len();
        if rest > 0 {
            let least = if moving.len() > CHANGES_MOST { "less" } else { "nothing" };
            said.push(format!("{rest} other change{} alone: {least}", if rest == 1 { "" } else { "s" }));
        }
        said
    }

    fn largest(&self, nth: usize) -> f64 {
        self.rows.iter().map(|row| row.effect(nth).abs()).fold(0.0, f64::max)
    }

    /// The changes, those with the largest effect on a test first.
    fn by_largest(&self) -> Vec<usize> {
        self.by(|nth| self.largest(nth))
    }

    /// The changes, those that move all tests most first.
    fn order(&self) -> Vec<usize> {
        self.by(|nth| self.rows.iter().map(|row| row.effect(nth).abs()).sum())
    }

    fn by(&self, size: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.changes.len()).collect();
        order.sort_by(|one, other| size(*other).total_cmp(&size(*one)));
        order
    }

    fn keys(&self, nth: usize) -> String {
        let keys = &self.changes[nth];
        let shown = keys[..keys.len().min(NAMED_KEYS)].join(", ");
        let more = keys.len().saturating_sub(NAMED_KEYS);
        if more == 0 { shown } else { format!("{shown} and {more} more values") }
    }

    /// Each change alone, on a test.
    fn alone_on(&self, row: &Moved) -> Vec<Effect> {
        if row.a == 0.0 {
            return Vec::new();
        }
        let effect = |nth: usize| {
            let after = row.a * (1.0 + row.effect(nth) / 100.0);
            Effect::new(format!("{}, {}", self.keys(nth), row.named()), row.a, after, &row.unit, "system")
        };
        self.order().into_iter().map(effect).collect()
    }
}

fn most_moves(row: &Moved) -> String {
    let [a, b] = [row.a, row.b].map(|value| significant(value, 4));
    format!(
        "Most moves {}: from {a} to {b} {} ({}).",
        row.named(),
        row.unit,
        percent_text(row.change_percent())
    )
}

/// Both values of the tests that change most.
fn bars(moved: &[&Moved], largest: &Moved) -> Vec<Bar> {
    let mut alike: Vec<&Moved> = moved.iter().copied().filter(|row| row.unit == largest.unit).collect();
    if alike.is_empty() {
        alike.push(largest);
    }
    alike.sort_by(|one, other| other.change_percent().abs().total_cmp(&one.change_percent().abs()));
    let of_row = |row: &Moved| {
        let name = format!("{}, test {}", row.named(), row.test);
        [Bar::new(format!("{name}, A"), row.a, Role::A), Bar::new(format!("{name}, B"), row.b, Role::B)]
    };
    alike.into_iter().take(SHOWN_TESTS).flat_map(of_row).collect()
}

fn cells(row: &Moved) -> Row {
    let cells = [
        ("test", json!(row.test)),
        ("name", json!(row.name)),
        ("sort", json!(row.sort)),
        ("size_bytes", json!(row.size_bytes)),
        ("a", json!(row.a)),
        ("b", json!(row.b)),
        ("unit", json!(row.unit)),
        ("change_percent", json!(row.change_percent())),
        ("bound_a", json!(row.bounds[0])),
        ("bound_b", json!(row.bounds[1])),
    ];
    cells.into_iter().map(|(column, cell)| (column.to_owned(), cell)).collect()
}

fn joined(clauses: &[String]) -> String {
    clauses.join("; ")
}

/// A clause for each sort of tests that change, and one for the sorts that do not.
fn clauses(rows: &[Moved], effect: &dyn Fn(&Moved) -> f64) -> Vec<String> {
    let mut sorts: IndexMap<&str, Vec<&Moved>> = IndexMap::new();
    for row in rows {
        sorts.entry(&row.sort).or_default().push(row);
    }
    let of_sort = |(sort, rows): (&&str, &Vec<&Moved>)| (sort.to_string(), clause(sort, rows, effect));
    let (moved, unmoved): (Vec<_>, Vec<_>) =
        sorts.iter().map(of_sort).partition(|(_, clause)| clause.is_some());
    if moved.is_empty() {
        return vec![match rows.len() {
            1 => format!("the only test changes by less than {NOTICED_PERCENT} %"),
            many => format!("none of {many} tests changes by {NOTICED_PERCENT} % or more"),
        }];
    }
    let unmoved: Vec<String> = unmoved.into_iter().map(|(sort, _)| sort).collect();
    let nothing = (!unmoved.is_empty()).then(|| format!("{} nothing", listed(&unmoved, "and")));
    moved.into_iter().filter_map(|(_, clause)| clause).chain(nothing).collect()
}

/// The effect on tests of a sort; none if none of them changes.
fn clause(sort: &str, rows: &[&Moved], effect: &dyn Fn(&Moved) -> f64) -> Option<String> {
    let moved: Vec<&Moved> =
        rows.iter().copied().filter(|row| effect(row).abs() >= NOTICED_PERCENT).collect();
    let first = moved.first()?;
    let (inside, elsewhere) = sizes_in_words(rows, &moved);
    let sizes = sizes(&moved);
    let of_sizes = |row: &&&Moved| {
        row.size_bytes.map_or(moved.iter().any(|one| one.size_bytes.is_none()), |size| sizes.contains(&size))
    };
    let there = rows.iter().filter(of_sizes).count();
    let share =
        if there == moved.len() { String::new() } else { format!(" in {} of {there} tests", moved.len()) };
    let effects: Vec<f64> = moved.iter().map(|row| effect(row)).collect();
    Some(format!("{sort}{inside} {}{share}{elsewhere}", by(&effects, first.unit == NS)))
}

/// The sizes of tests, ascending.
fn sizes(rows: &[&Moved]) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows.iter().filter_map(|row| row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sizes that change, and what the others do.
fn sizes_in_words(rows: &[&Moved], moved: &[&Moved]) -> (String, String) {
    let (all, changed) = (sizes(rows), sizes(moved));
    let (Some(first), Some(last)) = (changed.first(), changed.last()) else {
        return Default::default();
    };
    if changed == all {
        return Default::default();
    }
    let (many, alone) = (changed.len(), format!(" of {}", byte_size(*first)));
    if all.starts_with(&changed) {
        let inside = if many == 1 { alone } else { format!(" up to {}", byte_size(*last)) };
        return (inside, format!(", from {} nothing", byte_size(all[many])));
    }
    if all.ends_with(&changed) {
        let inside = if many == 1 { alone } else { format!(" from {}", byte_size(*first)) };
        return (inside, format!(", up to {} nothing", byte_size(all[all.len() - many - 1])));
    }
    let others = ", other sizes nothing".to_owned();
    if many <= SIZES_MOST {
        let named: Vec<String> = changed.iter().map(|size| byte_size(*size)).collect();
        return (format!(" of {}", listed(&named, "and")), others);
    }
    let span = format!("{} to {}", byte_size(*first), byte_size(*last));
    (format!(" of {many} of {} sizes ({span})", all.len()), others)
}

/// The range of effects, with a verb.
fn by(effects: &[f64], is_latency: bool) -> String {
    let low = effects.iter().copied().fold(f64::INFINITY, f64::min);
    let high = effects.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low < 0.0 && high > 0.0 {
        return format!("change by -{} to +{} %", percent(-low), percent(high));
    }
    let verb = match (low > 0.0, is_latency) {
        (true, true) => "rise by ",
        (true, false) => "gain ",
        (false, true) => "fall by ",
        (false, false) => "lose ",
    };
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    let [least, most] = [least, most].map(percent);
    if least == most { format!("{verb}{least} %") } else { format!("{verb}{least} to {most} %") }
}

fn percent(value: f64) -> String {
    if value >= EXACT_BELOW {
        return format!("{value:.0}");
    }
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
