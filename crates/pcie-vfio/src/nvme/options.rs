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

/// State of the scratch blocks before a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScratchBlocks {
    /// Deallocated: most drives read them without an access to their medium.
    Deallocated,
    /// Written with zeros.
    Written,
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
    /// State of these blocks before a test; null deallocates them if the drive can, and otherwise leaves them
    /// as they are.
    pub blocks: Option<ScratchBlocks>,
}
