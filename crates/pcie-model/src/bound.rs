//! Bounds, and the answer that names the binding one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Bytes on the link from the device to the host.
    WireUpstream,
    /// Bytes on the link from the host to the device.
    WireDownstream,
    /// Read requests outstanding.
    Tags,
    /// Room for writes at the receiver.
    PostedCredits,
    /// Room for read requests at the receiver.
    NonPostedCredits,
    /// DMAs in flight, each of which takes the round trip.
    Latency,
    /// DMAs that the device can start.
    DeviceRate,
    /// TLPs that the device's port sends, in whole units of the port.
    DevicePort,
    /// TLPs that the root port sends, in whole units of the port.
    RootPort,
    /// TLPs that ports keep until they are acknowledged, to send them again if they arrive damaged.
    ReplayBuffer,
    /// Read requests that the root complex accepts.
    RequestRate,
    /// Writes that the root complex accepts.
    WriteRate,
    /// Read requests whose data the device can buffer until it has processed them.
    ReceiveBuffers,
    /// Read requests for whose completions the device has reserved space.
    CompletionBuffer,
    /// Page walks of the IOMMU.
    PageWalks,
    /// Pages that a driver gives to the device anew: the IO-TLB misses each.
    Translation,
    /// Lines of writes that the root complex holds.
    WritePool,
    /// Lines of read requests that the root complex holds.
    ReadPool,
    /// Writes to a memory that busy cores share.
    Memory,
    /// Time between two stores of a core on the link.
    StoreInterval,
    /// Stores that the core can make.
    CoreStores,
}

impl fmt::Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(to)
    }
}

/// The rate that one bound alone would allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ceiling {
    /// Which bound.
    pub bound: Bound,
    /// The rate that it allows, in Gb/s of data.
    pub gbps: f64,
    /// Its excess over the answer, as a fraction of the answer: 0 where this bound binds, 1 where it allows
    /// twice as much.
    pub slack: f64,
}

/// A rate and why it is not higher.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Data in one direction, in Gb/s.
    pub gbps: f64,
    /// Units of work (transfers, packets) in millions a second.
    pub millions_per_s: f64,
    /// The bound that binds.
    pub bound: Bound,
    /// Every bound that this work meets, tightest first.
    pub ceilings: Vec<Ceiling>,
}

impl Answer {
    /// Adds a bound that allows `gbps`; it binds if it is tighter than the answer.
    pub fn limit(&mut self, bound: Bound, gbps: f64) {
        if gbps < self.gbps {
            self.millions_per_s *= gbps / self.gbps;
            (self.gbps, self.bound) = (gbps, bound);
        }
        self.ceilings.retain(|ceiling| ceiling.bound != bound);
        self.ceilings.push(Ceiling { bound, gbps, slack: 0.0 });
        for ceiling in &mut self.ceilings {
            ceiling.slack = ceiling.gbps / self.gbps - 1.0;
        }
        self.ceilings.sort_by(|one, other| one.gbps.total_cmp(&other.gbps));
    }

    /// The answer for the time that each bound needs for one unit of work of `data_bytes`. Bounds that need
    /// no time are left out; `None` if all are.
    pub(crate) fn from_costs(
        costs_ns: impl IntoIterator<Item = (Bound, f64)>,
        data_bytes: u64,
    ) -> Option<Self> {
        let mut met: Vec<_> = costs_ns.into_iter().filter(|(_, ns)| *ns > 0.0).collect();
        met.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let &(bound, slowest_ns) = met.first()?;
        let gbps = |ns: f64| data_bytes as f64 * 8.0 / ns;
        let ceilings = met
            .iter()
            .map(|&(bound, ns)| Ceiling { bound, gbps: gbps(ns), slack: slowest_ns / ns - 1.0 })
            .collect();
        Some(Self { gbps: gbps(slowest_ns), millions_per_s: 1_000.0 / slowest_ns, bound, ceilings })
    }
}
