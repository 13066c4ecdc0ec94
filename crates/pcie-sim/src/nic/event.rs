//! Events between the bus and the NIC.

use pcie_time::Picoseconds;

/// Number of an access in flight.
pub(super) type Access = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A packet has arrived from the line.
    Arrived,
    /// A packet has been sent to the line.
    Left,
    /// A moderated interrupt may be sent.
    Moderated,
}

/// An event that the NIC or its driver sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NicEvent {
    /// The last TLP of a write has left the NIC.
    Sent(Access),
    /// An access is finished: its data have been read, or are visible. Its first TLP was sent at `sent_at`.
    Done {
        access: Access,
        sent_at: Picoseconds,
    },
    Timer(Timer),
}
