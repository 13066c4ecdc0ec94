//! A tree with its links, and which of them are judged.

use std::cell::OnceCell;
use std::collections::HashMap;

use pcie_evidence::{Function, Kind, Tree};

use crate::hardware::fact;
use crate::internal_links::internal;
use crate::made_up_links::made_up;
use crate::topology::edges;

/// A link with both ends, and why it is not judged.
#[derive(Debug)]
pub(crate) struct Link<'tree> {
    /// Its index.
    pub(crate) number: usize,
    /// The port above; None if it was not read.
    pub(crate) port: Option<&'tree Function>,
    /// The first function of the device or switch below.
    pub(crate) device: &'tree Function,
    /// All functions of the device or switch below.
    pub(crate) functions: Vec<&'tree Function>,
    /// Why it is inside a chip.
    pub(crate) internal: Option<&'static str>,
    /// Why its registers do not describe a real link.
    pub(crate) made_up: Option<String>,
    /// The index of the link of the card, if this link is inside it and reports a nominal value.
    on_card_uplink: Option<usize>,
}

impl<'tree> Link<'tree> {
    /// The port, if it was read, and the functions below it.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &'tree Function> {
        self.port.into_iter().chain(self.functions.iter().copied())
    }

    /// Why it is not judged: internal to a chip, nominal inside a card, or made up; None if it is.
    pub(crate) fn not_judged(&self) -> Option<&str> {
        let on_card = self.on_card_uplink.map(|_| "it is inside the card, and always reports this value");
        self.internal.or(on_card).or(self.made_up.as_deref())
    }

    /// Whether its lower end is a device, not a switch or bridge.
    fn is_of_a_card(&self) -> bool {
        self.device.is_endpoint() || (self.device.kind.is_none() && self.device.secondary_bus.is_none())
    }

    fn is_up(&self) -> bool {
        self.device.link.as_ref().is_some_and(|end| end.is_up())
    }
}

/// A tree, its links, and the names of its edges.
#[derive(Debug)]
pub(crate) struct Machine<'tree> {
    /// The tree.
    pub(crate) tree: &'tree Tree,
    links: Vec<Link<'tree>>,
    by_slot: HashMap<&'tree str, usize>,
    by_end: HashMap<&'tree str, Vec<usize>>,
    edges: OnceCell<HashMap<String, String>>,
}

impl<'tree> Machine<'tree> {
    /// Finds the links of a tree, and judges whether each is real.
    pub(crate) fn of(tree: &'tree Tree) -> Self {
        let mut links = Vec::new();
        let mut by_slot = HashMap::new();
        let mut by_end: HashMap<_, Vec<_>> = HashMap::new();
        for (number, link) in tree.links().enumerate() {
            for function in &link.functions {
                by_slot.insert(function.slot.as_str(), number);
            }
            for end in link.port.into_iter().chain(link.functions.iter().copied()) {
                by_end.entry(end.slot.as_str()).or_default().push(number);
            }
            links.push(Link {
                number,
                port: link.port,
                device: link.device,
                internal: internal(link.port, &link.functions),
                made_up: made_up(tree, link.port, link.device),
                functions: link.functions,
                on_card_uplink: None,
            });
        }
        let mut found = Self { tree, links, by_slot, by_end, edges: OnceCell::new() };
        let uplinks: Vec<_> = found.links.iter().map(|link| found.find_on_card_uplink(link)).collect();
        for (link, uplink) in found.links.iter_mut().zip(uplinks) {
            link.on_card_uplink = uplink;
        }
        found
    }

    /// A row of the table says that the device or the port above always reports the value, the link does report
    /// it, and a faster link is above.
    fn find_on_card_uplink(&self, link: &Link<'tree>) -> Option<usize> {
        let end = link.device.link.as_ref()?;
        let (Some(speed_gtps), Some(lanes), Some(_)) = (end.speed_gtps, end.lanes, link.port) else {
            return None;
        };
        let is_nominal = link.ends().any(|one| {
            fact(one, "nominal_link")
                .is_some_and(|fact| fact.kind == "gpu" && fact.links.contains(&(speed_gtps, lanes)))
        });
        if !is_nominal {
            return None;
        }
        let uplink = self.links_above(link).find(|one| one.device.kind == Some(Kind::UpstreamPort))?;
        let is_faster = uplink.device.link.as_ref()?.raw_gbps() > end.raw_gbps();
        is_faster.then_some(uplink.number)
    }

    /// Every link, in the order of the lower ends.
    pub(crate) fn links(&self) -> &[Link<'tree>] {
        &self.links
    }

    /// The functions, in the order of the source.
    pub(crate) fn functions(&self) -> &'tree [Function] {
        self.tree.functions()
    }

    /// The function of a slot, if it has one and the tree holds it.
    pub(crate) fn function(&self, slot: Option<&str>) -> Option<&'tree Function> {
        self.tree.function(slot?)
    }

    /// The link above a function, if it is on the lower end of one.
    pub(crate) fn link_of(&self, function: &Function) -> Option<&Link<'tree>> {
        self.by_slot.get(function.slot.as_str()).and_then(|number| self.links.get(*number))
    }

    /// The links that a function is an end of.
    pub(crate) fn links_at(&self, function: &Function) -> impl Iterator<Item = &Link<'tree>> {
        let numbers = self.by_end.get(function.slot.as_str()).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|number| self.links.get(*number))
    }

    /// The links between a device's own and the root port.
    pub(crate) fn links_above(&self, link: &Link<'tree>) -> impl Iterator<Item = &Link<'tree>> {
        self.above(link.device).filter_map(|function| self.link_of(function))
    }

    /// The bridges above a function, up to the root port.
    pub(crate) fn above(
        &self,
        function: &'tree Function,
    ) -> impl Iterator<Item = &'tree Function> + use<'tree> {
        self.tree.path(function).skip(1)
    }

    /// The last function of the path above a device: its root port, or itself.
    pub(crate) fn root(&self, function: &'tree Function) -> &'tree Function {
        self.tree.path(function).last().unwrap_or(function)
    }

    /// The link of the card, if this one is inside it and reports a nominal value; None for any other link.
    pub(crate) fn on_card_uplink(&self, link: &Link<'tree>) -> Option<&Link<'tree>> {
        self.links.get(link.on_card_uplink?)
    }

    /// Links that are up and judged, each with the port above.
    pub(crate) fn real_links(&self) -> impl Iterator<Item = (&Link<'tree>, &'tree Function)> {
        self.links
            .iter()
            .filter(|link| link.is_up() && link.not_judged().is_none())
            .filter_map(|link| Some((link, link.port?)))
    }

    /// Those of the real links with a device on the lower end, not a switch or bridge.
    pub(crate) fn real_cards(&self) -> impl Iterator<Item = (&Link<'tree>, &'tree Function)> {
        self.real_links().filter(|(link, _)| link.is_of_a_card())
    }

    /// The devices whose own settings are judged: those of `real_cards`, and those of a selection without ports.
    pub(crate) fn cards(&self) -> impl Iterator<Item = &Link<'tree>> {
        let is_selection = self.tree.is_selection();
        self.links.iter().filter(move |link| {
            (is_selection || link.port.is_some())
                && link.is_up()
                && link.is_of_a_card()
                && link.not_judged().is_none()
        })
    }

    /// The edge above a device or switch by the name that `pcielab fabric from` gives it.
    pub(crate) fn edge(&self, function: &Function) -> Option<&str> {
        self.edges.get_or_init(|| edges(self)).get(function.slot.as_str()).map(String::as_str)
    }
}
