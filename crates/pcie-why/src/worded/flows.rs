//! Why flows of a fabric get no more: the edges that limit them, estimated or simulated.
//!
//! The estimate is max-min fair; the other method (`ecr`) is asked beside it: where both agree the answer is surer.

use super::Worded;
use crate::certainty::{Certainty, Named, certainties, fewest, possible_in_turn};
use crate::gains::{Effect, LEAST_GAIN_PERCENT};
use crate::numbers::{counted, digits, listed, percent_text};
use crate::one_test::shortest;
use serde::Deserialize;

const NAMED_FLOWS: usize = 3;
const UNIT: &str = "GB/s";
const OWN_DEMAND: &str = "own-demand";

/// Flows that were estimated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimatedFlows {
    /// The question.
    pub title: String,
    /// Flows in all.
    pub flows: usize,
    /// The edge that limits most flows.
    pub edge: Option<Edge>,
    /// Flows for which two methods estimate different shares.
    pub apart: Vec<String>,
    /// The change that gives most, if any gives something.
    pub best: Option<Effect>,
}

/// An edge that limits flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Its name.
    pub name: String,
    /// The flows that it limits.
    pub flows: Vec<String>,
    /// What it carries.
    pub load: f64,
    /// What it can carry.
    pub capacity: f64,
    /// What the flows get less than alone; none if a flow declares no rate.
    pub lost: Option<f64>,
}

/// Flows that were simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedFlows {
    /// The run's title, with the simulation where it has several.
    pub title: String,
    /// Origin of the values.
    pub origin: String,
    /// Flows in all, and those that ask for anything.
    pub flows: usize,
    /// Flows that ask for anything.
    pub asking: usize,
    /// The flows of the limit that binds most of them.
    pub group: Vec<String>,
    /// The flow in detail.
    pub flow: String,
    /// What it gets.
    pub value: f64,
    /// Its limits, the binding one first; none if its own demand limits it.
    pub limits: Vec<Named>,
    /// What the rest may come from.
    pub reasons: Vec<String>,
    /// The change that gives most, if any gives something.
    pub best: Option<Effect>,
}

impl EstimatedFlows {
    /// The words.
    #[must_use]
    pub fn worded(&self) -> Worded {
        let methods = "two methods, max-min and ecr, estimate";
        let sure = if self.apart.is_empty() {
            Certainty::fairly(format!("{methods} the same shares, but nothing was measured"))
        } else {
            Certainty::not(format!("{methods} different shares for {}", flow_names(&self.apart)))
        };
        let sentences = vec![self.binding(), sure.sentence(), advice(self.best.as_ref(), "estimated again")];
        Worded { question: self.title.clone(), sentences, sure, best: worth(self.best.as_ref()).cloned() }
    }

    fn binding(&self) -> String {
        let Some(edge) = &self.edge else {
            return match self.flows {
                1 => "No edge limits the only flow: it gets what it asks for.".to_owned(),
                many => format!("No edge limits any of the {many} flows: each gets what it gets alone."),
            };
        };
        let held = counted(edge.flows.len(), self.flows, "flow", "flows");
        let carries = format!("it carries {} of {} {UNIT}", digits(edge.load), digits(edge.capacity));
        let get = if edge.flows.len() == 1 { "it gets" } else { "they get" };
        let less = edge.lost.map(|lost| format!(", and {get} {} {UNIT} less than alone", digits(lost)));
        let said =
            |names: &str, less: &str| format!("The edge {} binds {held}{names}: {carries}{less}.", edge.name);
        let (names, less) = (format!(", {}", flow_names(&edge.flows)), less.unwrap_or_default());
        shortest([said(&names, &less), said("", &less), said("", "")])
    }
}

impl SimulatedFlows {
    /// The words.
    #[must_use]
    pub fn worded(&self) -> Worded {
        let bounds = if self.limits.is_empty() {
            vec![(OWN_DEMAND.to_owned(), self.value)]
        } else {
            self.limits.clone()
        };
        let besides = possible_in_turn(&self.reasons, self.reasons.len());
        let sure = fewest(certainties(&bounds, Some(self.value), &self.origin, &besides));
        Worded {
            question: format!("{}, {} flows ({})", self.title, self.flows, self.origin),
            sentences: vec![self.binding(), sure.sentence(), advice(self.best.as_ref(), "computed again")],
            sure,
            best: worth(self.best.as_ref()).cloned(),
        }
    }

    fn binding(&self) -> String {
        let name = self.limits.first().map_or(OWN_DEMAND, |(name, _)| name);
        let held = counted(self.group.len(), self.asking, "flow", "flows");
        let value = digits(self.value);
        let gets = match self.limits.first() {
            None => format!("{} gets {value} {UNIT}", self.flow),
            Some((_, limit)) => {
                format!("{} gets {value} of the {} {UNIT} that it allows", self.flow, digits(*limit))
            }
        };
        let names = flow_names(&self.group);
        shortest([format!("{name} binds {held}, {names}: {gets}."), format!("{name} binds {held}: {gets}.")])
    }
}

/// The first flows by name, and the number of the others.
fn flow_names(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED_FLOWS);
    let shown = names.iter().take(NAMED_FLOWS).cloned();
    let rest = (more > 0).then(|| format!("{more} more"));
    listed(&shown.chain(rest).collect::<Vec<_>>(), "and")
}

/// The change, if it gives something.
fn worth(best: Option<&Effect>) -> Option<&Effect> {
    best.filter(|best| best.gain_percent() >= LEAST_GAIN_PERCENT)
}

/// The sentence on the best change; `how`: the engine that computed it, as a clause.
fn advice(best: Option<&Effect>, how: &str) -> String {
    let Some(first) = worth(best) else {
        return "No change that was tried gives any flow more: raise what each flow gets alone.".to_owned();
    };
    let gain = percent_text(first.gain_percent());
    let values = format!("from {} to {} {UNIT} ({gain})", digits(first.before), digits(first.after));
    let brief = first.what.split(", which affects ").next().unwrap_or(&first.what);
    shortest([&first.what, brief].map(|what| format!("Most is gained by {what}: {values}, {how}.")))
}
