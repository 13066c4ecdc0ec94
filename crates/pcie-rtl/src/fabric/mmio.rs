//! Reads of a core's memory by the processor: a cache line at a time, each answered before the next leaves.

use pcie_fabric::runtime::{Finished, Transfer};
use pcie_fabric::simulate::Phases;
use pcie_time::Picoseconds;
use std::collections::VecDeque;

/// Bytes that one read asks for, at most: it crosses no multiple of them.
const LINE_BYTES: u64 = 64;

/// A part of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) device_address: u64,
    pub(super) host_address: u64,
    pub(super) bytes: u64,
}

/// A read in flight.
#[derive(Debug)]
pub(super) struct HostRead {
    pub(super) number: u32,
    /// The core that is read.
    pub(super) core: usize,
    left: Picoseconds,
    lines: VecDeque<Line>,
    reached: Picoseconds,
    at_device_ns: f64,
}

impl HostRead {
    pub(super) fn new(number: u32, core: usize, left: Picoseconds, list: &[Transfer]) -> Self {
        let mut lines = VecDeque::new();
        for one in list {
            let (mut device_address, mut host_address, mut rest) =
                (one.device_address, one.other_address, one.size_bytes);
            while rest > 0 {
                let bytes = rest.min(LINE_BYTES - device_address % LINE_BYTES);
                lines.push_back(Line { device_address, host_address, bytes });
                (device_address, host_address, rest) =
                    (device_address + bytes, host_address + bytes, rest - bytes);
            }
        }
        Self { number, core, left, lines, reached: Picoseconds::ZERO, at_device_ns: 0.0 }
    }

    /// The line that is read now.
    pub(super) fn line(&self) -> Option<Line> {
        self.lines.front().copied()
    }

    pub(super) fn reaches(&mut self, at: Picoseconds) {
        self.reached = at;
    }

    pub(super) fn leaves_device(&mut self, at: Picoseconds) {
        self.at_device_ns += at.since(self.reached).as_ns();
    }

    /// Ends a line; the report once it was the last.
    pub(super) fn arrives(&mut self, at: Picoseconds) -> Option<Finished> {
        self.lines.pop_front();
        let device_ns = self.at_device_ns;
        let fabric_ns = at.since(self.left).as_ns() - device_ns;
        let phases = Phases { host_ns: 0.0, fabric_ns, device_ns };
        let done = Finished { at, number: self.number, left: self.left, reached_ns: f64::NAN, phases };
        self.lines.is_empty().then_some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_cut_at_lines_and_ends_with_the_last() {
        let transfer = Transfer { device_address: 0x1030, other_address: 0x500, size_bytes: 100 };
        let mut read = HostRead::new(3, 0, Picoseconds::ZERO, &[transfer]);
        let lines: Vec<_> = read.lines.iter().map(|line| (line.device_address, line.bytes)).collect();
        assert_eq!(lines, [(0x1030, 16), (0x1040, 64), (0x1080, 20)]);
        for (number, end) in [false, false, true].into_iter().enumerate() {
            let sent = number as f64 * 1000.0;
            read.reaches(Picoseconds::from_ns(sent + 100.0));
            read.leaves_device(Picoseconds::from_ns(sent + 140.0));
            let done = read.arrives(Picoseconds::from_ns(sent + 300.0));
            assert_eq!(done.is_some(), end);
            if let Some(done) = done {
                assert_eq!((done.number, done.phases.device_ns), (3, 120.0));
                assert_eq!(done.phases.fabric_ns, 2300.0 - 120.0);
            }
        }
    }
}
