//! Who looks on while a transaction passes through the host: nobody, or its trace.

use super::LatencyRun;
use super::plan::Plan;
use crate::machine::Machine;
use pcie_time::Picoseconds;
use pcie_trace::{Recorder, Segment, Tlp, lane};
use pcie_wire::Piece;
use pcie_workload::Path;

/// A look at the steps of a transaction, in their order, with times from its start.
pub(super) trait Watch {
    /// A page of a write may wait for its translation.
    fn walk(&mut self, _entered: Picoseconds, _translated: Picoseconds) {}
    /// A write is translated; then it takes lines, and the root complex.
    fn written(&mut self, _translated: Picoseconds, _lines: Picoseconds, _root_complex: Picoseconds) {}
    /// A request arrives, may go on, and is translated; then it may wait for a conflict.
    fn request(
        &mut self,
        _arrived: (Picoseconds, Picoseconds),
        _translated: Picoseconds,
        _conflict: Picoseconds,
    ) {
    }
    /// The data of a completion are available after `lines` of the caches or of memory.
    fn access(&mut self, _admitted: Picoseconds, _lines: Picoseconds, _memory: bool, _ready: Picoseconds) {}
    /// A completion with data at `ready` is sent.
    fn completion(&mut self, _ready: Picoseconds, _start: Picoseconds, _left: Picoseconds) {}
    /// The transaction at an offset is done: when its last byte arrived, and its latency without and with sleep.
    fn transaction(&mut self, _offset: u64, _plan: &Plan, _done: (Picoseconds, Picoseconds, Picoseconds)) {}
}

/// Nobody.
pub(super) struct Unwatched;

impl Watch for Unwatched {}

#[derive(Clone, Copy)]
struct Request {
    arrived: Picoseconds,
    went_on: Picoseconds,
    translated: Picoseconds,
    conflict: Picoseconds,
}

#[derive(Clone, Copy)]
struct Completion {
    admitted: Picoseconds,
    lines: Picoseconds,
    memory: bool,
    ready: Picoseconds,
    span: (Picoseconds, Picoseconds),
}

/// The steps of one transaction.
#[derive(Default)]
struct Steps {
    walks: Vec<(Picoseconds, Picoseconds)>,
    written: Option<(Picoseconds, Picoseconds, Picoseconds)>,
    requests: Vec<(Request, Vec<Completion>)>,
    /// The way of each request to the root complex.
    ways: Vec<Picoseconds>,
    offset: u64,
    done: (Picoseconds, Picoseconds, Picoseconds),
}

impl Watch for Steps {
    fn walk(&mut self, entered: Picoseconds, translated: Picoseconds) {
        self.walks.push((entered, translated));
    }

    fn written(&mut self, translated: Picoseconds, lines: Picoseconds, root_complex: Picoseconds) {
        self.written = Some((translated, lines, root_complex));
    }

    fn request(
        &mut self,
        (arrived, went_on): (Picoseconds, Picoseconds),
        translated: Picoseconds,
        conflict: Picoseconds,
    ) {
        self.requests.push((Request { arrived, went_on, translated, conflict }, Vec::new()));
    }

    fn access(&mut self, admitted: Picoseconds, lines: Picoseconds, memory: bool, ready: Picoseconds) {
        if let Some((_, completions)) = self.requests.last_mut() {
            completions.push(Completion { admitted, lines, memory, ready, span: (ready, ready) });
        }
    }

    fn completion(&mut self, ready: Picoseconds, start: Picoseconds, left: Picoseconds) {
        if let Some(completion) = self.requests.last_mut().and_then(|(_, completions)| completions.last_mut())
        {
            (completion.ready, completion.span) = (ready, (start, left));
        }
    }

    fn transaction(&mut self, offset: u64, plan: &Plan, done: (Picoseconds, Picoseconds, Picoseconds)) {
        self.ways = plan.requests.iter().map(|request| request.way).collect();
        (self.offset, self.done) = (offset, done);
    }
}

/// Numbers of the trace's requests, one transaction after the other.
struct Numbered<'a> {
    machine: &'a Machine,
    recorder: Recorder,
    next: u64,
}

impl Numbered<'_> {
    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

impl LatencyRun<'_> {
    /// The trace of the first `span` of the test, from its next transaction on. `stopped` is asked now and then; when it
    /// returns true, the trace ends there.
    #[must_use]
    pub fn trace(mut self, span: Picoseconds, stopped: &mut dyn FnMut() -> bool) -> Vec<Segment> {
        let mut trace = Numbered { machine: self.machine, recorder: Recorder::new(span), next: 0 };
        let mut start = Picoseconds::ZERO;
        trace.recorder.begins(crate::record::TAGS, 0);
        while !trace.recorder.is_done(Picoseconds::ZERO) && self.next < self.test.transactions && !stopped() {
            let mut steps = Steps::default();
            let sample = self.step_watched(&mut steps);
            let first = trace.recorder.recorded();
            self.note(&steps, &mut trace);
            // The host wakes up when the first TLP arrives: everything behind it is later.
            let (_, fast, latency) = steps.done;
            let asleep = latency.since(fast);
            if asleep > Picoseconds::ZERO {
                let from = steps.requests.first().map_or(Picoseconds::ZERO, |(request, _)| request.arrived);
                let before = start + from;
                trace.recorder.map_times(first, |time| if time > before { time + asleep } else { time });
                let number = trace.next.saturating_sub(1);
                trace.recorder.phase(lane::ROOT_PORT, "wake up", (from, from + asleep), number, None);
            }
            start += sample.period;
            trace.recorder.start_at(start);
        }
        trace.recorder.into_segments()
    }

    /// Records a transaction.
    fn note(&self, steps: &Steps, trace: &mut Numbered<'_>) {
        let flight = self.machine.flight();
        let (arrived, fast, _) = steps.done;
        let mut last = trace.next;
        for (piece, (start, end)) in self.plans.write_tlps(steps.offset) {
            last = trace.take();
            trace.recorder.tlp(Tlp {
                lane: lane::UP,
                name: "MWr",
                start,
                end,
                request: last,
                tag: None,
                address: trace.machine.bus_address(piece.address),
                bytes: piece.length,
                byte_count: None,
            });
        }
        for walk in &steps.walks {
            trace.recorder.phase(lane::IOMMU, "page walk", *walk, last, None);
        }
        if let Some((translated, lines, root_complex)) = steps.written {
            let written = translated + lines;
            trace.recorder.phase(lane::MEMORY, "write", (translated, written), last, None);
            trace.recorder.phase(lane::ROOT_PORT, "write", (written, written + root_complex), last, None);
        }
        let size = self.test.size_bytes;
        let pieces = self.machine.read_requests(steps.offset, size);
        for (nth, (piece, (request, completions))) in pieces.zip(&steps.requests).enumerate() {
            last = trace.take();
            let way = steps.ways.get(nth).copied().unwrap_or_default();
            self.note_read(trace, (last, nth as u32), piece, (request, completions), way.since(flight));
        }
        let engine = if self.test.path == Path::Command { "command" } else { "move data" };
        trace.recorder.phase(lane::DEVICE, engine, (arrived, fast), last, None);
    }

    fn note_read(
        &self,
        trace: &mut Numbered<'_>,
        (number, tag): (u64, u32),
        piece: Piece,
        (request, completions): (&Request, &[Completion]),
        sending: Picoseconds,
    ) {
        let flight = self.machine.flight();
        let tag = Some(tag % self.machine.tags().max(1));
        let recorder = &mut trace.recorder;
        let Request { arrived, went_on, translated, conflict } = *request;
        let left = arrived.since(flight);
        let bus = |offset| trace.machine.bus_address(offset);
        let start = left.since(sending);
        recorder.tlp(Tlp {
            lane: lane::UP,
            name: "MRd",
            start,
            end: left,
            request: number,
            tag,
            address: bus(piece.address),
            bytes: piece.length,
            byte_count: None,
        });
        recorder.change(crate::record::TAGS, start, 1);
        recorder.phase(lane::ROOT_PORT, "wait for the write", (arrived, went_on), number, tag);
        recorder.phase(lane::IOMMU, "page walk", (went_on, translated), number, tag);
        recorder.phase(
            lane::ROOT_PORT,
            "wait for another access",
            (translated, translated + conflict),
            number,
            tag,
        );
        let (mut byte_count, mut end) = (piece.length, left);
        for (cut, completion) in self.machine.completions(piece).zip(completions) {
            let Completion { admitted, lines, memory, ready, span } = *completion;
            let fetched = ready.since(lines).max(admitted);
            if memory {
                recorder.phase(lane::ROOT_PORT, "access", (admitted, fetched), number, tag);
                recorder.phase(lane::MEMORY, "read", (fetched, ready), number, tag);
            } else {
                recorder.phase(lane::CACHE, "hit", (admitted, ready), number, tag);
            }
            recorder.phase(lane::ROOT_PORT, "wait for the link down", (ready, span.0), number, tag);
            recorder.tlp(Tlp {
                lane: lane::DOWN,
                name: "CplD",
                start: span.0,
                end: span.1,
                request: number,
                tag,
                address: bus(cut.address),
                bytes: cut.length,
                byte_count: Some(byte_count),
            });
            byte_count = byte_count.saturating_sub(cut.length);
            end = span.1 + flight;
        }
        recorder.phase(lane::DEVICE, "read", (start, end), number, tag);
        recorder.change(crate::record::TAGS, end, -1);
    }
}
