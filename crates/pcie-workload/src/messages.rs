//! Tests of messages from cores to a device.

use std::collections::BTreeSet;

use crate::suite::test_at;
use pcie_refusal::{Refusal, in_range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a message goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Stores, each a TLP.
    Uncached,
    /// Stores through write-combining buffers, stuffed with signatures.
    WriteCombined,
    /// The same with a single signature and a fence.
    WriteCombinedFenced,
    /// Doorbell, descriptor and DMA.
    Descriptors,
    /// Each connection's messages by stores up to a size, through write-combining buffers, and by descriptors
    /// above it.
    Mux,
    /// Loads one after the other, each a round trip.
    UncachedLoad,
    /// Streaming loads from write-combining memory, which overlap.
    StreamingLoad,
    /// A load, and an uncached store of its value.
    ReadModifyWrite,
    /// One uncached store of at most 8 B.
    Doorbell,
    /// Stores of 64 B that the device accepts or declines (ENQCMD).
    Enqueue,
}

impl Way {
    /// Whether it is an access that is no message: the device takes or gives bytes without a queue.
    #[must_use]
    pub const fn is_access(self) -> bool {
        matches!(
            self,
            Self::UncachedLoad | Self::StreamingLoad | Self::ReadModifyWrite | Self::Doorbell | Self::Enqueue
        )
    }
}

/// How several cores use the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueSharing {
    /// A queue for each core.
    OwnQueues,
    /// One queue and a lock.
    OneQueue,
}

/// When a core sends its next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessagePace {
    /// Once the one before is done.
    Alone,
    /// At once.
    Stream,
}

/// Order in which full write-combining buffers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferEviction {
    /// As they became full.
    InOrder,
    /// Any of them.
    Random,
}

/// Instruction with which a core stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// An ordinary store from a register of the test's width.
    Plain,
    /// Past the caches, weakly ordered (`movnti`, `vmovntdq`, `stnp`).
    NonTemporal,
    /// 64 B that leave the core in one piece (`movdir64b`, `st64b`).
    Direct,
}

/// A connection, with a core to itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageConnection {
    /// Unique name.
    pub name: String,
    /// Time between its messages.
    pub pace: MessagePace,
    /// Payloads of its messages, sent in a cycle.
    pub sizes: Vec<u64>,
    /// The longest payload that goes by stores: 0 for none; null for the test's.
    pub stores_up_to_bytes: Option<u64>,
}

/// A test of messages.
///
/// As JSON it is canonical: these keys, in this order, each of them present. `eviction` and
/// `pressure` are for the simulator only, and null for a real device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageTest {
    /// Messages of each core, where the way is a mux, as JSON text; null if all cores send the same.
    #[serde(with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub connections: Option<Vec<MessageConnection>>,
    /// Cores that send.
    pub cores: u32,
    /// Order of eviction; null for the core's own.
    pub eviction: Option<BufferEviction>,
    /// Generation of the link; null for the system's own link.
    pub generation: Option<u32>,
    /// Lanes of the link; null for the system's own.
    pub lanes: Option<u32>,
    /// Messages of each core; at least, where the way is a mux.
    pub messages: u32,
    /// Time between messages.
    pub pace: MessagePace,
    /// Share of the stores after which another use evicts the buffer; null for the machine's own.
    pub pressure: Option<f64>,
    /// Queues.
    pub sharing: QueueSharing,
    /// Payload of a message; the longest, where the way is a mux.
    pub size_bytes: u64,
    /// Width of a store or load: 4, 8, 16, 32 or 64; null for the device's own, and where messages go by descriptors.
    pub store_bytes: Option<u32>,
    /// The instruction that stores; null likewise.
    pub store_kind: Option<StoreKind>,
    /// The longest payload that goes by stores, of connections that do not say; null where the way is no mux.
    pub stores_up_to_bytes: Option<u64>,
    /// The way.
    pub way: Way,
}

/// Connections as JSON text: parameters of a test are plain values.
mod as_text {
    use super::MessageConnection;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Connections = Option<Vec<MessageConnection>>;

    pub(super) fn serialize<S: Serializer>(connections: &Connections, to: S) -> Result<S::Ok, S::Error> {
        let text = connections.as_ref().map(serde_json::to_string).transpose();
        text.map_err(S::Error::custom)?.serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Connections, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| serde_json::from_str(&text).map_err(D::Error::custom)).transpose()
    }
}

/// A test as it stands in a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageTestRecord {
    /// The family.
    pub family: String,
    /// Its name, for example `WC_STREAM`.
    pub name: String,
    /// Its parameters.
    pub parameters: MessageTest,
}

/// A suite of messages. Tests are independent of each other: each starts on an idle machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageSuite {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Its tests.
    pub tests: Vec<MessageTestRecord>,
}

const MAX_PAYLOAD_BYTES: u64 = 1 << 16;
const PAYLOADS: &str = "give 1 byte to 64 KiB";
const MAX_CORES: u32 = 256;
const MAX_MESSAGES: u32 = 1 << 20;
/// Of all cores together: each message is kept until the end of its test.
const MAX_MESSAGES_OF_ALL: u64 = 1 << 18;
const MAX_BYTES_OF_ALL: u64 = 16 << 20;

impl MessageTest {
    /// Messages that one core sends alone, each after the one before has arrived.
    #[must_use]
    pub fn alone(way: Way, size_bytes: u64, messages: u32) -> Self {
        Self {
            connections: None,
            cores: 1,
            eviction: None,
            generation: None,
            lanes: None,
            messages,
            pace: MessagePace::Alone,
            pressure: None,
            sharing: QueueSharing::OwnQueues,
            size_bytes,
            store_bytes: None,
            store_kind: None,
            stores_up_to_bytes: None,
            way,
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let (cores, messages) = (u64::from(self.cores), u64::from(self.messages));
        in_range("size_bytes", self.size_bytes, 1..=MAX_PAYLOAD_BYTES, PAYLOADS)?;
        in_range("cores", self.cores, 1..=MAX_CORES, "give 1 to 256")?;
        in_range("messages", self.messages, 1..=MAX_MESSAGES, "give 1 to 2^20")?;
        let all = cores * messages;
        if all > MAX_MESSAGES_OF_ALL || all * self.size_bytes > MAX_BYTES_OF_ALL {
            let remedy = "give fewer: those of all cores are 262144 at most, of 16 MiB together";
            return Err(Refusal::of("messages", self.messages, remedy));
        }
        in_range("pressure", self.pressure.unwrap_or(0.0), 0.0..=1.0, "give a share, 0 to 1")?;
        if self.way == Way::Doorbell {
            in_range("size_bytes", self.size_bytes, 1..=8, "give 1 to 8: a doorbell is one store")?;
        }
        self.check_stores()?;
        self.check_connections()
    }

    fn check_connections(&self) -> Result<(), Refusal> {
        let connections = self.connections.as_deref().unwrap_or_default();
        if self.way != Way::Mux {
            let remedy = "give none: only a mux has them";
            let refused = || Refusal::of("connections", connections.len(), remedy);
            return self.connections.is_none().then_some(()).ok_or_else(refused);
        }
        if connections.len() != self.cores as usize {
            let remedy = "give as many as connections, each of which has a core";
            return Err(Refusal::of("cores", self.cores, remedy));
        }
        let names: BTreeSet<_> = connections.iter().map(|connection| &connection.name).collect();
        if names.len() < connections.len() {
            return Err(Refusal::of("names of connections", names.len(), "give each its own"));
        }
        if self.sharing != QueueSharing::OwnQueues {
            let remedy = "give own-queues: each connection of a mux has its own";
            return Err(Refusal::of("sharing", "one-queue", remedy));
        }
        if connections.iter().any(|connection| connection.sizes.is_empty()) {
            return Err(Refusal::of("sizes", 0, "give one or more to each connection"));
        }
        let sizes = || connections.iter().flat_map(|connection| &connection.sizes);
        sizes().try_for_each(|size| in_range("sizes", *size, 1..=MAX_PAYLOAD_BYTES, PAYLOADS))?;
        if sizes().max() != Some(&self.size_bytes) {
            let remedy = "give the longest message of a connection";
            return Err(Refusal::of("size_bytes", self.size_bytes, remedy));
        }
        let undecided = connections.iter().find(|connection| connection.stores_up_to_bytes.is_none());
        match undecided.filter(|_| self.stores_up_to_bytes.is_none()) {
            Some(MessageConnection { name, .. }) => {
                let remedy = "give it to the test, or to each connection";
                Err(Refusal::of("stores_up_to_bytes", format!("missing for {name}"), remedy))
            }
            None => Ok(()),
        }
    }

    fn check_stores(&self) -> Result<(), Refusal> {
        let Some(bytes) = self.store_bytes else { return Ok(()) };
        let remedy = if self.way == Way::Descriptors {
            "give none: descriptors are fetched"
        } else if self.store_kind == Some(StoreKind::Direct) && bytes != 64 {
            "give 64: a direct store writes 64 bytes"
        } else if ![4, 8, 16, 32, 64].contains(&bytes) {
            "give 4, 8, 16, 32 or 64"
        } else {
            return Ok(());
        };
        Err(Refusal::of("store_bytes", bytes, remedy))
    }
}

impl MessageSuite {
    /// Refuses a suite with a test that no machine could carry out, and names the first.
    pub fn validate(&self) -> Result<(), Refusal> {
        for (position, test) in self.tests.iter().enumerate() {
            let test_at = || test_at(&self.name, position, &test.family, &test.name);
            test.parameters.check().map_err(|wrong| wrong.about(test_at()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_impossible_tests_by_key() {
        let test = MessageTest {
            eviction: Some(BufferEviction::InOrder),
            store_bytes: Some(8),
            ..MessageTest::alone(Way::WriteCombined, 64, 1)
        };
        let message = |parameters: MessageTest| {
            let record = MessageTestRecord { family: "f".into(), name: "WC".into(), parameters };
            let suite = MessageSuite { name: "mine".into(), title: "t".into(), tests: vec![record] };
            suite.validate().map_err(|error| error.to_string())
        };
        let mux = |sizes: &[u64], stores_up_to_bytes| MessageTest {
            connections: Some(vec![MessageConnection {
                name: "requests".into(),
                pace: MessagePace::Alone,
                sizes: sizes.to_vec(),
                stores_up_to_bytes,
            }]),
            way: Way::Mux,
            ..test.clone()
        };
        assert_eq!(message(test.clone()), Ok(()));
        assert_eq!(message(mux(&[64, 8], Some(0))), Ok(()));
        for (wrong, key) in [
            (
                MessageTest { size_bytes: 65_537, ..test.clone() },
                "size_bytes is 65537: give 1 byte to 64 KiB",
            ),
            (MessageTest { cores: 0, ..test.clone() }, "cores is 0"),
            (MessageTest { messages: 0, ..test.clone() }, "messages is 0"),
            (MessageTest { messages: 1 << 11, cores: 256, ..test.clone() }, "messages is 2048: give fewer"),
            (
                MessageTest { messages: 1 << 9, size_bytes: 1 << 16, ..test.clone() },
                "messages is 512: give fewer",
            ),
            (MessageTest { pressure: Some(1.5), ..test.clone() }, "pressure is 1.5"),
            (MessageTest { store_bytes: Some(12), ..test.clone() }, "store_bytes is 12: give 4, 8, 16"),
            (MessageTest { way: Way::Descriptors, ..test.clone() }, "store_bytes is 8: give none"),
            (
                MessageTest { store_kind: Some(StoreKind::Direct), ..test.clone() },
                "store_bytes is 8: give 64",
            ),
            (MessageTest { connections: Some(vec![]), ..test.clone() }, "connections is 0: give none"),
            (MessageTest { way: Way::Mux, ..test.clone() }, "cores is 1: give as many as connections"),
            (mux(&[64], None), "stores_up_to_bytes is missing for requests: give it to the test"),
            (mux(&[64, 1 << 17], Some(0)), "sizes is 131072: give 1 byte to 64 KiB"),
            (mux(&[], Some(0)), "sizes is 0: give one or more"),
            (mux(&[8], Some(0)), "size_bytes is 64: give the longest message"),
        ] {
            let found = message(wrong).unwrap_err();
            assert!(found.starts_with("suite mine: test 0 (f, WC): ") && found.contains(key), "{found}");
        }
    }
}
