//! One row of a trace.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A name: mostly one that the simulator knows in advance.
pub type Text = Cow<'static, str>;

/// Lanes that several simulators record. A fabric adds one for each of its edges.
pub mod lane {
    /// A core: its stores, its waits.
    pub const CORE: &str = "core";
    /// The device: a request from its issue until its data have been moved.
    pub const DEVICE: &str = "device";
    /// The link, from the device to the root port.
    pub const UP: &str = "link up";
    /// The link, from the root port to the device.
    pub const DOWN: &str = "link down";
    /// The root port: admission, order, the part of an access without caches and memory.
    pub const ROOT_PORT: &str = "root port";
    /// The IOMMU: a page walk, or the wait for one.
    pub const IOMMU: &str = "iommu";
    /// The last-level cache: an access whose lines are all in it.
    pub const CACHE: &str = "cache";
    /// Memory: an access with a line that no cache holds, or a write that waits for memory.
    pub const MEMORY: &str = "memory";
    /// Values from a time on.
    pub const COUNTERS: &str = "counters";
    /// All of them in the order of a picture.
    pub const ALL: [&str; 9] = [CORE, DEVICE, UP, ROOT_PORT, IOMMU, CACHE, MEMORY, DOWN, COUNTERS];
}

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A TLP on a link, from its first byte to its last.
    Tlp,
    /// A phase of a request or message.
    Phase,
    /// A counter, which has `value` from `start_ps` on.
    Counter,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Tlp, Self::Phase, Self::Counter];

    /// Its word in stores.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tlp => "tlp",
            Self::Phase => "phase",
            Self::Counter => "counter",
        }
    }

    /// The kind of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A TLP, a phase, or a counter's new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// What it is.
    pub kind: Kind,
    /// Where it is: see [`lane`].
    pub lane: Text,
    /// Its name: of a TLP `MRd`, `MWr`, `CplD`, `Cpl` or `Msg`.
    pub name: Text,
    /// Start, ps from the start of the test.
    pub start_ps: u64,
    /// End, ps; that of a counter is its start.
    pub end_ps: u64,
    /// Number of the request, write or message that it belongs to, in the order of their issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// Tag of the request, of completions too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<u32>,
    /// Bus address of its first byte; of a completion, that of its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Bytes of data that a TLP carries, or that a read request asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Value of a counter; of a completion, its Byte Count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
}
