//! The description of a machine: a fabric or a machine as people write them, or a fabric with every key.

use super::presets::Carried;
use pcie_describe::{Table, parse_toml, read_fabric, read_machine, read_table};
use pcie_fabric::{FabricParameters, Topology};
use pcie_refusal::{Kind, Refusal};

/// How messages name the text.
const SUBJECT: &str = "description";

/// Reads a description: TOML of a fabric, TOML with `kind = "machine"`, or JSON of a fabric with every key.
///
/// Presets of hosts and devices are those that pcielab ships.
///
/// # Errors
/// Names the key that is wrong, and the remedy.
pub fn read_description(text: &[u8]) -> Result<Topology, Refusal> {
    let text = std::str::from_utf8(text).map_err(|_| {
        Refusal::new("not UTF-8").kind(Kind::Malformed).about(SUBJECT).remedy("give the text of a TOML file")
    })?;
    if text.trim_start().starts_with('{') {
        let fabric: FabricParameters = serde_json::from_str(text).map_err(|error| {
            let remedy = "give every key of a fabric, or the TOML of its file";
            Refusal::new(error).kind(Kind::Malformed).about(SUBJECT).remedy(remedy)
        })?;
        return Topology::new(fabric).map_err(|refusal| refusal.about(SUBJECT));
    }
    let is_machine = parse_toml(text).is_ok_and(|table| {
        table.get("kind").and_then(|kind| kind.as_str()).is_some_and(|kind| kind == "machine")
    });
    let mut presets = Carried::new();
    let fabric = if is_machine {
        read_machine(read_table(text, SUBJECT, |_| None)?, SUBJECT)?.fabric()
    } else {
        text.to_owned()
    };
    read_fabric(&fabric, SUBJECT, &Table::new(), &mut presets).map(|(topology, _)| topology)
}
