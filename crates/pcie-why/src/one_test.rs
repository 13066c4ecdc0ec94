//! Why one test gives its value on a system: simulated there, or measured on a machine like it.

use crate::answer::{Answer, Bar, Role, Row, effects};
use crate::bound_keys::{borrowed_sentences, keys_of};
use crate::certainty::{
    Certainty, Level, NEAR, Named, SIMULATED, certainties, differs, fewest, is_above, possible_in_turn,
    with_unmeasured,
};
use crate::changes::{Change, LINK};
use crate::defects::defects;
use crate::gains::{Effect, Gain, LEAST_GAIN_PERCENT, NS, advice, allowing, best_of, least_enough, word_of};
use crate::numbers::{WORDS_MOST, capital, digits, listed, percent_text, words_in};
use crate::reasons::{Ground, Parameters, is_of_reason, reasons};
use crate::resource::{Resource, bounds};
use crate::search::{Engine, How, Length, search};
use crate::test_words::test_in_words;
use crate::tests_on_systems::TestQuestion;
use indexmap::IndexMap;
use pcie_refusal::{Kind, Refusal, Unfinished};
use pcie_sim::profile::System;
use pcie_workload::Test;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// A possible cause fits if its value differs from the measured one by no more than this share.
const FITS: f64 = 0.05;
/// A change that adds this share of what a value lacks of its bound takes most of the reason away.
const MOST: f64 = 0.5;
/// A value is far worse than the simulated one by more than this share.
const UNEXPLAINED: f64 = 0.25;
const ROUND_TRIP_NS: f64 = 1000.0;
const HOW: &str = "simulated again";
const MEASURED: &str = "measured";
const GBPS: &str = "Gb/s";

/// A question about one test on a system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestAsked {
    /// The system's title.
    pub title: String,
    /// The test.
    pub test: Test,
    /// A value to explain: Gb/s, or the average in ns of a test of latency; absent: the simulated one.
    #[serde(default)]
    pub measured: Option<f64>,
    /// Origin of that value.
    #[serde(default = "measured")]
    pub origin: String,
    /// Keys of the system that nobody measured, and a word on each: `assumed`, `borrowed`, `unidentified`.
    #[serde(default)]
    pub unmeasured: IndexMap<String, String>,
    /// Keys of the system that are borrowed, and the profile that each comes from.
    #[serde(default)]
    pub borrowed: IndexMap<String, String>,
    /// Notes for the answer.
    #[serde(default)]
    pub notes: Vec<String>,
}

fn measured() -> String {
    MEASURED.to_owned()
}

/// A possible cause and the value with it.
type Cause = (String, f64);

struct Case<'a> {
    asked: &'a TestAsked,
    bounds: Vec<Named>,
    simulated: f64,
    gains: Vec<Gain>,
    causes: Vec<Cause>,
    reasons: Vec<String>,
    origin: &'a str,
    unit: &'static str,
    resource: Option<Resource>,
}

/// Why one test gives its value on a system; `progress` is called while changes are simulated.
///
/// # Errors
/// The system cannot run the test, or it was stopped.
pub fn why_test(
    system: &System,
    asked: &TestAsked,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Answer, Unfinished> {
    let test = &asked.test;
    let mut engine = TestQuestion::new(system.clone(), vec![test.clone()])?;
    let found = search(&mut engine, progress)?.ok_or_else(|| {
        let about = format!("--test {}: {} cannot run it", word_of(&test.operation), asked.title);
        Refusal::new(about).kind(Kind::Unsupported).remedy("choose another test or --profile")
    })?;
    let unit = if test.operation.is_latency() { NS } else { GBPS };
    let (mut simulated, mut gains) = (found.values[0], Gain::of_search(&found, unit));
    // The value of a simulated run stands, and changes gain in proportion: this simulation only differs in length.
    if let Some(stored) = asked.measured.filter(|stored| asked.origin == SIMULATED && *stored > 0.0) {
        gains.iter_mut().for_each(|gain| gain.change.scale(stored / simulated));
        simulated = stored;
    }
    let bounds = bounds(system.clone(), test);
    let tags_charged = bounds.as_ref().is_none_or(|found| found.round_trip_ns.is_some());
    let ceilings = bounds.into_iter().flat_map(|found| found.answer.ceilings);
    let case = Case {
        asked,
        bounds: ceilings.map(|ceiling| (ceiling.bound.to_string(), ceiling.gbps)).collect(),
        simulated,
        causes: causes(system, asked, &mut engine, progress)?,
        reasons: not_refuted(reasons(Ground::System(system), &Parameters::of(test), tags_charged), &gains),
        origin: if asked.measured.is_none() { SIMULATED } else { &asked.origin },
        unit,
        resource: found.resources.into_iter().next().flatten(),
        gains,
    };
    Ok(case.answer())
}

/// The common defects of the system with their values, of a measured value.
fn causes(
    system: &System,
    asked: &TestAsked,
    engine: &mut TestQuestion,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<Cause>, Unfinished> {
    if asked.measured.is_none() || asked.origin != MEASURED {
        return Ok(Vec::new());
    }
    let worse: Vec<Change> = defects(system);
    let total = worse.len();
    let values = engine.values(&worse, Length::Full, &mut |done| progress(done, total))?;
    let cause = |(one, values): (Change, Option<Vec<f64>>)| Some((one.what, *values?.first()?));
    Ok(worse.into_iter().zip(values).filter_map(cause).collect())
}

/// The reasons that no simulation refutes: where warm caches give nothing, cold memory takes nothing.
fn not_refuted(found: Vec<String>, gains: &[Gain]) -> Vec<String> {
    let is_warm = |gain: &&Gain| {
        gain.change.keys.len() == 1 && gain.change.keys.get("test.cache") == Some(&json!("host-warm"))
    };
    let refuted = gains.iter().filter(is_warm).any(|gain| gain.change.gain_percent() < 1.0);
    found.into_iter().filter(|reason| !(refuted && reason.starts_with("cold memory"))).collect()
}

impl Case<'_> {
    fn answer(&self) -> Answer {
        let sure = self.certainty();
        let binds = self.bounds.first().map(|(name, _)| name.clone());
        let behind = binds.as_deref().or((self.unit == NS).then_some("latency"));
        let behind: Vec<&str> = behind.into_iter().collect();
        let mut notes = self.asked.notes.clone();
        notes.extend(borrowed_sentences(&behind, &self.asked.borrowed));
        Answer {
            question: format!("{}, on {}", test_in_words(&self.asked.test), self.asked.title),
            sentences: vec![self.binding(), sure.sentence(), self.advice()],
            binds,
            sure,
            change: self.change(),
            changes: effects(&self.gains),
            unit: self.unit.to_owned(),
            bars: self.bars(),
            rows: self.rows(),
            notes,
        }
    }

    fn value(&self) -> f64 {
        self.asked.measured.unwrap_or(self.simulated)
    }

    /// Whether the value in question comes from elsewhere than the simulator.
    fn is_measured(&self) -> bool {
        self.origin != SIMULATED
    }

    fn shown(&self, value: f64) -> String {
        format!("{} {}", digits(value), self.unit)
    }

    /// Defects that fit the measured value, if the system without a defect does not.
    fn fitting(&self) -> Vec<&Cause> {
        let Some(measured) = self.asked.measured else { return Vec::new() };
        let apart = |value: f64, other: f64| (value / other - 1.0).abs() > FITS;
        if !apart(self.simulated, measured) {
            return Vec::new();
        }
        let fits = |cause: &&Cause| apart(cause.1, self.simulated) && !apart(cause.1, measured);
        self.causes.iter().filter(fits).collect()
    }

    /// The reason for most of what a simulated value lacks of its bound, with the change that takes it away.
    fn proved(&self) -> Option<(&String, &Gain)> {
        let (_, bound) = self.bounds.first()?;
        if self.is_measured() || self.value() >= NEAR * bound {
            return None;
        }
        let enough = self.value() + MOST * (bound - self.value());
        let reaches = |gain: &&Gain| gain.is_full && gain.how != How::Pair && gain.change.after >= enough;
        self.reasons.iter().find_map(|reason| {
            let takes_it_away = |gain: &&Gain| {
                let keys = &gain.change.keys;
                !keys.is_empty() && keys.keys().all(|key| is_of_reason(reason, key))
            };
            Some((reason, self.gains.iter().filter(reaches).find(takes_it_away)?))
        })
    }

    /// The first sentence: what binds, and how the value stands to it.
    fn binding(&self) -> String {
        let value = format!("the {} {}", self.origin, self.shown(self.value()));
        let beside = if self.is_measured() {
            format!("; the system simulates {}", self.shown(self.simulated))
        } else {
            String::new()
        };
        let Some((name, bound)) = self.bounds.first() else {
            return shortest((0..=self.reasons.len()).rev().map(|many| {
                let reasons = &self.reasons[..many];
                let added =
                    if many == 0 { String::new() } else { format!(", with {}", listed(reasons, "and")) };
                format!("No bound binds a latency: {value} are a round trip{added}{beside}.")
            }));
        };
        if self.is_above() {
            let allowed = self.shown(*bound);
            return format!("{} is more than {name} allows, {allowed}{beside}.", capital(&value));
        }
        let held = self.proved().map_or_else(String::new, |(reason, _)| format!(", held down by {reason}"));
        let share = format!("{value} is {:.0} % of it{held}", 100.0 * self.value() / bound);
        let binds =
            |made_of: &str| format!("{name} binds at {}{made_of}; {share}{beside}.", self.shown(*bound));
        let Some(resource) = &self.resource else { return binds("") };
        let made_of = format!(" {}", clause_of(resource, &self.asked.unmeasured));
        let longer = resource.beside.iter().map(|also| binds(&format!("{made_of} and {also}")));
        shortest(longer.chain([binds(&made_of), binds("")]))
    }

    fn certainty(&self) -> Certainty {
        let fitting = self.fitting();
        if !fitting.is_empty() {
            let level = if fitting.len() == 1 { Level::FairlySure } else { Level::NotSure };
            let named: Vec<String> =
                fitting.iter().map(|(name, value)| format!("{name} ({})", self.shown(*value))).collect();
            let reason = |many: usize| {
                format!("the measured value fits a defect of the machine, {}", listed(&named[..many], "or"))
            };
            return fewest((1..=named.len()).rev().map(|many| Certainty::new(level, reason(many))).collect());
        }
        if self.bounds.is_empty() {
            return self.certainty_of_latency();
        }
        let besides = possible_in_turn(&self.reasons, self.reasons.len());
        let found = match self.proved() {
            Some((_, gain)) => vec![self.certainty_of_proof(gain)],
            None => certainties(&self.bounds, Some(self.value()), self.origin, &besides),
        };
        let unmeasured = Unmeasured::behind(&self.bounds, self.resource.as_ref(), &self.asked.unmeasured);
        fewest(found.into_iter().map(|sure| unmeasured.of(sure, &self.bounds)).collect())
    }

    fn certainty_of_proof(&self, gain: &Gain) -> Certainty {
        let Effect { what, after, .. } = &gain.change;
        let allowed = self.bounds.first().map_or_else(String::new, |(name, bound)| {
            format!(", {:.0} % of what {name} allows", 100.0 * after / bound)
        });
        Certainty::fairly(format!("{what} alone gives {}{allowed}", self.shown(*after)))
    }

    fn certainty_of_latency(&self) -> Certainty {
        let measured = self.asked.measured.filter(|_| self.is_measured());
        let Some(measured) = measured else {
            let reason = "a latency has no bound, but the test was simulated again with each change";
            return Certainty::fairly(reason);
        };
        let apart = 100.0 * (measured / self.simulated - 1.0);
        let reached = format!("the {} value is {} from the simulated one", self.origin, percent_text(apart));
        if apart.abs() <= 100.0 * FITS {
            return Certainty::sure(reached);
        }
        Certainty::not(format!("{reached}, and no defect that was tried fits"))
    }

    /// The change that the last sentence names first.
    fn change(&self) -> Option<Effect> {
        if let Some((name, value)) = self.fitting().first() {
            return Some(Effect::new(format!("not {name}"), *value, self.simulated, self.unit, "link"));
        }
        if self.is_above() {
            return least_enough(&self.gains, self.value()).map(|gain| gain.change.clone());
        }
        if self.is_unexplained() { None } else { best_of(&self.gains).cloned() }
    }

    /// The last sentence: what to change, and what that gives.
    fn advice(&self) -> String {
        if let (Some((name, _)), Some(change)) = (self.fitting().first(), self.change()) {
            let gain = format!("{} ({})", self.shown(self.simulated), change.percent_text());
            let check = format!("Check {name} first, with `pcielab doctor`");
            return format!("{check}: mended, the system simulates {gain}.");
        }
        if self.is_above() {
            return allowing(&self.gains, self.value());
        }
        if self.is_unexplained() {
            return self.unexplained();
        }
        let base = if self.asked.measured.is_none() { "" } else { SIMULATED };
        advice(&self.gains, HOW, "", base)
    }

    /// Whether a measured value is far worse than the simulated one, and fits no defect.
    fn is_unexplained(&self) -> bool {
        if !self.is_measured() || !self.fitting().is_empty() {
            return false;
        }
        let slower =
            if self.unit == NS { self.value() / self.simulated } else { self.simulated / self.value() };
        slower > 1.0 + UNEXPLAINED
    }

    /// The sentence for a value far below the simulated one: what would give it, and where to look.
    fn unexplained(&self) -> String {
        let tried = format!("None of the {} defects tried", self.causes.len());
        if self.unit == NS {
            let look = "look for another setting with `pcielab doctor`, and check --profile";
            return format!("{tried} adds {}: {look}.", self.shown(self.value() - self.simulated));
        }
        let look = "look with `pcielab doctor`, and check --profile";
        let interval_ns = 8.0 * self.asked.test.size_bytes as f64 / self.value();
        let pace = format!("one transfer every {} ns", digits(interval_ns));
        let in_flight = digits(ROUND_TRIP_NS / interval_ns);
        format!("{tried} fits {pace} ({in_flight} in flight over a microsecond): {look}.")
    }

    /// Whether a measured value refutes the system; a simulated one is above a bound until it is steady.
    fn is_above(&self) -> bool {
        self.is_measured() && self.bounds.first().is_some_and(|(_, bound)| is_above(self.value(), *bound))
    }

    fn bars(&self) -> Vec<Bar> {
        let mut bars = Vec::new();
        if let Some(measured) = self.asked.measured {
            bars.push(Bar::new(self.origin, measured, Role::Value));
        }
        if self.is_measured() || self.asked.measured.is_none() {
            bars.push(Bar::new(SIMULATED, self.simulated, Role::Value));
        }
        bars.extend(Bar::of_bounds(&self.bounds));
        let apart = self.causes.iter().filter(|(_, value)| differs(*value, self.simulated));
        bars.extend(apart.map(|(name, value)| Bar::new(name, *value, Role::Cause)));
        bars.extend(Bar::of_changes(&self.gains));
        bars
    }

    /// Each bound, possible cause and change with its value.
    fn rows(&self) -> Vec<Row> {
        let bounds = self.bounds.iter().map(|(name, value)| self.row("bound", name, *value));
        let causes = self.causes.iter().map(|(name, value)| self.row("cause", name, *value));
        // The changes that move the value, for better or worse, and those that were looked at again.
        let moves = |gain: &&Gain| gain.is_full || gain.change.gain_percent().abs() >= LEAST_GAIN_PERCENT;
        let changes = self.gains.iter().filter(moves);
        let changes = changes.map(|gain| self.row("change", &gain.change.what, gain.change.after));
        bounds.chain(causes).chain(changes).collect()
    }

    fn row(&self, kind: &str, name: &str, value: f64) -> Row {
        let mut row: Row = [("kind", json!(kind)), ("name", json!(name)), ("value", json!(value))]
            .map(|(column, cell)| (column.to_owned(), cell))
            .into();
        row.insert("unit".into(), json!(self.unit));
        let against = |other: f64| -> Value { json!(100.0 * (value / other - 1.0)) };
        row.insert("against_simulated_percent".into(), against(self.simulated));
        if self.is_measured() {
            row.insert(format!("against_{}_percent", self.origin), against(self.value()));
        }
        row
    }
}

/// The first sentence that is short enough, else the last.
pub(crate) fn shortest(sentences: impl IntoIterator<Item = String>) -> String {
    let mut last = String::new();
    for sentence in sentences {
        if words_in(&sentence) <= WORDS_MOST {
            return sentence;
        }
        last = sentence;
    }
    last
}

/// The clause of a resource, with why nobody knows its value, if nobody measured or gave it.
pub(crate) fn clause_of(resource: &Resource, unmeasured: &IndexMap<String, String>) -> String {
    let word = unmeasured.get(resource.key);
    word.map_or_else(|| resource.clause.clone(), |word| format!("{} ({word})", resource.clause))
}

/// What nobody measured of the values behind a bound.
pub(crate) struct Unmeasured {
    behind: usize,
    is_resource: bool,
}

impl Unmeasured {
    /// Of the first of some bounds; its link is what was asked about, but its tags are a resource.
    pub(crate) fn behind(
        bounds: &[Named],
        resource: Option<&Resource>,
        unmeasured: &IndexMap<String, String>,
    ) -> Self {
        let keys = bounds.first().and_then(|(name, _)| keys_of(name)).unwrap_or_default();
        let mut behind: Vec<&str> = keys.into_iter().filter(|key| !key.starts_with(LINK)).collect();
        if let Some(resource) = resource
            && !behind.contains(&resource.key)
        {
            behind.push(resource.key);
        }
        let is_resource = resource.is_some_and(|one| unmeasured.contains_key(one.key));
        Self { behind: behind.into_iter().filter(|key| unmeasured.contains_key(*key)).count(), is_resource }
    }

    /// How sure an answer still is.
    pub(crate) fn of(&self, sure: Certainty, bounds: &[Named]) -> Certainty {
        with_unmeasured(sure, bounds, self.behind, self.is_resource)
    }
}

#[cfg(test)]
mod tests;
