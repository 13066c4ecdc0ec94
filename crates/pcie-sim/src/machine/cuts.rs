//! Where a root complex cuts its answers.
//!
//! The root complexes measured answer an unaligned first cache line by itself, cut at multiples of MPS, and some of them
//! answer a partial last line by itself too. All of that is within the rules of the specification.

use pcie_wire::Piece;
use pcie_workload::LINE_BYTES;

/// The pieces in which a root complex answers a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    pub(super) address: u64,
    pub(super) end: u64,
    pub(super) boundary: u64,
    pub(super) last_line_alone: bool,
}

impl Cuts {
    pub(crate) fn is_done(&self) -> bool {
        self.address >= self.end
    }
}

impl Iterator for Cuts {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.is_done() {
            return None;
        }
        let start = self.address;
        let boundary = if start.is_multiple_of(LINE_BYTES) { self.boundary } else { LINE_BYTES };
        let mut stop = (start / boundary + 1) * boundary;
        let last_line = self.end / LINE_BYTES * LINE_BYTES;
        if self.last_line_alone && last_line > start {
            stop = stop.min(last_line);
        }
        self.address = stop.min(self.end);
        Some(Piece { address: start, length: (self.address - start) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(address: u64, length: u64, last_line_alone: bool) -> Vec<u32> {
        Cuts { address, end: address + length, boundary: 256, last_line_alone }
            .map(|piece| piece.length)
            .collect()
    }

    #[test]
    fn partial_lines_travel_alone_where_the_root_complex_says_so() {
        assert_eq!(cuts(0, 512, true), [256, 256]);
        assert_eq!(cuts(0, 127, true), [64, 63]);
        assert_eq!(cuts(0, 127, false), [127]);
        assert_eq!(cuts(0, 257, true), [256, 1]);
        assert_eq!(cuts(1, 256, true), [63, 192, 1]);
        assert_eq!(cuts(1, 256, false), [63, 192, 1]);
        assert_eq!(cuts(48, 8, true), [8]);
    }
}
