//! What changes give, and the sentences that name the best of them.

use crate::numbers::{WORDS_MOST, capital, digits, listed, percent_text, words_in};
use crate::search::{Found, How};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change that gains less, in percent, is not named.
pub const LEAST_GAIN_PERCENT: f64 = 1.0;
const NAMED: usize = 2;
const LITTLE_PERCENT: f64 = 5.0;
/// Gain from which an easier change is named, too.
const WORTH_PERCENT: f64 = 2.0;
/// Who can make a change without another device or processor, the easiest first.
const EASY: [&str; 3] = ["setting", "driver", "slot"];
const TEST: &str = "test";
/// The unit of latencies, where less is better.
pub(crate) const NS: &str = "ns";

/// A change, and the values with and without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The change, as a noun phrase or as `key old -> new`.
    pub what: String,
    /// The value without it.
    pub before: f64,
    /// The value that the same engine gives with it.
    pub after: f64,
    /// `Gb/s`, `GB/s`, or `ns`, where less is better.
    pub unit: String,
    /// What changes: `device`, `link`, `host`, `nic`, `test`, `flows`, `system`.
    pub of: String,
    /// Who can make the change; empty where nobody said.
    #[serde(default)]
    pub who: String,
    /// New values by dotted key; those of a NIC begin with `nic.`, those of a test with `test.`.
    #[serde(default)]
    pub keys: IndexMap<String, Value>,
}

impl Effect {
    pub(crate) fn new(what: impl Into<String>, before: f64, after: f64, unit: &str, of: &str) -> Self {
        let (unit, of, who) = (unit.to_owned(), of.to_owned(), String::new());
        Self { what: what.into(), before, after, unit, of, who, keys: IndexMap::new() }
    }

    /// Multiplies both values.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.before *= factor;
        self.after *= factor;
    }

    /// The improvement: of a rate its growth, of a latency its fall.
    #[must_use]
    pub fn gain_percent(&self) -> f64 {
        gain_percent(self.before, self.after, &self.unit)
    }

    /// The difference in words: `+18 %` of a rate that grows, `-9 %` of a latency that falls.
    pub(crate) fn percent_text(&self) -> String {
        percent_text(100.0 * (self.after / self.before - 1.0))
    }

    fn who(&self) -> String {
        if self.who.is_empty() || self.of == TEST {
            return String::new();
        }
        format!(" ({})", self.who.replace('-', " "))
    }
}

fn gain_percent(before: f64, after: f64, unit: &str) -> f64 {
    let grown = after / before - 1.0;
    100.0 * if unit == NS { -grown } else { grown }
}

/// A change, and what it gives each of some tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The change, with means over the tests.
    pub change: Effect,
    /// The gain of each test.
    pub percents: Vec<f64>,
    /// One step of one key, further steps of it, or two keys.
    #[serde(default)]
    pub how: How,
    /// Whether it was computed at full length; otherwise a short simulation showed no effect worth that.
    #[serde(default = "yes")]
    pub is_full: bool,
    /// Whether it is the change to name.
    #[serde(default)]
    pub is_best: bool,
    /// Whether it is a pair that gives clearly more than the best alone.
    #[serde(default)]
    pub is_worth: bool,
}

fn yes() -> bool {
    true
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn word_of(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(ToOwned::to_owned)).unwrap_or_default()
}

impl Gain {
    /// The gains of a search, the best first.
    pub(crate) fn of_search(found: &Found, unit: &str) -> Vec<Self> {
        let before = mean(&found.values);
        let gain = |(nth, tried): (usize, &crate::search::Tried)| {
            let change = Effect {
                what: tried.change.what.clone(),
                before,
                after: mean(&tried.values),
                unit: unit.to_owned(),
                of: word_of(&tried.change.of),
                who: word_of(&tried.change.who),
                keys: tried.change.keys.clone(),
            };
            let pairs = found.values.iter().zip(&tried.values);
            Self {
                change,
                percents: pairs.map(|(before, after)| gain_percent(*before, *after, unit)).collect(),
                how: tried.how,
                is_full: tried.is_full,
                is_best: found.best == Some(nth),
                is_worth: found.pair == Some(nth),
            }
        };
        found.tried.iter().enumerate().map(gain).collect()
    }

    fn percent(&self) -> f64 {
        self.change.gain_percent()
    }

    fn percents_text(&self) -> String {
        if self.percents.len() == 1 {
            return self.change.percent_text();
        }
        let least = self.percents.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.percents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{} to {}", percent_text(least), percent_text(most))
    }

    /// The change and its gain in words, with the value where it is of one test.
    ///
    /// With a `base`, how that came about, the gain is a ratio to the value without the change: the value in question is
    /// another one.
    pub(crate) fn text(&self, base: &str) -> String {
        let Effect { what, before, after, unit, .. } = &self.change;
        let what = format!("{what}{}", self.change.who());
        if self.percents.len() != 1 {
            return format!("{what} ({})", self.percents_text());
        }
        if base.is_empty() {
            return format!("{what}, {} {unit} ({})", digits(*after), self.percents_text());
        }
        format!("{what}, {} on the {base} {} {unit}", self.change.percent_text(), digits(*before))
    }
}

/// The gains worth naming.
pub(crate) fn helpful(gains: &[Gain]) -> impl Iterator<Item = &Gain> {
    gains.iter().filter(|gain| gain.is_full && gain.percent() >= LEAST_GAIN_PERCENT)
}

/// The change to name first.
pub(crate) fn best_of(gains: &[Gain]) -> Option<&Effect> {
    named(gains).first().map(|gain| &gain.change)
}

/// The change with which a rate is possible, the least of them.
pub(crate) fn least_enough(gains: &[Gain], value: f64) -> Option<&Gain> {
    let enough = gains.iter().filter(|gain| gain.change.after >= value);
    enough.min_by(|one, other| one.change.after.total_cmp(&other.change.after))
}

/// The sentence on the best changes; `how`: the engine that computed them, as a clause.
///
/// `of`: what rises, where it is not the value in question; `base`: how the value without a change came about, likewise.
pub(crate) fn advice(gains: &[Gain], how: &str, of: &str, base: &str) -> String {
    let named = named(gains);
    let Some((most, others)) = named.split_first() else {
        let tried = gains.iter().filter(|gain| gain.how == How::Single).count();
        let verb = if of.is_empty() { "helps".to_owned() } else { format!("raises {of}") };
        return format!("None of the {tried} changes tried {verb}, nor a pair of them, {how}.");
    };
    let start = if of.is_empty() {
        "Most is gained by".to_owned()
    } else {
        format!("{} would rise most with", capital(of))
    };
    let mut sentence = format!("{start} {}", most.text(base));
    for gain in others {
        let longer = format!("{sentence}; {}", beside(gain, most));
        // A second change that makes the sentence too long is left to picture and table.
        if words_in(&longer) <= WORDS_MOST {
            sentence = longer;
        }
    }
    format!("{sentence}.")
}

/// The sentence on the changes of a link, where only the bound can be computed again.
pub(crate) fn bound_advice(gains: &[Gain]) -> String {
    let best: Vec<&Gain> = helpful(gains).take(NAMED).collect();
    if best.is_empty() {
        let tried = gains.len();
        return format!("None of the {tried} changes of the link tried raises the bound (modelled).");
    }
    let said = |many: usize| {
        let raised: Vec<String> = best[..many].iter().map(|gain| gain.text("")).collect();
        format!("The bound itself, modelled, would rise most with {}.", listed(&raised, "and"))
    };
    let both = said(best.len());
    if words_in(&both) <= WORDS_MOST { both } else { said(1) }
}

/// The sentence for a measured rate above its bound: the changes that would allow it.
pub(crate) fn allowing(gains: &[Gain], value: f64) -> String {
    match least_enough(gains, value) {
        None => {
            let tried = format!("None of the {} changes tried allows it", gains.len());
            format!("{tried}: check the test's options, --profile and the unit.")
        }
        Some(least) => {
            let allowed = format!("It would be allowed by {}", least.text(""));
            format!("{allowed}: check that --profile is the measured machine.")
        }
    }
}

/// The best change of the machine, and one more: a pair, an easier change, or one of the test.
///
/// A change that gives little comes second.
fn named(gains: &[Gain]) -> Vec<&Gain> {
    let alone: Vec<&Gain> = helpful(gains).filter(|gain| gain.how != How::Pair).collect();
    let (of_test, of_machine): (Vec<&Gain>, Vec<&Gain>) =
        alone.into_iter().partition(|gain| gain.change.of == TEST);
    let pairs: Vec<&Gain> = gains.iter().filter(|gain| gain.is_worth).collect();
    let best = of_machine.iter().find(|gain| gain.is_best).or_else(|| of_machine.first());
    let Some(most) = best.copied() else {
        return of_test.into_iter().chain(pairs).take(1).collect();
    };
    let easy = EASY.iter().position(|who| *who == most.change.who).unwrap_or(EASY.len());
    let is_easier =
        |gain: &Gain| EASY[..easy].contains(&gain.change.who.as_str()) && gain.percent() >= WORTH_PERCENT;
    let easier = of_machine.iter().copied().filter(|gain| is_easier(gain));
    let others = pairs.iter().copied().chain(easier).chain(of_test.iter().copied());
    let other = others.into_iter().find(|gain| !std::ptr::eq(*gain, most));
    let Some(other) = other else { return vec![most] };
    let little = LITTLE_PERCENT.min(other.percent());
    if most.percent() < little { vec![other, most] } else { vec![most, other] }
}

/// A second change, and what it is beside the first.
fn beside(gain: &Gain, most: &Gain) -> String {
    let (what, percents) = (&gain.change.what, gain.percents_text());
    if gain.how != How::Pair {
        let kind = if gain.change.of == TEST { "of the test" } else { "more easily" };
        return format!("{kind} by {what}{} ({percents})", gain.change.who());
    }
    let first = &most.change.what;
    let added =
        what.strip_prefix(&format!("{first} and ")).or_else(|| what.strip_suffix(&format!(" and {first}")));
    match added {
        Some(added) => format!("with {added}, too ({percents})"),
        None => format!("as a pair by {what} ({percents})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(what: &str, of: &str, who: &str, after: f64) -> Gain {
        let change = Effect { who: who.to_owned(), ..Effect::new(what, 10.0, after, "Gb/s", of) };
        let percents = vec![change.gain_percent()];
        Gain { change, percents, how: How::Single, is_full: true, is_best: false, is_worth: false }
    }

    #[test]
    fn the_best_change_comes_first_and_an_easier_one_beside_it() {
        let gains = [
            gain("lanes 8 -> 16", "link", "slot-and-device", 20.0),
            gain("tags 32 -> 64", "link", "setting", 12.0),
            gain("size 64 -> 128", "test", "workload", 15.0),
        ];
        let sentence = advice(&gains, "simulated again", "", "");
        let first = "Most is gained by lanes 8 -> 16 (slot and device), 20.0 Gb/s (+100 %)";
        assert_eq!(sentence, format!("{first}; more easily by tags 32 -> 64 (setting) (+20 %)."));
        assert_eq!(best_of(&gains).unwrap().what, "lanes 8 -> 16");
        assert!(
            advice(&gains[1..], "", "", "simulated")
                .contains("+20 % on the simulated 10.0 Gb/s; of the test")
        );
    }

    #[test]
    fn a_change_that_gives_little_comes_second() {
        let gains = [gain("size", "test", "workload", 15.0), gain("tags", "link", "setting", 10.2)];
        assert_eq!(best_of(&gains).unwrap().what, "size");
    }

    #[test]
    fn nothing_that_helps_is_counted() {
        let gains = [gain("tags", "link", "setting", 10.0), gain("lanes", "link", "slot", 10.05)];
        let words = "None of the 2 changes tried helps, nor a pair of them, simulated again.";
        assert_eq!(advice(&gains, "simulated again", "", ""), words);
        assert!(advice(&gains, "", "the bound itself", "").contains("raises the bound itself"));
        assert!(bound_advice(&gains).starts_with("None of the 2 changes of the link"));
        assert!(allowing(&gains, 11.0).starts_with("None of the 2 changes tried allows it"));
    }

    #[test]
    fn a_latency_gains_by_its_fall() {
        let change = Effect::new("warm caches", 400.0, 300.0, NS, "test");
        assert_eq!((change.gain_percent(), change.percent_text().as_str()), (25.0, "-25 %"));
    }

    #[test]
    fn a_second_change_is_left_out_of_a_sentence_that_grows_too_long() {
        let mut pair = gain("a b c d e f g h i j k l m n and lanes", "link", "setting", 40.0);
        (pair.how, pair.is_worth) = (How::Pair, true);
        let gains = [pair, gain("lanes", "link", "slot", 20.0)];
        let sentence = advice(&gains, "", "", "");
        assert_eq!(sentence, "Most is gained by lanes (slot), 20.0 Gb/s (+100 %).");
    }
}
