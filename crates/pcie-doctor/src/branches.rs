//! The tree for people and programs: every link with its capacity and the demand below it.

use std::collections::HashMap;

use pcie_evidence::{Function, Kind, Tree};
use pcie_model::Bound;
use serde::{Deserialize, Serialize};

use crate::finding::Operation;
use crate::loss::{Use, loss};
use crate::machine::{Link, Machine};
use crate::rules::link::rate_gbps;

/// A function, with the link above it if it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Its slot.
    pub slot: String,
    /// Number of bridges above it.
    pub depth: usize,
    /// Class and name.
    pub title: String,
    /// Its type in the PCI Express capability.
    pub kind: Option<Kind>,
    /// Negotiated speed, GT/s a lane.
    pub speed_gtps: Option<f64>,
    /// Negotiated lanes; 0 where nothing is attached.
    pub lanes: Option<u32>,
    /// Large reads, modelled: the wire with this device's MPS and MRRS.
    pub read_gbps: Option<f64>,
    /// What binds them.
    pub read_bound: Option<Bound>,
    /// Large writes, modelled.
    pub write_gbps: Option<f64>,
    /// What binds them.
    pub write_bound: Option<Bound>,
    /// Raw bit rate of the link in one direction, after line coding.
    pub raw_gbps: Option<f64>,
    /// Sum of the raw rates of the device links below it.
    pub below_gbps: Option<f64>,
    /// The link above by the name that `pcielab fabric from` gives it.
    pub edge: Option<String>,
    /// Why the link is not judged: inside a chip, or not a real one.
    pub made_up: Option<String>,
}

impl Branch {
    fn plain(function: &Function, depth: usize) -> Self {
        Self {
            slot: function.slot.clone(),
            depth,
            title: function.title.clone(),
            kind: function.kind,
            speed_gtps: None,
            lanes: None,
            read_gbps: None,
            read_bound: None,
            write_gbps: None,
            write_bound: None,
            raw_gbps: None,
            below_gbps: None,
            edge: None,
            made_up: None,
        }
    }

    /// Whether a link may lead down from it.
    #[must_use]
    pub fn is_port(&self) -> bool {
        matches!(self.kind, Some(Kind::RootPort | Kind::DownstreamPort))
    }
}

/// Every function, in depth-first order.
#[must_use]
pub fn branches(tree: &Tree) -> Vec<Branch> {
    let machine = Machine::of(tree);
    // Not `Tree::children`: it leaves out virtual functions on a later bus than that below their port.
    let mut below: HashMap<&str, Vec<&Function>> = HashMap::new();
    for function in tree.functions() {
        if let Some(parent) = tree.parent(function) {
            below.entry(&parent.slot).or_default().push(function);
        }
    }
    // The last is the next to be written.
    let mut open: Vec<(&Function, usize)> =
        tree.functions().iter().filter(|one| tree.parent(one).is_none()).map(|one| (one, 0)).rev().collect();
    let mut found = Vec::new();
    while let Some((function, depth)) = open.pop() {
        found.push(branch(&machine, function, depth));
        let children = below.get(function.slot.as_str()).into_iter().flatten();
        open.extend(children.map(|child| (*child, depth + 1)).rev());
    }
    found
}

fn branch(machine: &Machine<'_>, function: &Function, depth: usize) -> Branch {
    let mut found = Branch::plain(function, depth);
    if let Some(link) = machine.link_of(function) {
        add_link(machine, link, function, &mut found);
    } else if function.is_port()
        && function.link.as_ref().is_some_and(|end| end.lanes.is_none_or(|lanes| lanes == 0))
    {
        found.lanes = Some(0);
    }
    if !found.is_port() {
        found.edge = machine.edge(function).map(str::to_owned);
    }
    found
}

fn add_link(machine: &Machine<'_>, link: &Link<'_>, function: &Function, found: &mut Branch) {
    let Some((end, usage)) = function.link.as_ref().and_then(|end| Some((end, Use::of(function, end)?)))
    else {
        return;
    };
    let (read, write) = (loss(&usage, &usage, Operation::Read), loss(&usage, &usage, Operation::Write));
    found.speed_gtps = end.speed_gtps;
    found.lanes = end.lanes;
    found.read_gbps = read.as_ref().map(|read| read.now_gbps);
    found.read_bound = read.map(|read| read.now_bound);
    found.write_gbps = write.as_ref().map(|write| write.now_gbps);
    found.write_bound = write.map(|write| write.now_bound);
    found.raw_gbps = Some(end.raw_gbps());
    found.below_gbps = Some(below_gbps(machine, link)).filter(|gbps| *gbps != 0.0);
    found.made_up = link.not_judged().filter(|_| function.is_endpoint()).map(str::to_owned);
}

/// Sum of the raw rates of the device links below a switch's upstream port.
fn below_gbps(machine: &Machine<'_>, link: &Link<'_>) -> f64 {
    let tree = machine.tree;
    let (mut total_gbps, mut ports) = (0.0, tree.children(link.device));
    while let Some(port) = ports.pop() {
        for child in tree.children(port) {
            if child.kind == Some(Kind::UpstreamPort) {
                ports.extend(tree.children(child));
            } else if machine.link_of(child).is_some() && child.slot.ends_with(".0") {
                total_gbps += rate_gbps(child.link.as_ref());
            }
        }
    }
    total_gbps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_function_on_a_later_bus_is_below_its_port() {
        let function =
            |slot: &str, kind| Function { slot: slot.into(), kind: Some(kind), ..Function::default() };
        let port = Function {
            secondary_bus: Some(1),
            subordinate_bus: Some(2),
            ..function("0000:00:01.0", Kind::RootPort)
        };
        let virtual_function =
            Function { is_virtual_function: true, ..function("0000:02:00.0", Kind::Endpoint) };
        let physical_function = function("0000:01:00.0", Kind::Endpoint);
        let tree = Tree::new("test", vec![port, physical_function, virtual_function]);
        let found: Vec<_> = branches(&tree).into_iter().map(|branch| (branch.slot, branch.depth)).collect();
        let expected = [("0000:00:01.0", 0), ("0000:01:00.0", 1), ("0000:02:00.0", 1)];
        assert_eq!(found, expected.map(|(slot, depth)| (slot.to_owned(), depth)));
    }
}
