//! The search: every change briefly, those that move the value at full length, further steps, and pairs.

use crate::changes::{Change, Part};
use crate::resource::Resource;
use pcie_refusal::Unfinished;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// How long a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Short: it shows whether a change moves the value.
    Short,
    /// As long as a run, for values that are shown.
    Full,
}

/// Computes values of a question with changes made.
pub trait Engine {
    /// Every change of one key.
    fn changes(&self) -> &[Change];

    /// The values with each change, one of each part of the question; `None` where a change is impossible.
    ///
    /// # Errors
    /// It was stopped.
    fn values(
        &mut self,
        changes: &[Change],
        length: Length,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Option<Vec<f64>>>, Unfinished>;

    /// The change one step further.
    fn further(&self, change: &Change) -> Option<Change>;

    /// By how much each change raises the closed-form bound that binds, as a ratio; 1 where there is none.
    fn raised(&self, changes: &[Change]) -> Vec<f64>;

    /// Whether a change is known to have no effect without a simulation of it.
    fn is_without_effect(&self, change: &Change) -> bool;

    /// Whether less is better.
    fn is_latency(&self) -> bool;

    /// The resource behind the bound of each part of the question; none where no bound has one.
    fn resources(&self) -> Vec<Option<Resource>> {
        Vec::new()
    }
}

/// Which changes were made together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// One step of one key.
    #[default]
    Single,
    /// Further steps of one key.
    Further,
    /// Two keys.
    Pair,
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Whether it is one step of one key, more steps, or two keys.
    pub how: How,
    /// The value of each part of the question with it, at full length.
    pub values: Vec<f64>,
    /// The mean improvement, percent: growth of a rate, fall of a latency.
    pub gain_percent: f64,
    /// Whether it was simulated at full length; otherwise `values` apply the short simulation's ratio.
    pub is_full: bool,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The values without a change.
    pub values: Vec<f64>,
    /// Every possible change, the best first.
    pub tried: Vec<Tried>,
    /// The index of the change to name: of those of machine and NIC that give about as much as the best, the easiest.
    pub best: Option<usize>,
    /// The index of a pair that gives clearly more than the best.
    pub pair: Option<usize>,
    /// The resource behind the bound of each part of the question, where the engine knows it.
    pub resources: Vec<Option<Resource>>,
}

/// Least gain of a change that is named, percent.
pub const LEAST_PERCENT: f64 = 1.0;
/// Least gain of a short simulation that is looked at again, percent.
const MOVES_PERCENT: f64 = 0.5;
/// Changes that are simulated at full length.
const FULL_MOST: usize = 4;
/// Changes that raise the binding bound and are simulated at full length whatever the short simulation shows.
const OF_BOUND: usize = 2;
/// Least rise of a bound that counts.
const RISES: f64 = 1.02;
const FURTHER_MOST: usize = 5;
/// A further step that gives fewer points more is not worth it.
const WORTH_POINTS: f64 = 2.0;
const PAIRED: usize = 4;
/// Changes whose gains are at least this share of the best give about as much.
const ALIKE: f64 = 0.9;

/// Searches the changes of a question; `None` if it has no value.
///
/// # Errors
/// It was stopped.
pub fn search(
    engine: &mut dyn Engine,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Option<Found>, Unfinished> {
    let mut search = Search { engine, progress, done: 0, tried: Vec::new(), short_gains: Vec::new() };
    let unchanged = Change::none();
    let Some(full) = search.one(&unchanged, Length::Full)? else { return Ok(None) };
    let Some(short) = search.one(&unchanged, Length::Short)? else { return Ok(None) };
    search.singles(&short, &full)?;
    search.further(&short, &full)?;
    search.pairs(&short, &full)?;
    let resources = search.resources()?;
    Ok(Some(search.found(full, resources)))
}

/// Indices of the highest values of at least `least`, at most as many as `most`.
fn best(values: &[f64], least: f64, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).filter(|nth| values[*nth] >= least).collect();
    order.sort_by(|one, other| values[*other].total_cmp(&values[*one]));
    order.truncate(most);
    order
}

/// The best change of the machine that is easier than the best of `chosen`, unless one of them is; answers name it, too.
fn easier(changes: &[Change], gains: &[f64], chosen: &[usize]) -> Option<usize> {
    let most = chosen.iter().find(|nth| changes[**nth].of != Part::Test)?;
    let is_easier = |nth: &usize| {
        let change = &changes[*nth];
        change.of != Part::Test && change.who < changes[*most].who && gains[*nth] >= WORTH_POINTS
    };
    if chosen.iter().any(is_easier) {
        return None;
    }
    let easier = (0..changes.len()).filter(is_easier);
    easier.max_by(|one, other| gains[*one].total_cmp(&gains[*other]))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

struct Search<'a> {
    engine: &'a mut dyn Engine,
    progress: &'a mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    done: usize,
    tried: Vec<Tried>,
    /// The gain of each single change in the short simulation.
    short_gains: Vec<f64>,
}

impl Search<'_> {
    fn values(&mut self, changes: &[Change], length: Length) -> Result<Vec<Option<Vec<f64>>>, Unfinished> {
        let (done, total) = (self.done, self.done + changes.len());
        let progress = &mut self.progress;
        let found = self.engine.values(changes, length, &mut |more| progress(done + more, total))?;
        self.done = total;
        Ok(found)
    }

    fn one(&mut self, change: &Change, length: Length) -> Result<Option<Vec<f64>>, Unfinished> {
        Ok(self.values(std::slice::from_ref(change), length)?.pop().flatten())
    }

    /// Every change of one key, briefly; those that move the value or raise its bound again.
    fn singles(&mut self, short: &[f64], full: &[f64]) -> Result<(), Unfinished> {
        let all = self.engine.changes().to_vec();
        let (idle, changes): (Vec<Change>, Vec<Change>) =
            all.into_iter().partition(|change| self.engine.is_without_effect(change));
        let found = self.values(&changes, Length::Short)?;
        let possible = changes.into_iter().zip(found);
        let mut possible: Vec<(Change, Vec<f64>)> =
            possible.filter_map(|(change, values)| Some((change, values?))).collect();
        possible.extend(idle.into_iter().map(|change| (change, short.to_vec())));
        let gains: Vec<f64> = possible.iter().map(|(_, values)| self.gain(short, values)).collect();
        let changes: Vec<Change> = possible.iter().map(|(change, _)| change.clone()).collect();
        let raised = self.engine.raised(&changes);
        let mut again = best(&gains, MOVES_PERCENT, FULL_MOST);
        for nth in best(&raised, RISES, OF_BOUND) {
            if !again.contains(&nth) {
                again.push(nth);
            }
        }
        again.extend(easier(&changes, &gains, &again));
        let at_length: Vec<Change> = again.iter().map(|nth| changes[*nth].clone()).collect();
        let mut of_full = vec![None; changes.len()];
        for (nth, values) in again.into_iter().zip(self.values(&at_length, Length::Full)?) {
            of_full[nth] = values;
        }
        for (((change, values), of_full), gain) in possible.into_iter().zip(of_full).zip(gains) {
            let tried = match of_full {
                Some(values) => self.tried(change, How::Single, full, values),
                None => {
                    let ratios = values.iter().zip(short).zip(full);
                    let values = ratios.map(|((value, short), full)| value / short * full).collect();
                    Tried { change, how: How::Single, values, gain_percent: gain, is_full: false }
                }
            };
            self.tried.push(tried);
            self.short_gains.push(gain);
        }
        Ok(())
    }

    /// Further steps of the best key, as long as they are worth it: briefly, and the last of them at full length.
    fn further(&mut self, short: &[f64], full: &[f64]) -> Result<(), Unfinished> {
        let Some(best) = self.best_of(|one| one.is_full && one.change.of != Part::Test) else {
            return Ok(());
        };
        let single = self.tried[best].gain_percent;
        if single < LEAST_PERCENT {
            return Ok(());
        }
        let (mut gain, mut last) = (self.short_gains[best], None);
        for _ in 0..FURTHER_MOST {
            let from = last.as_ref().unwrap_or(&self.tried[best].change);
            let Some(change) = self.engine.further(from) else { break };
            let Some(values) = self.one(&change, Length::Short)? else { break };
            let more = self.gain(short, &values) - gain;
            if more < WORTH_POINTS {
                break;
            }
            (gain, last) = (gain + more, Some(change));
        }
        let Some(change) = last else { return Ok(()) };
        if let Some(values) = self.one(&change, Length::Full)? {
            let tried = self.tried(change, How::Further, full, values);
            if tried.gain_percent - single >= WORTH_POINTS {
                self.tried.push(tried);
            }
        }
        Ok(())
    }

    /// The best pairs: briefly, and the best of them at full length.
    fn pairs(&mut self, short: &[f64], full: &[f64]) -> Result<(), Unfinished> {
        let singles = self.tried.iter().filter(|one| one.how == How::Single && one.change.of != Part::Test);
        let (single, gains): (Vec<Change>, Vec<f64>) =
            singles.map(|one| (one.change.clone(), one.gain_percent)).unzip();
        let raised = self.engine.raised(&single);
        let mut chosen = best(&gains, f64::MIN, PAIRED);
        let of_bound = best(&raised, RISES, PAIRED + OF_BOUND);
        let more: Vec<usize> =
            of_bound.into_iter().filter(|nth| !chosen.contains(nth)).take(OF_BOUND).collect();
        chosen.extend(more);
        let mut pairs = Vec::new();
        for (nth, one) in chosen.iter().enumerate() {
            pairs.extend(chosen[nth + 1..].iter().filter_map(|other| single[*one].and(&single[*other])));
        }
        let found = self.values(&pairs, Length::Short)?;
        let mut possible: Vec<(f64, Change)> = pairs
            .into_iter()
            .zip(found)
            .filter_map(|(change, values)| Some((self.gain(short, &values?), change)))
            .collect();
        possible.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        possible.truncate(1);
        for (_, change) in possible {
            if let Some(values) = self.one(&change, Length::Full)? {
                let tried = self.tried(change, How::Pair, full, values);
                self.tried.push(tried);
            }
        }
        Ok(())
    }

    /// The resources behind the bounds; of one that is only assumed, the values at both ends of its interval.
    fn resources(&mut self) -> Result<Vec<Option<Resource>>, Unfinished> {
        let mut resources = self.engine.resources();
        for resource in resources.iter_mut().flatten() {
            let Some(assumed) = &mut resource.assumed else { continue };
            let ends = [assumed.least, assumed.most].map(|end| Change::of_step(resource.key, end.into()));
            let found = self.values(&ends, Length::Full)?;
            let mean = |values: &Option<Vec<f64>>| values.as_ref().map(|values| mean(values));
            assumed.values = mean(&found[0]).zip(mean(&found[1])).map(Into::into);
        }
        Ok(resources)
    }

    fn tried(&self, change: Change, how: How, before: &[f64], values: Vec<f64>) -> Tried {
        let gain_percent = self.gain(before, &values);
        Tried { change, how, values, gain_percent, is_full: true }
    }

    /// The mean improvement, percent.
    fn gain(&self, before: &[f64], after: &[f64]) -> f64 {
        let (before, after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
        let grown = 100.0 * (after / before - 1.0);
        if self.engine.is_latency() { -grown } else { grown }
    }

    fn best_of(&self, wanted: impl Fn(&Tried) -> bool) -> Option<usize> {
        let gain = |nth: &usize| self.tried[*nth].gain_percent;
        (0..self.tried.len())
            .filter(|nth| wanted(&self.tried[*nth]))
            .max_by(|one, other| gain(one).total_cmp(&gain(other)))
    }

    fn found(mut self, values: Vec<f64>, resources: Vec<Option<Resource>>) -> Found {
        self.tried.sort_by(|one, other| other.gain_percent.total_cmp(&one.gain_percent));
        let alone = |one: &Tried| one.is_full && one.how != How::Pair && one.change.of != Part::Test;
        let most = self.best_of(alone).map_or(0.0, |nth| self.tried[nth].gain_percent);
        let best = (0..self.tried.len())
            .filter(|nth| alone(&self.tried[*nth]) && self.tried[*nth].gain_percent >= ALIKE * most)
            .min_by_key(|nth| self.tried[*nth].change.who)
            .filter(|nth| self.tried[*nth].gain_percent >= LEAST_PERCENT);
        let least = best.map_or(LEAST_PERCENT, |nth| {
            let gain = self.tried[nth].gain_percent;
            gain + WORTH_POINTS.max((1.0 - ALIKE) * gain)
        });
        let pair = self.best_of(|one| one.how == How::Pair && one.gain_percent >= least);
        Found { values, tried: self.tried, best, pair, resources }
    }
}

#[cfg(test)]
mod tests;
