//! Groups of tests of messages.

use pcie_refusal::Refusal;
use pcie_refusal::shown::quoted;
use pcie_schema::quantity::{Count, Share, Size, SizeOrNone};
use pcie_workload::{
    BufferEviction, MessageConnection, MessagePace, MessageTest, MessageTestRecord, QueueSharing, StoreKind,
    Way,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Group, wrong};
use crate::blame::shown;

/// A parameter that can vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Axis {
    Way,
    Size,
    Link,
    Cores,
    Sharing,
    Eviction,
    Pressure,
    StoreBytes,
    StoreKind,
    StoresUpTo,
}

/// The messages of a core of a mux.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Connection {
    /// Unique name.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// Payloads of its messages, which it sends in turn, repeatedly.
    #[schemars(with = "Vec<Size>", length(min = 1))]
    sizes: Vec<u64>,
    /// When it sends its next message; absent: the group's pace.
    #[serde(default)]
    pace: Option<MessagePace>,
    /// The longest payload sent by stores, longer ones go by descriptors: 0 for none; absent: the group's.
    #[serde(default)]
    #[schemars(with = "Option<SizeOrNone>")]
    stores_up_to: Option<u64>,
}

/// Tests that share a family: all combinations of some lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageGroup {
    /// Family of the results.
    #[schemars(length(min = 1, max = 200))]
    family: String,
    /// Order of the nested loops, outermost first: every list with more than one entry must be named.
    #[serde(default, rename = "loop")]
    order: Vec<Axis>,
    /// How messages go to the device.
    #[schemars(length(min = 1))]
    ways: Vec<Way>,
    /// Payload: bytes, `"4K"`, or a range `"32:1504:16"`, both ends included; not for a mux.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Size>>", length(min = 1))]
    sizes: Option<Vec<u64>>,
    /// The cores of a mux, with their messages.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    connections: Vec<Connection>,
    /// For a mux: the longest payloads sent by stores, for connections without their own.
    #[serde(default)]
    #[schemars(with = "Vec<SizeOrNone>")]
    stores_up_to: Vec<u64>,
    /// Links, for example `gen3-x8`; empty: the link of the profile's system.
    #[serde(default)]
    links: Vec<String>,
    /// Cores that send.
    #[serde(default = "one_core")]
    #[schemars(with = "Vec<Count>", length(min = 1))]
    cores: Vec<u32>,
    /// A queue per core, or one queue with a lock.
    #[serde(default = "own_queues")]
    #[schemars(length(min = 1))]
    sharing: Vec<QueueSharing>,
    /// Order in which full buffers leave a simulated core; empty: `in-order`. A real core has its own order.
    #[serde(default)]
    evictions: Vec<BufferEviction>,
    /// Share of the stores after which other code takes the buffer of a simulated core; empty: 0. On a real core it
    /// is not controlled.
    #[serde(default)]
    #[schemars(with = "Vec<Share>")]
    pressures: Vec<f64>,
    /// Widths of a store. A simulated core has 8.
    #[serde(default = "eight_bytes")]
    #[schemars(length(min = 1), extend("items" = {"enum": [4, 8, 16, 32, 64]}))]
    store_bytes: Vec<u32>,
    /// Instructions that store: `plain`, `non-temporal`, or `direct`, which are 64 bytes in one piece. A simulated
    /// core has `plain`.
    #[serde(default = "plain_stores")]
    #[schemars(length(min = 1))]
    store_kinds: Vec<StoreKind>,
    /// A core sends its next message once the one before is done, or at once.
    pace: MessagePace,
    /// Messages of each core; the least number for a mux, since all send until the last has sent its own.
    #[schemars(with = "Count")]
    messages: u32,
}

fn one_core() -> Vec<u32> {
    vec![1]
}

fn own_queues() -> Vec<QueueSharing> {
    vec![QueueSharing::OwnQueues]
}

fn eight_bytes() -> Vec<u32> {
    vec![8]
}

fn plain_stores() -> Vec<StoreKind> {
    vec![StoreKind::Plain]
}

impl MessageGroup {
    /// Refuses keys of a mux in a group without one, and the other way round.
    fn check_mux(&self) -> Result<(), Refusal> {
        let ways = shown(&json!(self.ways));
        if !self.ways.contains(&Way::Mux) {
            if !self.connections.is_empty() || !self.stores_up_to.is_empty() {
                return wrong("ways", ways, "connections and stores_up_to need a mux: give [\"mux\"]");
            }
            if self.sizes.is_none() {
                return wrong("sizes", "none", "give payloads, for example [64, \"4K\"]");
            }
            return Ok(());
        }
        if self.ways.len() > 1 || self.connections.is_empty() {
            return wrong("ways", ways, "a mux has connections: give it a group of its own");
        }
        if self.sizes.is_some() || self.cores != one_core() || self.sharing != own_queues() {
            let remedy = "sizes, cores and sharing of a mux are those of the connections: leave them out";
            return wrong("ways", ways, remedy);
        }
        Ok(())
    }

    /// The payloads; those of a mux are of its connections, whose longest counts.
    fn payloads(&self) -> &[u64] {
        self.sizes.as_deref().unwrap_or_default()
    }
}

impl Group for MessageGroup {
    type Test = MessageTestRecord;
    type Axis = Axis;
    const AXES: &'static [Axis] = &[
        Axis::Link,
        Axis::Way,
        Axis::Cores,
        Axis::Sharing,
        Axis::Eviction,
        Axis::Pressure,
        Axis::StoreKind,
        Axis::StoreBytes,
        Axis::StoresUpTo,
        Axis::Size,
    ];

    fn order(&self) -> &[Axis] {
        &self.order
    }

    fn length(&self, axis: Axis) -> usize {
        let length = match axis {
            Axis::Way => self.ways.len(),
            Axis::Size => self.payloads().len(),
            Axis::Link => self.links.len(),
            Axis::Cores => self.cores.len(),
            Axis::Sharing => self.sharing.len(),
            Axis::Eviction => self.evictions.len(),
            Axis::Pressure => self.pressures.len(),
            Axis::StoreBytes => self.store_bytes.len(),
            Axis::StoreKind => self.store_kinds.len(),
            Axis::StoresUpTo => self.stores_up_to.len(),
        };
        length.max(1)
    }

    fn check(&self) -> Result<(), Refusal> {
        for (nth, text) in self.links.iter().enumerate() {
            if link(text).is_none() {
                let remedy = "give generation and lanes, for example gen3-x8";
                return wrong(&format!("links.{nth}"), quoted(text), remedy);
            }
        }
        self.check_mux()?;
        if self.ways.contains(&Way::Descriptors) && self.store_bytes.len().max(self.store_kinds.len()) > 1 {
            let remedy = "descriptors take one store_bytes and store_kinds: give them a group of their own";
            return wrong("ways", "descriptors", remedy);
        }
        Ok(())
    }

    fn test(&self, at: &[(Axis, usize)]) -> Result<MessageTestRecord, Refusal> {
        let of_mux = self.connections.iter().flat_map(|connection| &connection.sizes).max();
        let longest = of_mux.copied().unwrap_or_default();
        let mut test = MessageTest::alone(self.ways[0], longest, self.messages);
        test.pace = self.pace;
        for &(axis, nth) in at {
            match axis {
                Axis::Way => test.way = self.ways[nth],
                Axis::Size => test.size_bytes = self.payloads().get(nth).copied().unwrap_or(longest),
                Axis::Link => {
                    let given = self.links.get(nth).and_then(|text| link(text));
                    (test.generation, test.lanes) = given.unzip();
                }
                Axis::Cores => test.cores = self.cores[nth],
                Axis::Sharing => test.sharing = self.sharing[nth],
                Axis::Eviction => test.eviction = self.evictions.get(nth).copied(),
                Axis::Pressure => test.pressure = self.pressures.get(nth).copied(),
                Axis::StoreBytes => test.store_bytes = Some(self.store_bytes[nth]),
                Axis::StoreKind => test.store_kind = Some(self.store_kinds[nth]),
                Axis::StoresUpTo => test.stores_up_to_bytes = self.stores_up_to.get(nth).copied(),
            }
        }
        if test.way == Way::Descriptors {
            (test.store_bytes, test.store_kind) = (None, None);
        }
        if !self.connections.is_empty() {
            test.cores = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
            test.connections = Some(self.connections.iter().map(|one| one.of_pace(self.pace)).collect());
        }
        let name = match (test.way, self.pace) {
            (Way::Mux, _) => "MUX".to_owned(),
            (way, pace) => {
                format!("{}_{}", word(way), if pace == MessagePace::Alone { "ALONE" } else { "STREAM" })
            }
        };
        Ok(MessageTestRecord { family: self.family.clone(), name, parameters: test })
    }
}

impl Connection {
    /// The connection with its own pace, or the group's.
    fn of_pace(&self, pace: MessagePace) -> MessageConnection {
        MessageConnection {
            name: self.name.clone(),
            pace: self.pace.unwrap_or(pace),
            sizes: self.sizes.clone(),
            stores_up_to_bytes: self.stores_up_to,
        }
    }
}

/// A way in the names of tests.
fn word(way: Way) -> &'static str {
    match way {
        Way::Uncached => "UC",
        Way::WriteCombined => "WC",
        Way::WriteCombinedFenced => "WC_FENCE",
        Way::Descriptors => "DMA",
        Way::Mux => "MUX",
        Way::UncachedLoad => "UC_LOAD",
        Way::StreamingLoad => "STREAMING_LOAD",
        Way::ReadModifyWrite => "RMW",
        Way::Doorbell => "DOORBELL",
        Way::Enqueue => "ENQUEUE",
    }
}

/// Generation and lanes of a link; None if the text has not the form `gen3-x8`.
fn link(text: &str) -> Option<(u32, u32)> {
    let (generation, lanes) = text.strip_prefix("gen")?.split_once("-x")?;
    let generation = (1..=7).find(|known: &u32| known.to_string() == generation)?;
    let lanes = [1, 2, 4, 8, 12, 16, 32].into_iter().find(|known: &u32| known.to_string() == lanes)?;
    Some((generation, lanes))
}
