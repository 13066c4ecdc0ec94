//! What happens in a machine.

use crate::endpoint::Units;
use crate::port::Completion;
use pcie_fabric::NodeId;
use pcie_time::Picoseconds;

/// Something that happens to a host or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// TLPs have left a node's port, which has room for others.
    Credits {
        /// When.
        at: Picoseconds,
        /// The node.
        node: NodeId,
        /// The room.
        units: Units,
    },
    /// A completion is at the node that reads. Its `offset` counts from the read's first byte.
    Completion {
        /// The node.
        node: NodeId,
        /// Who has answered.
        from: NodeId,
        /// The completion.
        completion: Completion,
    },
    /// A read request is at a device that the caller stands for, which has to answer it.
    Read {
        /// When.
        at: Picoseconds,
        /// The device.
        node: NodeId,
        /// Who reads.
        from: NodeId,
        /// Its number, for the answer.
        request: u64,
        /// Bus address of its first byte.
        address: u64,
        /// Its bytes.
        length: u32,
    },
    /// A write is in memory; at a device that the caller stands for, it has arrived.
    Write {
        /// When.
        at: Picoseconds,
        /// Who has the memory.
        node: NodeId,
        /// Who writes.
        from: NodeId,
        /// Bus address of its first byte.
        address: u64,
        /// Its bytes.
        length: u32,
        /// Tag of its TLP.
        tag: u16,
        /// The transfer that it belongs to.
        transfer: Option<u64>,
    },
    /// An interrupt or a message has arrived, behind the writes of its sender to there before it.
    Message {
        /// When.
        at: Picoseconds,
        /// Who has got it.
        node: NodeId,
        /// Who sends it.
        from: NodeId,
        /// Its address.
        address: u64,
        /// Tag of its TLP.
        tag: u16,
    },
    /// A transfer is done: its last byte is where it belongs.
    Done {
        /// When.
        at: Picoseconds,
        /// The node whose transfer it is.
        node: NodeId,
        /// Its number.
        transfer: u64,
    },
}

impl Event {
    /// When it happens.
    #[must_use]
    pub fn at(&self) -> Picoseconds {
        match *self {
            Self::Credits { at, .. }
            | Self::Read { at, .. }
            | Self::Write { at, .. }
            | Self::Message { at, .. }
            | Self::Done { at, .. } => at,
            Self::Completion { completion, .. } => completion.at,
        }
    }
}
