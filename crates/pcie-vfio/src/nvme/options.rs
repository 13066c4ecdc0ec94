//! What a drive can be told.

use serde::{Deserialize, Serialize};

/// How commands name their memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// Page by page.
    #[default]
    Prp,
    /// As one piece.
    Sgl,
}

/// How a completion is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noticing {
    /// The queue is looked at, again and again.
    #[default]
    Polled,
    /// The drive says so.
    Interrupt,
}

/// Where commands lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueIn {
    /// In host memory.
    #[default]
    Host,
    /// In the drive's controller memory buffer.
    Cmb,
}

/// What a drive can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NvmeOptions {
    /// How commands name their memory.
    pub pointers: Naming,
    /// How a completion is noticed.
    pub completion: Noticing,
    /// Where commands lie.
    pub queue: QueueIn,
    /// Blocks that may be written, `LBA+LENGTH`; none for none. They have to read as zeros, and zeros are written.
    pub scratch: Option<String>,
    /// Serial number of the drive that they are on: without it, nothing is written.
    pub scratch_serial: Option<String>,
}
