//! What the NIC tells the bus to wait for, and what the bus tells it.

use pcie_time::Picoseconds;

/// Number of an access under way.
pub(super) type Access = u32;

/// What the NIC waits for by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A packet has come from the line.
    Arrived,
    /// A packet has left to the line.
    Left,
    /// An interrupt that was held back may come.
    Moderated,
}

/// What the NIC or its driver sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// The last TLP of a write has left the NIC.
    Sent(Access),
    /// An access is over: what was read is there, what was written can be seen.
    Done {
        /// Which.
        access: Access,
        /// When its first TLP began to be sent.
        sent_at: Picoseconds,
    },
    /// A time has come.
    Timer(Timer),
}
