//! Messages from cores to a device: what a row of a suite of messages asks for.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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
    /// Each connection's messages by stores up to a size, through write-combining buffers, and by descriptors above it.
    Mux,
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

/// In which order full write-combining buffers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferEviction {
    /// As they became full.
    InOrder,
    /// Any of them.
    Random,
}

/// With which instruction a core stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// As any variable is written, from a register of the width that is asked for.
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
    /// Payloads of its messages, which it sends one after another, over and over.
    pub sizes: Vec<u64>,
    /// The longest payload that goes by stores: 0 for none; null for what the test says.
    pub stores_up_to_bytes: Option<u64>,
}

/// A test of messages.
///
/// As JSON it is canonical: these keys, in this order, each of them present. What only a simulator can be told (`eviction`,
/// `pressure`) is null for a device that exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageTest {
    /// What each core sends, where the way is a mux, as JSON text; null for the same of each.
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
    /// Share of the stores behind which something else takes the buffer; null for whatever happens.
    pub pressure: Option<f64>,
    /// Queues.
    pub sharing: QueueSharing,
    /// Payload of a message; the longest, where the way is a mux.
    pub size_bytes: u64,
    /// Width of a store: 4, 8, 16, 32 or 64; null for the device's own, and where messages go by descriptors.
    pub store_bytes: Option<u32>,
    /// The instruction that stores; null likewise.
    pub store_kind: Option<StoreKind>,
    /// The longest payload that goes by stores, of connections that do not say; null where the way is no mux.
    pub stores_up_to_bytes: Option<u64>,
    /// The way.
    pub way: Way,
}

/// Connections as a text of JSON: parameters of a test are plain values.
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
    /// What it belongs to.
    pub family: String,
    /// Its name, such as `WC_STREAM`.
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

/// Why a test of messages can be carried out by no machine.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("suite {suite}: test {position} ({family}): {key} is {value}: give {remedy}")]
pub struct MessageSuiteError {
    /// Name of the suite.
    pub suite: String,
    /// Place of the test in it, counted from 0.
    pub position: usize,
    /// The test's family.
    pub family: String,
    /// The key.
    pub key: &'static str,
    /// Its value, as text.
    pub value: String,
    /// What would be right, after "give".
    pub remedy: &'static str,
}

/// Key, value, and what would be right.
type Problem = (&'static str, String, &'static str);

const MAX_PAYLOAD_BYTES: u64 = 1 << 16;
const MAX_CORES: u32 = 256;
const MAX_MESSAGES: u32 = 1 << 20;
/// Of all cores together: each message is kept until the end of its test.
const MAX_MESSAGES_OF_ALL: u64 = 1 << 18;
const MAX_BYTES_OF_ALL: u64 = 16 << 20;

impl MessageTest {
    fn problem(&self) -> Option<Problem> {
        let in_range = |key, value: u64, most: u64, remedy| {
            (!(1..=most).contains(&value)).then(|| (key, value.to_string(), remedy))
        };
        in_range("size_bytes", self.size_bytes, MAX_PAYLOAD_BYTES, "1 byte to 64 KiB")
            .or_else(|| in_range("cores", u64::from(self.cores), u64::from(MAX_CORES), "1 to 256"))
            .or_else(|| in_range("messages", u64::from(self.messages), u64::from(MAX_MESSAGES), "1 to 2^20"))
            .or_else(|| {
                let all = u64::from(self.cores) * u64::from(self.messages);
                let remedy = "so many that those of all cores are 262144 at most, of 16 MiB together";
                (all > MAX_MESSAGES_OF_ALL || all * self.size_bytes > MAX_BYTES_OF_ALL)
                    .then(|| ("messages", self.messages.to_string(), remedy))
            })
            .or_else(|| {
                let pressure = self.pressure.filter(|pressure| !(0.0..=1.0).contains(pressure));
                pressure.map(|pressure| ("pressure", pressure.to_string(), "a share, 0 to 1"))
            })
            .or_else(|| self.store_problem())
            .or_else(|| self.connection_problem())
    }

    /// What of the connections cannot be.
    fn connection_problem(&self) -> Option<Problem> {
        let connections = self.connections.as_deref().unwrap_or_default();
        if self.way != Way::Mux {
            let count = connections.len().to_string();
            return self.connections.is_some().then_some(("connections", count, "none: only a mux has them"));
        }
        if connections.len() != self.cores as usize {
            return Some((
                "cores",
                self.cores.to_string(),
                "as many as connections, each of which has a core",
            ));
        }
        let names: BTreeSet<_> = connections.iter().map(|connection| &connection.name).collect();
        if names.len() < connections.len() {
            return Some(("names of connections", names.len().to_string(), "each its own"));
        }
        if self.sharing != QueueSharing::OwnQueues {
            return Some(("sharing", "one-queue".into(), "own-queues: each connection of a mux has its own"));
        }
        let sizes = || connections.iter().flat_map(|connection| &connection.sizes);
        if connections.iter().any(|connection| connection.sizes.is_empty()) {
            return Some(("sizes", "0".into(), "one or more to each connection"));
        }
        if let Some(size) = sizes().find(|size| !(1..=MAX_PAYLOAD_BYTES).contains(*size)) {
            return Some(("sizes", size.to_string(), "1 byte to 64 KiB"));
        }
        if sizes().max() != Some(&self.size_bytes) {
            return Some(("size_bytes", self.size_bytes.to_string(), "the longest message of a connection"));
        }
        if self.stores_up_to_bytes.is_some() {
            return None;
        }
        let undecided = connections.iter().find(|connection| connection.stores_up_to_bytes.is_none())?;
        let value = format!("missing for {}", undecided.name);
        Some(("stores_up_to_bytes", value, "it to the test, or to each connection"))
    }

    /// What of the stores cannot be.
    fn store_problem(&self) -> Option<Problem> {
        let bytes = self.store_bytes?;
        let remedy = if self.way == Way::Descriptors {
            "none: descriptors are fetched"
        } else if self.store_kind == Some(StoreKind::Direct) && bytes != 64 {
            "64, which is what a direct store is"
        } else if ![4, 8, 16, 32, 64].contains(&bytes) {
            "4, 8, 16, 32 or 64"
        } else {
            return None;
        };
        Some(("store_bytes", bytes.to_string(), remedy))
    }
}

impl MessageSuite {
    /// Refuses a suite with a test that no machine could carry out.
    ///
    /// # Errors
    /// Names the first such test, its key, its value and what would be right.
    pub fn validate(&self) -> Result<(), MessageSuiteError> {
        for (position, test) in self.tests.iter().enumerate() {
            if let Some((key, value, remedy)) = test.parameters.problem() {
                let (suite, family) = (self.name.clone(), test.family.clone());
                return Err(MessageSuiteError { suite, position, family, key, value, remedy });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_tests_are_named_with_their_key() {
        let test = MessageTest {
            connections: None,
            cores: 1,
            eviction: Some(BufferEviction::InOrder),
            generation: None,
            lanes: None,
            messages: 1,
            pace: MessagePace::Alone,
            pressure: None,
            sharing: QueueSharing::OwnQueues,
            size_bytes: 64,
            store_bytes: Some(8),
            store_kind: None,
            stores_up_to_bytes: None,
            way: Way::WriteCombined,
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
            (MessageTest { messages: 1 << 11, cores: 256, ..test.clone() }, "messages is 2048: give so many"),
            (
                MessageTest { messages: 1 << 9, size_bytes: 1 << 16, ..test.clone() },
                "messages is 512: give so",
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
            assert!(found.starts_with("suite mine: test 0 (f): ") && found.contains(key), "{found}");
        }
    }
}
