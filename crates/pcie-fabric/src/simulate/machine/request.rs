//! Requests: what each moves, how far it has come, and where its time went.

use pcie_time::Picoseconds;

/// What a processor reads or writes at a time.
const LINE_BYTES: u64 = 64;
/// A request and where its time went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub flow: u32,
    pub(super) size_bytes: u64,
    /// Sizes of a scatter-gather list; empty for a request in one piece.
    pub(super) segments: Vec<u64>,
    pub(super) segments_begun: usize,
    /// What a processor has not asked for of the segment that it is at.
    pub(super) segment_left: u64,
    pub submitted: Picoseconds,
    /// When its command was sent.
    pub sent: Picoseconds,
    /// When its command came to the device; none for MMIO.
    pub reached: Option<Picoseconds>,
    /// In the command queue and the engine, until its first transfer could start; for MMIO, in the device's memory.
    pub at_device: Picoseconds,
    /// Bytes whose transfers have not been started.
    pub(super) to_start: u64,
    /// Bytes that have not arrived.
    pub(super) to_arrive: u64,
}

impl Request {
    /// Bytes of the next line that a processor reads or writes; lines end where segments do.
    pub(super) fn next_line(&mut self) -> u16 {
        if self.segment_left == 0 {
            self.segment_left = self.next_segment();
        }
        let line = self.segment_left.min(LINE_BYTES);
        self.segment_left -= line;
        self.to_start -= line;
        line as u16
    }

    pub(super) fn next_segment(&mut self) -> u64 {
        self.segments_begun += 1;
        self.segments.get(self.segments_begun - 1).copied().unwrap_or(self.size_bytes)
    }
}

/// Bytes of a request that have come to where they go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub request: u32,
    /// Where in the request they are.
    pub offset: u64,
    pub bytes: u16,
}
