//! Short forms that a fabric file may have, replaced by the tables that they stand for.
//!
//! A node may name its kind by what it is (`gpu`, `switch`), and the node above it with the link between them
//! (`upper = "switch"`, `link = "gen4x16"`). An `adapter` is one slot with several devices, as a NIC with two ports.
//! Files with tables only pass unchanged. What has another type than it should is left for the check of the whole.

use std::collections::{HashMap, HashSet};

use pcie_fabric::NodeKind;
use pcie_refusal::shown::quoted;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind, Refusal};
use serde_json::{Map, Value as Json, json};

use super::tables;

/// The kind of a host whose file names none: the only shipped host with present-day slots.
const DEFAULT_HOST: &str = "gen5-server";
/// Delay of a `switch` that gives none: a hop takes 105 ns in the rPCIeBench paper (section 4.2), 115 ns by the
/// vendor of a Gen5 switch (PEX89048).
const SWITCH_NS: f64 = 110.0;
/// Kinds of nodes that are devices, each with its preset.
const DEVICE_KINDS: [(&str, &str); 4] =
    [("gpu", "gpu"), ("nic", "nic-100g"), ("nvme", "nvme-gen4"), ("fpga", "fpga-xdma")];
/// Kinds by words of the field that files do not have.
const OTHER_WORDS: [(&[&str], &str); 5] = [
    (&["root-complex", "root", "server", "cpu", "processor"], "host"),
    (&["endpoint", "card", "accelerator"], "device"),
    (&["ssd", "drive", "disk", "storage"], "nvme"),
    (&["pcie-switch", "plx", "bridge"], "switch"),
    (&["rp", "port"], "root-port"),
];
const NODE_KINDS: [NodeKind; 6] = [
    NodeKind::Host,
    NodeKind::InternalSwitch,
    NodeKind::HostAdapter,
    NodeKind::ExternalSwitch,
    NodeKind::EndpointAdapter,
    NodeKind::Device,
];
const LANES: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];
/// Bandwidth between a root complex and its root port: more than any link, so that it limits nothing.
pub const INSIDE_GBYTES_PER_S: f64 = 1000.0;
const RATES: [&str; 5] = ["link", "generation", "lanes", "down_gbytes_per_s", "up_gbytes_per_s"];

/// Kinds of nodes in files, with the presets of devices.
pub(super) fn kinds(presets: &[String]) -> Vec<String> {
    let own = NODE_KINDS.iter().filter_map(|kind| json!(kind).as_str().map(ToOwned::to_owned));
    let short = ["switch", "root-port", "adapter"].into_iter().chain(DEVICE_KINDS.map(|(kind, _)| kind));
    let mut known: Vec<String> = Vec::new();
    for kind in own.chain(short.map(ToOwned::to_owned)).chain(presets.iter().cloned()) {
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
    known
}

/// Replaces the short forms of a file.
pub(super) fn expand(content: &mut Json, presets: &[String]) -> Result<(), Refusal> {
    let mut links = match content.get("link") {
        None => Vec::new(),
        Some(Json::Array(links)) => links.clone(),
        Some(_) => return Ok(()),
    };
    links.extend(links_of_nodes(&content["node"])?);
    inside(&content["node"], &mut links)?;
    for (number, link) in links.iter_mut().enumerate() {
        expand_link(link).map_err(|refusal| refusal.below(&format!("link.{number}")))?;
    }
    content["link"] = links.into();
    let nodes = content.get_mut("node").and_then(Json::as_array_mut);
    for (number, node) in nodes.into_iter().flatten().enumerate() {
        if let Some(node) = node.as_object_mut() {
            expand_node(node, presets).map_err(|refusal| refusal.below(&format!("node.{number}")))?;
        }
    }
    Ok(())
}

/// Gives a node one of the kinds of the simulator, and the preset that its kind stands for.
fn expand_node(node: &mut Map<String, Json>, presets: &[String]) -> Result<(), Refusal> {
    let Some(kind) = node.get("kind") else {
        let known: Vec<&str> = ["host", "device"].into_iter().filter(|key| node.contains_key(*key)).collect();
        let [kind] = known[..] else {
            let common = DEVICE_KINDS.map(|(kind, _)| kind).join(", ");
            let remedy = format!("give host, switch, {common} or another kind");
            return Err(Refusal::of("kind", "missing", remedy).kind(Kind::Missing));
        };
        node.insert("kind".to_owned(), kind.into());
        return Ok(());
    };
    let Some(kind) = kind.as_str().map(ToOwned::to_owned) else { return Ok(()) };
    let known = kinds(presets);
    let mut become_kind = |kind: &str, key: &str, value: Json| {
        node.entry(key.to_owned()).or_insert(value);
        node.insert("kind".to_owned(), kind.into());
    };
    match kind.as_str() {
        "host" => become_kind("host", "host", DEFAULT_HOST.into()),
        "switch" => become_kind("internal-switch", "delay_ns", SWITCH_NS.into()),
        "root-port" | "adapter" => {
            node.insert("kind".to_owned(), "internal-switch".into());
        }
        own if NODE_KINDS.iter().any(|known| json!(known) == own) => {}
        own if known.iter().any(|known| known == own) => {
            let preset = DEVICE_KINDS.iter().find(|(kind, _)| *kind == own).map_or(own, |(_, preset)| preset);
            become_kind("device", "device", preset.into());
        }
        other => return Err(Refusal::of("kind", quoted(other), remedy_of_kind(other, &known))),
    }
    Ok(())
}

fn remedy_of_kind(kind: &str, known: &[String]) -> String {
    let word = kind.to_lowercase().replace(['_', ' '], "-");
    let other = OTHER_WORDS.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, kind)| *kind);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match other.or_else(|| known.iter().copied().find(|known| *known == word)) {
        Some(meant) => format!("give \"{meant}\""),
        None => suggestion(&word, &known),
    }
}

/// Gives a link generation and lanes for its short form.
fn expand_link(link: &mut Json) -> Result<(), Refusal> {
    let Some(link) = link.as_object_mut() else { return Ok(()) };
    let Some(text) = link.get("link").and_then(Json::as_str).map(ToOwned::to_owned) else { return Ok(()) };
    if let Some(key) = ["generation", "lanes"].into_iter().find(|key| link.contains_key(*key)) {
        return Err(Refusal::of("link", quoted(&text), format!("leave out {key}, which link gives, too")));
    }
    let (generation, lanes) = generation_and_lanes(&text, "link")?;
    link.extend([("generation".to_owned(), generation.into()), ("lanes".to_owned(), lanes.into())]);
    Ok(())
}

fn generation_and_lanes(text: &str, key: &str) -> Result<(u32, u32), Refusal> {
    let Some((generation, lanes)) = pcie_wire::generation_and_lanes(text) else {
        let remedy = "give generation and lanes, for example \"gen4x16\"";
        return Err(Refusal::of(key, quoted(text), remedy));
    };
    if !(1..=7).contains(&generation) || !LANES.contains(&lanes) {
        let remedy =
            format!("give generation 1 to 7 and lanes {}", LANES.map(|one| one.to_string()).join(", "));
        return Err(Refusal::of(key, quoted(text), remedy));
    }
    Ok((generation, lanes))
}

/// The links that nodes give with `upper`; nodes of another shape give none.
fn links_of_nodes(nodes: &Json) -> Result<Vec<Json>, Refusal> {
    let mut links = Vec::new();
    let adapters = named_kind(nodes, "adapter");
    for (number, node) in tables(nodes) {
        let (Some(upper), Some(name)) = (node.get("upper").and_then(Json::as_str), node.get("name")) else {
            continue;
        };
        let mut link = json!({"upper": upper, "lower": name});
        match node.get("link") {
            Some(Json::String(text)) => {
                let (generation, lanes) = generation_and_lanes(text, &format!("node.{number}.link"))?;
                link["generation"] = generation.into();
                link["lanes"] = lanes.into();
            }
            Some(_) => continue,
            None if node.get("kind").is_some_and(|kind| kind == "root-port") => {}
            None if adapters.contains(upper) => {}
            None => {
                let remedy = "give link, too: generation and lanes, for example \"gen4x16\"";
                let refusal = Refusal::of(format!("node.{number}.upper"), quoted(upper), remedy);
                return Err(refusal.kind(Kind::Missing));
            }
        }
        links.push(link);
    }
    Ok(links)
}

/// The names of the nodes of a kind.
fn named_kind<'a>(nodes: &'a Json, kind: &str) -> HashSet<&'a str> {
    let of_kind = tables(nodes).filter(|(_, node)| node.get("kind").is_some_and(|own| own == kind));
    of_kind.filter_map(|(_, node)| node.get("name")?.as_str()).collect()
}

/// Lets a link to a root port, or from an adapter, without a rate limit nothing: the port is a part of the root
/// complex, and the devices of an adapter share its slot.
fn inside(nodes: &Json, links: &mut [Json]) -> Result<(), Refusal> {
    let (ports, adapters) = (named_kind(nodes, "root-port"), named_kind(nodes, "adapter"));
    let mut below: HashMap<String, Vec<String>> = HashMap::new();
    for link in links {
        let end = |key: &str| link.get(key).and_then(Json::as_str).map(ToOwned::to_owned);
        let (upper, lower) = (end("upper"), end("lower"));
        let is_inside = lower.as_deref().is_some_and(|lower| ports.contains(lower))
            || upper.as_deref().is_some_and(|upper| adapters.contains(upper));
        if is_inside && RATES.iter().all(|key| link.get(key).is_none()) {
            link["down_gbytes_per_s"] = INSIDE_GBYTES_PER_S.into();
            link["up_gbytes_per_s"] = INSIDE_GBYTES_PER_S.into();
        }
        if let Some(upper) = upper.filter(|upper| ports.contains(upper.as_str())) {
            let lowers = below.entry(upper.clone()).or_default();
            lowers.push(lower.unwrap_or_default());
            if lowers.len() > 1 {
                let remedy = "give one link below a root port; only a switch has several";
                let key = format!("link below root port {upper}");
                return Err(Refusal::of(key, lowers.join(", "), remedy));
            }
        }
    }
    Ok(())
}
