//! Why the tests of a run without a simulated system give their values: messages, latencies, devices without link.

use super::Worded;
use crate::certainty::{Certainty, Level, Named, certainties, fewest, possible_in_turn};
use crate::gains::{Gain, NS, advice, best_of};
use crate::numbers::{counted, digits, listed};
use crate::one_test::shortest;
use indexmap::IndexMap;
use serde::Deserialize;

/// Share of the binding bound above which a tool's value contradicts its link.
const TOOL_ABOVE: f64 = 1.05;
const REASONS_MOST: usize = 2;
const OTHERS_MOST: usize = 2;

/// A finished test with its limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limited {
    /// Its name.
    pub name: String,
    /// Its size, if it has one.
    pub size_bytes: Option<u64>,
    /// Its rate, or its median latency.
    pub value: f64,
    /// `Gb/s`, `GB/s` or `ns`.
    pub unit: String,
    /// Its known limits, the binding one first.
    pub limits: Vec<Named>,
    /// What the rest of the value may come from.
    pub reasons: Vec<String>,
}

/// What was tried for a test in detail.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedies {
    /// The run's own tests with warm caches.
    Caches,
    /// Other ways and links of messages, in closed form.
    Messages,
    /// Another link, for what a tool measured.
    Tool(String),
    /// A sentence on a NIC's line that is full.
    Line(String),
    /// Nothing.
    None,
}

/// Tests of a run, and what changes give to one of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The run's title.
    pub title: String,
    /// The machine that the limits are of.
    pub about: String,
    /// Origin of the values.
    pub origin: String,
    /// The tests of one unit.
    pub rows: Vec<Limited>,
    /// How many of them the most common limit binds.
    pub group: usize,
    /// The test in detail.
    pub row: Limited,
    /// What changes give to it, the best first.
    pub gains: Vec<Gain>,
    /// How they were tried.
    pub remedies: Remedies,
}

impl Limited {
    fn is_latency(&self) -> bool {
        self.unit == NS
    }

    fn named(&self) -> String {
        self.size_bytes.map_or_else(|| self.name.clone(), |size| format!("{} of {size} B", self.name))
    }

    fn share(&self) -> Option<f64> {
        self.limits.first().filter(|(_, limit)| *limit != 0.0).map(|(_, limit)| self.value / limit)
    }
}

impl Limits {
    /// The words.
    #[must_use]
    pub fn worded(&self) -> Worded {
        let sure = self.certainty();
        Worded {
            question: format!("{}, {} ({})", self.title, self.about, self.origin),
            sentences: vec![self.binding(), sure.sentence(), self.advice()],
            sure,
            best: best_of(&self.gains).cloned(),
        }
    }

    fn binding(&self) -> String {
        let row = &self.row;
        let (one, many) = if row.is_latency() { ("latency", "latencies") } else { ("rate", "rates") };
        let verb = if row.is_latency() { "takes" } else { "reaches" };
        let value = format!("{} {verb} {} {}", row.named(), digits(row.value), row.unit);
        let Some((name, least)) = row.limits.first() else {
            let count = self.rows.len();
            let these = if count > 1 { format!("these {count} {many}") } else { format!("this {one}") };
            return format!("No limit of the model applies to {these}; the test in question, {value}.");
        };
        let mut counts: IndexMap<&str, usize> = IndexMap::new();
        for (other, _) in
            self.rows.iter().filter_map(|one| one.limits.first()).filter(|(other, _)| other != name)
        {
            *counts.entry(other).or_default() += 1;
        }
        let mut others: Vec<(&str, usize)> = counts.into_iter().collect();
        others.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        others.truncate(OTHERS_MOST);
        let others: Vec<String> =
            others.into_iter().map(|(other, count)| format!("{other} {count}")).collect();
        let needs = if row.is_latency() { "needs" } else { "allows" };
        let binds = format!("{name} binds {}", counted(self.group, self.rows.len(), one, many));
        shortest((0..=others.len()).rev().map(|many| {
            let more =
                if many == 0 { String::new() } else { format!(", {}", listed(&others[..many], "and")) };
            format!("{binds}{more}: {value}, and the bound {needs} {}.", digits(*least))
        }))
    }

    fn certainty(&self) -> Certainty {
        if matches!(self.remedies, Remedies::Caches) {
            let reason = "no bound is known, but another test of this run differs only in its caches";
            return Certainty::fairly(reason);
        }
        let (row, origin) = (&self.row, &self.origin);
        let of = if self.group > 1 { format!("for {}, ", row.named()) } else { String::new() };
        if row.limits.is_empty() {
            let unknown = format!("nothing is known that the {origin} value could be compared with");
            return Certainty::not(format!("{of}{unknown}"));
        }
        let besides = possible_in_turn(&row.reasons, REASONS_MOST);
        let found = if row.is_latency() {
            let over = 100.0 * (row.share().unwrap_or(f64::NAN) - 1.0);
            let level = match over {
                over if over.abs() <= 5.0 => Level::Sure,
                over if over <= 25.0 => Level::FairlySure,
                _ => Level::NotSure,
            };
            let rests =
                besides.iter().filter(|beside| !beside.is_empty()).map(|beside| format!("; {beside}"));
            let above = format!("the {origin} value is {over:.0} % above that");
            rests.chain([String::new()]).map(|rest| Certainty::new(level, format!("{above}{rest}"))).collect()
        } else {
            certainties(&row.limits, Some(row.value), origin, &besides)
        };
        let about = |sure: Certainty| Certainty::new(sure.level, format!("{of}{}", sure.reason));
        fewest(found.into_iter().map(about).collect())
    }

    fn advice(&self) -> String {
        let row = &self.row;
        if !self.gains.is_empty() {
            let how = match self.remedies {
                Remedies::Messages => format!("for {} (modelled)", row.named()),
                Remedies::Tool(_) => format!("which is what the wire allows {} (modelled)", row.named()),
                Remedies::Caches | Remedies::Line(_) | Remedies::None => "as this run measured it".to_owned(),
            };
            return advice(&self.gains, &how, "", "");
        }
        match (&self.remedies, row.share()) {
            (Remedies::Line(full), _) => {
                format!("{full}: a faster line or another port carries more, more queue pairs do not.")
            }
            (Remedies::Tool(_), Some(share)) if share > TOOL_ABOVE => {
                let check = "check --link, --mps, --mrrs and the size, and import again";
                format!("The link that was given allows less: {check}.")
            }
            (Remedies::Tool(tool), Some(_)) => {
                let more = match tool.as_str() {
                    "nvbandwidth" => "copy larger buffers (--bufferSize)",
                    "perftest" => "use more queue pairs (-q) or a deeper queue (-t)",
                    "fio" => "keep more requests in flight (--iodepth, --numjobs), or use a faster drive",
                    _ => "ask for more at once",
                };
                let room = format!("The link has room up to {} {}", digits(row.limits[0].1), row.unit);
                format!("{room}: {more}, before a faster link.")
            }
            (Remedies::Messages, _) => {
                let again = "run them again with --set KEY=VALUE, and ask about both runs";
                format!("The closed form has no changes for these tests: {again}.")
            }
            _ => {
                let profile = "ask with --test and --profile about a system like this machine";
                format!("No change can be computed without a profile: {profile}.")
            }
        }
    }
}
