//! Changes by dotted key in the file of a fabric, before its short forms are replaced.
//!
//! A key is the file's own: `mps_bytes`, `node.NAME.delay_ns`, `link.NAME.lanes` (a link has the name of its lower
//! node), `devices.KIND.engine.tags`. A preset that a node names is put into the file before a key of it changes.

use std::collections::BTreeSet;

use pcie_refusal::Refusal;
use pcie_refusal::shown::{named, quoted};
use pcie_refusal::unknown::suggestion;
use pcie_schema::Problem;
use serde_json::{Value as Json, json};

use super::presets::Presets;
use super::{refuse_other_tables, schemas, tables, written};
use crate::blame::changed_by;
use crate::changes::{LETTERS_MOST, SET, remedy, replaced, unknown_key};
use crate::value::{Table, Value};

/// Keys that only files have: a change of one would have no effect.
const FILE_ONLY: [&str; 2] = ["title", "provenance"];
/// Tables of kinds, each with the key of a node that names one.
const KINDS: [(&str, &str); 2] = [("hosts", "host"), ("devices", "device")];

/// Changes that were made, as they were given.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    /// Each key with names and with indices.
    keys: Vec<(String, String)>,
    given: Table,
    indexed: Table,
}

impl Changed {
    /// Whether a change gave the value of a key, which has names or indices.
    pub(super) fn has(&self, key: &str) -> bool {
        [&self.given, &self.indexed].iter().any(|changes| changed_by(changes, key).is_some())
    }

    /// Blames a rule across keys on a change, if it names a changed key, else on the file.
    pub(super) fn blamed(&self, refusal: Refusal, path: &str) -> Refusal {
        let is_changed = refusal.key.as_deref().is_some_and(|key| self.has(key));
        match (is_changed, self.keys.is_empty()) {
            (true, _) => refusal.about(SET),
            (false, true) => refusal.about(path),
            (false, false) => refusal.about(format!("{path} with {SET}")),
        }
    }

    /// Names the entries of lists in the path of a problem as the change does that gave the value.
    pub(super) fn name(&self, problem: &mut Problem<'_>) {
        let key = problem.key();
        let below = |indexed: &str| {
            let rest = key.strip_prefix(indexed)?;
            (rest.is_empty() || rest.starts_with('.')).then(|| rest.to_owned())
        };
        if let Some((given, rest)) =
            self.keys.iter().find_map(|(given, indexed)| Some((given, below(indexed)?)))
        {
            problem.path = format!("{given}{rest}").split('.').map(ToOwned::to_owned).collect();
        }
    }
}

/// Makes changes in the table of a file; those of nodes come first, since they may name other presets.
///
/// # Errors
/// A key is unknown, or a preset cannot be read.
pub(super) fn apply<P: Presets>(
    content: &mut Table,
    changes: &Table,
    path: &str,
    presets: &mut P,
) -> Result<Changed, P::Error> {
    let mut changed = Changed { given: changes.clone(), ..Changed::default() };
    if !changes.is_empty() {
        expanded(content, presets).map_err(|refusal| refusal.about(path))?;
    }
    let is_of_kinds = |key: &String| KINDS.iter().any(|(of, _)| key.split('.').next() == Some(*of));
    let (of_kinds, others): (Vec<_>, Vec<_>) = changes.iter().partition(|(key, _)| is_of_kinds(key));
    for (key, value) in others.into_iter().chain(of_kinds) {
        let of = format!("{SET} fabric.");
        let mut steps = key.split('.');
        if let (Some(of), Some(name), Some(_)) = (steps.next(), steps.next(), steps.next()) {
            with_preset(content, of, name, presets)?;
        }
        let indexed = match indexed(content, key) {
            Ok(indexed) => indexed,
            Err(problem) => {
                let remedy = problem.map_or_else(|| near(content, key, presets), Ok)?;
                return Err(unknown_key(remedy).about(format!("{of}{}", named(key))).into());
            }
        };
        replaced(content, &indexed, value.clone(), &of)?;
        changed.indexed.insert(indexed.clone(), value.clone());
        changed.keys.push((key.clone(), indexed));
    }
    Ok(changed)
}

/// The dotted keys that changes may have, each with its meaning, of a file with the presets that its nodes name.
pub(super) fn keys<P: Presets>(
    mut content: Table,
    presets: &mut P,
) -> Result<Vec<(String, String)>, P::Error> {
    for (of, name) in named_kinds(&content, presets)? {
        with_preset(&mut content, of, &name, presets)?;
    }
    let shape = schemas::shape();
    let content = shape.with_defaults(shape.with_sizes(Value::Table(content).into_json()));
    let keys = shape.keys_in(&content, name_of).into_iter();
    let keys = keys.filter(|(key, _)| !FILE_ONLY.contains(&key.split('.').next().unwrap_or_default()));
    Ok(keys.map(|(key, meaning)| (key, crate::changes::sentence(meaning))).collect())
}

/// Known keys near an unknown one, as a remedy.
fn near<P: Presets>(content: &Table, key: &str, presets: &mut P) -> Result<String, P::Error> {
    let known = keys(content.clone(), presets)?;
    Ok(remedy(key, &known.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>()))
}

/// The name of an entry of a list: that of a node, memory or flow, or of the lower node of a link.
fn name_of(entry: &Json) -> Option<&str> {
    entry["name"].as_str().or_else(|| entry["lower"].as_str())
}

/// A key whose names of entries of lists are indices. If there is none, why, where more can be said than near keys.
fn indexed(content: &Table, key: &str) -> Result<String, Option<String>> {
    let root = Value::Table(content.clone()).into_json();
    let shape = schemas::shape();
    if key.chars().count() > LETTERS_MOST {
        return Err(Some(format!("keys have fewer than {LETTERS_MOST} letters")));
    }
    if FILE_ONLY.contains(&key.split('.').next().unwrap_or_default()) {
        return Err(None);
    }
    let (mut at, mut rest, mut steps) = (Some(&root), key, Vec::new());
    loop {
        let (step, after) = match at.and_then(Json::as_array) {
            Some(list) => of_list(list, rest).ok_or_else(|| unnamed(content, list, &steps, rest))?,
            None => {
                let (step, after) =
                    rest.split_once('.').map_or((rest, None), |(step, rest)| (step, Some(rest)));
                (step.to_owned(), after)
            }
        };
        at = at.and_then(|at| at.get(&step).or_else(|| at.get(step.parse::<usize>().ok()?)));
        steps.push(step);
        let here = steps.join(".");
        if shape.at(&here).is_none() {
            return Err(None);
        }
        let Some(after) = after else { return Ok(here) };
        // A table in a map is not made by a change of a key in it.
        let is_entry = steps.split_last().is_some_and(|(_, of)| {
            !of.is_empty() && shape.at(&of.join(".")).is_some_and(|of| of.names().is_empty())
        });
        if at.is_none() && is_entry {
            return Err(None);
        }
        rest = after;
    }
}

/// The index of the entry of a list that a key begins with, by its name or index, and the rest of the key.
fn of_list<'a>(list: &[Json], key: &'a str) -> Option<(String, Option<&'a str>)> {
    let after = |name: &str| match key.strip_prefix(name)? {
        "" => Some(None),
        rest => rest.strip_prefix('.').map(Some),
    };
    let by_name = list.iter().enumerate().filter_map(|(index, entry)| {
        let name = name_of(entry)?;
        Some((name.len(), index, after(name)?))
    });
    if let Some((_, index, rest)) = by_name.max_by_key(|(length, ..)| *length) {
        return Some((index.to_string(), rest));
    }
    let (step, rest) = key.split_once('.').map_or((key, None), |(step, rest)| (step, Some(rest)));
    let index: usize = step.parse().ok().filter(|index| *index < list.len())?;
    Some((index.to_string(), rest))
}

/// Why a key names no entry of a list.
fn unnamed(content: &Table, list: &[Json], steps: &[String], key: &str) -> Option<String> {
    let word = key.split('.').next().unwrap_or_default();
    let of = steps.join(".");
    let nodes = content.get("node").cloned().map(Value::into_json).unwrap_or_default();
    let has_upper = |(_, node): (usize, &serde_json::Map<String, Json>)| {
        node.get("name").is_some_and(|name| name == word) && node.contains_key("upper")
    };
    if of == "link" && tables(&nodes).any(has_upper) {
        return Some(format!(
            "node {word} gives its link itself: change node.{word}.link, or write [[link]]"
        ));
    }
    let names: Vec<&str> = list.iter().filter_map(name_of).collect();
    (!names.is_empty()).then(|| format!("{of} has no {}: {}", quoted(word), suggestion(word, &names)))
}

/// The table of a file, without short forms.
pub(super) fn expanded<P: Presets>(content: &Table, presets: &P) -> Result<Json, Refusal> {
    let mut content = Value::Table(content.clone()).into_json();
    refuse_other_tables(&content)?;
    written::expand(&mut content, presets.devices())?;
    Ok(content)
}

/// The kinds of hosts and devices that nodes name, each with its table.
fn named_kinds<P: Presets>(
    content: &Table,
    presets: &P,
) -> Result<BTreeSet<(&'static str, String)>, Refusal> {
    let expanded = expanded(content, presets)?;
    let kind = |node: &serde_json::Map<String, Json>, (of, key): (&'static str, &str)| {
        Some((of, node.get(key)?.as_str()?.to_owned()))
    };
    let all = tables(&expanded["node"]).flat_map(|(_, node)| KINDS.map(|of| kind(node, of)));
    Ok(all.flatten().collect())
}

/// Puts a preset that nodes name into the file, and its delay into these nodes; kinds of the file stay as they are.
fn with_preset<P: Presets>(
    content: &mut Table,
    of: &str,
    name: &str,
    presets: &mut P,
) -> Result<(), P::Error> {
    let Some((of, key)) = KINDS.into_iter().find(|(known, _)| *known == of) else { return Ok(()) };
    let own = content.entry(of.to_owned()).or_insert_with(|| Value::Table(Table::new()));
    let is_own = own.as_table().is_none_or(|own| own.contains_key(name));
    let named = named_kinds(content, presets).map_err(|refusal| refusal.about(SET))?;
    if is_own || !named.contains(&(of, name.to_owned())) {
        return Ok(());
    }
    let known = if of == "hosts" { presets.hosts() } else { presets.devices() };
    if !known.iter().any(|known| known == name) {
        return Ok(());
    }
    let (kind, delay_ns) = if of == "hosts" {
        let preset = presets.host(name)?;
        (serde_json::to_value(preset.host).map_err(Refusal::new)?, preset.delay_ns)
    } else {
        let preset = presets.device(name)?;
        (preset.device, preset.delay_ns)
    };
    if let Some(Value::Table(own)) = content.get_mut(of) {
        own.insert(name.to_owned(), Value::of_json(kind));
    }
    let expanded = expanded(content, presets)?;
    let users = tables(&expanded["node"]).filter(|(_, node)| node.get(key).is_some_and(|kind| kind == name));
    let users: Vec<usize> = users.map(|(number, _)| number).collect();
    let Some(Value::List(nodes)) = content.get_mut("node") else { return Ok(()) };
    for number in users {
        if let Some(Value::Table(node)) = nodes.get_mut(number) {
            node.entry("delay_ns".to_owned()).or_insert_with(|| Value::Leaf(json!(delay_ns)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabrics::{FabricFile, read_fabric};
    use crate::{DevicePreset, HostPreset, fabric_keys, read_device_preset};
    use pcie_fabric::Topology;

    const GPU: &str = include_str!("../../../../profiles/fabrics/devices/gpu.toml");
    const FILE: &str = "
        name = \"desk\"
        devices.card.engine = { execution_ns = 300, tags = 64, peer_requests = 32, completion_bytes = 16, \
            read = { interval_ns = 100, bytes_per_ns = 40 }, write = { interval_ns = 60, bytes_per_ns = 40 } }
        [[node]]
        name = \"cpu\"
        kind = \"host\"
        [[node]]
        name = \"sw.1\"
        kind = \"switch\"
        [[node]]
        name = \"gpu0\"
        kind = \"gpu\"
        upper = \"sw.1\"
        link = \"gen4x16\"
        [[node]]
        name = \"card0\"
        device = \"card\"
        upper = \"sw.1\"
        link = \"gen3x8\"
        [[link]]
        upper = \"cpu\"
        lower = \"sw.1\"
        generation = 4
        lanes = 16
        ";

    struct Shipped;

    impl Presets for Shipped {
        type Error = Refusal;

        fn hosts(&self) -> &[String] {
            static NAMES: std::sync::LazyLock<Vec<String>> =
                std::sync::LazyLock::new(|| vec!["gen5-server".to_owned()]);
            &NAMES
        }

        fn devices(&self) -> &[String] {
            static NAMES: std::sync::LazyLock<Vec<String>> =
                std::sync::LazyLock::new(|| vec!["gpu".to_owned()]);
            &NAMES
        }

        fn host(&mut self, _: &str) -> Result<HostPreset, Refusal> {
            let values = json!({"root_complex": {"write_ns": 70, "read_ns": 200}, "memory": {"miss_ns": 60}});
            Ok(HostPreset::of_profile(&values))
        }

        fn device(&mut self, name: &str) -> Result<DevicePreset, Refusal> {
            read_device_preset(GPU, &format!("{name}.toml"))
        }
    }

    fn changed(changes: &Json) -> Result<(Topology, FabricFile), Refusal> {
        let Value::Table(changes) = Value::of_json(changes.clone()) else { panic!("a table") };
        read_fabric(FILE, "desk.toml", &changes, &mut Shipped)
    }

    #[test]
    fn keys_of_nodes_links_kinds_and_presets_change_and_nothing_else_does() {
        let (plain, _) = changed(&json!({})).unwrap();
        let changes = json!({
            "mps_bytes": 512, "node.sw.1.delay_ns": 5, "node.2.link": "gen5x16", "link.sw.1.lanes": 8,
            "devices.card.engine.tags": 7, "devices.gpu.engine.tags": 9, "hosts.gen5-server.software_ns": 3,
        });
        let (topology, _) = changed(&changes).unwrap();
        let node =
            |topology: &Topology, name: &str| topology.nodes()[topology.node(name).unwrap() as usize].clone();
        let tags = |name: &str| node(&topology, name).device.unwrap().engine.tags;
        assert_eq!(
            (topology.mps_bytes(), node(&topology, "sw.1").delay_ns, tags("card0"), tags("gpu0")),
            (512, 5.0, 7, 9)
        );
        assert_eq!(node(&topology, "cpu").host.unwrap().software_ns, 3.0);
        let links: Vec<_> = topology.links().iter().map(|link| (link.generation, link.lanes)).collect();
        assert_eq!(links, [(4, 8), (5, 16), (3, 8)]);
        for name in ["cpu", "gpu0"] {
            assert_eq!(
                node(&topology, name).delay_ns,
                node(&plain, name).delay_ns,
                "{name} keeps its preset's delay"
            );
        }
    }

    #[test]
    fn every_key_that_is_listed_can_change() {
        let keys = fabric_keys(FILE, "desk.toml", &mut Shipped).unwrap();
        let known: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
        for key in [
            "node.gpu0.delay_ns",
            "devices.gpu.memories.vram.engine_ns",
            "hosts.gen5-server.sockets",
            "link.sw.1.lanes",
        ] {
            assert!(known.contains(&key), "{key}: {known:?}");
        }
        let content = super::super::table_of(FILE, "desk.toml").unwrap();
        for key in known.iter().filter(|key| !["hosts", "devices"].contains(&key.split('.').next().unwrap()))
        {
            assert!(indexed(&content, key).is_ok(), "{key}");
        }
    }

    #[test]
    fn a_wrong_change_is_refused_with_its_key_and_what_is_near() {
        for (changes, words) in [
            (
                json!({"node.gpu0.delay_n": 1}),
                "--set fabric.node.gpu0.delay_n: unknown key: did you mean delay_ns?",
            ),
            (
                json!({"node.gpu1.delay_ns": 1}),
                "--set fabric.node.gpu1.delay_ns: unknown key: node has no 'gpu1': did you mean gpu0",
            ),
            (
                json!({"node.9.delay_ns": 1}),
                "--set fabric.node.9.delay_ns: unknown key: node has no '9': known: cpu",
            ),
            (
                json!({"link.gpu0.lanes": 8}),
                "--set fabric.link.gpu0.lanes: unknown key: node gpu0 gives its link itself: change node.gpu0.link",
            ),
            (
                json!({"devices.gpuu.engine.tags": 8}),
                "--set fabric.devices.gpuu.engine.tags: unknown key: did you mean devices.",
            ),
            (
                json!({"engine.tags": 8}),
                "--set fabric.engine.tags: unknown key: did you mean devices.card.engine.tags or devices.gpu.engine.tags?",
            ),
            (json!({"title": "x"}), "--set fabric.title: unknown key"),
            (json!({"node.gpu0.delay_ns": -1}), "--set: node.gpu0.delay_ns is -1: give 0 to 1000000000"),
            (json!({"node.gpu0.kind": "gpuu"}), "--set: node.2.kind is 'gpuu': did you mean gpu"),
            (json!({"link.sw.1.lanes": 3}), "--set: link.sw.1.lanes is 3: give 1, 2, 4"),
            (
                json!({"node.gpu0.upper": "nobody"}),
                "desk.toml with --set: link nobody-gpu0: upper is nobody: unknown node",
            ),
        ] {
            let refused = changed(&changes).map(|_| ()).unwrap_err().to_string();
            assert!(refused.starts_with(words), "{refused}");
        }
        let broken = FILE.replace("\"gpu\"", "\"gpuu\"");
        let Value::Table(changes) = Value::of_json(json!({"mps_bytes": 512})) else { panic!("a table") };
        let refused = read_fabric(&broken, "desk.toml", &changes, &mut Shipped).map(|_| ()).unwrap_err();
        assert!(refused.to_string().starts_with("desk.toml: node.2.kind is 'gpuu'"), "{refused}");
    }
}
