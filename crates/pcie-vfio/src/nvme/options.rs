//! Options of a drive.

use serde::{Deserialize, Serialize};

/// Format of the data pointers of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// One pointer for each page.
    #[default]
    Prp,
    /// One segment.
    Sgl,
}

/// How a completion is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noticing {
    /// The queue is polled.
    #[default]
    Polled,
    /// The drive raises an interrupt.
    Interrupt,
}

/// Location of the submission queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueIn {
    /// In host memory.
    #[default]
    Host,
    /// In the drive's controller memory buffer.
    Cmb,
}

/// Options of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NvmeOptions {
    /// Format of the data pointers of commands.
    pub pointers: Naming,
    /// How a completion is noticed.
    pub completion: Noticing,
    /// Location of the submission queue.
    pub queue: QueueIn,
    /// Blocks that may be written, `LBA+LENGTH`. They must read as zeros, and only zeros are written.
    pub scratch: Option<String>,
    /// Serial number of their drive: without it, nothing is written.
    pub scratch_serial: Option<String>,
}
