//! TLP layouts: how a DMA is split into TLPs, and their sizes and times.
//!
//! The layout depends only on the alignment class of a DMA, so each is computed once.

use crate::link::alignment::{AlignmentClass, AlignmentClasses};
use crate::link::port::Port;
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_wire::{CompletionSpace, Piece, TlpKind};
use pcie_workload::Test;
use std::ops::Range;

/// Most completions of a request that are sent branchless.
pub(super) const FEW: usize = 4;

/// The common properties of all requests, where each read is one request and all requests are alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Alike {
    pub(super) length: u32,
    pub(super) small: bool,
    pub(super) uplink_bytes: u64,
    /// Bytes that each completion of a request occupies on the downlink.
    pub(super) completion_bytes: Vec<u64>,
    pub(super) few: Option<FewCompletions>,
    pub(super) move_time: Picoseconds,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RequestLayout {
    /// Offset from the start of the DMA.
    pub(super) start: u64,
    pub(super) length: u32,
    pub(super) uplink_bytes: u64,
    /// Whether it has at most `small_request_bytes`.
    pub(super) small: bool,
    /// Time of the data engine for its data.
    pub(super) move_time: Picoseconds,
    /// Space that it reserves for its completions.
    pub(super) space: CompletionSpace,
    /// Its completions: a range of [`TlpLayouts::completion_bytes`].
    pub(super) completions: (u32, u32),
    /// The same, if they are few.
    pub(super) few: Option<FewCompletions>,
}

/// Up to [`FEW`] completions of a request, which follow each other on the downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FewCompletions {
    pub(super) count: usize,
    /// Their bytes on the downlink, in all.
    pub(super) bytes: u64,
    /// For how long the first, the first two, ... occupy it; see [`Port::send_together`]. Beyond the last one, the
    /// time of all.
    pub(super) times: [u64; FEW],
}

impl FewCompletions {
    fn new(downlink: &Port, bytes: &[u64]) -> Option<Self> {
        let (mut times, mut time) = ([0; FEW], 0u64);
        for (nth, slot) in times.iter_mut().enumerate() {
            if let Some(bytes) = bytes.get(nth) {
                time += downlink.time_of(*bytes)?;
            }
            *slot = time;
        }
        (bytes.len() <= FEW).then(|| Self { count: bytes.len(), bytes: bytes.iter().sum(), times })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WriteLayout {
    /// Offset from the start of the DMA.
    pub(super) start: u64,
    pub(super) length: u32,
    pub(super) uplink_bytes: u64,
    /// Bytes that the uplink leaves idle behind it.
    pub(super) gap_bytes: u32,
    /// Time of the data engine to pull its data.
    pub(super) pull_time: Picoseconds,
}

/// The parts of a DMA: ranges of [`TlpLayouts::requests`] and [`TlpLayouts::writes`].
#[derive(Clone, Copy, Debug)]
struct TlpLayout {
    requests: (u32, u32),
    writes: (u32, u32),
}

impl TlpLayout {
    /// The requests of a read, or the TLPs of a write.
    #[inline]
    fn parts(&self, of_write: bool) -> Range<u32> {
        let (first, end) = if of_write { self.writes } else { self.requests };
        first..end
    }
}

/// The layouts computed so far.
#[derive(Debug)]
pub(super) struct TlpLayouts<'a> {
    machine: &'a Machine,
    test: &'a Test,
    uplink: Port,
    downlink: Port,
    classes: AlignmentClasses,
    layouts: Vec<TlpLayout>,
    pub(super) requests: Vec<RequestLayout>,
    pub(super) writes: Vec<WriteLayout>,
    pub(super) completion_bytes: Vec<u64>,
}

impl<'a> TlpLayouts<'a> {
    pub(super) fn new(machine: &'a Machine, test: &'a Test, uplink: Port, downlink: Port) -> Self {
        Self {
            machine,
            test,
            uplink,
            downlink,
            classes: AlignmentClasses::new(&machine.system, test.size_bytes),
            layouts: Vec::new(),
            requests: Vec::new(),
            writes: Vec::new(),
            completion_bytes: Vec::new(),
        }
    }

    /// The parts of a DMA at an offset of the buffer: a range of the requests, or of the writes.
    #[inline]
    pub(super) fn parts(&mut self, offset: u64, of_write: bool) -> Range<u32> {
        let class = self.classes.of(offset);
        match self.classes.number(class) {
            Some(number) => self.layouts[number].parts(of_write),
            None => self.compute(offset, class).parts(of_write),
        }
    }

    #[inline]
    pub(super) fn request(&self, layout: u32) -> &RequestLayout {
        &self.requests[layout as usize]
    }

    /// Bytes that each completion of a request occupies on the downlink.
    #[inline]
    pub(super) fn completions(&self, request: &RequestLayout) -> &[u64] {
        let (first, end) = request.completions;
        &self.completion_bytes[first as usize..end as usize]
    }

    /// The properties of a request that is the only one of its read.
    pub(super) fn alone(&self, layout: u32) -> Alike {
        let request = self.request(layout);
        Alike {
            length: request.length,
            small: request.small,
            uplink_bytes: request.uplink_bytes,
            completion_bytes: self.completions(request).to_vec(),
            few: request.few,
            move_time: request.move_time,
        }
    }

    /// See [`AlignmentClasses::with_both_lengths_of_address`].
    pub(super) fn with_both_lengths_of_address(&self, byte: u64) -> impl Iterator<Item = u64> + use<> {
        self.classes.with_both_lengths_of_address(byte)
    }

    #[cold]
    fn compute(&mut self, offset: u64, class: AlignmentClass) -> TlpLayout {
        let (machine, size) = (self.machine, self.test.size_bytes);
        let first_request = self.requests.len() as u32;
        for piece in machine.read_requests(offset, size) {
            let request = self.request_layout(offset, piece);
            self.requests.push(request);
        }
        let first_write = self.writes.len() as u32;
        for piece in machine.write_tlps(offset, size) {
            let start = piece.address - offset;
            self.writes.push(WriteLayout {
                start,
                length: piece.length,
                uplink_bytes: self.uplink.in_units(machine.tlp_bytes(TlpKind::MemoryWrite, piece)),
                gap_bytes: machine.write_gap_bytes(offset..offset + size, piece),
                pull_time: machine.pull_time(self.test, start, u64::from(piece.length)),
            });
        }
        let layout = TlpLayout {
            requests: (first_request, self.requests.len() as u32),
            writes: (first_write, self.writes.len() as u32),
        };
        self.classes.set_number(class, self.layouts.len());
        self.layouts.push(layout);
        layout
    }

    fn request_layout(&mut self, offset: u64, piece: Piece) -> RequestLayout {
        let machine = self.machine;
        let first = self.completion_bytes.len() as u32;
        let mut completions = machine.completions(piece);
        while let Some(completion) = completions.next() {
            let last = completions.is_done();
            self.completion_bytes.push(machine.completion_units(&self.downlink, piece, completion, last));
        }
        RequestLayout {
            start: piece.address - offset,
            length: piece.length,
            uplink_bytes: machine.request_units(&self.uplink, piece),
            small: piece.length <= machine.system.host.root_complex.small_request_bytes,
            move_time: machine.move_time(self.test, offset, u64::from(piece.length)),
            space: machine.completion_space(piece),
            completions: (first, self.completion_bytes.len() as u32),
            few: FewCompletions::new(&self.downlink, &self.completion_bytes[first as usize..]),
        }
    }
}
