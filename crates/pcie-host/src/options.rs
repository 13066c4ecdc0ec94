//! Options of the host: pages, node, core, and how caches are made cold.

use serde::{Deserialize, Serialize};

/// Page size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub enum PageSize {
    /// 4 KiB.
    FourKib,
    /// 2 MiB.
    TwoMib,
    /// 1 GiB.
    OneGib,
}

impl PageSize {
    /// The size, bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::FourKib => 4 << 10,
            Self::TwoMib => 2 << 20,
            Self::OneGib => 1 << 30,
        }
    }
}

impl From<PageSize> for u64 {
    fn from(size: PageSize) -> Self {
        size.bytes()
    }
}

impl TryFrom<u64> for PageSize {
    type Error = String;

    fn try_from(bytes: u64) -> Result<Self, String> {
        let known = [Self::FourKib, Self::TwoMib, Self::OneGib];
        let found = known.into_iter().find(|size| size.bytes() == bytes);
        found.ok_or_else(|| format!("{bytes}: a page is 4096, 2097152 or 1073741824 bytes"))
    }
}

/// How caches are made cold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cold {
    /// As published: write other memory until it has evicted everything else.
    Thrash,
    /// Flush the lines of the buffer's window, one by one.
    Flush,
}

/// Options of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostOptions {
    /// Page size of the buffer, bytes.
    pub page_bytes: PageSize,
    /// Size of the buffer, bytes.
    pub buffer_bytes: u64,
    /// NUMA node of the buffer; null leaves it to the kernel.
    pub node: Option<u32>,
    /// Core that the program is pinned to; null is the first allowed one on the device's NUMA node.
    pub core: Option<u32>,
    /// How caches are made cold.
    pub cold: Cold,
}
