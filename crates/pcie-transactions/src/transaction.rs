//! Requests with their completions.

use pcie_capture::{Direction, Kind, Tlp};
use serde::Serialize;

/// Most bytes of data that a transaction keeps: a cache line, or a descriptor.
pub const DATA_BYTES_MOST: usize = 64;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A memory read.
    Read,
    /// A memory write.
    Write,
    /// An I/O request.
    Io,
    /// A configuration request.
    Configuration,
    /// An atomic operation.
    Atomic,
    /// A message.
    Message,
}

impl Class {
    /// The class of a request; `None` for completions and prefixes.
    #[must_use]
    pub fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::MemoryRead | Kind::MemoryReadLocked => Self::Read,
            Kind::MemoryWrite | Kind::DeferrableWrite => Self::Write,
            Kind::IoRead | Kind::IoWrite => Self::Io,
            Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. } => Self::Configuration,
            Kind::FetchAdd | Kind::Swap | Kind::CompareAndSwap => Self::Atomic,
            Kind::Message { .. } => Self::Message,
            Kind::Completion { .. } | Kind::Prefix => return None,
        })
    }

    /// Its name in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Io => "io",
            Self::Configuration => "configuration",
            Self::Atomic => "atomic",
            Self::Message => "message",
        }
    }
}

/// Whether a request gets a completion.
#[must_use]
pub fn is_posted(kind: Kind) -> bool {
    matches!(kind, Kind::MemoryWrite | Kind::Message { .. })
}

/// The bytes that the byte enables of a memory request select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Address of the first enabled byte.
    pub address: u64,
    /// Bytes up to the last enabled one; 0 for a read of no bytes.
    pub bytes: u32,
}

/// The range of a request; `None` where the source gives no address. Absent byte enables count as all set.
#[must_use]
pub fn range_of(tlp: &Tlp) -> Option<Range> {
    let address = tlp.address? & !3;
    let length = u32::from(tlp.length_dw);
    let first = tlp.first_enables.unwrap_or(15) & 15;
    let lead = first.trailing_zeros().min(4);
    if length <= 1 {
        let bytes = if first == 0 { 0 } else { first.ilog2() + 1 - lead };
        return Some(Range { address: address + u64::from(lead % 4), bytes });
    }
    let last = tlp.last_enables.unwrap_or(15) & 15;
    let trail = if last == 0 { 0 } else { 3 - last.ilog2() };
    Some(Range { address: address + u64::from(lead % 4), bytes: 4 * length - lead % 4 - trail })
}

/// A request and what came back. Times are of the first symbols of packets, ps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// What it asks for.
    pub class: Class,
    /// Whether data go from the requester: writes of any kind.
    pub writes: bool,
    /// Way of the request.
    pub direction: Option<Direction>,
    /// Record of the request.
    pub record: u64,
    /// Record of the last completion, or of the request.
    pub last_record: u64,
    /// ID of the requester.
    pub requester: Option<u16>,
    /// Its tag.
    pub tag: Option<u16>,
    /// First enabled byte.
    pub address: Option<u64>,
    /// Enabled bytes.
    pub bytes: u32,
    /// Start of the request.
    pub start_ps: Option<u64>,
    /// Start of the first completion.
    pub first_ps: Option<u64>,
    /// Start of the last completion.
    pub last_ps: Option<u64>,
    /// Completions so far.
    pub completions: u32,
    /// Bytes of data of the last completion so far.
    pub last_data_bytes: u32,
    /// The worst status of its completions.
    pub status: Option<u8>,
    /// Whether its last completion has come, or none is due.
    pub is_done: bool,
    /// Reads of the same requester that were sent later and done earlier.
    pub overtaken_by: u32,
    /// Its first bytes of data, at most [`DATA_BYTES_MOST`].
    pub data: Vec<u8>,
}

impl Transaction {
    /// Time from the start of the request to the start of the last completion.
    #[must_use]
    pub fn latency_ps(&self) -> Option<u64> {
        Some(self.last_ps?.saturating_sub(self.start_ps?))
    }

    /// Time from the start of the request to the start of the first completion.
    #[must_use]
    pub fn first_latency_ps(&self) -> Option<u64> {
        Some(self.first_ps?.saturating_sub(self.start_ps?))
    }
}
