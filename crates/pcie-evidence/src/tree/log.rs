//! What stands beside the registers: events of a kernel's log, connections of other kinds, forms of the source.

use serde::{Deserialize, Serialize};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogKind {
    /// AER reported correctable errors.
    CorrectedError,
    /// AER reported uncorrectable errors.
    UncorrectedError,
    /// Downstream port containment took a link down.
    Contained,
    /// A slot lost its link.
    LinkDown,
    /// The kernel retrained a link in vain, or at a lower speed.
    RetrainFailed,
    /// A link upstream limits the bandwidth of a device.
    BandwidthLimited,
    /// A BAR or window found no addresses.
    NoSpace,
    /// Atomic operations are not routed to the device.
    NoAtomics,
    /// The device does not answer.
    OffBus,
    /// A driver's device stopped working.
    DeviceStopped,
    /// The IOMMU refused an access.
    AddressFault,
}

/// What a line of a kernel's log says about a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEvent {
    /// What it is about.
    pub kind: LogKind,
    /// The function that it names, with its domain.
    pub slot: Option<String>,
    /// The line, without its time.
    pub text: String,
    /// Its number in the source, from 1 on.
    pub line: usize,
    /// How many lines say the same of the same function.
    #[serde(default = "once")]
    pub count: usize,
}

fn once() -> usize {
    1
}

/// A connection between two devices that is no PCIe link, or that a source names without registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// `nvlink`, `xgmi`, or the word of `nvidia-smi topo -m` in lower case: `pix`, `sys`...
    pub kind: String,
    /// Slots, or names where the source has no slots.
    pub ends: (String, String),
    /// Number of links side by side.
    pub links: Option<u32>,
}

/// A part of a source: its form, and what it was used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// `lspci -vvv`, `kernel log`, `nvidia-smi topo -m`...
    pub form: String,
    /// The line where it starts, from 1 on.
    pub first_line: usize,
    /// None if it was not used.
    pub used_for: Option<String>,
}
