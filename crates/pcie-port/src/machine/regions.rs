//! Bus addresses of a machine: the memories of its hosts, and the BARs of its devices.

use pcie_fabric::simulate::Memory;
use pcie_fabric::{NodeId, NodeKind, Topology};
use pcie_refusal::{Kind, Refusal};
use std::cmp::Reverse;

/// Memories of hosts begin at multiples of this: that of the first one at 0.
const HOST_STEP: u64 = 1 << 46;
/// Most hosts with a memory of their own.
const HOSTS_MOST: u64 = 1 << 12;
/// BARs that the caller gives begin here, where no described one ends later.
const FIRST_BAR: u64 = 0x10_0000_0000;
/// Most bytes of a BAR that the caller gives.
const BAR_MOST: u64 = 1 << 40;

/// Who has some addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) node: NodeId,
    pub(super) memory: Memory,
}

impl Target {
    /// A host as the destination of an interrupt.
    pub(super) fn signal(host: NodeId) -> Self {
        Self { node: host, memory: Memory::Host(host) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Region {
    first: u64,
    bytes: u64,
    target: Target,
}

impl Region {
    fn holds(&self, address: u64, length: u64) -> bool {
        address.checked_sub(self.first).is_some_and(|at| at < self.bytes && length <= self.bytes - at)
    }
}

/// The addresses of all hosts and devices.
#[derive(Debug)]
pub(super) struct Regions {
    /// BARs, which hide what a host has at the same addresses.
    bars: Vec<Region>,
    hosts: Vec<Region>,
}

impl Regions {
    /// Those of a fabric.
    ///
    /// # Errors
    /// A host has no description, or there is none.
    pub(super) fn of(topology: &Topology) -> Result<Self, Refusal> {
        let (mut bars, mut hosts) = (vec![], vec![]);
        for (node, own) in (0..).zip(topology.nodes()) {
            let memories = own.device.as_ref().map_or(&[][..], |device| &device.memories);
            for (number, memory) in memories.iter().enumerate() {
                let Some(bar) = memory.bar else { continue };
                let target = Target { node, memory: Memory::Device(node, number) };
                bars.push(Region { first: bar.address, bytes: bar.size_bytes, target });
            }
            if own.kind != NodeKind::Host {
                continue;
            }
            let Some(host) = own.host else {
                let missing =
                    Refusal::new("its times are not described").kind(Kind::Missing).about(&own.name);
                return Err(missing.remedy("give the node the key host: a preset or a kind of [hosts]"));
            };
            let first = HOST_STEP * hosts.len() as u64;
            let bytes = host.memory_bytes.min(HOST_STEP);
            hosts.push(Region { first, bytes, target: Target { node, memory: Memory::Host(node) } });
            if hosts.len() as u64 > HOSTS_MOST {
                let many = Refusal::new(format!("more than {HOSTS_MOST} hosts")).kind(Kind::TooLarge);
                return Err(many.about(topology.name()).remedy("give fewer"));
            }
        }
        if hosts.is_empty() {
            let none = Refusal::new("there is no host").kind(Kind::Missing).about(topology.name());
            return Err(none.remedy("give a node of kind host"));
        }
        Ok(Self { bars, hosts })
    }

    /// Gives a device without a BAR one of `bytes`.
    ///
    /// # Errors
    /// It has one, or there is no room.
    pub(super) fn add(&mut self, node: NodeId, bytes: u64) -> Result<(), Refusal> {
        if self.bars.iter().any(|bar| bar.target.node == node) {
            return Err(Refusal::of("bar_bytes", bytes, "give 0: it has a BAR, which stays"));
        }
        if bytes > BAR_MOST {
            return Err(Refusal::of("bar_bytes", bytes, format!("give at most {BAR_MOST}")));
        }
        let ends = self.bars.iter().map(|bar| bar.first.saturating_add(bar.bytes));
        let first = ends.fold(FIRST_BAR, u64::max).checked_next_multiple_of(bytes.next_power_of_two());
        let Some(first) = first.filter(|first| first.checked_add(bytes).is_some()) else {
            return Err(Refusal::of(
                "bar_bytes",
                bytes,
                "the other BARs leave no addresses: give lower bar_addresses",
            ));
        };
        let target = Target { node, memory: Memory::Device(node, usize::MAX) };
        self.bars.push(Region { first, bytes, target });
        Ok(())
    }

    /// Who has all bytes of a range.
    pub(super) fn target(&self, address: u64, length: u64) -> Option<Target> {
        let found = self.bars.iter().chain(&self.hosts).find(|region| region.holds(address, 1))?;
        found.holds(address, length).then_some(found.target)
    }

    /// The memory of a host, or the largest BAR of a device.
    pub(super) fn of_node(&self, node: NodeId) -> Option<(u64, u64)> {
        let own = self.hosts.iter().chain(&self.bars).filter(|region| region.target.node == node);
        own.min_by_key(|region| (Reverse(region.bytes), region.first))
            .map(|region| (region.first, region.bytes))
    }
}
