//! Hosts and devices of a machine: credits, tags, and the engine of their transfers.

use super::transfers::Engine;
use crate::endpoint::Units;
use pcie_fabric::simulate::Stepped;
use pcie_fabric::{NodeId, NodeKind};
use std::collections::BTreeMap;

/// A host or device.
#[derive(Debug)]
pub(super) struct End {
    pub(super) is_host: bool,
    /// Whether the caller stands for it.
    pub(super) is_attached: bool,
    /// The nearest host, which takes its interrupts and messages.
    pub(super) host: Option<NodeId>,
    /// Room of its port for TLPs that have not left.
    pub(super) credits: Units,
    /// Reads in flight by their tags.
    pub(super) tags: BTreeMap<u16, u64>,
    pub(super) engine: Engine,
}

impl End {
    /// A node, if it is a host or a device.
    ///
    /// A port holds as much as the buffer at the other end of its link, in each class. No TLP takes less there than a
    /// data credit, so that headers are never short.
    pub(super) fn of(fabric: &Stepped, node: NodeId) -> Option<Self> {
        let topology = fabric.topology();
        let own = &topology.nodes()[node as usize];
        if !matches!(own.kind, NodeKind::Host | NodeKind::Device) {
            return None;
        }
        let most = fabric.first_credits(node);
        let hosts = (0..).zip(topology.nodes()).filter(|(_, other)| other.kind == NodeKind::Host);
        let host = hosts.map(|(host, _)| host).min_by_key(|&host| {
            let mut edges = vec![];
            topology.route(node, host, &mut edges);
            edges.len()
        });
        Some(Self {
            is_host: own.kind == NodeKind::Host,
            is_attached: false,
            host,
            credits: Units { posted_headers: most, posted_data: most, non_posted_headers: most },
            tags: BTreeMap::new(),
            engine: Engine::of(own),
        })
    }
}
