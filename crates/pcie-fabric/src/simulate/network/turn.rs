//! The turn from one lower port of a node to another through the root complex, which TLPs pass one by one.

use pcie_time::Picoseconds;

use crate::description::NodeParameters;
use crate::simulate::rate::ByteTime;

/// Serves TLPs in order of arrival. Source: section 4.3 of the paper, which finds that transfers between
/// chassis contend at the root complex.
#[derive(Debug)]
pub(super) struct Turn {
    tlp: Picoseconds,
    byte_time: ByteTime,
    free_at: Picoseconds,
}

impl Turn {
    /// The turn of a node; none without a limit.
    pub fn of(node: &NodeParameters) -> Option<Self> {
        let limited = node.turn_tlp_ns > 0.0 || node.turn_gbytes_per_s.is_some();
        limited.then(|| Self {
            tlp: Picoseconds::from_ns(node.turn_tlp_ns),
            byte_time: ByteTime::at(node.turn_gbytes_per_s.unwrap_or(f64::INFINITY)),
            free_at: Picoseconds::ZERO,
        })
    }

    /// Passes a TLP that arrives at `at`; returns the time at which it is through.
    pub fn pass(&mut self, at: Picoseconds, payload_bytes: u64) -> Picoseconds {
        self.free_at = self.free_at.max(at) + self.tlp + self.byte_time.of(payload_bytes);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tlps_pass_one_by_one() {
        let mut turn =
            Turn { tlp: Picoseconds(20_000), byte_time: ByteTime::at(25.6), free_at: Picoseconds::ZERO };
        assert_eq!(turn.pass(Picoseconds(100_000), 128), Picoseconds(125_000));
        assert_eq!(turn.pass(Picoseconds(101_000), 0), Picoseconds(145_000));
        assert_eq!(turn.pass(Picoseconds(500_000), 0), Picoseconds(520_000));
    }
}
