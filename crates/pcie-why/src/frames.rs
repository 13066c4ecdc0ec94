//! Why a NIC moves no more packets: on a bare link in closed form, or on a simulated machine.
//!
//! Rates count the bytes that cross PCIe: frames less their FCS. A change's gain is the rate with the change made.

use crate::answer::{Answer, Bar, Role, effects};
use crate::bound_keys::{borrowed_sentences, is_of_host, keys_behind_nic};
use crate::certainty::{
    Certainty, NEAR, Named, SIMULATED, certainties, differs, fewest, is_above, simulated_certainty,
    with_unmeasured,
};
use crate::changes::{Change, LINK, accesses_named, changed_nic};
use crate::defects::worse_links;
use crate::gains::{Effect, Gain, LEAST_GAIN_PERCENT, advice, best_of, helpful, least_enough};
use crate::nics::{Ground, NicQuestion};
use crate::numbers::{digits, listed};
use crate::one_test::shortest;
use crate::resource::Resource;
use crate::search::{Engine, How, Length, search};
use crate::stated_packets::StatedPackets;
use crate::step_costs::{StepCost, step_costs};
use indexmap::IndexMap;
use pcie_model::{Ethernet, Interactions, Model, Nic, Path};
use pcie_refusal::numbers::significant;
use pcie_refusal::{Kind, Refusal, Unfinished};
use pcie_sim::nic::{Direction, Traffic};
use pcie_sim::profile::System;
use pcie_wire::LinkParameters;
use serde::Deserialize;
use std::ops::ControlFlow;

/// A possible cause fits if its rate differs from the measured one by no more than this share.
const FITS: f64 = 0.05;
/// Costs below this share of a packet's time are left to the table.
const SHOWN_SHARE: f64 = 0.01;
/// Gain of another change from which a resource that gives nothing does not bind alone.
const REFUTING_PERCENT: f64 = 5.0;
/// Rates within this ratio are alike.
const ALIKE: f64 = 1.05;
const PREAMBLE_BYTES: u64 = 8;
const GAP_BYTES: u64 = 12;
const VLAN_BYTES: u64 = 4;
const ROUND_TRIP_NS: f64 = 1000.0;
const NAMED_COSTS: usize = 3;
const NAMED_CAUSES: usize = 2;
const LINE: &str = "line";
const MEASURED: &str = "measured";
const BATCH: &str = "batch";
const MODERATION: &str = "moderation";
const GBPS: &str = "Gb/s";

/// A question about frames of one size through a NIC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramesAsked {
    /// The frames, with the packets of a full simulation.
    pub traffic: Traffic,
    /// The measured rate of one direction, Gb/s.
    #[serde(default)]
    pub measured: Option<f64>,
    /// The rate that a run recorded, which is explained instead of a new one.
    #[serde(default)]
    pub recorded: Option<Recorded>,
    /// Keys of the system that nobody measured, and a word on each.
    #[serde(default)]
    pub unmeasured: IndexMap<String, String>,
    /// Keys of the system that are borrowed, and the profile that each comes from.
    #[serde(default)]
    pub borrowed: IndexMap<String, String>,
    /// Notes for the answer.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether nobody gave the link: it is the usual one of the line rate.
    #[serde(default)]
    pub is_link_assumed: bool,
    /// What vendors state of packets: a rate above it gets a note.
    #[serde(default)]
    pub stated: Option<StatedPackets>,
}

impl FramesAsked {
    /// A question about the simulated rate of frames.
    #[must_use]
    pub fn of_frames(traffic: Traffic) -> Self {
        Self {
            traffic,
            measured: None,
            recorded: None,
            unmeasured: IndexMap::new(),
            borrowed: IndexMap::new(),
            notes: Vec::new(),
            is_link_assumed: false,
            stated: None,
        }
    }
}

/// A rate that a run recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The rate, Gb/s.
    pub gbps: f64,
    /// What bound it.
    pub binds: String,
}

/// Why frames of one size through a NIC on a system move no faster; `progress` is called while changes are simulated.
///
/// A measured rate above the bound that fits the NIC with a change of its profile is answered for that NIC.
///
/// # Errors
/// The NIC cannot run there, or it was stopped.
pub fn why_nic(
    nic: &Nic,
    system: System,
    asked: &FramesAsked,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Answer, Unfinished> {
    let answer = why(nic, Ground::System(Box::new(system)), asked, progress)?;
    Ok(with_stated_rate(answer, &nic.plain.name, asked))
}

/// The same on a bare link, in closed form.
///
/// # Errors
/// Those of [`why_nic`].
pub fn why_nic_on_link(
    nic: &Nic,
    link: LinkParameters,
    asked: &FramesAsked,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Answer, Unfinished> {
    let answer = why(nic, Ground::Link(link), asked, progress)?;
    Ok(with_stated_rate(answer, &nic.plain.name, asked))
}

/// The answer with a note on packets that the NIC is not known to process.
fn with_stated_rate(mut answer: Answer, name: &str, asked: &FramesAsked) -> Answer {
    let Some(stated) = &asked.stated else { return answer };
    let least = |is_allowed: &dyn Fn(&&Bar) -> bool| {
        let allowed = answer.bars.iter().filter(is_allowed).map(|bar| bar.value);
        allowed.min_by(f64::total_cmp)
    };
    let simulated = least(&|bar| bar.role == Role::Value && bar.name != MEASURED);
    let allowed = simulated.or_else(|| least(&|bar| bar.role == Role::Bound));
    let frame_bytes = asked.traffic.frame_bytes;
    let warning = allowed.and_then(|gbps| stated.warning(name, frame_bytes, packets(gbps, frame_bytes)));
    answer.notes.extend(warning);
    answer
}

/// Millions of frames a second at a rate, Gb/s.
fn packets(gbps: f64, frame_bytes: u64) -> f64 {
    1e3 * gbps / (8.0 * Ethernet::transferred_bytes(frame_bytes).unwrap_or(1) as f64)
}

fn why(
    nic: &Nic,
    ground: Ground,
    asked: &FramesAsked,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Answer, Unfinished> {
    asked.traffic.ethernet.check()?;
    Ethernet::transferred_bytes(asked.traffic.frame_bytes)?;
    let mut engine = NicQuestion::of_ground(nic, ground.clone(), asked.traffic)?;
    engine.model()?;
    let name = nic.plain.name.clone();
    let found = search(&mut engine, progress)?.ok_or_else(|| {
        let refused = Refusal::new(format!("{name}: cannot run there"));
        refused.kind(Kind::Unsupported).remedy("choose another --direction, --frame or --profile")
    })?;
    let gains = Gain::of_search(&found, GBPS);
    let resource = found.resources.iter().flatten().next().cloned();
    let mut case = Case::new(&name, &engine, asked, found.values[0], resource, gains)?;
    if let Some(change) = case.fitting_change() {
        let changed = changed_nic(engine.nic(), &change)?;
        let unrecorded = FramesAsked { recorded: None, ..asked.clone() };
        let inner = why(&changed.into(), ground, &unrecorded, progress)?;
        return Ok(case.for_features(&change.what, inner));
    }
    case.causes = case.measured_causes(&mut engine, progress)?;
    Ok(case.answer())
}

struct Case<'a> {
    name: &'a str,
    nic: Interactions,
    model: Model,
    link: LinkParameters,
    is_simulated: bool,
    asked: &'a FramesAsked,
    /// The rate in question, without a measured one.
    gbps: f64,
    binds: String,
    bounds: Vec<Named>,
    resource: Option<Resource>,
    gains: Vec<Gain>,
    causes: Vec<(String, f64)>,
}

impl<'a> Case<'a> {
    fn new(
        name: &'a str,
        engine: &NicQuestion,
        asked: &'a FramesAsked,
        simulated: f64,
        resource: Option<Resource>,
        gains: Vec<Gain>,
    ) -> Result<Self, Refusal> {
        let (link, model) = (engine.link(), engine.model()?);
        let bounds = engine.bounds()?;
        let first = bounds.first().map(|(bound, _)| bound.clone()).unwrap_or_default();
        let shown = engine.bound().map_or(first, |bound| bound.to_string());
        let (gbps, binds) =
            asked.recorded.as_ref().map_or((simulated, shown), |run| (run.gbps, run.binds.clone()));
        let is_simulated = engine.is_simulated();
        let nic = engine.nic().clone();
        let causes = Vec::new();
        Ok(Self { name, nic, model, link, is_simulated, asked, gbps, binds, bounds, resource, gains, causes })
    }

    fn packets(&self, gbps: f64) -> f64 {
        packets(gbps, self.asked.traffic.frame_bytes)
    }

    /// The measured rate, if it is above the bound.
    fn above(&self) -> Option<f64> {
        self.asked.measured.filter(|measured| is_above(*measured, self.gbps))
    }

    /// The measured rate, if it is clearly below the bound.
    fn below(&self) -> Option<f64> {
        self.asked.measured.filter(|measured| *measured < NEAR * self.gbps)
    }

    /// The change of the NIC that allows a measured rate above the bound, and little more.
    fn fitting_change(&self) -> Option<Change> {
        let measured = self.above()?;
        let fits = |gain: &&Gain| {
            let is_of_nic = gain.change.of == "nic" && gain.is_full && gain.how != How::Pair;
            let after = gain.change.after;
            is_of_nic && NEAR * after <= measured && !is_above(measured, after)
        };
        let fitting = self.gains.iter().filter(fits);
        let least = fitting.min_by(|one, other| one.change.after.total_cmp(&other.change.after))?;
        Some(Change::of_keys(&least.change.what, least.change.keys.clone()))
    }

    /// The answer for the NIC with a change of its profile, as that of the NIC in question.
    fn for_features(&self, what: &str, inner: Answer) -> Answer {
        let measured = digits(self.asked.measured.unwrap_or_default());
        let profile = format!("{} Gb/s, the bound of the profile as it is", digits(self.gbps));
        let more = format!("the measured {measured} Gb/s are more than {profile}");
        let sure = if self.asked.is_link_assumed {
            Certainty::not(format!("{} is assumed; with it, {more}", self.link_named()))
        } else {
            Certainty::fairly(more)
        };
        let (plain, with) =
            (format!(" binds {} at", self.name), format!(" binds {} with {what} at", self.name));
        let mut answer = inner;
        answer.sentences[0] = answer.sentences[0].replacen(&plain, &with, 1);
        answer.sentences[1] = sure.sentence();
        answer.sure = sure;
        let before = Bar::new(format!("{} of {}", self.binds, self.name), self.gbps, Role::Bound);
        answer.bars.insert(1, before);
        answer
    }

    /// The rates with common defects of the link, of a measured rate that is not above the bound.
    fn measured_causes(
        &self,
        engine: &mut NicQuestion,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Vec<(String, f64)>, Unfinished> {
        if self.asked.measured.is_none() || self.above().is_some() {
            return Ok(Vec::new());
        }
        let link = self.link;
        let worse = worse_links(link.generation, link.lanes, link.mps_bytes, link.mrrs_bytes);
        let total = worse.len();
        let found = engine.values(&worse, Length::Full, &mut |done| progress(done, total))?;
        let cause = |(one, rates): (Change, Option<Vec<f64>>)| Some((one.what, *rates?.first()?));
        Ok(worse.into_iter().zip(found).filter_map(cause).collect())
    }

    fn answer(&self) -> Answer {
        let Traffic { direction, ethernet, frame_bytes, .. } = self.asked.traffic;
        let path = match direction {
            Direction::Both => "in both directions at once",
            Direction::Tx => "sending",
            Direction::Rx => "receiving",
        };
        let what = format!("{} over {}, {frame_bytes} B frames", self.name, self.link_named());
        let rate = 1e6 * self.packets(self.gbps);
        let costs = step_costs(&self.nic, &self.model, &self.asked.traffic, rate).unwrap_or_default();
        let sure = self.certainty();
        let mut notes: Vec<String> = self.link_assumed().into_iter().collect();
        notes.extend(self.asked.notes.iter().cloned());
        notes.extend(self.counted());
        notes.extend(borrowed_sentences(&[&self.binds], &self.asked.borrowed));
        Answer {
            question: format!("{what}, {path}, {} Gb/s line", ethernet.line_gbps),
            sentences: vec![self.binding(&costs), sure.sentence(), self.advice()],
            binds: Some(self.binds.clone()),
            sure,
            change: self.mended().or_else(|| self.best()),
            changes: effects(&self.gains),
            unit: GBPS.to_owned(),
            bars: self.bars(),
            rows: costs.iter().map(StepCost::row).collect(),
            notes,
        }
    }

    /// The first sentence: what binds, at which rate, and what a packet costs there.
    fn binding(&self, costs: &[StepCost]) -> String {
        let packets = self.packets(self.gbps);
        let packets =
            format!("{} million packets/s, one every {} ns", digits(packets), digits(1e3 / packets));
        let (name, rate) = (self.name, digits(self.gbps));
        if let Some(measured) = self.above() {
            let simulated = if self.is_simulated { " in the simulation" } else { "" };
            let more = format!("The measured {} Gb/s are more than {} allows", digits(measured), self.binds);
            return format!("{more} {name}{simulated}, {rate} Gb/s ({packets}).");
        }
        let bound = match self.binds.as_str() {
            LINE => "The line",
            BATCH => "Batching",
            MODERATION => "Interrupt moderation",
            word => word,
        };
        let reached = format!("{bound} binds {name} at {rate} Gb/s ({packets})");
        if let Some(held) = self.held() {
            return format!("{reached}: {held}.");
        }
        if is_of_host(&self.binds) {
            return format!("{reached}; the link has time to spare.");
        }
        shortest((1..=NAMED_COSTS).rev().map(|many| format!("{reached}: {}.", self.link_time(costs, many))))
    }

    /// How much of a resource of NIC or link is in use where it binds.
    fn held(&self) -> Option<String> {
        if let Some(resource) = self.resource.as_ref().filter(|one| one.bound == self.binds) {
            return Some(resource.clause.clone());
        }
        match self.binds.as_str() {
            BATCH => self.batched(),
            MODERATION => Some("packets wait for moderated interrupts".to_owned()),
            "completion-buffer" => Some("reads wait for room for their completions".to_owned()),
            _ => None,
        }
    }

    /// The accesses that wait until enough packets share one: of those that a packet needs before it moves, the ones
    /// that most packets share.
    fn batched(&self) -> Option<String> {
        let paths: &[Path] = match self.asked.traffic.direction {
            Direction::Both => &[Path::Tx, Path::Rx],
            Direction::Tx => &[Path::Tx],
            Direction::Rx => &[Path::Rx],
        };
        let before_the_packet = paths.iter().flat_map(|path| {
            let steps = self.nic.steps.iter().filter(move |step| step.path == *path);
            steps.take_while(|step| !step.moves_packet())
        });
        let shared = before_the_packet.filter(|step| step.moderation_ns.is_none());
        let waiting = shared.max_by_key(|step| step.group_packets())?;
        let (accesses, ring) = (accesses_named(waiting.kind), self.nic.queues.ring_descriptors);
        Some(format!("{accesses} wait for {} packets each, in a ring of {ring}", waiting.group_packets()))
    }

    /// A packet's time on the link in the direction that binds, else in the busier one, by kind of cost.
    fn link_time(&self, costs: &[StepCost], many: usize) -> String {
        let (mut upstream, mut downstream): (IndexMap<&str, f64>, IndexMap<&str, f64>) = Default::default();
        for cost in costs {
            *upstream.entry(cost.cost).or_default() += cost.upstream_ns;
            *downstream.entry(cost.cost).or_default() += cost.downstream_ns;
        }
        let total = |sums: &IndexMap<&str, f64>| sums.values().sum::<f64>();
        let (way, sums) = match self.binds.as_str() {
            "wire-upstream" => ("upstream", upstream),
            "wire-downstream" => ("downstream", downstream),
            _ if total(&downstream) > total(&upstream) => ("downstream", downstream),
            _ => ("upstream", upstream),
        };
        let total_ns = total(&sums);
        let mut parts: Vec<(&str, f64)> = sums.into_iter().collect();
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        let shown = parts.iter().take(many).filter(|(_, ns)| *ns >= SHOWN_SHARE * total_ns);
        let shown: Vec<String> = shown.map(|(cost, ns)| format!("{} ns {cost}", digits(*ns))).collect();
        format!("{way} {}", shown.join(", "))
    }

    fn certainty(&self) -> Certainty {
        let assumed = |sure: Certainty| {
            if !self.asked.is_link_assumed {
                return sure;
            }
            Certainty::not(format!("{} is assumed; with it, {}", self.link_named(), sure.reason))
        };
        fewest(self.certainties().into_iter().map(assumed).collect())
    }

    fn certainties(&self) -> Vec<Certainty> {
        if let Some(doubt) = self.doubt() {
            return vec![doubt];
        }
        let (mut bounds, others): (Vec<Named>, Vec<Named>) =
            self.bounds.iter().cloned().partition(|(name, _)| *name == self.binds);
        if self.is_simulated {
            // The ports allow less than the bare link, and tags and latency have no closed form: the simulation says.
            bounds = vec![(self.binds.clone(), self.gbps)];
        }
        bounds.extend(others);
        if self.asked.measured.is_none() && self.is_simulated {
            if let Some(refuted) = self.refuted() {
                return vec![refuted];
            }
            return vec![self.on_unmeasured(simulated_certainty(&bounds, self.gbps), &bounds)];
        }
        let besides = self.below().map_or_else(Vec::new, |below| self.besides(below));
        certainties(&bounds, self.asked.measured, MEASURED, &besides)
    }

    /// How sure a bound is whose resource gives nothing alone, although another change does.
    fn refuted(&self) -> Option<Certainty> {
        let key = self.resource.as_ref().filter(|one| one.bound == self.binds)?.key;
        let is_of_key = |gain: &&Gain| gain.change.keys.len() == 1 && gain.change.keys.contains_key(key);
        let more = &self.gains.iter().find(is_of_key)?.change;
        let best = best_of(&self.gains)?;
        let is_refuted = more.gain_percent() < LEAST_GAIN_PERCENT && best.gain_percent() >= REFUTING_PERCENT;
        is_refuted.then(|| {
            let alone = format!("{} alone gives {}", more.what, more.percent_text());
            Certainty::not(format!("the simulation shows it, but {alone}"))
        })
    }

    fn link_named(&self) -> String {
        format!("Gen{} x{}", self.link.generation, self.link.lanes)
    }

    /// How sure a bound is whose value no document gives, if that changes the rate.
    fn doubt(&self) -> Option<Certainty> {
        let resource = self.resource.as_ref().filter(|one| one.bound == self.binds)?;
        let assumed = resource.assumed.as_ref()?;
        let known = format!("{} may be {} to {}", resource.key, assumed.least, assumed.most);
        let Some(mut rates) = assumed.values else { return Some(Certainty::not(known)) };
        rates.sort_by(f64::total_cmp);
        let [low, high] = rates;
        (high > ALIKE * low).then(|| {
            Certainty::not(format!("{known}, which would give {} to {} Gb/s", digits(low), digits(high)))
        })
    }

    /// How sure a simulated bound is on a system of which nobody measured some values.
    fn on_unmeasured(&self, sure: Certainty, bounds: &[Named]) -> Certainty {
        let keys = keys_behind_nic(&self.binds);
        let mut behind: Vec<&str> = keys.into_iter().filter(|key| !key.starts_with(LINK)).collect();
        let key = self.resource.as_ref().filter(|one| one.bound == self.binds).map(|one| one.key);
        if let Some(key) = key
            && !behind.contains(&key)
        {
            behind.push(key);
        }
        let is_unmeasured = |key: &str| self.asked.unmeasured.contains_key(key);
        let many = behind.iter().filter(|key| is_unmeasured(key)).count();
        with_unmeasured(sure, bounds, many, key.is_some_and(is_unmeasured))
    }

    /// What would give a measured rate below every bound, with ever fewer words: defects that fit, else queues that are
    /// too short.
    fn besides(&self, measured: f64) -> Vec<String> {
        let fitting = self.fitting_causes();
        if let Some((first, _)) = fitting.first() {
            let named = fitting.iter().take(NAMED_CAUSES);
            let named: Vec<String> =
                named.map(|(name, value)| format!("{name} ({} Gb/s)", digits(*value))).collect();
            return vec![
                format!("it fits {}", listed(&named, "or")),
                format!("it fits {}", named[0]),
                format!("it fits {first}"),
            ];
        }
        let interval_ns = 1e3 / self.packets(measured);
        let in_flight = format!("{} packets in flight", digits(ROUND_TRIP_NS / interval_ns));
        let pace = format!("cores of {} ns a packet", digits(interval_ns));
        vec![format!("{pace}, or {in_flight}, would give it"), format!("{in_flight} would give it")]
    }

    /// The defects that fit a measured rate below the bound, of those that lower the bound.
    fn fitting_causes(&self) -> Vec<&(String, f64)> {
        let Some(measured) = self.below() else { return Vec::new() };
        let fits =
            |cause: &&(String, f64)| cause.1 < NEAR * self.gbps && (cause.1 / measured - 1.0).abs() <= FITS;
        self.causes.iter().filter(fits).collect()
    }

    /// The end of a defect that fits the measured rate.
    fn mended(&self) -> Option<Effect> {
        let (name, value) = self.fitting_causes().into_iter().next()?;
        Some(Effect::new(format!("not {name}"), *value, self.gbps, GBPS, "link"))
    }

    /// The change to name first; for a measured rate above the bound, the least that allows it.
    fn best(&self) -> Option<Effect> {
        match self.above() {
            Some(measured) => least_enough(&self.gains, measured).map(|gain| gain.change.clone()),
            None => best_of(&self.gains).cloned(),
        }
    }

    /// The last sentence: the change that gives most.
    fn advice(&self) -> String {
        if let Some(measured) = self.above() {
            return match least_enough(&self.gains, measured) {
                Some(least) => format!("It would be allowed by {}.", least.text("")),
                None => {
                    let tried = format!("None of the {} changes tried allows it", self.gains.len());
                    format!("{tried}: check --line, --frame, --direction and the link.")
                }
            };
        }
        if let Some(mending) = self.mended() {
            let defect = mending.what.strip_prefix("not ").unwrap_or(&mending.what);
            let value = format!("{} Gb/s ({})", digits(mending.after), mending.percent_text());
            return format!("Check {defect} first, with `pcielab doctor`: mended, it allows {value}.");
        }
        if self.binds == LINE && helpful(&self.gains).next().is_none() {
            return "No change raises it: the line is full.".to_owned();
        }
        let how = if self.is_simulated { "simulated again" } else { "modelled" };
        let of = if self.below().is_some() { "the bound itself" } else { "" };
        let base = if self.asked.recorded.is_some() { SIMULATED } else { "" };
        advice(&self.gains, how, of, base)
    }

    /// The link that nobody gave.
    fn link_assumed(&self) -> Option<String> {
        let LinkParameters { mps_bytes, mrrs_bytes, .. } = self.link;
        let usual =
            format!("usual for {} Gb/s (give --gen and --lanes)", self.asked.traffic.ethernet.line_gbps);
        let named = format!("{}, MPS {mps_bytes}, MRRS {mrrs_bytes}", self.link_named());
        self.asked.is_link_assumed.then(|| format!("link assumed: {named}, {usual}"))
    }

    /// How rates are counted, beside other ways of counting.
    fn counted(&self) -> Option<String> {
        let gbps = self.asked.measured?;
        let Traffic { ethernet, frame_bytes, .. } = self.asked.traffic;
        let whole = frame_bytes + if ethernet.vlan { VLAN_BYTES } else { 0 };
        let data = Ethernet::transferred_bytes(frame_bytes).unwrap_or(1) as f64;
        let given = |bytes: u64| significant(gbps * data / bytes as f64, 4);
        let (frames, line) = (given(whole), given(whole + PREAMBLE_BYTES + GAP_BYTES));
        let packets = digits(self.packets(gbps));
        let counts = format!("{gbps} Gb/s counts frames less their FCS: {packets} million packets/s");
        let whole = format!("if your tool counts whole frames, give --measured {frames}");
        Some(format!("{counts}; {whole}; if it counts preamble and gap too, give {line}"))
    }

    fn bars(&self) -> Vec<Bar> {
        let measured = self.asked.measured.map(|gbps| Bar::new(MEASURED, gbps, Role::Value));
        let simulated = self.is_simulated.then(|| Bar::new(SIMULATED, self.gbps, Role::Value));
        let mut bars: Vec<Bar> = measured.into_iter().chain(simulated).collect();
        bars.extend(Bar::of_bounds(&self.bounds));
        let apart = self.causes.iter().filter(|(_, value)| differs(*value, self.gbps));
        bars.extend(apart.map(|(name, value)| Bar::new(name, *value, Role::Cause)));
        bars.extend(Bar::of_changes(&self.gains));
        bars
    }
}
