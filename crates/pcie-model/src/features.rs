//! Features of a NIC that are on or off: switches, which change steps that they name by their `what`.

use std::borrow::Cow;

use indexmap::IndexMap;
use pcie_refusal::shown::named;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_schema::{Fitting, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

use crate::interactions::{Interactions, Kind, Step, StepBytes};

/// A NIC and the features that it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// The NIC without features.
    #[serde(flatten)]
    pub plain: Interactions,
    /// Features that change steps, by name.
    #[serde(default, rename = "switch")]
    pub switches: IndexMap<String, Switch>,
    /// Switches that are on; `NAME+SWITCH` turns on more.
    #[serde(default)]
    pub on: Vec<String>,
}

/// A feature that is on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// What it does, in one sentence.
    pub what: String,
    /// Where its values come from, and which are assumed.
    pub source: String,
    /// Largest frame, FCS included, that it acts on; left out: it acts on every frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 65_535))]
    #[schemars(extend("x-fact" = "what the feature is"))]
    pub frame_bytes_most: Option<u32>,
    /// Steps that do not happen, by their `what`.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// New values of steps, by their `what`.
    #[serde(default)]
    pub change: IndexMap<String, StepChange>,
}

/// New values of one step; keys that are left out keep theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepChange {
    /// New description of the access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Another access, by the same actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fact" = "what the feature is"))]
    pub kind: Option<Kind>,
    /// How many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fact" = "what the feature is"))]
    pub bytes: Option<StepBytes>,
    /// Packets for each access.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-fact" = "what the feature is"))]
    pub every_packets: Option<u32>,
    /// Pieces of `bytes` in one access.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-fact" = "what the feature is"))]
    pub batch: Option<u32>,
}

impl StepChange {
    fn apply(&self, step: &mut Step) {
        if let Some(what) = &self.what {
            step.what.clone_from(what);
        }
        step.kind = self.kind.unwrap_or(step.kind);
        step.bytes = self.bytes.unwrap_or(step.bytes);
        step.every_packets = self.every_packets.or(step.every_packets);
        step.batch = self.batch.unwrap_or(step.batch);
    }
}

impl Switch {
    /// Whether it acts on a frame; a frame of unknown size counts as a large one.
    #[must_use]
    pub fn acts_on(&self, frame_bytes: Option<u64>) -> bool {
        self.frame_bytes_most.is_none_or(|most| frame_bytes.is_some_and(|bytes| bytes <= u64::from(most)))
    }

    /// Refuses steps that the NIC does not have; `name` is the switch's.
    fn check_steps(&self, name: &str, steps: &[Step]) -> Result<(), Refusal> {
        let known: Vec<&str> = steps.iter().map(|step| step.what.as_str()).collect();
        let left_out = self.leave_out.iter().map(|what| ("leave_out", what));
        for (key, what) in left_out.chain(self.change.keys().map(|what| ("change", what))) {
            if !known.contains(&what.as_str()) {
                let problem = format!("no step has what = {}", named(what));
                let key = format!("switch.{name}.{key}");
                return Err(Refusal::new(problem).key(key).remedy(suggestion(what, &known)));
            }
        }
        Ok(())
    }
}

impl Fitting for Nic {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Nic>);
        &SHAPE
    }
}

impl From<Interactions> for Nic {
    fn from(plain: Interactions) -> Self {
        Self { plain, switches: IndexMap::new(), on: Vec::new() }
    }
}

impl Nic {
    /// Splits a name or path from the switches that follow it: `connectx-5+mprq` is `connectx-5` with `mprq`.
    #[must_use]
    pub fn split(reference: &str) -> (&str, Vec<&str>) {
        let switches = |at: usize| reference[at..].strip_prefix('+').filter(|rest| !rest.contains('/'));
        let files = reference.match_indices(".toml").map(|(at, end)| at + end.len());
        let name = reference.find(['+', '/']).filter(|end| *end > 0);
        let split = files.chain(name).find_map(|at| Some((&reference[..at], switches(at)?)));
        split.map_or((reference, Vec::new()), |(nic, switches)| (nic, switches.split('+').collect()))
    }

    /// Turns on more switches, which its name then shows.
    ///
    /// # Errors
    /// It has no switch of a name, or the switch is on already.
    pub fn with_switches(mut self, names: &[&str]) -> Result<Self, Refusal> {
        self.on.extend(names.iter().map(|name| (*name).to_owned()));
        self.check_names().map_err(|refusal| refusal.about(&self.plain.name))?;
        self.plain.name = [&[self.plain.name.as_str()], names].concat().join("+");
        Ok(self)
    }

    /// The accesses for frames of a size, FCS included, with the switches that are on and act on them.
    ///
    /// Without a size, switches that act on small frames only are off.
    #[must_use]
    pub fn for_frames(&self, frame_bytes: Option<u64>) -> Cow<'_, Interactions> {
        let on = self.on.iter().filter_map(|name| self.switches.get(name));
        let acting: Vec<&Switch> = on.filter(|switch| switch.acts_on(frame_bytes)).collect();
        if acting.is_empty() { Cow::Borrowed(&self.plain) } else { Cow::Owned(self.switched(&acting)) }
    }

    /// The switches that are on and act on small frames only, each with the largest of these frames.
    #[must_use]
    pub fn limits(&self) -> Vec<(&str, u32)> {
        let limit = |name: &String| self.switches.get(name)?.frame_bytes_most;
        self.on.iter().filter_map(|name| Some((name.as_str(), limit(name)?))).collect()
    }

    /// The accesses with switches on; where two change a key, the later one determines it.
    fn switched(&self, acting: &[&Switch]) -> Interactions {
        let is_kept = |step: &&Step| acting.iter().all(|switch| !switch.leave_out.contains(&step.what));
        let changed = |step: &Step| {
            let mut changed = step.clone();
            acting
                .iter()
                .filter_map(|switch| switch.change.get(&step.what))
                .for_each(|one| one.apply(&mut changed));
            changed
        };
        let steps = self.plain.steps.iter().filter(is_kept).map(changed).collect();
        Interactions { steps, ..self.plain.clone() }
    }

    /// Checks the steps without switches, with each switch alone, and with all that are on.
    ///
    /// # Errors
    /// Names the step or the switch.
    pub fn check(&self) -> Result<(), Refusal> {
        self.plain.check()?;
        for (name, switch) in &self.switches {
            switch.check_steps(name, &self.plain.steps)?;
            let alone = self.switched(&[switch]).check();
            alone.map_err(|refusal| refusal.about(format!("switch.{name}")))?;
        }
        self.check_names().map_err(|refusal| refusal.key("on"))?;
        self.for_frames(None).check()
    }

    fn check_names(&self) -> Result<(), Refusal> {
        let known: Vec<&str> = self.switches.keys().map(String::as_str).collect();
        for (position, name) in self.on.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let remedy = match known[..] {
                    [] => "leave it out: this NIC has no features".to_owned(),
                    _ => suggestion(name, &known),
                };
                return Err(Refusal::new(format!("has no feature {}", named(name)))
                    .kind(RefusalKind::NotFound)
                    .remedy(remedy));
            }
            if self.on[..position].contains(name) {
                let problem = format!("feature {} is given twice", named(name));
                return Err(Refusal::new(problem).remedy("give it once"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connectx() -> Nic {
        toml::from_str(include_str!("../../../profiles/nics/connectx-5.toml")).unwrap()
    }

    #[test]
    fn switches_follow_a_name_or_a_file() {
        for (reference, nic, switches) in [
            ("connectx-5", "connectx-5", &[][..]),
            ("connectx-5+mprq+inline", "connectx-5", &["mprq", "inline"]),
            ("/tmp/my+own.toml", "/tmp/my+own.toml", &[]),
            ("/tmp/my+own.toml+mprq", "/tmp/my+own.toml", &["mprq"]),
            ("a/b+mprq", "a/b+mprq", &[]),
            ("+mprq", "+mprq", &[]),
            ("nic+", "nic", &[""]),
        ] {
            assert_eq!(Nic::split(reference), (nic, switches.to_vec()), "{reference}");
        }
    }

    #[test]
    fn switches_change_the_steps_of_the_frames_that_they_act_on() {
        let nic = connectx();
        assert!(matches!(nic.for_frames(None), Cow::Borrowed(plain) if *plain == nic.plain));
        let inline = nic.clone().with_switches(&["inline"]).unwrap();
        assert_eq!(
            (inline.plain.name.as_str(), inline.limits()),
            ("connectx-5+inline", vec![("inline", 260)])
        );
        assert_ne!(inline.for_frames(Some(260)).steps, nic.plain.steps);
        for size in [None, Some(261)] {
            assert_eq!(inline.for_frames(size).steps, nic.plain.steps, "{size:?}");
        }
    }

    #[test]
    fn the_later_of_two_switches_determines_a_key() {
        let mut nic = connectx();
        for (name, batch) in [("first", 2), ("second", 4)] {
            let batch = StepChange { batch: Some(batch), ..StepChange::default() };
            let change = IndexMap::from([(nic.plain.steps[1].what.clone(), batch)]);
            let (what, source) = ("x".to_owned(), "x".to_owned());
            let switch = Switch { what, source, frame_bytes_most: None, leave_out: Vec::new(), change };
            nic.switches.insert(name.to_owned(), switch);
        }
        let batch =
            |names: &[&str]| nic.clone().with_switches(names).unwrap().for_frames(None).steps[1].batch;
        assert_eq!((batch(&["first", "second"]), batch(&["second", "first"])), (4, 2));
    }

    #[test]
    fn unknown_switches_and_steps_are_refused() {
        let refused = |names: &[&str]| connectx().with_switches(names).unwrap_err().to_string();
        assert!(refused(&["mprk"]).starts_with("connectx-5: has no feature mprk: did you mean mprq?"));
        assert_eq!(refused(&["mprq", "mprq"]), "connectx-5: feature mprq is given twice: give it once");
        let mut nic = connectx();
        nic.switches["mprq"].leave_out.push("packet rode".to_owned());
        let refused = nic.check().unwrap_err().to_string();
        assert!(
            refused.starts_with(
                "switch.mprq.leave_out: no step has what = packet rode: did you mean packet read?"
            )
        );
        let mut nic = connectx();
        nic.switches["mprq"].leave_out.push("packet read".to_owned());
        let refused = nic.check().unwrap_err().to_string();
        assert!(
            refused.starts_with("switch.mprq: step: nothing moves the packet on the path tx"),
            "{refused}"
        );
        let mut nic = connectx();
        nic.on.push("fast".to_owned());
        assert!(nic.check().unwrap_err().to_string().starts_with("on: has no feature fast: "));
    }
}
