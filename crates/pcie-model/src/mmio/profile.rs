//! The profiles of a core and of a BAR.

use std::sync::LazyLock;

use pcie_refusal::{Kind, Refusal};
use pcie_schema::{Fitting, Shape};
use pcie_wire::{LinkConfiguration, Piece, TlpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of a cache, and a write-combining buffer.
pub const LINE_BYTES: u32 = 64;

/// A value, with the interval that sources and machines leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// The least.
    #[schemars(range(min = 0, max = 1e6))]
    pub least: f64,
    /// The usual one.
    #[schemars(range(min = 0, max = 1e6))]
    pub usual: f64,
    /// The most.
    #[schemars(range(min = 0, max = 1e6))]
    pub most: f64,
}

impl Between {
    /// The interval of one value.
    #[must_use]
    pub const fn of(value: f64) -> Self {
        Self { least: value, usual: value, most: value }
    }

    fn check(&self, key: &str) -> Result<(), Refusal> {
        for (part, value, least, remedy) in [
            ("usual", self.usual, self.least, "give at least the least"),
            ("most", self.most, self.usual, "give at least the usual value"),
        ] {
            if value < least {
                return Err(Refusal::of(format!("{key}.{part}"), value, remedy).kind(Kind::OutOfRange));
            }
        }
        Ok(())
    }
}

/// Which values of the intervals: the usual ones, or those that are fastest or slowest together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corner {
    /// The usual values.
    Usual,
    /// The least times and the most buffers.
    Fast,
    /// The most times and the fewest buffers.
    Slow,
}

impl Corner {
    /// A time, or anything of which less is faster.
    const fn time(self, between: Between) -> f64 {
        match self {
            Self::Usual => between.usual,
            Self::Fast => between.least,
            Self::Slow => between.most,
        }
    }

    /// A count or rate: more is faster.
    const fn room(self, between: Between) -> f64 {
        match self {
            Self::Usual => between.usual,
            Self::Fast => between.most,
            Self::Slow => between.least,
        }
    }
}

/// A core, and the part of its host between core and link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreProfile {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// The first year in which it shipped.
    #[schemars(range(min = 1990, max = 2100))]
    pub year: u32,
    /// The newest PCIe generation of its hosts.
    #[schemars(range(min = 1, max = 7))]
    pub generation: u32,
    /// Texts that show this core in the name of a processor, in lower case; `*` stands for any letters.
    pub processors: Vec<String>,
    /// Its stores.
    pub stores: CoreStores,
    /// Its loads.
    pub loads: CoreLoads,
    /// Its host, up to the link.
    pub root: CoreRoot,
}

/// The order in which full write-combining buffers leave a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvictedOrder {
    /// As they were opened.
    InOrder,
    /// Any of them.
    Any,
}

/// The stores of a core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreStores {
    /// Write-combining buffers: fill buffers that stores to write-combining memory can hold.
    pub buffers: Between,
    /// Bytes that a buffer merges into one TLP; root ports merge nothing.
    #[schemars(extend("enum" = [8, 16, 32, 64]))]
    pub merged_bytes: u32,
    /// From the eviction of a full buffer until it can be filled again, ns.
    pub release_ns: Between,
    /// Filling 64 B with the widest streaming stores, ns.
    pub fill_ns: Between,
    /// From one store of at most 8 B to the next in a loop, ns.
    pub narrow_ns: Between,
    /// From one uncached store to the next, whatever its width, ns.
    pub uncached_ns: Between,
    /// A copy's call and the fence behind it, ns.
    pub fence_ns: Between,
    /// From one store of 64 B in one piece (MOVDIR64B, ST64B) to the next, ns; absent: the core has none.
    pub direct_ns: Option<Between>,
    /// The first store to a page that is not mapped yet, ns.
    pub page_fault_ns: Between,
    /// The order in which full buffers leave.
    pub evicted: EvictedOrder,
}

/// The loads of a core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreLoads {
    /// From the core to the root port and back, without link and device, ns.
    pub host_ns: Between,
    /// Lines that streaming loads from write-combining memory have in flight.
    pub streaming_lines: Between,
    /// The widest load.
    #[schemars(extend("enum" = [8, 16, 32, 64]))]
    pub widest_bytes: u32,
    /// Whether it has non-posted stores of 64 B (ENQCMD, ST64BV).
    pub enqueues: bool,
}

/// The host of a core, up to the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreRoot {
    /// Stores that wait between core and link, bytes.
    pub queue_bytes: Between,
    /// Unit in which the root port sends TLPs.
    #[schemars(extend("enum" = [4, 8, 16, 32, 64]))]
    pub quantum_bytes: u32,
    /// One way across the link's transmitter and receiver, ns.
    pub link_ns: Between,
    /// One way through a switch, ns.
    pub switch_ns: Between,
    /// A round trip to a device of the other socket takes this much longer, ns.
    pub remote_ns: Between,
}

/// A device's memory behind a BAR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Texts that show it in the name of a device, in lower case; `*` stands for any letters.
    pub devices: Vec<String>,
    /// Stores that arrive.
    pub stores: BarStores,
    /// Loads that it answers.
    pub reads: BarReads,
}

/// Stores that arrive at a BAR.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarStores {
    /// The rate at which the device takes stores, GB/s.
    pub drain_gbytes_per_s: Between,
    /// Stores that it holds before it has taken them: its posted credits, bytes.
    pub posted_bytes: Between,
    /// From a store's arrival until a loop on the device that waits for it has sent a store back, ns.
    pub poll_ns: Between,
}

/// Loads that a BAR answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarReads {
    /// From a request's arrival to its completion's start, ns.
    pub answer_ns: Between,
}

impl Fitting for CoreProfile {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<CoreProfile>);
        &SHAPE
    }
}

impl Fitting for Bar {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Bar>);
        &SHAPE
    }
}

/// Refuses values that would let a queue hold nothing, or a step go on forever.
fn least(key: &str, between: Between, least: f64, remedy: &str) -> Result<(), Refusal> {
    if between.least >= least {
        return Ok(());
    }
    Err(Refusal::of(format!("{key}.least"), between.least, remedy).kind(Kind::OutOfRange))
}

impl CoreProfile {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        let (stores, loads, root) = (&self.stores, &self.loads, &self.root);
        for (key, between) in [
            ("stores.buffers", stores.buffers),
            ("stores.release_ns", stores.release_ns),
            ("stores.fill_ns", stores.fill_ns),
            ("stores.narrow_ns", stores.narrow_ns),
            ("stores.uncached_ns", stores.uncached_ns),
            ("stores.fence_ns", stores.fence_ns),
            ("stores.direct_ns", stores.direct_ns.unwrap_or(Between::of(1.0))),
            ("stores.page_fault_ns", stores.page_fault_ns),
            ("loads.host_ns", loads.host_ns),
            ("loads.streaming_lines", loads.streaming_lines),
            ("root.queue_bytes", root.queue_bytes),
            ("root.link_ns", root.link_ns),
            ("root.switch_ns", root.switch_ns),
            ("root.remote_ns", root.remote_ns),
        ] {
            between.check(key)?;
        }
        for (key, between) in
            [("stores.buffers", stores.buffers), ("loads.streaming_lines", loads.streaming_lines)]
        {
            least(key, between, 1.0, "give 1 or more")?;
        }
        for (key, between) in [
            ("stores.fill_ns", stores.fill_ns),
            ("stores.narrow_ns", stores.narrow_ns),
            ("stores.uncached_ns", stores.uncached_ns),
            ("stores.direct_ns", stores.direct_ns.unwrap_or(Between::of(1.0))),
        ] {
            least(key, between, 0.01, "give 0.01 ns or more")?;
        }
        least("root.queue_bytes", root.queue_bytes, 64.0, "give 64 or more: a line")
    }
}

impl Bar {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        for (key, between) in [
            ("stores.drain_gbytes_per_s", self.stores.drain_gbytes_per_s),
            ("stores.posted_bytes", self.stores.posted_bytes),
            ("stores.poll_ns", self.stores.poll_ns),
            ("reads.answer_ns", self.reads.answer_ns),
        ] {
            between.check(key)?;
        }
        least("stores.drain_gbytes_per_s", self.stores.drain_gbytes_per_s, 1e-3, "give 0.001 GB/s or more")?;
        least("stores.posted_bytes", self.stores.posted_bytes, 64.0, "give 64 or more: a line")
    }
}

/// A core, a BAR and the link between them.
#[derive(Debug, Clone)]
pub struct Mmio {
    /// The core.
    pub core: CoreProfile,
    /// The BAR.
    pub bar: Bar,
    /// The link.
    pub link: LinkConfiguration,
}

/// One value of each interval, in whole buffers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MmioValues {
    /// Write-combining buffers, of [`MmioValues::merged_bytes`] each.
    pub buffers: u32,
    /// Bytes that a buffer merges.
    pub merged_bytes: u32,
    /// From a buffer's eviction until it can be filled again.
    pub release_ns: f64,
    /// Filling 64 B.
    pub fill_ns: f64,
    /// From one narrow store to the next.
    pub narrow_ns: f64,
    /// From one uncached store to the next.
    pub uncached_ns: f64,
    /// A call with its fence.
    pub fence_ns: f64,
    /// From one store of 64 B in one piece to the next.
    pub direct_ns: Option<f64>,
    /// A first store to a page.
    pub page_fault_ns: f64,
    /// From the core to the root port and back.
    pub host_ns: f64,
    /// Lines in flight of streaming loads.
    pub streaming_lines: u32,
    /// Stores that wait at the port, bytes.
    pub queue_bytes: u32,
    /// Unit of the root port.
    pub quantum_bytes: u32,
    /// One way across the link.
    pub link_ns: f64,
    /// One way through a switch.
    pub switch_ns: f64,
    /// More of a round trip to the other socket.
    pub remote_ns: f64,
    /// The device takes a byte in this time.
    pub drain_byte_ns: f64,
    /// Stores that the device holds, bytes.
    pub posted_bytes: u32,
    /// From a store's arrival to the device's store back.
    pub poll_ns: f64,
    /// From a request's arrival to its completion's start.
    pub answer_ns: f64,
}

impl Mmio {
    /// Puts the parts together.
    ///
    /// # Errors
    /// A profile breaks a rule: the message names the key.
    pub fn new(core: CoreProfile, bar: Bar, link: LinkConfiguration) -> Result<Self, Refusal> {
        core.check().map_err(|refusal| refusal.about(format!("core {}", core.name)))?;
        bar.check().map_err(|refusal| refusal.about(format!("bar {}", bar.name)))?;
        Ok(Self { core, bar, link })
    }

    /// The values of a corner.
    #[must_use]
    pub fn values(&self, corner: Corner) -> MmioValues {
        let (stores, loads, root) = (&self.core.stores, &self.core.loads, &self.core.root);
        let whole = |between| corner.room(between).floor().max(1.0) as u32;
        MmioValues {
            buffers: whole(stores.buffers),
            merged_bytes: stores.merged_bytes,
            release_ns: corner.time(stores.release_ns),
            fill_ns: corner.time(stores.fill_ns),
            narrow_ns: corner.time(stores.narrow_ns),
            uncached_ns: corner.time(stores.uncached_ns),
            fence_ns: corner.time(stores.fence_ns),
            direct_ns: stores.direct_ns.map(|between| corner.time(between)),
            page_fault_ns: corner.time(stores.page_fault_ns),
            host_ns: corner.time(loads.host_ns),
            streaming_lines: whole(loads.streaming_lines),
            queue_bytes: whole(root.queue_bytes),
            quantum_bytes: root.quantum_bytes,
            link_ns: corner.time(root.link_ns),
            switch_ns: corner.time(root.switch_ns),
            remote_ns: corner.time(root.remote_ns),
            drain_byte_ns: 1.0 / corner.room(self.bar.stores.drain_gbytes_per_s),
            posted_bytes: whole(self.bar.stores.posted_bytes),
            poll_ns: corner.time(self.bar.stores.poll_ns),
            answer_ns: corner.time(self.bar.reads.answer_ns),
        }
    }

    /// Bytes that a TLP takes on the link, without units of a port.
    #[must_use]
    pub fn tlp_bytes(&self, kind: TlpKind, data_bytes: u32) -> u32 {
        self.link.tlp_bytes(kind, Piece { address: 0, length: data_bytes })
    }

    /// Time of a TLP on the link, whose port sends whole units of `quantum_bytes`, ns.
    #[must_use]
    pub fn wire_ns(&self, kind: TlpKind, data_bytes: u32, quantum_bytes: u32) -> f64 {
        let time = self.link.byte_time();
        let bytes = self.tlp_bytes(kind, data_bytes).next_multiple_of(quantum_bytes.max(1));
        f64::from(bytes) * time.numerator as f64 / time.denominator as f64 / 1_000.0
    }
}
