//! Rates of engines that work on commands: drives, copy engines of GPUs, FPGA shells.
//!
//! A rate is the least of four bounds: the link with every access of a command on it, the commands in flight, the
//! engine's commands a second, and the data that the engine itself takes or gives.

use std::sync::LazyLock;

use indexmap::IndexMap;
use pcie_refusal::{Refusal, in_range};
use pcie_schema::{Fitting, Shape};
use pcie_wire::{Accounting, LinkParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interactions::{Interactions, Kind, Packet, Path, Queues, Step, StepBytes};
use crate::{Answer, Ethernet, FCS_BYTES, InterpacketGap, Limits, Model, ModelParameters};

const ACCESS_BYTES_MOST: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
const BYTES_LEAST: u64 = 60;
const BYTES_MOST: u64 = 1 << 30;
const PACKETS_MOST: u64 = 1_000_000;

/// An engine that works on commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// The link that it usually has.
    pub link: EngineLink,
    /// Its queues.
    pub queue: EngineQueue,
    /// Its own limits.
    pub pace: EnginePace,
    /// The accesses of a command, in their order.
    #[serde(rename = "step")]
    #[schemars(length(min = 1))]
    pub steps: Vec<EngineStep>,
}

/// The link that it usually has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineLink {
    /// PCIe generation.
    #[schemars(range(min = 1, max = 7))]
    pub generation: u32,
    /// Width.
    #[schemars(extend("enum" = [1, 2, 4, 8, 12, 16, 32]))]
    pub lanes: u32,
    /// Maximum Payload Size.
    #[serde(default = "usual_mps")]
    #[schemars(range(min = 128, max = 4096))]
    pub mps_bytes: u32,
    /// Maximum Read Request Size.
    #[serde(default = "usual_mrrs")]
    #[schemars(range(min = 128, max = 4096))]
    pub mrrs_bytes: u32,
}

const fn usual_mps() -> u32 {
    256
}

const fn usual_mrrs() -> u32 {
    512
}

/// Its queues: commands in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineQueue {
    /// Commands in flight, all queues together, where nothing else is asked for.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub depth: u32,
    /// Most commands in flight that it supports.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub depth_most: u32,
}

/// The engine's own limits. One that is left out does not bind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnginePace {
    /// Time of a command without its data, from the doorbell to the completion: software, engine, medium.
    #[schemars(range(min = 0, max = 1e9))]
    pub command_ns: f64,
    /// The same of commands that read host memory; left out: `command_ns`.
    #[schemars(range(min = 0, max = 1e9))]
    pub to_device_command_ns: Option<f64>,
    /// Commands that it finishes, in millions a second.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e6))]
    pub million_commands_per_s: Option<f64>,
    /// Data that it takes from the host, in GB/s: its memory, its flash.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e6))]
    pub to_device_gbytes_per_s: Option<f64>,
    /// Data that it gives to the host, in GB/s.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e6))]
    pub to_host_gbytes_per_s: Option<f64>,
}

/// One access over PCIe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineStep {
    /// Description of the access, for readers.
    pub what: String,
    /// Whether it belongs to commands that read host memory, that write it, or to both.
    pub path: EnginePath,
    /// Which access it is; the host starts mmio-read and mmio-write, the engine all others.
    pub kind: Kind,
    /// How many bytes; `data` is the data of the command.
    pub bytes: EngineBytes,
    /// Commands for each access.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub every_commands: u32,
    /// Pieces of `bytes` in one access: of consecutive commands or, with `every_bytes`, of one command.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub batch: u32,
    /// One piece of `bytes` for each of these bytes of data, as in lists of pages; left out: one for a command.
    #[schemars(range(min = PAGE_BYTES, max = BYTES_MOST), extend("multipleOf" = PAGE_BYTES))]
    pub every_bytes: Option<u32>,
    /// Only for commands with more data than this.
    #[serde(default)]
    #[schemars(range(min = 0, max = BYTES_MOST))]
    pub above_bytes: u32,
}

const fn one() -> u32 {
    1
}

/// The commands that a step belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnginePath {
    /// Commands that read host memory.
    ToDevice,
    /// Commands that write host memory.
    ToHost,
    /// All commands.
    Both,
}

/// How many bytes a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EngineBytes {
    /// A number.
    Number(#[schemars(range(min = 1, max = 65_536))] u32),
    /// The data of the command.
    Data(Data),
}

/// The word `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// `data`.
    Data,
}

/// The rate of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EngineRate {
    /// Data, in GB/s.
    pub gbytes_per_s: f64,
    /// Commands, in millions a second.
    pub million_commands_per_s: f64,
    /// What limits it: a bound of the link, `queue-depth`, `command-rate` or `device`.
    pub bound: String,
    /// The rate that each bound alone would allow, in GB/s.
    pub ceilings: IndexMap<String, f64>,
}

/// The rates of an engine with commands of one size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EngineRates {
    /// Data of one command.
    pub size_bytes: u64,
    /// Commands in flight, all queues together.
    pub depth: u32,
    /// Commands that read host memory, alone.
    pub to_device: EngineRate,
    /// Commands that write host memory, alone.
    pub to_host: EngineRate,
    /// Both at equal rates; the rate of one direction.
    pub both: EngineRate,
}

impl Fitting for Engine {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Engine>);
        &SHAPE
    }
}

impl Engine {
    /// Checks the rules that the types cannot express.
    ///
    /// # Errors
    /// Names the step or key.
    pub fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        for (index, step) in self.steps.iter().enumerate() {
            if let Some(remedy) = step.problem() {
                return Err(Refusal::new(&step.what).key(format!("step.{index}")).remedy(remedy));
            }
        }
        for (path, word, kind, kind_word) in [
            (EnginePath::ToDevice, "to-device", Kind::DmaRead, "dma-read"),
            (EnginePath::ToHost, "to-host", Kind::DmaWrite, "dma-write"),
        ] {
            let moving = self.steps.iter().filter(|step| step.moves_data() && step.path == path);
            if !moving.map(|step| step.kind).eq([kind]) {
                let remedy = format!(
                    "give one step with bytes = \"data\", path = \"{word}\" and kind = \"{kind_word}\""
                );
                return Err(Refusal::new("its data").key("step").remedy(remedy));
            }
        }
        if self.queue.depth > self.queue.depth_most {
            let remedy = "give a queue.depth of at most queue.depth_most";
            return Err(Refusal::of("queue.depth", self.queue.depth, remedy).beside("queue.depth_most"));
        }
        Ok(())
    }

    /// The link that it usually has.
    #[must_use]
    pub fn usual_link(&self) -> LinkParameters {
        let EngineLink { generation, lanes, mps_bytes, mrrs_bytes } = self.link;
        LinkParameters::new(generation, lanes, mps_bytes, mrrs_bytes)
    }

    /// The rates that it reaches on a link with commands of a size: 60 B to 4 KiB, or a multiple of 4 KiB up to 1 GiB.
    ///
    /// `depth`: commands in flight; absent: the engine's usual number. `both` has as many in each direction.
    ///
    /// # Errors
    /// The size, the depth or the link is out of range.
    pub fn rates(
        &self,
        size_bytes: u64,
        link: LinkParameters,
        depth: Option<u32>,
    ) -> Result<EngineRates, Refusal> {
        let most = self.queue.depth_most;
        let depth = depth.unwrap_or(self.queue.depth);
        in_range(
            "depth",
            depth,
            1..=most,
            &format!("give 1 to {most}, the commands in flight of {}", self.name),
        )?;
        let pieces = pieces(size_bytes)?;
        let model = Model::try_from(ModelParameters {
            link,
            accounting: Accounting::Spec,
            limits: Limits::default(),
        })?;
        // The line does not bind: only the rates over PCIe are used.
        let line = Ethernet { line_gbps: 40.0, vlan: false, gap: InterpacketGap::Standard };
        let found = model.nic(&self.as_nic(size_bytes, pieces), line, size_bytes / pieces + FCS_BYTES)?;
        let pace = &self.pace;
        let to_device_ns = pace.to_device_command_ns.unwrap_or(pace.command_ns);
        let rate = |link: Option<Answer>, command_ns, commands, device: &[Option<f64>]| {
            let link = link
                .ok_or_else(|| Refusal::new("the engine moves no data").kind(pcie_refusal::Kind::Missing))?;
            Ok::<_, Refusal>(rate(&link, size_bytes, depth, command_ns, commands, device))
        };
        let (commands, taken, given) =
            (pace.million_commands_per_s, pace.to_device_gbytes_per_s, pace.to_host_gbytes_per_s);
        Ok(EngineRates {
            size_bytes,
            depth,
            to_device: rate(found.tx, to_device_ns, commands, &[taken])?,
            to_host: rate(found.rx, pace.command_ns, commands, &[given])?,
            // Both directions share the engine's commands.
            both: rate(
                Some(found.bi),
                to_device_ns.max(pace.command_ns),
                commands.map(|rate| rate / 2.0),
                &[taken, given],
            )?,
        })
    }

    /// The steps in the language of NICs, with a page of data as the packet.
    fn as_nic(&self, size_bytes: u64, pieces: u64) -> Interactions {
        let paths = [(Path::Tx, EnginePath::ToDevice), (Path::Rx, EnginePath::ToHost)];
        let steps = paths.into_iter().flat_map(|(path, own)| {
            let takes_part = move |step: &&EngineStep| {
                [own, EnginePath::Both].contains(&step.path) && size_bytes > u64::from(step.above_bytes)
            };
            self.steps.iter().filter(takes_part).map(move |step| step.of_nic(path, size_bytes, pieces))
        });
        Interactions {
            name: self.name.clone(),
            description: String::new(),
            provenance: String::new(),
            steps: steps.collect(),
            queues: Queues::default(),
            assumed: Default::default(),
        }
    }
}

impl EngineStep {
    fn moves_data(&self) -> bool {
        matches!(self.bytes, EngineBytes::Data(_))
    }

    fn problem(&self) -> Option<&'static str> {
        if self.every_commands > 1 && (self.batch > 1 || self.every_bytes.is_some()) {
            return Some("give every_commands alone, or batch and every_bytes");
        }
        match self.bytes {
            EngineBytes::Data(_) => {
                let others = (self.every_commands, self.batch, self.every_bytes, self.above_bytes);
                if others != (1, 1, None, 0) {
                    return Some("data moves with every command: leave the other numbers out");
                }
                (!self.kind.is_dma()).then_some("data moves by dma-read or dma-write")
            }
            EngineBytes::Number(bytes) => {
                let access_bytes = u64::from(bytes) * u64::from(self.batch);
                (access_bytes > ACCESS_BYTES_MOST).then_some("give bytes * batch of at most 1 MiB")
            }
        }
    }

    /// The step for a page; a list that ends in a part of a batch counts by its share.
    fn of_nic(&self, path: Path, size_bytes: u64, pieces: u64) -> Step {
        let (bytes, every) = match (self.bytes, self.every_bytes) {
            (EngineBytes::Data(_), _) => (StepBytes::Packet(Packet::Packet), 1),
            (EngineBytes::Number(bytes), None) => {
                let commands = u64::from(self.every_commands.max(self.batch));
                (StepBytes::Number(bytes * self.batch), commands * pieces)
            }
            (EngineBytes::Number(bytes), Some(every_bytes)) => {
                let every_bytes = u64::from(every_bytes);
                let batch = u64::from(self.batch).min(size_bytes.div_ceil(every_bytes));
                (StepBytes::Number(bytes * batch as u32), (batch * every_bytes / PAGE_BYTES).min(pieces))
            }
        };
        Step {
            what: self.what.clone(),
            path,
            actor: self.kind.actor(),
            kind: self.kind,
            bytes,
            every_packets: (every != 1).then_some(every.min(PACKETS_MOST) as u32),
            batch: 1,
            moderation_ns: None,
        }
    }
}

/// The least of the bounds of one direction.
fn rate(
    link: &Answer,
    size_bytes: u64,
    depth: u32,
    command_ns: f64,
    million_commands_per_s: Option<f64>,
    device: &[Option<f64>],
) -> EngineRate {
    let (wire, size) = (link.gbps / 8.0, size_bytes as f64);
    let in_flight = f64::from(depth) * size / (command_ns + size / wire);
    let mut ceilings =
        IndexMap::from([(link.bound.to_string(), wire), ("queue-depth".to_owned(), in_flight)]);
    if let Some(millions) = million_commands_per_s {
        ceilings.insert("command-rate".to_owned(), millions * size / 1e3);
    }
    if let Some(least) = device.iter().flatten().copied().reduce(f64::min) {
        ceilings.insert("device".to_owned(), least);
    }
    let (mut bound, mut gbytes_per_s) = (link.bound.to_string(), wire);
    for (name, ceiling) in &ceilings {
        if *ceiling < gbytes_per_s {
            (bound, gbytes_per_s) = (name.clone(), *ceiling);
        }
    }
    EngineRate { gbytes_per_s, million_commands_per_s: gbytes_per_s * 1e3 / size, bound, ceilings }
}

/// Pages of a command's data; 1 for up to a page.
fn pieces(size_bytes: u64) -> Result<u64, Refusal> {
    let is_whole = size_bytes.is_multiple_of(PAGE_BYTES) && size_bytes <= BYTES_MOST;
    if (BYTES_LEAST..=PAGE_BYTES).contains(&size_bytes) {
        Ok(1)
    } else if is_whole && size_bytes > 0 {
        Ok(size_bytes / PAGE_BYTES)
    } else {
        let remedy =
            format!("give {BYTES_LEAST} to {PAGE_BYTES} bytes, or a multiple of {PAGE_BYTES} up to 1 GiB");
        Err(Refusal::of("sizes_bytes", size_bytes, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &str = include_str!("../../../profiles/engines/gpu.toml");

    fn engine(text: &str) -> Engine {
        let mut table: toml::Table = text.parse().unwrap();
        table.retain(|key, _| key != "title" && key != "provenance");
        table.try_into().unwrap()
    }

    fn rates(engine: &Engine, size_bytes: u64, depth: u32) -> EngineRates {
        engine.rates(size_bytes, engine.usual_link(), Some(depth)).unwrap()
    }

    #[test]
    fn a_small_copy_alone_takes_its_fixed_time_and_that_of_its_data() {
        let found = rates(&engine(GPU), 4096, 1).to_host;
        let expected = 4096.0 / (6500.0 + 4096.0 / found.ceilings["wire-upstream"]);
        assert_eq!((found.bound.as_str(), found.gbytes_per_s), ("queue-depth", expected));
        assert_eq!(found.million_commands_per_s, expected * 1e3 / 4096.0);
    }

    #[test]
    fn a_large_copy_has_the_rate_of_a_bare_dma_of_pages() {
        let gpu = engine(GPU);
        let (accounting, limits) = (Accounting::Spec, Limits::default());
        let model = Model::try_from(ModelParameters { link: gpu.usual_link(), accounting, limits }).unwrap();
        let bare = model.bandwidth(4096, 0).unwrap();
        let found = rates(&gpu, BYTES_MOST, 1024);
        for (rate, gbps) in [(found.to_device, bare.read.gbps), (found.to_host, bare.write.gbps)] {
            assert!((rate.gbytes_per_s / (gbps / 8.0) - 1.0).abs() < 1e-4, "{rate:?}");
        }
    }

    #[test]
    fn the_engines_own_limits_bind_and_are_shared_by_both_directions() {
        let mut gpu = engine(GPU);
        gpu.pace.million_commands_per_s = Some(1.0);
        let found = rates(&gpu, 4096, 1024);
        assert_eq!(
            (found.to_host.bound.as_str(), found.to_host.million_commands_per_s),
            ("command-rate", 1.0)
        );
        assert_eq!(found.both.million_commands_per_s, 0.5);
        gpu.pace.to_device_gbytes_per_s = Some(0.25);
        let found = rates(&gpu, 4096, 1024);
        assert_eq!((found.to_device.bound.as_str(), found.to_device.gbytes_per_s), ("device", 0.25));
        assert_eq!(found.both.gbytes_per_s, 0.25);
        assert_eq!(found.to_host.bound, "command-rate");
    }

    #[test]
    fn wrong_engines_sizes_and_depths_are_refused_by_key() {
        let gpu = engine(GPU);
        let refused = |size, depth| gpu.rates(size, gpu.usual_link(), Some(depth)).unwrap_err().to_string();
        for size in [0, 59, 4097, 5 << 10, BYTES_MOST + 4096] {
            assert!(
                refused(size, 1).starts_with(&format!("sizes_bytes is {size}: give 60 to 4096 bytes")),
                "{size}"
            );
        }
        for depth in [0, 1025] {
            let words = format!("depth is {depth}: give 1 to 1024, the commands in flight of gpu");
            assert_eq!(refused(4096, depth), words);
        }
        for (old, new, words) in [
            (
                "bytes = 64",
                "bytes = 64\nevery_commands = 2\nbatch = 2",
                "step.1: command list read: give every_commands",
            ),
            (
                "bytes = 64",
                "bytes = 64\nbatch = 100_000",
                "step.1: command list read: give bytes * batch of at most",
            ),
            (
                "bytes = \"data\"",
                "bytes = \"data\"\nbatch = 2",
                "step.2: data read: data moves with every command",
            ),
            (
                "kind = \"dma-read\"\nbytes = \"data\"",
                "kind = \"msi\"\nbytes = \"data\"",
                "step.2: data read: data moves by",
            ),
            (
                "path = \"to-device\"",
                "path = \"both\"",
                "step: its data: give one step with bytes = \"data\", path = \"to-device\"",
            ),
        ] {
            assert!(GPU.contains(old));
            let refused = engine(&GPU.replacen(old, new, 1)).check().unwrap_err().to_string();
            assert!(refused.starts_with(words), "{refused}");
        }
    }
}
