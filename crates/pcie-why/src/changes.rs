//! The changes of a system, a test and a NIC, one step of one key each, and descriptions with changes made.

use indexmap::IndexMap;
use pcie_describe::{Table, Value as Written};
use pcie_model::{Interactions, Kind, Nic, StepBytes};
use pcie_refusal::Refusal;
use pcie_schema::relief::{Relieved, Who};
use pcie_schema::{Fitting, Shape};
use pcie_sim::profile::{IommuMode, Link, System};
use pcie_wire::LinkParameters;
use pcie_workload::Test;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What a change is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The link.
    Link,
    /// The host, and where the memory lies.
    Host,
    /// The device's port and engine.
    Device,
    /// The NIC's queues and steps.
    Nic,
    /// The test.
    Test,
}

/// A change of one or more keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The change in words: `link.tags 32 -> 64`.
    pub what: String,
    /// What it is of.
    pub of: Part,
    /// Who can make it; of several, who finds it hardest.
    pub who: Who,
    /// New values by dotted key; keys of a NIC begin with `nic.`, those of a test with `test.`.
    pub keys: IndexMap<String, Value>,
    /// Accesses of a kind whose packets it doubles.
    #[serde(skip)]
    accesses: Option<&'static str>,
}

impl Change {
    /// No change.
    pub(crate) fn none() -> Self {
        Self {
            what: String::new(),
            of: Part::Test,
            who: Who::Workload,
            keys: IndexMap::new(),
            accesses: None,
        }
    }

    /// Both changes at once; `None` if they share a key.
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        if other.keys.keys().any(|key| self.keys.contains_key(key)) {
            return None;
        }
        let keys = self.keys.iter().chain(&other.keys).map(|(key, value)| (key.clone(), value.clone()));
        Some(Self {
            what: format!("{} and {}", self.what, other.what),
            of: self.of,
            who: self.who.max(other.who),
            keys: keys.collect(),
            accesses: None,
        })
    }

    /// A change of one key to a value, for engines alone.
    pub(crate) fn of_step(key: &str, value: Value) -> Self {
        Self { keys: IndexMap::from([(key.to_owned(), value)]), ..Self::none() }
    }

    /// A change of some keys of a NIC.
    pub(crate) fn of_keys(what: &str, keys: IndexMap<String, Value>) -> Self {
        Self { what: what.to_owned(), of: Part::Nic, keys, ..Self::none() }
    }

    /// A defect: one key at a worse value.
    pub(crate) fn defect(what: String, key: &str, value: Value) -> Self {
        Self { what, of: Part::Link, ..Self::of_step(key, value) }
    }

    /// A change of one key.
    #[cfg(test)]
    pub(crate) fn of_value(key: &str, of: Part, value: Value) -> Self {
        Self { what: key.to_owned(), of, keys: IndexMap::from([(key.to_owned(), value)]), ..Self::none() }
    }

    /// The only key that it changes; `None` of several.
    pub(crate) fn only_key(&self) -> Option<(&str, &Value)> {
        let mut keys = self.keys.iter();
        let first = keys.next().map(|(key, value)| (key.as_str(), value));
        if keys.next().is_some() { None } else { first }
    }

    fn of_key(prefix: &str, of: Part, step: Relieved) -> Self {
        let key = format!("{prefix}{}", step.key);
        let what = format!("{} {} -> {}", shown_key(&key), shown(&step.from), shown(&step.to));
        Self { what, of, who: step.who, keys: IndexMap::from([(key, step.to)]), accesses: None }
    }

    /// Other packets for each access of a kind, in all its steps.
    fn of_accesses(name: &'static str, who: Who, keys: IndexMap<String, Value>) -> Self {
        let packets: Vec<u64> = keys.values().filter_map(Value::as_u64).collect();
        let (least, most) = (packets.iter().min().unwrap_or(&0), packets.iter().max().unwrap_or(&0));
        let many = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        Self {
            what: format!("{name} for {many} packets each"),
            of: Part::Nic,
            who,
            keys,
            accesses: Some(name),
        }
    }
}

/// A key as people give it: options of a test have no prefix.
fn shown_key(key: &str) -> &str {
    key.strip_prefix(TEST).unwrap_or(key)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(word) => word.clone(),
        other => {
            other.as_f64().map_or_else(|| other.to_string(), |number| format!("{}", rounded_to(number, 6)))
        }
    }
}

/// A number with some digits; a whole number keeps all of its own.
pub(crate) fn rounded_to(number: f64, digits: usize) -> f64 {
    if number.fract() == 0.0 {
        return number;
    }
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

pub(crate) const NIC: &str = "nic.";
pub(crate) const TEST: &str = "test.";
pub(crate) const LINK: &str = "link.";

/// One step of every key of a system.
///
/// # Errors
/// The system has no JSON.
pub fn of_system(system: &System) -> Result<Vec<Change>, Refusal> {
    let steps = System::shape().reliefs(&json_of(system)?);
    Ok(steps.into_iter().map(|step| Change::of_key("", part_of(&step.key), step)).collect())
}

/// One step of every key of a link that is given, in JSON; keys that are left out have none.
#[must_use]
pub fn of_link(link: &Value) -> Vec<Change> {
    Link::shape().reliefs(link).into_iter().map(|step| Change::of_key(LINK, Part::Link, step)).collect()
}

/// One step of every parameter of a test.
///
/// # Errors
/// The test has no JSON.
pub fn of_test(test: &Test) -> Result<Vec<Change>, Refusal> {
    let steps = Test::shape().reliefs(&json_of(test)?);
    Ok(steps.into_iter().map(|step| Change::of_key(TEST, Part::Test, step)).collect())
}

/// One step of every key of a NIC, each feature that is off and acts on frames of a size, and changes of all steps of a
/// kind at once.
///
/// # Errors
/// The NIC has no JSON.
pub fn of_nic(nic: &Nic, frame_bytes: u64) -> Result<Vec<Change>, Refusal> {
    let plain = nic.for_frames(Some(frame_bytes));
    let of_key = |step: Relieved| {
        let mut change = Change::of_key(NIC, Part::Nic, step);
        if let Some(step) = step_of(&change, &plain) {
            change.what = format!("{} ({})", change.what, step.what);
        }
        change
    };
    let steps = Interactions::shape().reliefs(&json_of(&*plain)?);
    let mut found: Vec<Change> = steps.into_iter().map(of_key).collect();
    found.extend(of_kinds(&plain));
    found.extend(polling(&plain)?);
    let acts = |name: &&String| !nic.on.contains(name) && nic.switches[*name].acts_on(Some(frame_bytes));
    let off: Vec<&String> = nic.switches.keys().filter(acts).collect();
    for name in &off {
        found.push(with_features(nic, &plain, frame_bytes, &[name.as_str()], format!("the feature {name}"))?);
    }
    if off.len() > 1 {
        let names: Vec<&str> = off.iter().map(|name| name.as_str()).collect();
        let all =
            if off.len() == 2 { "both features".to_owned() } else { format!("all {} features", off.len()) };
        found.push(with_features(nic, &plain, frame_bytes, &names, all)?);
    }
    Ok(found)
}

/// The step of a NIC that a change of one key is of.
fn step_of<'a>(change: &Change, nic: &'a Interactions) -> Option<&'a pcie_model::Step> {
    let (key, _) = change.only_key()?;
    nic.steps.get(step_at(key)?)
}

/// The index of the step of a NIC that a key is of.
pub(crate) fn step_at(key: &str) -> Option<usize> {
    key.strip_prefix("nic.step.")?.split('.').next()?.parse().ok()
}

/// The accesses of a kind that move no packet.
pub(crate) fn accesses_named(kind: Kind) -> &'static str {
    match kind {
        Kind::MmioWrite => "doorbells",
        Kind::DmaRead => "descriptor reads",
        Kind::DmaWrite => "descriptor writes",
        Kind::Msi => "interrupts",
        Kind::MmioRead => "register reads",
    }
}

/// Twice as many packets for each access of a kind, all steps of the kind at once.
fn of_kinds(nic: &Interactions) -> Vec<Change> {
    let kinds = [
        (Kind::MmioWrite, Who::Driver),
        (Kind::DmaRead, Who::Device),
        (Kind::DmaWrite, Who::Device),
        (Kind::Msi, Who::Driver),
        (Kind::MmioRead, Who::Driver),
    ];
    let of_kind = |(kind, who)| {
        let mut keys = IndexMap::new();
        for (index, step) in nic.steps.iter().enumerate() {
            if step.kind == kind && matches!(step.bytes, StepBytes::Number(_)) {
                let (key, now) = if kind.is_dma() && step.every_packets.is_none() {
                    ("batch", step.batch)
                } else {
                    ("every_packets", step.every_packets.unwrap_or(1))
                };
                if step.moderation_ns.is_none() {
                    keys.insert(format!("{NIC}step.{index}.{key}"), json!(now.saturating_mul(2)));
                }
            }
        }
        (keys.len() > 1).then(|| Change::of_accesses(accesses_named(kind), who, keys))
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// A driver that polls memory: no interrupts and register reads.
fn polling(nic: &Interactions) -> Result<Option<Change>, Refusal> {
    let kept: Vec<_> =
        nic.steps.iter().filter(|step| !matches!(step.kind, Kind::Msi | Kind::MmioRead)).collect();
    if kept.len() == nic.steps.len() {
        return Ok(None);
    }
    let keys = IndexMap::from([(format!("{NIC}step"), json_of(&kept)?)]);
    let what = "polling instead of interrupts and register reads".to_owned();
    Ok(Some(Change { what, of: Part::Nic, who: Who::Driver, keys, accesses: None }))
}

/// Features of a NIC that are off, on.
fn with_features(
    nic: &Nic,
    plain: &Interactions,
    frame_bytes: u64,
    names: &[&str],
    what: String,
) -> Result<Change, Refusal> {
    let switched = nic.clone().with_switches(names)?;
    let with = switched.for_frames(Some(frame_bytes));
    debug_assert_eq!(plain.queues, with.queues, "features change steps only");
    let keys = IndexMap::from([(format!("{NIC}step"), json_of(&with.steps)?)]);
    Ok(Change { what, of: Part::Nic, who: Who::Driver, keys, accesses: None })
}

fn part_of(key: &str) -> Part {
    match key.split('.').next() {
        Some("link") => Part::Link,
        Some("device") => Part::Device,
        _ => Part::Host,
    }
}

/// Whether a change is of an IOMMU that translates nothing.
pub(crate) fn is_of_absent_translation(change: &Change, system: &System) -> bool {
    system.iommu == IommuMode::Off && change.keys.keys().all(|key| key.starts_with("host.iommu."))
}

/// A description that changes are of: the prefix of its keys, its shape, and its values.
pub(crate) type Described<'a> = (&'static str, &'a Shape, Value);

/// The change one step further, for changes that double something; `None` at its end.
pub(crate) fn further(change: &Change, descriptions: &[Described<'_>]) -> Option<Change> {
    if let Some(name) = change.accesses {
        let double =
            |(key, packets): (&String, &Value)| Some((key.clone(), json!(packets.as_u64()?.checked_mul(2)?)));
        let keys = change.keys.iter().map(double).collect::<Option<_>>()?;
        return Some(Change::of_accesses(name, change.who, keys));
    }
    let (key, value) = change.only_key()?;
    let (prefix, shape, whole) = descriptions.iter().find(|(prefix, ..)| key.starts_with(prefix))?;
    let own = key.strip_prefix(prefix)?;
    let from = whole.pointer(&format!("/{}", own.replace('.', "/"))).cloned().unwrap_or_default();
    if value.as_f64()? <= from.as_f64().unwrap_or(1.0) {
        return None;
    }
    let goes_on = |to: &Value| to.as_f64() > value.as_f64();
    let on = shape.steps_of(own, value, whole).into_iter().find(|one| goes_on(&one.to))?;
    Some(Change::of_key(prefix, change.of, Relieved { key: own.to_owned(), from, ..on }))
}

pub(crate) fn json_of<T: Serialize + ?Sized>(value: &T) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(Refusal::new)
}

/// A system with a change made; the same if none of its keys is the system's.
pub(crate) fn changed_system(system: &System, change: &Change) -> Result<System, Refusal> {
    let own: Table = written(change, |key| (!key.starts_with(NIC) && !key.starts_with(TEST)).then_some(key));
    if own.is_empty() {
        return Ok(system.clone());
    }
    let Written::Table(table) = Written::of_json(json_of(system)?) else { return Ok(system.clone()) };
    pcie_describe::changed(table, &own)
}

/// A test with a change made.
pub(crate) fn changed_test(test: &Test, change: &Change) -> Result<Test, Refusal> {
    let made: Test = changed_part(test, &written(change, |key| key.strip_prefix(TEST)))?;
    made.validate()?;
    Ok(made)
}

/// A bare link with a change made.
pub(crate) fn changed_link(link: &LinkParameters, change: &Change) -> Result<LinkParameters, Refusal> {
    changed_part(link, &written(change, |key| key.strip_prefix(LINK)))
}

/// A NIC with a change made.
pub(crate) fn changed_nic(nic: &Interactions, change: &Change) -> Result<Interactions, Refusal> {
    let made: Interactions = changed_part(nic, &written(change, |key| key.strip_prefix(NIC)))?;
    made.check()?;
    Ok(made)
}

fn changed_part<T: Serialize + DeserializeOwned + Clone>(part: &T, changes: &Table) -> Result<T, Refusal> {
    let Written::Table(mut table) = Written::of_json(json_of(part)?) else { return Ok(part.clone()) };
    for (key, value) in changes {
        pcie_describe::replaced(&mut table, key, value.clone(), "")?;
    }
    serde_json::from_value(Written::Table(table).into_json()).map_err(Refusal::new)
}

/// The keys of a change that are of one description, without their prefix.
fn written<'a>(change: &'a Change, own: impl Fn(&'a str) -> Option<&'a str>) -> Table {
    let own =
        |(key, value): (&'a String, &Value)| Some((own(key)?.to_owned(), Written::of_json(value.clone())));
    change.keys.iter().filter_map(own).collect()
}
