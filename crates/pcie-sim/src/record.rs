//! The trace of a run: TLPs, phases and counters of the requests that a recorder's span contains.
//!
//! Engines that record call it where a request or a write goes from one part of the machine to the next; without it
//! they test a pointer. It changes no time and draws nothing.

use crate::machine::Machine;
use crate::nic::REGISTER_BYTES;
use crate::root_complex::under_load::{ReadSteps, WriteSteps};
use pcie_time::Picoseconds;
use pcie_trace::{Recorder, Segment, Text, Tlp, lane};
use pcie_wire::Piece;
use std::collections::VecDeque;

pub(crate) const TAGS: &str = "tags in use";
pub(crate) const NON_POSTED: &str = "non-posted header credits in use";
pub(crate) const POSTED_HEADERS: &str = "posted header credits in use";
pub(crate) const POSTED_DATA: &str = "posted data credits in use";
const AT_HOST: &str = "reads at the root port";
const ANSWERS: &str = "reads that wait for the link down";

/// Time after the span for which a trace waits for what began in it.
const LONGEST_REQUEST: Picoseconds = Picoseconds(1_000_000_000);
/// Bus address of a device's registers.
pub(crate) const REGISTERS: u64 = 0xf000_0000;
/// Tags of the root port's requests.
const ROOT_PORT_TAGS: u32 = 256;

/// From when to when.
pub(crate) type Span = (Picoseconds, Picoseconds);

/// A read request in flight.
#[derive(Clone, Copy, Debug)]
struct Read {
    number: u64,
    tag: u32,
    issued: Picoseconds,
    /// When its data were available, until its first completion.
    ready: Option<Picoseconds>,
    /// Bytes without a completion so far.
    left: u32,
    in_span: bool,
}

/// A posted TLP between device and root complex.
#[derive(Clone, Debug)]
struct Write {
    number: u64,
    in_span: bool,
}

/// A recorder with what is in flight.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    machine: &'a Machine,
    recorder: Recorder,
    /// Requests and writes so far.
    issued: u64,
    /// Those of the span that are not finished.
    open: u64,
    /// By the engine's number of a request.
    reads: Vec<Option<Read>>,
    /// Issued and not sent, sent and not arrived: in order.
    to_send: VecDeque<Write>,
    to_arrive: VecDeque<Write>,
    /// Names of a NIC's steps, and by the bus's number of an access, its number here, its begin, and whether it is of
    /// the span.
    steps: Vec<String>,
    accesses: Vec<Option<(u64, Picoseconds, bool)>>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(machine: &'a Machine, span: Picoseconds) -> Self {
        let mut recorder = Recorder::new(span);
        for counter in [TAGS, NON_POSTED, POSTED_HEADERS, POSTED_DATA, AT_HOST, ANSWERS] {
            recorder.begins(counter, 0);
        }
        Self {
            machine,
            recorder,
            issued: 0,
            open: 0,
            reads: Vec::new(),
            to_send: VecDeque::new(),
            to_arrive: VecDeque::new(),
            steps: Vec::new(),
            accesses: Vec::new(),
        }
    }

    /// The record of a NIC with these steps.
    pub(crate) fn with_steps(self, steps: Vec<String>) -> Self {
        Self { steps, ..self }
    }

    /// A NIC or its driver begins an access.
    pub(crate) fn access_begun(&mut self, access: u32, now: Picoseconds) {
        let (number, in_span) = self.begin(now);
        let index = access as usize;
        if index >= self.accesses.len() {
            self.accesses.resize(index + 1, None);
        }
        self.accesses[index] = Some((number, now, in_span));
    }

    /// Its last TLP is finished.
    pub(crate) fn access_done(&mut self, access: u32, step: usize, now: Picoseconds) {
        let Some((number, begun, in_span)) = self.accesses.get_mut(access as usize).and_then(Option::take)
        else {
            return;
        };
        let name = self.steps.get(step).cloned().unwrap_or_default();
        self.recorder.phase(lane::DEVICE, name, (begun, now), number, None);
        self.open -= u64::from(in_span);
    }

    /// A TLP to a register, or from it.
    pub(crate) fn register(&mut self, access: u32, (lane, name): (&'static str, &'static str), span: Span) {
        let Some(Some((number, ..))) = self.accesses.get(access as usize) else { return };
        self.recorder.tlp(Tlp {
            lane,
            name,
            start: span.0,
            end: span.1,
            request: *number,
            tag: (name != "MWr").then_some(access % ROOT_PORT_TAGS),
            address: REGISTERS,
            bytes: REGISTER_BYTES,
            byte_count: (name == "CplD").then_some(REGISTER_BYTES),
        });
    }

    /// Whether the span is over, and all that began in it.
    pub(crate) fn is_done(&self, now: Picoseconds) -> bool {
        let over = self.recorder.is_done(now);
        over && (self.open == 0 || self.recorder.is_done(now.since(LONGEST_REQUEST)))
    }

    pub(crate) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    pub(crate) fn into_segments(self) -> Vec<Segment> {
        self.recorder.into_segments()
    }

    /// Changes every time with a function that keeps their order.
    pub(crate) fn map_times(&mut self, mapped: impl Fn(Picoseconds) -> Picoseconds) {
        self.recorder.map_times(0, &mapped);
        self.recorder.map_counters(mapped);
    }

    /// The number of the next request or write, which begins at `now`.
    fn begin(&mut self, now: Picoseconds) -> (u64, bool) {
        let in_span = !self.recorder.is_done(now);
        self.issued += 1;
        self.open += u64::from(in_span);
        (self.issued - 1, in_span)
    }

    fn read(&mut self, request: u32) -> Option<Read> {
        self.reads.get(request as usize).copied().flatten()
    }

    /// A read request has got a tag.
    pub(crate) fn read_issued(&mut self, request: u32, piece: Piece, tag: u32, now: Picoseconds) {
        let (number, in_span) = self.begin(now);
        let index = request as usize;
        if index >= self.reads.len() {
            self.reads.resize(index + 1, None);
        }
        self.reads[index] = Some(Read { number, tag, issued: now, ready: None, left: piece.length, in_span });
        self.recorder.change(TAGS, now, 1);
    }

    /// It leaves the device, at the earliest at `now`.
    pub(crate) fn read_sent(&mut self, request: u32, piece: Piece, now: Picoseconds, (start, end): Span) {
        let Some(read) = self.read(request) else { return };
        self.recorder.change(NON_POSTED, now, 1);
        self.recorder.phase(
            lane::DEVICE,
            "wait for credits",
            (read.issued, now),
            read.number,
            Some(read.tag),
        );
        let wait = (now, start);
        self.recorder.phase(lane::DEVICE, "wait for the link", wait, read.number, Some(read.tag));
        self.recorder.tlp(Tlp {
            lane: lane::UP,
            name: "MRd",
            start,
            end,
            request: read.number,
            tag: Some(read.tag),
            address: self.machine.bus_address(piece.address),
            bytes: piece.length,
            byte_count: None,
        });
    }

    /// It reaches the root complex at `now`.
    pub(crate) fn read_arrived(&mut self, request: u32, now: Picoseconds, steps: &ReadSteps) {
        let Some(Read { number, tag, .. }) = self.read(request) else { return };
        let ReadSteps { looked_up, translated, walked, admitted, fetch, memory, data, .. } = *steps;
        let recorder = &mut self.recorder;
        recorder.change(AT_HOST, now, 1);
        recorder.change(AT_HOST, data, -1);
        let from = translated.max(admitted);
        let walk = if walked { "page walk" } else { "wait for a page walk" };
        recorder.phase(lane::IOMMU, walk, (looked_up, translated), number, Some(tag));
        recorder.phase(lane::ROOT_PORT, "wait for admission", (now, admitted), number, Some(tag));
        if memory {
            let fetched = data.since(fetch).max(from);
            recorder.phase(lane::ROOT_PORT, "access", (from, fetched), number, Some(tag));
            recorder.phase(lane::MEMORY, "read", (fetched, data), number, Some(tag));
        } else {
            recorder.phase(lane::CACHE, "hit", (from, data), number, Some(tag));
        }
    }

    /// Its credit is back at the device.
    pub(crate) fn read_credited(&mut self, now: Picoseconds) {
        self.recorder.change(NON_POSTED, now, -1);
    }

    /// Its data are available.
    pub(crate) fn data_ready(&mut self, request: u32, now: Picoseconds) {
        if let Some(Some(read)) = self.reads.get_mut(request as usize) {
            read.ready = Some(now);
            self.recorder.change(ANSWERS, now, 1);
        }
    }

    /// One of its completions leaves the root port.
    pub(crate) fn completed(&mut self, request: u32, piece: Piece, (start, end): Span) {
        let Some(Some(read)) = self.reads.get_mut(request as usize) else { return };
        let byte_count = read.left;
        read.left = read.left.saturating_sub(piece.length);
        let (number, tag) = (read.number, Some(read.tag));
        if let Some(ready) = read.ready.take() {
            self.recorder.change(ANSWERS, start, -1);
            self.recorder.phase(lane::ROOT_PORT, "wait for the link down", (ready, start), number, tag);
        }
        self.recorder.tlp(Tlp {
            lane: lane::DOWN,
            name: "CplD",
            start,
            end,
            request: number,
            tag,
            address: self.machine.bus_address(piece.address),
            bytes: piece.length,
            byte_count: Some(byte_count),
        });
    }

    /// Its last completion has arrived; the device moves its data meanwhile, if it has to.
    pub(crate) fn answered(&mut self, request: u32, name: impl Into<Text>, now: Picoseconds, moving: Span) {
        let found = self.reads.get_mut(request as usize).and_then(Option::take);
        let Some(Read { number, tag, issued, in_span, .. }) = found else { return };
        self.recorder.phase(lane::DEVICE, name, (issued, now), number, Some(tag));
        self.recorder.phase(lane::DEVICE, "move data", moving, number, None);
        self.open -= u64::from(in_span);
    }

    /// A tag is free again.
    pub(crate) fn tag_returned(&mut self, now: Picoseconds) {
        self.recorder.change(TAGS, now, -1);
    }

    /// The device reads the data of a write TLP from its memory, or has them already.
    pub(crate) fn write_issued(&mut self, (from, until): Span) {
        let (number, in_span) = self.begin(from);
        self.recorder.phase(lane::DEVICE, "read device memory", (from, until), number, None);
        self.to_send.push_back(Write { number, in_span });
    }

    /// It leaves the device, at the earliest at `now`.
    pub(crate) fn write_sent(&mut self, piece: Piece, now: Picoseconds, (start, end): Span) {
        let Some(write) = self.to_send.pop_front() else { return };
        self.recorder.change(POSTED_HEADERS, now, 1);
        self.recorder.change(POSTED_DATA, now, i64::from(crate::link::credits::data_credits(piece.length)));
        self.recorder.tlp(Tlp {
            lane: lane::UP,
            name: "MWr",
            start,
            end,
            request: write.number,
            tag: None,
            address: self.machine.bus_address(piece.address),
            bytes: piece.length,
            byte_count: None,
        });
        self.to_arrive.push_back(write);
    }

    /// It reaches the root complex at `now`.
    pub(crate) fn write_arrived(&mut self, piece: Piece, now: Picoseconds, steps: &WriteSteps) {
        let Some(Write { number, in_span }) = self.to_arrive.pop_front() else { return };
        let WriteSteps { admitted, translated, walked, written, .. } = *steps;
        let recorder = &mut self.recorder;
        recorder.phase(lane::ROOT_PORT, "wait for admission", (now, admitted), number, None);
        let walk = if walked { "page walk" } else { "wait for a page walk" };
        recorder.phase(lane::IOMMU, walk, (admitted, translated), number, None);
        let waits = (translated, written.passed);
        recorder.phase(
            if steps.memory { lane::MEMORY } else { lane::ROOT_PORT },
            "pass",
            waits,
            number,
            None,
        );
        recorder.change(POSTED_HEADERS, written.credits_back, -1);
        let data = i64::from(crate::link::credits::data_credits(piece.length));
        recorder.change(POSTED_DATA, written.credits_back, -data);
        self.open -= u64::from(in_span);
    }
}

impl Machine {
    /// The bus address of an offset of the buffer. Beyond the chunks, that of a buffer above 4 GiB.
    pub(crate) fn bus_address(&self, offset: u64) -> u64 {
        let system = &self.system;
        let chunk = (offset >> system.chunk_bytes.trailing_zeros()) as usize;
        let base = system.chunk_addresses.get(chunk);
        base.map_or((1 << 32) + offset, |base| base + offset % system.chunk_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::{ib_011_nosp, snb};
    use crate::{BandwidthRun, Engine, LatencyRun, TestKey};
    use pcie_time::Stream;
    use pcie_trace::Kind;
    use pcie_workload::{AddressList, Operation, Test};

    const KEY: TestKey = TestKey { seed: 3, test: 1 };
    const SPAN: Picoseconds = Picoseconds(3_000_000);

    fn bandwidth(machine: &Machine, operation: Operation, bytes: u64) -> (Vec<Segment>, Vec<u64>) {
        let test = Test::random_dma(operation, bytes, 1 << 20, 4_000);
        let list = AddressList::new(&test, KEY.draws(Stream::Addresses));
        let mut run = BandwidthRun::new(Engine::Fast, machine, &test, &list, KEY, machine.boot(), 0);
        let finished = run.finished(1_000).iter().map(|finished| finished.time.0).collect();
        let trace = BandwidthRun::trace(machine, &test, &list, KEY, machine.boot(), SPAN, &mut || false);
        (trace, finished)
    }

    fn ends(trace: &[Segment], names: &[&str]) -> Vec<u64> {
        let chosen = trace.iter().filter(|one| names.contains(&&*one.name) && one.end_ps < SPAN.0);
        let mut ends: Vec<u64> = chosen.map(|one| one.end_ps).collect();
        ends.sort_unstable();
        ends
    }

    #[test]
    fn a_trace_has_the_transactions_of_the_fast_engine_at_their_times() {
        for machine in [snb(), ib_011_nosp()] {
            for operation in [Operation::BwRd, Operation::BwWr, Operation::BwRdwr] {
                let (trace, finished) = bandwidth(&machine, operation, 64);
                let expected: Vec<u64> = finished.into_iter().filter(|time| *time < SPAN.0).collect();
                assert!(expected.len() > 20, "{operation:?}");
                assert_eq!(ends(&trace, &["move data", "MWr"]), expected, "{operation:?}");
            }
        }
    }

    #[test]
    fn every_read_of_a_trace_is_answered_in_whole_and_tags_are_those_of_the_device() {
        let machine = ib_011_nosp();
        let (trace, _) = bandwidth(&machine, Operation::BwRd, 1000);
        let tlps =
            |name: &'static str| trace.iter().filter(move |one| one.kind == Kind::Tlp && one.name == name);
        for request in tlps("MRd") {
            let mine: Vec<_> = tlps("CplD").filter(|one| one.request == request.request).collect();
            let counts: Vec<i64> = mine.iter().filter_map(|one| one.value).collect();
            let sizes: Vec<u64> = mine.iter().filter_map(|one| one.bytes).collect();
            // The last ones may leave after the span, which they then end.
            let left = request.bytes.unwrap_or(0) - sizes.iter().sum::<u64>();
            assert!(
                left == 0 || mine.last().is_none_or(|last| last.end_ps > SPAN.0 - 200_000),
                "{request:?}"
            );
            assert_eq!(
                counts.first(),
                request.bytes.map(|bytes| bytes as i64).as_ref().filter(|_| !mine.is_empty())
            );
            assert!(mine.iter().all(|one| one.tag == request.tag && one.start_ps > request.end_ps));
        }
        let in_use: Vec<i64> =
            trace.iter().filter(|one| one.name == TAGS).filter_map(|one| one.value).collect();
        assert_eq!(in_use.iter().max(), Some(&i64::from(machine.tags())));
        assert!(in_use.iter().all(|value| *value >= 0));
        assert!(
            trace.iter().any(|one| one.lane == lane::IOMMU)
                && trace.iter().any(|one| one.lane == lane::MEMORY)
        );
        for direction in [lane::UP, lane::DOWN] {
            let on_link: Vec<_> = trace.iter().filter(|one| one.lane == direction).collect();
            assert!(on_link.windows(2).all(|pair| pair[0].end_ps <= pair[1].start_ps), "{direction}");
        }
    }

    #[test]
    fn a_trace_of_latencies_has_each_of_them() {
        for machine in [snb(), ib_011_nosp()] {
            for operation in [Operation::LatRd, Operation::LatWrrd] {
                let test = Test::random_dma(operation, 512, 1 << 20, 4_000);
                let list = AddressList::new(&test, KEY.draws(Stream::Addresses));
                let start = || LatencyRun::new(&machine, &test, &list, KEY, machine.boot(), 0);
                let (mut run, mut begins, mut expected) = (start(), 0, Vec::new());
                while begins < SPAN.0 {
                    let sample = run.step();
                    expected.push(begins + sample.latency.0);
                    begins += sample.period.0;
                }
                expected.retain(|end| *end < SPAN.0);
                assert!(!expected.is_empty());
                let trace = start().trace(SPAN, &mut || false);
                assert_eq!(ends(&trace, &["move data"]), expected, "{operation:?}");
            }
        }
    }
}
