//! TLPs that a capture shows twice: some capture both ends of a link, as logs of simulators do.

use pcie_capture::{Event, Tlp};
use std::collections::HashMap;

/// Sequence numbers.
pub(crate) const SEQUENCES: u16 = 1 << 12;

/// Finds copies: TLPs with a sequence number that another port has just shown.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// By way: the port of each of the last sequence numbers.
    port_of: [HashMap<u16, u16>; 2],
}

impl Copies {
    /// Whether a TLP is a copy.
    pub(crate) fn is_copy(&mut self, event: &Event, tlp: &Tlp) -> bool {
        let (Some(direction), Some(sequence)) = (event.direction, tlp.sequence) else { return false };
        let ports = &mut self.port_of[direction as usize];
        // Numbers come again after all others: forget those of long ago.
        ports.remove(&((sequence + SEQUENCES / 2) % SEQUENCES));
        *ports.entry(sequence % SEQUENCES).or_insert(event.port) != event.port
    }
}
