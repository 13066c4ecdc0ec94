//! How a root complex splits its answers into completions.
//!
//! The measured root complexes split at multiples of MPS. Some answer a partial first or last cache line by
//! itself; others only for a request of two lines, and merge it otherwise. The specification allows both.

use crate::profile::{CompletionSplit, System};
use pcie_wire::Piece;
use pcie_workload::LINE_BYTES;

/// The pieces in which a root complex answers a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    address: u64,
    end: u64,
    boundary: u64,
    first_line_alone: bool,
    last_line_alone: bool,
}

impl Cuts {
    pub(crate) fn of(system: &System, request: Piece) -> Self {
        let complex = &system.host.root_complex;
        let boundary = match complex.completion_split {
            CompletionSplit::AlignedMps => u64::from(system.link.mps_bytes),
            CompletionSplit::EveryRcb => u64::from(system.link.rcb_bytes),
        };
        Self::new(request.address, u64::from(request.length), boundary, complex.merge_partial_lines)
    }

    /// The answer to `length` bytes from `address`, cut at multiples of `boundary`.
    fn new(address: u64, length: u64, boundary: u64, merge_partial_lines: bool) -> Self {
        let end = address + length;
        let lines = end.div_ceil(LINE_BYTES) - address / LINE_BYTES;
        let first_line_alone = !merge_partial_lines || lines <= 2;
        Self { address, end, boundary, first_line_alone, last_line_alone: !merge_partial_lines }
    }

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
        let alone = self.first_line_alone && !start.is_multiple_of(LINE_BYTES);
        let boundary = if alone { LINE_BYTES } else { self.boundary };
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

    fn cuts(address: u64, length: u64, merge_partial_lines: bool) -> Vec<u32> {
        Cuts::new(address, length, 256, merge_partial_lines).map(|piece| piece.length).collect()
    }

    #[test]
    fn partial_lines_travel_alone_unless_merged() {
        assert_eq!(cuts(0, 512, false), [256, 256]);
        assert_eq!(cuts(0, 127, false), [64, 63]);
        assert_eq!(cuts(0, 127, true), [127]);
        assert_eq!(cuts(0, 257, false), [256, 1]);
        assert_eq!(cuts(1, 256, false), [63, 192, 1]);
        assert_eq!(cuts(1, 256, true), [255, 1]);
        assert_eq!(cuts(1, 64, true), [63, 1]);
        assert_eq!(cuts(48, 8, false), [8]);
    }
}
