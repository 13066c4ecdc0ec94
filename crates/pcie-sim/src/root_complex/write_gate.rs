//! Admission of posted writes to the root complex: in order, line by line.
//!
//! A write that ends inside a line leaves the line busy for a while, because the rest of it must be fetched.
//! A write that continues in that line waits, and so does every write behind it, unless the root complex
//! merges both (as the measured Haswell does, and Sandy Bridge and Ivy Bridge do not).

use crate::cache::lines::Line;
use crate::profile::RootComplex;
use pcie_time::Picoseconds;
use pcie_wire::Piece;
use pcie_workload::LINE_BYTES;
use std::ops::Range;

#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteGate {
    tlp_time: Picoseconds,
    line_time: Picoseconds,
    partial_line_busy: Picoseconds,
    free_at: Picoseconds,
    /// The partial last line of the last write, and until when it is busy.
    closed: Option<(Line, Picoseconds)>,
}

impl WriteGate {
    pub(crate) fn new(complex: &RootComplex) -> Self {
        Self {
            tlp_time: Picoseconds::from_ns(complex.write_interval_ns),
            line_time: Picoseconds::from_ns(complex.write_line_ns),
            partial_line_busy: Picoseconds::from_ns(complex.partial_line_busy_ns),
            free_at: Picoseconds::ZERO,
            closed: None,
        }
    }

    /// When the gate is free, and the partial last line of the last write with the end of its busy time.
    pub(crate) fn until(&self) -> (Picoseconds, Option<(Line, Picoseconds)>) {
        (self.free_at, self.closed)
    }

    /// Makes all times later.
    pub(crate) fn shift(&mut self, by: Picoseconds) {
        self.free_at += by;
        self.closed = self.closed.map(|(line, open_at)| (line, open_at + by));
    }

    #[inline]
    pub(crate) fn admit(&mut self, piece: Piece, lines: Range<Line>, arrival: Picoseconds) -> Picoseconds {
        let mut admitted = arrival.max(self.free_at);
        if let Some((line, open_at)) = self.closed
            && line == lines.start
        {
            admitted = admitted.max(open_at);
        }
        let count = u64::from(lines.end - lines.start);
        self.free_at = admitted + self.tlp_time + Picoseconds(self.line_time.0 * count);
        let ends_inside = !(piece.address + u64::from(piece.length)).is_multiple_of(LINE_BYTES);
        self.closed = ends_inside.then(|| (lines.end - 1, self.free_at + self.partial_line_busy));
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;

    fn gate(partial_line_busy_ns: f64) -> WriteGate {
        let complex = &snb().system().host.root_complex.clone();
        let own = RootComplex {
            write_interval_ns: 5.0,
            write_line_ns: 3.0,
            partial_line_busy_ns,
            ..complex.clone()
        };
        WriteGate::new(&own)
    }

    fn admit(gate: &mut WriteGate, address: u64, length: u32) -> f64 {
        let last = (address + u64::from(length)).div_ceil(LINE_BYTES) as Line;
        let lines = (address / LINE_BYTES) as Line..last;
        gate.admit(Piece { address, length }, lines, Picoseconds::ZERO).as_ns()
    }

    #[test]
    fn writes_are_admitted_in_order_and_line_by_line() {
        let mut gate = gate(75.0);
        assert_eq!(admit(&mut gate, 0, 256), 0.0);
        assert_eq!(admit(&mut gate, 256, 64), 17.0);
        assert_eq!(admit(&mut gate, 320, 64), 25.0);
    }

    #[test]
    fn a_write_that_continues_in_a_partial_line_waits() {
        let mut divided = gate(75.0);
        assert_eq!(admit(&mut divided, 4, 256), 0.0);
        // Five lines, then the fifth has to be completed.
        assert_eq!(admit(&mut divided, 260, 100), 5.0 + 15.0 + 75.0);
        let mut elsewhere = gate(75.0);
        admit(&mut elsewhere, 4, 256);
        assert_eq!(admit(&mut elsewhere, 320, 100), 20.0, "another line is not busy");
        let mut merging = gate(0.0);
        admit(&mut merging, 4, 256);
        assert_eq!(admit(&mut merging, 260, 100), 20.0);
    }
}
