//! Descriptions in a file of their own: NICs, engines, expanders, cores, BARs, and messages, whose link is that of a system.

use pcie_model::mmio::{Bar, CoreProfile};
use pcie_model::pio::MessageProfile;
use pcie_model::{Engine, Expander, Nic};
use pcie_refusal::Refusal;
use pcie_schema::Fitting;
use pcie_wire::LinkParameters;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::blame::{Giver, changed_by, giver_in, refused};
use crate::changes::{SET, refuse_unknown, replaced, sentence};
use crate::documents::{FILE_ONLY, read, refuse_unknown_notes, shape_of};
use crate::files::{Files, Kind, Layer, Stack, layers};
use crate::merged::Source;
use crate::system::{read_system, recorded_as};
use crate::value::{Table, Value};

/// A description that has a file of its own.
pub trait InFile: Fitting + Serialize {
    /// Its kind of file.
    const KIND: Kind;
    /// Keys of its file that are none of its own.
    const HEAD: &[&str];

    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    fn check_rules(&self) -> Result<(), Refusal>;
}

impl InFile for Nic {
    const KIND: Kind = Kind::Nic;
    const HEAD: &[&str] = &["base", "aliases"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.check()
    }
}

impl InFile for Engine {
    const KIND: Kind = Kind::Engine;
    const HEAD: &[&str] = &["title", "provenance"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.check()
    }
}

impl InFile for Expander {
    const KIND: Kind = Kind::Expander;
    const HEAD: &[&str] = &["title", "provenance"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.check()
    }
}

impl InFile for CoreProfile {
    const KIND: Kind = Kind::Core;
    const HEAD: &[&str] = &["title", "provenance"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.check()
    }
}

impl InFile for Bar {
    const KIND: Kind = Kind::Bar;
    const HEAD: &[&str] = &["title", "provenance"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.check()
    }
}

impl InFile for MessageProfile {
    const KIND: Kind = Kind::Messages;
    const HEAD: &[&str] = &["title", "provenance", "system", "address_bits"];

    fn check_rules(&self) -> Result<(), Refusal> {
        self.machine_times().map(drop)
    }
}

/// A description, complete and checked, and what it was read from.
#[derive(Clone, Debug)]
pub struct Single<T> {
    /// The description.
    pub content: T,
    /// Keys of its file that are none of its own; empty if it came complete.
    pub head: Map<String, Json>,
    merged: Layers,
}

/// A file, its bases, and changes by dotted key.
#[derive(Clone, Debug, Default)]
struct Layers {
    stack: Stack,
    changes: Table,
}

impl Layers {
    fn giver(&self, key: &str) -> Giver {
        let is_changed = changed_by(&self.changes, key).is_some();
        Giver::file(if is_changed { SET } else { giver_in(&self.stack, key) })
    }

    /// Blames a rule across keys on what gave the value that it names.
    fn blamed(&self, refusal: Refusal) -> Refusal {
        let key = refusal.subject.as_ref().or(refusal.key.as_ref()).cloned().unwrap_or_default();
        let giver = self.giver(&key).file;
        refusal.about(giver)
    }

    /// The file over its bases with the changes, checked by the types.
    fn table<T: InFile>(&self) -> Result<Json, Refusal> {
        let mut table = Table::new();
        for (nth, layer) in self.stack.iter().enumerate().rev() {
            over(&mut table, layer, nth > 0);
        }
        apply::<T>(&mut table, &self.changes, SET, &FILE_ONLY)?;
        let shape = shape_of(T::KIND);
        let table = shape.with_sizes(Value::Table(table).into_json());
        refused(&shape.problems(&table), |key| self.giver(key))?;
        refuse_unknown_notes(T::KIND, &table, &self.stack)?;
        Ok(table)
    }

    /// The description of the checked table, with one more key that its file lacks.
    fn described<T: InFile>(self, table: Json, more: Option<(&str, Json)>) -> Result<Single<T>, Refusal> {
        let (head, mut own) = without_head::<T>(table);
        own.extend(more.map(|(key, value)| (key.to_owned(), value)));
        let content: T = read(Json::Object(own))?;
        content.check_rules().map_err(|refusal| self.blamed(refusal))?;
        Ok(Single { content, head, merged: self })
    }
}

/// The keys of a table that only files have, and the others.
fn without_head<T: InFile>(table: Json) -> (Map<String, Json>, Map<String, Json>) {
    let Json::Object(table) = table else { return (Map::new(), Map::new()) };
    table.into_iter().partition(|(key, _)| T::HEAD.contains(&key.as_str()))
}

/// Puts a file over its base: tables key by key, everything else whole. Names of a base are not inherited.
fn over(under: &mut Table, layer: &Layer, is_base: bool) {
    let is_inherited = |key: &str| !is_base || !["aliases", "base"].contains(&key);
    for (key, value) in layer.table.iter().filter(|(key, _)| is_inherited(key)) {
        match (under.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(inner)) => below.extend(inner.clone()),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Makes changes by dotted key, which `giver` gave; keys of the tables `except` are unknown.
fn apply<T: InFile>(table: &mut Table, changes: &Table, giver: &str, except: &[&str]) -> Result<(), Refusal> {
    let of = if giver.is_empty() { String::new() } else { format!("{giver} {}.", T::KIND.word()) };
    for (key, value) in changes {
        refuse_unknown(key, &of, shape_of(T::KIND), except)?;
        replaced(table, key, value.clone(), &of)?;
    }
    Ok(())
}

/// Reads a NIC, over its bases, with changes by dotted key.
///
/// # Errors
/// A file cannot be read, a key is unknown or missing, or a value wrong: the message names what gave it.
pub fn read_nic<F: Files>(source: Source, changes: Table, files: &mut F) -> Result<Single<Nic>, F::Error> {
    let stack = match source {
        Source::Named(name) => layers(Kind::Nic, Some(&Value::Text(name)), None, None, 0, files)?,
        Source::Content(own) => {
            let bases = layers(Kind::Nic, own.table.get("base"), Some(&own.path), None, 1, files)?;
            [vec![own], bases].concat()
        }
    };
    let merged = Layers { stack, changes };
    let mut table = merged.table::<Nic>()?;
    if let Some(head) = table.as_object_mut() {
        head.entry("base").or_insert(Json::Null);
        head.entry("aliases").or_insert(json!([]));
    }
    Ok(merged.described(table, None)?)
}

/// Reads an engine with changes by dotted key.
///
/// # Errors
/// As [`read_nic`].
pub fn read_engine<F: Files>(
    source: Source,
    changes: Table,
    files: &mut F,
) -> Result<Single<Engine>, F::Error> {
    let merged = Layers { stack: alone(Kind::Engine, source, files)?, changes };
    let table = merged.table::<Engine>()?;
    Ok(merged.described(table, None)?)
}

/// Reads a memory expander with changes by dotted key.
///
/// # Errors
/// As [`read_nic`].
pub fn read_expander<F: Files>(
    source: Source,
    changes: Table,
    files: &mut F,
) -> Result<Single<Expander>, F::Error> {
    let merged = Layers { stack: alone(Kind::Expander, source, files)?, changes };
    let table = merged.table::<Expander>()?;
    Ok(merged.described(table, None)?)
}

/// Reads a core with changes by dotted key.
///
/// # Errors
/// As [`read_nic`].
pub fn read_core<F: Files>(
    source: Source,
    changes: Table,
    files: &mut F,
) -> Result<Single<CoreProfile>, F::Error> {
    let merged = Layers { stack: alone(Kind::Core, source, files)?, changes };
    let table = merged.table::<CoreProfile>()?;
    Ok(merged.described(table, None)?)
}

/// Reads a BAR with changes by dotted key.
///
/// # Errors
/// As [`read_nic`].
pub fn read_bar<F: Files>(source: Source, changes: Table, files: &mut F) -> Result<Single<Bar>, F::Error> {
    let merged = Layers { stack: alone(Kind::Bar, source, files)?, changes };
    let table = merged.table::<Bar>()?;
    Ok(merged.described(table, None)?)
}

/// Reads a profile of messages with changes by dotted key; its link is that of the system that it names.
///
/// # Errors
/// As [`read_nic`], or the system cannot be read.
pub fn read_messages<F: Files>(
    source: Source,
    changes: Table,
    files: &mut F,
) -> Result<Single<MessageProfile>, F::Error> {
    let merged = Layers { stack: alone(Kind::Messages, source, files)?, changes };
    let table = merged.table::<MessageProfile>()?;
    let name = table["system"].as_str().unwrap_or_default().to_owned();
    let found = read_system(Source::Named(name), Table::new(), files);
    let system = found.map_err(|error| F::about(error, &merged.giver("system").file))?.system;
    // The link that times were measured on; the host's stores carry no ECRC, and are not encrypted.
    let link = system.link.with_addresses(read(table["address_bits"].clone())?);
    let link = LinkParameters { ecrc: false, completion_ecrc: None, ide_tlps: None, ..link };
    let link = serde_json::to_value(link).map_err(Refusal::new)?;
    Ok(merged.described(table, Some(("link", link)))?)
}

/// A file without bases.
fn alone<F: Files>(kind: Kind, source: Source, files: &mut F) -> Result<Stack, F::Error> {
    Ok(match source {
        Source::Named(name) => vec![files.read(kind, &name, None)?],
        Source::Content(own) => vec![own],
    })
}

impl<T: InFile> Single<T> {
    /// A complete description from its JSON, which may have keys that only its file has; `giver`, unless empty, names
    /// the source.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value wrong.
    pub fn complete(table: Json, giver: &str) -> Result<Self, Refusal> {
        let about = |refusal: Refusal| if giver.is_empty() { refusal } else { refusal.about(giver) };
        let (head, own) = without_head::<T>(table);
        for (key, value) in &head {
            let shape = shape_of(T::KIND).at(key);
            shape
                .map_or(Ok(()), |shape| shape.check_json(value))
                .map_err(|refusal| about(refusal.below(key)))?;
        }
        let own = T::shape().with_sizes(Json::Object(own));
        refused(&T::shape().problems(&own), |_| Giver::file(giver))?;
        let content: T = read(own)?;
        content.check_rules().map_err(about)?;
        Ok(Self { head, ..Self::of(content) })
    }

    /// A description that an earlier or later version recorded. None if a key is missing, null or unknown.
    ///
    /// `giver` names its source in messages, and `below` the table there that holds it.
    ///
    /// # Errors
    /// A value is wrong, or keys contradict each other.
    pub fn recorded(table: Json, giver: &str, below: &str) -> Result<Option<Self>, Refusal> {
        let Some(content) = recorded_as::<T>(table, giver, below)? else { return Ok(None) };
        content.check_rules().map_err(|refusal| refusal.about(format!("{giver}: {below}")))?;
        Ok(Some(Self::of(content)))
    }

    /// A description without a file.
    pub fn of(content: T) -> Self {
        Self { content, head: Map::new(), merged: Layers::default() }
    }

    /// Another description of the same files.
    #[must_use]
    pub fn with_content(&self, content: T) -> Self {
        Self { content, head: self.head.clone(), merged: self.merged.clone() }
    }

    /// The description with changes by dotted key; `giver`, unless empty, names what gave them in messages.
    ///
    /// # Errors
    /// A key is unknown, or a value wrong.
    pub fn with_(&self, changes: &Table, giver: &str) -> Result<Self, Refusal> {
        let Value::Table(mut table) = Value::of_json(self.values()?) else {
            return Err(Refusal::new("no table"));
        };
        apply::<T>(&mut table, changes, giver, T::HEAD)?;
        let changed = Self::complete(Value::Table(table).into_json(), giver)?;
        let mut made = self.with_content(changed.content);
        made.merged.changes.extend(changes.clone());
        Ok(made)
    }

    /// Its values as nested tables, with those keys that only its file has.
    ///
    /// # Errors
    /// A value is no JSON.
    pub fn values(&self) -> Result<Json, Refusal> {
        let mut values = serde_json::to_value(&self.content).map_err(Refusal::new)?;
        for (key, value) in &self.head {
            values[key] = value.clone();
        }
        Ok(values)
    }

    /// The dotted keys that changes may have, each with the first sentence of its meaning.
    ///
    /// # Errors
    /// A value is no JSON.
    pub fn keys(&self) -> Result<Vec<(String, String)>, Refusal> {
        let values = serde_json::to_value(&self.content).map_err(Refusal::new)?;
        let keys = T::shape().keys_in(&values, |_| None).into_iter();
        let keys = keys.filter(|(key, _)| !FILE_ONLY.contains(&key.split('.').next().unwrap_or_default()));
        Ok(keys.map(|(key, meaning)| (key, sentence(meaning))).collect())
    }

    /// What gave the value of a dotted key: a file, or `--set`; None without a file.
    #[must_use]
    pub fn source(&self, key: &str) -> Option<String> {
        Some(self.merged.giver(key).file).filter(|file| !file.is_empty())
    }

    /// Whether a caller gave the value of a dotted key.
    #[must_use]
    pub fn is_changed(&self, key: &str) -> bool {
        changed_by(&self.merged.changes, key).is_some()
    }
}

impl Single<Nic> {
    /// The NIC without the intervals of values that a caller gave: whoever gives a value knows it.
    #[must_use]
    pub fn known(&self) -> Nic {
        let mut nic = self.content.clone();
        nic.plain.assumed.retain(|key, _| !self.is_changed(key));
        nic
    }

    /// The NIC with more switches on, which its name then shows; none leave it as it is.
    ///
    /// # Errors
    /// It has no switch of a name, or the switch is on already.
    pub fn with_switches(self, names: &[&str]) -> Result<Self, Refusal> {
        if names.is_empty() {
            return Ok(self);
        }
        Ok(Self { content: self.content.with_switches(names)?, ..self })
    }
}

impl Single<MessageProfile> {
    /// The messages with another number of them for each doorbell: descriptors beyond the profile's own lengthen
    /// their read by their time on its link.
    ///
    /// # Errors
    /// The number is out of range.
    pub fn with_batch(&self, messages: u32) -> Result<Self, Refusal> {
        let path = &self.content.descriptors;
        let more_ns = self.content.longer_descriptors_ns(messages)?;
        let changes = json!({
            "descriptors.messages_per_doorbell": messages,
            "descriptors.payload_request_ns": path.payload_request_ns + more_ns,
            "descriptors.payload_ns": path.payload_ns + more_ns,
        });
        let Value::Table(changes) = Value::of_json(changes) else { return Err(Refusal::new("no table")) };
        self.with_(&changes, "")
    }

    /// A sentence on whose core answers, of a link of a later generation than that of the profile's times.
    #[must_use]
    pub fn times_of_older_link(&self, generation: u32) -> Option<String> {
        let (name, title) = (&self.content.name, self.head.get("title").and_then(Json::as_str));
        let named = title.map_or_else(|| name.clone(), |title| format!("{name} ({title})"));
        let machine = format!("Gen{generation}, so this is no evidence about a Gen{generation} machine");
        (generation > self.content.link.generation).then(|| {
            format!("times of core and device: {named}; only the link's part is computed for {machine}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read_table;

    /// Files by name; every system is the one of messages.
    struct Kept<'a>(&'a [(&'a str, &'a str)]);

    impl Files for Kept<'_> {
        type Error = Refusal;

        fn read(&mut self, kind: Kind, reference: &str, _: Option<&str>) -> Result<Layer, Refusal> {
            let found = self.0.iter().find(|(name, _)| *name == reference);
            let (name, text) =
                found.ok_or_else(|| Refusal::new(format!("no {} is named {reference}", kind.word())))?;
            let path = format!("{name}.toml");
            Ok(Layer { table: read_table(text, &path, |key| kind.remedy(key))?, path, is_file: true })
        }

        fn about(error: Refusal, file: &str) -> Refusal {
            error.about(file)
        }
    }

    const SIMPLE: &str = include_str!("../../../profiles/nics/simple-nic.toml");
    const CONNECTX: &str = include_str!("../../../profiles/nics/connectx-5.toml");
    const GPU: &str = include_str!("../../../profiles/engines/gpu.toml");
    const KPIO: &str = include_str!("../../../profiles/pio/kpio-2012.toml");
    const MINE: &str = "name = \"mine\"\nbase = \"base\"\n";

    fn table(json: Json) -> Table {
        let Value::Table(table) = Value::of_json(json) else { panic!("a table") };
        table
    }

    fn nic(files: &[(&str, &str)], changes: Json) -> Result<Single<Nic>, Refusal> {
        read_nic(Source::Named("mine".into()), table(changes), &mut Kept(files))
    }

    #[test]
    fn a_nic_lies_over_its_base_and_knows_what_gave_each_value() {
        let own = format!("{MINE}aliases = [\"my\"]\n[queues]\npairs = 4\nbuffer_bytes = \"4K\"");
        let read = nic(&[("mine", &own), ("base", CONNECTX)], json!({"queues.buffers": 64})).unwrap();
        let queues = read.content.plain.queues;
        assert_eq!((queues.pairs, queues.buffer_bytes, queues.buffers), (4, 4096, 64));
        assert_eq!(read.content.switches.keys().next().map(String::as_str), Some("mprq"), "as in its file");
        let sources = ["queues.pairs", "step.1.batch", "queues.buffers"].map(|key| read.source(key).unwrap());
        assert_eq!(sources, ["mine.toml", "base.toml", "--set"]);
        assert_eq!((&read.head["base"], &read.head["aliases"]), (&json!("base"), &json!(["my"])));
        let changed = read.with_(&table(json!({"step.1.batch": 16})), "").unwrap();
        assert_eq!(
            (changed.content.plain.steps[1].batch, changed.source("step.1.batch").unwrap()),
            (16, "--set".into())
        );
        let again = Single::<Nic>::complete(changed.values().unwrap(), "NIC").unwrap();
        assert_eq!((again.values().unwrap(), again.source("name")), (changed.values().unwrap(), None));
        let wrong = Single::<Nic>::complete(json!({"base": 3}), "NIC").unwrap_err().to_string();
        assert!(wrong.starts_with("NIC: base: 3: give text"), "{wrong}");
    }

    #[test]
    fn a_wrong_value_of_a_nic_is_blamed_on_what_gave_it() {
        let wrong_base = CONNECTX.replacen("batch = 8", "batch = 0", 1);
        let rule_in_base = CONNECTX.replacen("batch = 8", "batch = 8\nevery_packets = 2", 1);
        let queues = format!("{MINE}[queues]\npairs = 0");
        let switch =
            format!("{MINE}[switch.fast]\nwhat = \"x\"\nsource = \"x\"\nleave_out = [\"packet read\"]");
        let two = format!("{MINE}[queues]\npairs = 0\nwalk = 1");
        for (own, base, changes, words) in [
            (queues.as_str(), CONNECTX, json!({}), "mine.toml: queues.pairs is 0: give 1 to 1024"),
            (MINE, &wrong_base, json!({}), "base.toml: step.1.batch is 0: give 1 to 1000000"),
            (
                MINE,
                &rule_in_base,
                json!({}),
                "base.toml: step.1: send descriptors (WQEs) read: give every_packets or",
            ),
            (MINE, CONNECTX, json!({"queues.pairs": 0}), "--set: queues.pairs is 0: give 1 to 1024"),
            (
                MINE,
                CONNECTX,
                json!({"step.2.batch": 2}),
                "--set: step.2: packet read: packets are moved one by one",
            ),
            (
                MINE,
                CONNECTX,
                json!({"queues.pair": 2}),
                "--set nic.queues.pair: unknown key: did you mean pairs?",
            ),
            (MINE, CONNECTX, json!({"base": "simple-nic"}), "--set nic.base: unknown key: "),
            (
                MINE,
                CONNECTX,
                json!({"step.99.batch": 2}),
                "--set nic.step.99.batch: '99' is not an index of a list of",
            ),
            (
                &switch,
                CONNECTX,
                json!({}),
                "mine.toml: switch.fast: step: nothing moves the packet on the path tx",
            ),
            (&two, CONNECTX, json!({}), "mine.toml: 2 problems\n  queues.pairs is 0"),
            (
                "base = \"base\"\non = [\"x\"]",
                SIMPLE,
                json!({}),
                "mine.toml: on: has no feature x: leave it out",
            ),
        ] {
            let refused = nic(&[("mine", own), ("base", base)], changes).unwrap_err().to_string();
            assert!(refused.starts_with(words), "{refused}");
        }
        let circle = nic(&[("mine", MINE), ("base", MINE)], json!({})).unwrap_err().to_string();
        assert!(circle.ends_with("files start from each other, or in a circle"), "{circle}");
    }

    #[test]
    fn a_wrong_engine_is_blamed_on_what_gave_it() {
        let read = |text: &str, changes| {
            read_engine(Source::Named("gpu".into()), table(changes), &mut Kept(&[("gpu", text)]))
        };
        assert_eq!(read(GPU, json!({"queue.depth": 9})).unwrap().content.queue.depth, 9);
        for (text, changes, words) in [
            (GPU.replace("lanes = 16", "lanes = 6"), json!({}), "gpu.toml: link.lanes is 6: give 1, 2, 4"),
            (
                GPU.replace("lanes = 16", "lanes = 2026-01-01"),
                json!({}),
                "gpu.toml: link.lanes is 2026-01-01: give 1, 2, 4",
            ),
            (
                GPU.replace("depth = 2\n", "depth = 2048\n"),
                json!({}),
                "gpu.toml: queue.depth is 2048: give a queue",
            ),
            (
                GPU.to_owned(),
                json!({"queue.depth": 2048}),
                "--set: queue.depth is 2048: give a queue.depth of at most",
            ),
            (
                GPU.to_owned(),
                json!({"queue.deph": 1}),
                "--set engine.queue.deph: unknown key: did you mean depth?",
            ),
        ] {
            let refused = read(&text, changes).unwrap_err().to_string();
            assert!(refused.starts_with(words), "{refused}");
        }
    }

    #[test]
    fn an_error_of_the_system_of_messages_names_their_file() {
        let refused = read_messages(Source::Named("kpio".into()), Table::new(), &mut Kept(&[("kpio", KPIO)]));
        assert_eq!(refused.unwrap_err().to_string(), "kpio.toml: no system is named kpio-2012");
        let refused = read_messages(
            Source::Named("kpio".into()),
            table(json!({"system": "x"})),
            &mut Kept(&[("kpio", KPIO)]),
        );
        assert_eq!(refused.unwrap_err().to_string(), "--set: no system is named x");
    }

    #[test]
    fn a_note_on_an_unknown_key_is_refused() {
        let noted = |text: &str| GPU.replace("[provenance.keys]", &format!("[provenance.keys]\n{text}"));
        let read = |text: &str| {
            let text = noted(text);
            read_engine(Source::Named("gpu".into()), Table::new(), &mut Kept(&[("gpu", &text)]))
        };
        let refusal = read("\"queue.dpeth\" = \"a guess\"").unwrap_err();
        let text = refusal.to_string();
        assert!(
            text.starts_with("gpu.toml: unknown key provenance.keys.queue.dpeth: did you mean"),
            "{text}"
        );
        assert_eq!(
            (refusal.key.as_deref(), refusal.value.as_deref()),
            (Some("provenance.keys.queue.dpeth"), Some("'a guess'"))
        );
        assert!(read("queue = \"a book\"").is_ok());
    }
}
