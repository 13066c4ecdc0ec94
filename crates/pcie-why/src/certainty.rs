//! How sure it is that a bound binds: the share of it that a value reaches, and the distance of the next bound.

use crate::numbers::{WORDS_MOST, capital, listed, words_in};
use serde::{Deserialize, Serialize};

/// Share of a bound from which a value counts as held by it.
pub(crate) const NEAR: f64 = 0.95;
const FAR: f64 = 0.8;
const ABOVE: f64 = 1.01;
const SHOWN_TIMES: f64 = 4.0;
const APART: f64 = 0.01;
/// A second bound this near, in percent, binds almost as soon.
const CLOSE_PERCENT: f64 = 5.0;
const FAR_PERCENT: f64 = 400.0;
/// A bound below this times one that hangs on a guess may bind instead.
const GUESSED: f64 = 2.0;
/// The only possible cause of a row where none is known.
pub const NO_KNOWN_CAUSE: &str = "no known cause";

/// A level of certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// The computed facts leave no other answer.
    #[serde(rename = "sure")]
    Sure,
    /// Another answer is possible.
    #[serde(rename = "fairly sure")]
    FairlySure,
    /// The answer is a guess.
    #[serde(rename = "not sure")]
    NotSure,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::FairlySure => "fairly sure",
            Self::NotSure => "not sure",
        }
    }
}

/// How sure an answer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certainty {
    /// In words.
    pub level: Level,
    /// Why, as a clause.
    pub reason: String,
}

impl Certainty {
    pub(crate) fn new(level: Level, reason: impl Into<String>) -> Self {
        Self { level, reason: reason.into() }
    }

    pub(crate) fn sure(reason: impl Into<String>) -> Self {
        Self::new(Level::Sure, reason)
    }

    pub(crate) fn fairly(reason: impl Into<String>) -> Self {
        Self::new(Level::FairlySure, reason)
    }

    pub(crate) fn not(reason: impl Into<String>) -> Self {
        Self::new(Level::NotSure, reason)
    }

    /// Both, as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}.", capital(self.level.word()), self.reason)
    }
}

/// A bound and the rate that it allows.
pub(crate) type Named = (String, f64);

/// How sure the first of `bounds`, tightest first, binds a value of an origin, from the most words to the fewest.
///
/// `besides`: what may take the rest of a value far below, each with fewer words. Without a value, only the model was
/// asked.
pub(crate) fn certainties(
    bounds: &[Named],
    value: Option<f64>,
    origin: &str,
    besides: &[String],
) -> Vec<Certainty> {
    let Some((name, bound)) = bounds.first() else { return vec![Certainty::not("no bound applies")] };
    let next = next_bound(bounds);
    let Some(value) = value else {
        let given = format!("{name} is modelled, no value was given to compare it with");
        return vec![Certainty::fairly(format!("{given}; {next}")), Certainty::fairly(given)];
    };
    let share = value / bound;
    let reached = format!("the {origin} value is {:.0} % of what {name} allows", 100.0 * share);
    let with = |level: Level, rests: &[String]| {
        let all = rests.iter().map(|rest| format!("{reached}{rest}")).chain([reached.clone()]);
        all.map(|reason| Certainty::new(level, reason)).collect()
    };
    if share > ABOVE && origin == SIMULATED {
        let short = ", as in a run too short to be steady";
        return with(Level::FairlySure, &[format!("{short}, and {next}"), short.to_owned()]);
    }
    if share > ABOVE {
        let differ = [
            ", so link, profile or the way of counting differ from the real ones",
            ", so profile or counting differ",
        ];
        return with(Level::NotSure, &differ.map(str::to_owned));
    }
    if share >= NEAR {
        let level = if is_close(bounds, *bound) { Level::FairlySure } else { Level::Sure };
        return with(level, &[format!(", and {next}")]);
    }
    let known = besides.iter().filter(|beside| !beside.is_empty()).map(|beside| format!("; {beside}"));
    let rests: Vec<String> = known.chain([", and no bound explains the rest".to_owned()]).collect();
    with(if share >= FAR { Level::FairlySure } else { Level::NotSure }, &rests)
}

/// The origin of values of the simulator.
pub(crate) const SIMULATED: &str = "simulated";

/// What may take the rest of a value, as a clause; empty if nothing is known.
pub(crate) fn possible(reasons: &[String], most: usize) -> String {
    let known: Vec<&String> = reasons.iter().filter(|one| *one != NO_KNOWN_CAUSE).take(most).collect();
    if known.is_empty() { String::new() } else { format!("the rest may be {}", listed(&known, "or")) }
}

/// What may take the rest of a value, as clauses with ever fewer causes.
pub(crate) fn possible_in_turn(reasons: &[String], most: usize) -> Vec<String> {
    (1..=most.min(reasons.len())).rev().map(|many| possible(reasons, many)).collect()
}

/// How sure the first of `bounds` binds, where the simulation of a value says so.
pub(crate) fn simulated_certainty(bounds: &[Named], value: f64) -> Certainty {
    let level = if is_close(bounds, value) { Level::FairlySure } else { Level::Sure };
    let Some((name, _)) = bounds.first() else { return Certainty::not("no bound applies") };
    let others = bounds.iter().skip(1).cloned();
    let bounds: Vec<Named> = [(name.clone(), value)].into_iter().chain(others).collect();
    Certainty::new(level, format!("the simulation shows it, and {}", next_bound(&bounds)))
}

/// The first certainty whose sentence is short enough, else the last.
pub(crate) fn fewest(found: Vec<Certainty>) -> Certainty {
    let fits = |sure: &&Certainty| words_in(&sure.sentence()) <= WORDS_MOST;
    let chosen = found.iter().find(fits).or(found.last()).cloned();
    chosen.unwrap_or_else(|| Certainty::not("nothing is known"))
}

/// How sure the first of `bounds` still is where nobody measured `behind` of its values; never surer than before.
///
/// `is_resource`: the key that sets the bound is among them; a guess may be off by half.
pub(crate) fn with_unmeasured(
    sure: Certainty,
    bounds: &[Named],
    behind: usize,
    is_resource: bool,
) -> Certainty {
    if behind == 0 {
        return sure;
    }
    let guessed = is_resource && bounds.len() > 1 && bounds[1].1 < GUESSED * bounds[0].1;
    let level = if guessed || sure.level == Level::NotSure { Level::NotSure } else { Level::FairlySure };
    let values =
        if behind == 1 { "an unmeasured value".to_owned() } else { format!("{behind} unmeasured values") };
    Certainty::new(level, format!("on {values}, {}", sure.reason))
}

/// Whether a value exceeds a bound by more than rounding.
pub(crate) fn is_above(value: f64, bound: f64) -> bool {
    value > ABOVE * bound
}

/// Whether a picture shows two values apart.
pub(crate) fn differs(value: f64, other: f64) -> bool {
    (value / other - 1.0).abs() >= APART
}

/// The bounds that a picture shows: those of at most four times the tightest.
pub(crate) fn near(bounds: &[Named]) -> impl Iterator<Item = &Named> {
    bounds.iter().filter(|(_, value)| *value <= SHOWN_TIMES * bounds[0].1)
}

fn is_close(bounds: &[Named], value: f64) -> bool {
    bounds.len() > 1 && bounds[1].1 <= (1.0 + CLOSE_PERCENT / 100.0) * value
}

fn next_bound(bounds: &[Named]) -> String {
    let [(_, bound), (name, other), ..] = bounds else { return "no other bound applies".to_owned() };
    let percent = 100.0 * (other / bound - 1.0);
    if percent >= FAR_PERCENT {
        return format!("the next bound, {name}, is {:.0} times as high", other / bound);
    }
    let only = if percent <= CLOSE_PERCENT { "only " } else { "" };
    format!("the next bound, {name}, is {only}{percent:.0} % higher")
}

#[cfg(test)]
mod tests;
