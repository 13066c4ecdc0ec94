//! What follows from the functions of a tree: bridges above, functions below, links. Computed on first use.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::{Function, Kind, Tree};

/// The derived relations of one tree, which equal trees share.
#[derive(Default)]
pub(super) struct Index(OnceLock<Found>);

/// Positions in [`Tree::functions`]; of several functions with one slot, the last counts.
#[derive(Debug, Default)]
pub(super) struct Found {
    by_slot: HashMap<String, usize>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    links: Vec<Vec<usize>>,
    link_of: HashMap<String, usize>,
}

impl Index {
    pub(super) fn of(&self, tree: &Tree) -> &Found {
        self.0.get_or_init(|| Found::new(tree))
    }
}

impl Clone for Index {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Index")
    }
}

impl Found {
    fn new(tree: &Tree) -> Self {
        let mut found = Self::default();
        for (position, function) in tree.functions().iter().enumerate() {
            found.by_slot.insert(function.slot.clone(), position);
        }
        found.parents =
            if tree.is_nested() { found.parents_by_nesting(tree) } else { parents_by_bus(tree.functions()) };
        found.children = vec![Vec::new(); tree.functions().len()];
        for position in 0..tree.functions().len() {
            if let Some(above) =
                found.parents[position].filter(|above| found.is_below(tree, position, *above))
            {
                found.children[above].push(position);
            }
        }
        found.find_links(tree);
        found
    }

    pub(super) fn position(&self, slot: &str) -> Option<usize> {
        self.by_slot.get(slot).copied()
    }

    pub(super) fn parent(&self, slot: &str) -> Option<usize> {
        self.parents.get(self.position(slot)?).copied().flatten()
    }

    pub(super) fn children(&self, slot: &str) -> &[usize] {
        self.position(slot).and_then(|position| self.children.get(position)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn links(&self) -> &[Vec<usize>] {
        &self.links
    }

    pub(super) fn link_of(&self, slot: &str) -> Option<usize> {
        self.link_of.get(slot).copied()
    }

    /// Whether a function is on the very bus below a bridge: virtual functions may be on a later one.
    fn is_below(&self, tree: &Tree, position: usize, above: usize) -> bool {
        tree.is_nested() || tree.functions()[above].secondary_bus == Some(tree.functions()[position].bus())
    }

    /// Sources write the outer function first; so walks upwards end.
    fn parents_by_nesting(&self, tree: &Tree) -> Vec<Option<usize>> {
        let above = |(position, function): (usize, &Function)| {
            let above = self.position(function.above_slot.as_deref()?)?;
            (above < position).then_some(above)
        };
        tree.functions().iter().enumerate().map(above).collect()
    }

    fn find_links(&mut self, tree: &Tree) {
        let mut groups: HashMap<&str, usize> = HashMap::new();
        for (position, function) in tree.functions().iter().enumerate() {
            if !self.is_lower_end(tree, position, function) {
                continue;
            }
            let number = *groups.entry(function.device_slot()).or_insert(self.links.len());
            if number == self.links.len() {
                self.links.push(Vec::new());
            }
            self.links[number].push(position);
            self.link_of.insert(function.slot.clone(), number);
        }
    }

    fn is_lower_end(&self, tree: &Tree, position: usize, function: &Function) -> bool {
        if function.is_virtual_function {
            return false;
        }
        let of_kind = function.is_endpoint()
            || matches!(function.kind, Some(Kind::UpstreamPort | Kind::PcieToPciBridge));
        // Without root, kinds are unknown, but the kernel still shows links: they alternate with the internal buses
        // of switches.
        let unknown = || function.kind.is_none() && function.link.as_ref().is_some_and(super::LinkEnd::is_up);
        let is_below =
            || function.is_unnamed() || tree.is_selection() || self.depth(position).is_multiple_of(2);
        of_kind || (unknown() && is_below())
    }

    /// Number of functions on the path up to the root.
    fn depth(&self, position: usize) -> usize {
        std::iter::successors(Some(position), |position| self.parents[*position]).count()
    }
}

fn parents_by_bus(functions: &[Function]) -> Vec<Option<usize>> {
    let mut bridges: HashMap<(&str, u8), usize> = HashMap::new();
    for (position, function) in functions.iter().enumerate() {
        if let Some(below) = function.secondary_bus.filter(|below| *below > function.bus()) {
            bridges.entry((function.domain(), below)).or_insert(position);
        }
    }
    let sorted: BTreeMap<(&str, u8), usize> =
        bridges.iter().map(|(bus, position)| (*bus, *position)).collect();
    functions.iter().map(|function| above(function, functions, &bridges, &sorted)).collect()
}

fn above(
    function: &Function,
    functions: &[Function],
    bridges: &HashMap<(&str, u8), usize>,
    sorted: &BTreeMap<(&str, u8), usize>,
) -> Option<usize> {
    let bus = (function.domain(), function.bus());
    let exact = bridges.get(&bus).copied();
    if exact.is_some() || !function.is_virtual_function {
        return exact;
    }
    // A virtual function's bus may lie between a bridge's secondary and subordinate bus.
    let around = sorted.range((function.domain(), 0)..=bus).rev();
    let last = |position: usize| functions[position].subordinate_bus;
    around
        .filter(|((_, below), position)| function.bus() <= last(**position).unwrap_or(*below).max(*below))
        .map(|(_, position)| *position)
        .next()
}
