//! A NIC as data: the accesses over PCIe that it and its driver make for each packet.

use indexmap::IndexMap;
use pcie_refusal::Refusal;
use pcie_schema::relief::{Who, either, less, more, off};
use pcie_schema::{Fitting, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

use crate::checks::no_steps;

/// The largest step, in bytes, batches included.
const MAX_STEP_BYTES: u64 = 1 << 20;
/// The longest time between two interrupts: ten milliseconds. NICs allow one to eight milliseconds.
const MAX_MODERATION_NS: u32 = 10_000_000;

/// Keys of the queues begin with it.
const QUEUES: &str = "queues.";

/// The PCIe accesses of sending and receiving packets, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interactions {
    /// Name of the device.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Description for readers.
    pub description: String,
    /// Where the steps come from.
    pub provenance: String,
    /// The steps, in the order in which they happen to a packet.
    #[serde(rename = "step")]
    #[schemars(length(min = 1))]
    pub steps: Vec<Step>,
    /// Its queues and buffers. Bounds depend on header split alone, simulations on all of them.
    #[serde(default)]
    pub queues: Queues,
    /// Intervals of keys that no document gives, by dotted key: `queues.descriptors_held`.
    #[serde(default)]
    pub assumed: IndexMap<String, Interval>,
}

/// The interval of a value that no document gives: the value of its key is a choice within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Least value.
    #[schemars(extend("x-fact" = "what is known"))]
    pub least: u32,
    /// Greatest value.
    #[schemars(extend("x-fact" = "what is known"))]
    pub most: u32,
    /// Why the value lies between them.
    pub source: String,
}

/// Queues and buffers of a NIC, on the device and in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queues {
    /// Descriptors in a ring, one ring for each direction: the most packets in flight.
    #[schemars(range(min = 1, max = 1 << 16))]
    #[schemars(extend("x-relief" = more(Who::Driver)))]
    pub ring_descriptors: u32,
    /// Most descriptors that the NIC prefetches, for each direction.
    #[schemars(range(min = 1, max = 1 << 16))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub descriptors_held: u32,
    /// Packet buffers in host memory, used in turn: they determine how much memory the packets touch.
    #[schemars(range(min = 1, max = 1 << 20))]
    #[schemars(extend("x-relief" = either(Who::Driver)))]
    pub buffers: u32,
    /// Size of each, and so of the largest packet.
    #[schemars(range(min = 64, max = 1 << 16))]
    #[schemars(extend("x-relief" = either(Who::Driver)))]
    pub buffer_bytes: u32,
    /// Queue of packets from the line; a packet that finds it full is dropped.
    #[schemars(range(min = 1 << 11, max = 1 << 26))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub receive_fifo_bytes: u32,
    /// Queue of packets to the line.
    #[schemars(range(min = 1 << 11, max = 1 << 26))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub transmit_fifo_bytes: u32,
    /// Header split: bytes of a longer packet that go to a buffer of their own. 0: packets stay whole.
    #[schemars(range(min = 0, max = 1 << 12))]
    #[schemars(extend("x-relief" = off(Who::Driver)))]
    pub header_bytes: u32,
    /// Queue pairs, each with rings of its own, over which packets are spread at random.
    #[schemars(range(min = 1, max = 1 << 10))]
    #[schemars(extend("x-relief" = either(Who::Driver)))]
    pub pairs: u32,
    /// Packets that share a page of 4 KiB, one after the other, where a driver takes pages from a pool
    /// (`host.iommu.page_life`).
    #[schemars(range(min = 1, max = 64))]
    #[schemars(extend("x-relief" = more(Who::Driver)))]
    pub packets_per_page: u32,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            ring_descriptors: 512,
            descriptors_held: 128,
            buffers: 2048,
            buffer_bytes: 2048,
            receive_fifo_bytes: 512 << 10,
            transmit_fifo_bytes: 160 << 10,
            header_bytes: 0,
            pairs: 1,
            packets_per_page: 1,
        }
    }
}

impl Queues {
    /// Bytes of the header that a step moves apart from the packet; 0 where it moves the packet whole.
    pub fn split_bytes(&self, step: &Step, packet_bytes: u64) -> u64 {
        let header_bytes = u64::from(self.header_bytes);
        let received = step.path == Path::Rx && step.moves_packet();
        if received && packet_bytes > header_bytes { header_bytes } else { 0 }
    }
}

/// One access over PCIe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Description of the access, for readers.
    pub what: String,
    /// Whether it belongs to sending or to receiving.
    #[schemars(extend("x-fact" = "another NIC"))]
    pub path: Path,
    /// Who starts it.
    #[schemars(extend("x-fact" = "another NIC"))]
    pub actor: Actor,
    /// Which access it is.
    #[schemars(extend("x-fact" = "another NIC"))]
    pub kind: Kind,
    /// How many bytes.
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub bytes: StepBytes,
    /// Packets for each access; left out: one, or as many as come in `moderation_ns`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-relief" = more(Who::Driver).absent(1)))]
    pub every_packets: Option<u32>,
    /// Pieces of `bytes` in one access, one for each packet: 16 bytes in a batch of 40 are one access of 640
    /// bytes every 40 packets.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub batch: u32,
    /// Interrupts moderated by time: nanoseconds between two interrupts of a queue; sooner if `every_packets`
    /// packets wait.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_MODERATION_NS))]
    #[schemars(extend("x-relief" = either(Who::Driver)))]
    pub moderation_ns: Option<u32>,
}

const fn one() -> u32 {
    1
}

/// The direction that packets take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// From the host to the line.
    Tx,
    /// From the line to the host.
    Rx,
}

impl Path {
    const fn name(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Rx => "rx",
        }
    }
}

/// Who starts an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// A CPU.
    Host,
    /// The device.
    Device,
}

/// The kinds of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The host reads a register.
    MmioRead,
    /// The host writes a register.
    MmioWrite,
    /// The device reads host memory.
    DmaRead,
    /// The device writes host memory.
    DmaWrite,
    /// The device interrupts: a small write.
    Msi,
}

impl Kind {
    pub(crate) const fn actor(self) -> Actor {
        match self {
            Self::MmioRead | Self::MmioWrite => Actor::Host,
            Self::DmaRead | Self::DmaWrite | Self::Msi => Actor::Device,
        }
    }

    /// Whether the device's DMA engine does it.
    pub const fn is_dma(self) -> bool {
        matches!(self, Self::DmaRead | Self::DmaWrite)
    }
}

/// How many bytes a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepBytes {
    /// A number.
    Number(#[schemars(range(min = 1, max = MAX_STEP_BYTES))] u32),
    /// The packet, less its FCS.
    Packet(Packet),
}

/// The word `packet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Packet {
    /// `packet`.
    Packet,
}

impl Step {
    /// Packets of an access that is not moderated by time.
    pub fn group_packets(&self) -> u32 {
        self.every_packets.unwrap_or(1).max(self.batch)
    }

    /// Accesses of this step for one packet, where `packets_per_s` come at regular times; the rate matters
    /// only to interrupts moderated by time.
    pub fn per_packet(&self, packets_per_s: f64) -> f64 {
        let Some(moderation_ns) = self.moderation_ns else { return 1.0 / f64::from(self.group_packets()) };
        let by_time = 1e9 / (f64::from(moderation_ns) * packets_per_s);
        let by_count = self.every_packets.map_or(0.0, |packets| 1.0 / f64::from(packets));
        by_time.max(by_count).min(1.0)
    }

    /// How many bytes one access moves.
    pub fn access_bytes(&self, packet_bytes: u64) -> u64 {
        match self.bytes {
            StepBytes::Number(bytes) => u64::from(bytes) * u64::from(self.batch),
            StepBytes::Packet(_) => packet_bytes,
        }
    }

    /// Whether the step moves the packet across PCIe, in the direction of its path.
    pub fn moves_packet(&self) -> bool {
        let along = match self.path {
            Path::Tx => matches!(self.kind, Kind::DmaRead | Kind::MmioWrite),
            Path::Rx => matches!(self.kind, Kind::DmaWrite | Kind::MmioRead),
        };
        along && matches!(self.bytes, StepBytes::Packet(_))
    }

    fn problem(&self) -> Option<&'static str> {
        let is_packet = matches!(self.bytes, StepBytes::Packet(_));
        if self.kind.actor() != self.actor {
            return Some(
                "actor does not fit kind: the host does mmio-read and mmio-write, the device the others",
            );
        }
        if self.every_packets == Some(0) || self.batch == 0 {
            return Some("every_packets and batch are 1 or more");
        }
        if self.every_packets.is_some_and(|packets| packets > 1) && self.batch > 1 {
            return Some("give every_packets or batch, not both: a batch of 40 happens every 40 packets");
        }
        if is_packet && self.group_packets() > 1 {
            return Some("packets are moved one by one: leave batch and every_packets out");
        }
        if !is_packet && !(1..=MAX_STEP_BYTES).contains(&self.access_bytes(0)) {
            return Some("bytes is \"packet\" or a number above 0, with bytes * batch at most 1 MiB");
        }
        self.moderation_ns.and_then(|moderation_ns| self.moderation_problem(moderation_ns))
    }

    fn refused(&self, index: usize, remedy: &str) -> Refusal {
        Refusal::new(&self.what).key(format!("step.{index}")).remedy(remedy)
    }

    fn moderation_problem(&self, moderation_ns: u32) -> Option<&'static str> {
        if self.kind != Kind::Msi {
            return Some("moderation_ns is for interrupts: give it to a step of kind msi, or leave it out");
        }
        if !(1..=MAX_MODERATION_NS).contains(&moderation_ns) {
            return Some("moderation_ns is 1 to 10000000: the nanoseconds between two interrupts");
        }
        if self.batch > 1 || self.every_packets == Some(1) {
            return Some(
                "with moderation_ns, every_packets is 2 or more, the packets that bring an interrupt sooner, or left \
                 out; leave batch out",
            );
        }
        None
    }
}

impl Fitting for Interactions {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Interactions>);
        &SHAPE
    }
}

impl Interactions {
    fn check_intervals(&self) -> Result<(), Refusal> {
        let known = Self::shape().keys();
        for (key, interval) in &self.assumed {
            let refused = |remedy: &str| Refusal::new(key).key("assumed").remedy(remedy);
            if !key.starts_with(QUEUES) || !known.contains(key) {
                return Err(refused("give intervals of keys of queues, as queues.descriptors_held"));
            }
            if interval.least > interval.most {
                return Err(refused("give least, and most that is no less"));
            }
        }
        Ok(())
    }

    /// Check the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the step or the interval, or says that there are no steps.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.steps.is_empty() {
            return Err(no_steps());
        }
        for (index, step) in self.steps.iter().enumerate() {
            if let Some(problem) = step.problem() {
                return Err(step.refused(index, problem));
            }
        }
        Self::shape().check(self)?;
        self.check_intervals()?;
        for path in [Path::Tx, Path::Rx] {
            let steps: Vec<_> = self.steps.iter().enumerate().filter(|(_, step)| step.path == path).collect();
            let Some(packet) = steps.iter().position(|(_, step)| step.moves_packet()) else {
                if steps.is_empty() {
                    continue;
                }
                let problem = format!("nothing moves the packet on the path {}", path.name());
                let remedy = "give a step with bytes = \"packet\" that does (tx: dma-read or mmio-write, \
                              rx: dma-write or mmio-read)";
                return Err(Refusal::new(problem).key("step").remedy(remedy));
            };
            if let Some((index, step)) = steps[..packet].iter().find(|(_, step)| step.moderation_ns.is_some())
            {
                let problem = "moderation_ns delays interrupts about packets: put the step after the one that moves \
                               the packet";
                return Err(step.refused(*index, problem));
            }
        }
        Ok(())
    }
}
