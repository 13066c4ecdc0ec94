//! Requests: sizes, progress and times.

use pcie_time::Picoseconds;

/// Access size of a processor.
const LINE_BYTES: u64 = 64;
/// A request, its progress and its times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub flow: u32,
    pub(super) size_bytes: u64,
    /// Sizes of a scatter-gather list; empty for a request in one piece.
    pub(super) segments: Vec<u64>,
    pub(super) segments_begun: usize,
    /// Bytes left of the segment that a processor reads or writes.
    pub(super) segment_left: u64,
    pub submitted: Picoseconds,
    /// Time at which its command was sent.
    pub sent: Picoseconds,
    /// Time at which its command reached the device; none for MMIO.
    pub reached: Option<Picoseconds>,
    /// Time in the command queue and the engine, until its first transfer; for MMIO, in the device's memory.
    pub at_device: Picoseconds,
    /// Bytes whose transfers have not been started.
    pub(super) to_start: u64,
    /// Bytes that have not arrived.
    pub(super) to_arrive: u64,
    /// Whether the status of a posted write to another device is at the host.
    pub(super) has_status: bool,
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

/// Bytes of a request that have arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub request: u32,
    /// Offset in the request.
    pub offset: u64,
    pub bytes: u16,
}
