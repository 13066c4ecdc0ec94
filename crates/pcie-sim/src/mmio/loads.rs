//! Loads, and everything else that waits for an answer.

use pcie_model::mmio::{Access, Instruction, Mmio, MmioValues};
use pcie_time::{EventQueue, Picoseconds};

use super::{Events, Steps, TlpKind, downlink, ns, uplink};
use crate::link::port::Port;
use crate::record::REGISTERS;
use pcie_trace::{Recorder, Tlp, lane};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request of a core reaches the root port.
    Request { core: usize, last: bool },
    /// The store of a read-modify-write reaches the root port.
    Store { last: bool },
    /// The device has an answer.
    Answer { core: usize, last: bool },
    /// An answer reaches the core.
    Answered { core: usize, last: bool },
    /// A core asks for its next answer.
    Next(usize),
}

/// A run of loads.
pub(super) struct Loads<'a> {
    mmio: &'a Mmio,
    access: &'a Access,
    values: MmioValues,
    events: EventQueue<Event>,
    now: Picoseconds,
    /// Requests of each core that are not made yet.
    left: Vec<u64>,
    downlink: Port,
    uplink: Port,
    steps: Steps,
    /// The trace, if one is asked for; when each request without an answer was sent, and requests and answers so far.
    record: Option<Box<Recorder>>,
    open: VecDeque<Picoseconds>,
    sent: u64,
    answered: u64,
}

impl<'a> Loads<'a> {
    pub(super) fn new(mmio: &'a Mmio, access: &'a Access, values: &MmioValues) -> Self {
        let window = match access.instruction {
            Instruction::StreamingLoad => u64::from(values.streaming_lines),
            _ => 1,
        };
        let count = access.pieces(values);
        let mut run = Self {
            mmio,
            access,
            values: *values,
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            left: vec![count; access.cores as usize],
            downlink: downlink(&mmio.link, values),
            uplink: uplink(&mmio.link),
            steps: Steps::of(access.cores, window),
            record: None,
            open: VecDeque::new(),
            sent: 0,
            answered: 0,
        };
        for _ in 0..window.min(count) {
            for core in 0..run.left.len() {
                run.ask(core);
            }
        }
        run
    }

    fn half_ns(&self) -> f64 {
        self.access.host_ns(&self.values) / 2.0
    }

    fn bytes(&self, last: bool) -> u32 {
        if last { self.access.last_bytes(&self.values) } else { self.access.piece_bytes(&self.values) }
    }

    /// A core makes its next request, if it has one left.
    fn ask(&mut self, core: usize) {
        if self.left[core] == 0 {
            return;
        }
        self.left[core] -= 1;
        let last = self.left[core] == 0;
        self.events.push(self.now + ns(self.half_ns()), Event::Request { core, last });
    }

    fn requested(&mut self, core: usize, last: bool) {
        let bytes = self.bytes(last);
        let (request, service_ns) = match self.access.instruction {
            Instruction::EnqueueStore => {
                (self.mmio.tlp_bytes(TlpKind::MemoryWrite, bytes), self.values.answer_ns)
            }
            Instruction::Exchange => (self.mmio.tlp_bytes(TlpKind::MemoryWrite, bytes), self.values.poll_ns),
            _ => (self.mmio.tlp_bytes(TlpKind::MemoryRead, 0), self.values.answer_ns),
        };
        let start = self.downlink.free_at().max(self.now);
        let left = self.downlink.send(self.now, request);
        let name = match self.access.instruction {
            Instruction::EnqueueStore => "DMWr",
            Instruction::Exchange => "MWr",
            _ => "MRd",
        };
        self.note((lane::DOWN, name), (start, left), self.sent, bytes);
        self.open.push_back(self.now);
        self.sent += 1;
        let service = ns(service_ns + self.access.flight_ns(&self.values));
        self.events.push(left + service, Event::Answer { core, last });
    }

    fn answer(&mut self, core: usize, last: bool) {
        let bytes = self.bytes(last);
        let answer = match self.access.instruction {
            Instruction::EnqueueStore => self.mmio.tlp_bytes(TlpKind::CompletionWithData, 0),
            Instruction::Exchange => self.mmio.tlp_bytes(TlpKind::MemoryWrite, bytes),
            _ => self.mmio.tlp_bytes(TlpKind::CompletionWithData, bytes),
        };
        let start = self.uplink.free_at().max(self.now);
        let left = self.uplink.send(self.now, answer);
        let name = match self.access.instruction {
            Instruction::EnqueueStore => "Cpl",
            Instruction::Exchange => "MWr",
            _ => "CplD",
        };
        self.note((lane::UP, name), (start, left), self.answered, bytes);
        if let (Some(record), Some(asked)) = (&mut self.record, self.open.pop_front()) {
            record.phase(lane::DEVICE, "answer", (asked, self.now), self.answered, None);
            record.phase(lane::CORE, "wait for the answer", (asked, left), self.answered, None);
        }
        self.answered += 1;
        self.steps.moved[core].push(self.now);
        let back = ns(self.access.flight_ns(&self.values) + self.half_ns());
        self.events.push(left + back, Event::Answered { core, last });
    }

    fn note(
        &mut self,
        (lane, name): (&'static str, &'static str),
        (start, end): (Picoseconds, Picoseconds),
        request: u64,
        bytes: u32,
    ) {
        let Some(record) = &mut self.record else { return };
        let is_completion = matches!(name, "Cpl" | "CplD");
        record.tlp(Tlp {
            lane,
            name,
            start,
            end,
            request,
            tag: (name != "MWr").then_some((request % 256) as u32),
            address: REGISTERS + request * u64::from(bytes) % (1 << 20),
            bytes: if name == "Cpl" { 0 } else { bytes },
            byte_count: is_completion.then_some(bytes),
        });
    }

    fn answered(&mut self, core: usize, last: bool) {
        self.steps.core = self.steps.core.max(self.now);
        self.steps.done = self.steps.core;
        if self.access.instruction == Instruction::ReadModifyWrite {
            let stored = self.now + ns(self.values.uncached_ns);
            self.steps.core = self.steps.core.max(stored);
            self.steps.done = self.steps.core;
            self.events.push(stored + ns(self.half_ns()), Event::Store { last });
            self.events.push(stored, Event::Next(core));
        } else {
            self.ask(core);
        }
    }
}

impl Events for Loads<'_> {
    fn next_event(&mut self) -> bool {
        let Some((time, event)) = self.events.pop() else { return false };
        self.now = time;
        match event {
            Event::Request { core, last } => self.requested(core, last),
            Event::Store { last } => {
                let bytes = self.mmio.tlp_bytes(TlpKind::MemoryWrite, self.bytes(last));
                self.downlink.send(self.now, bytes);
            }
            Event::Answer { core, last } => self.answer(core, last),
            Event::Answered { core, last } => self.answered(core, last),
            Event::Next(core) => self.ask(core),
        }
        true
    }

    fn outcome(&self) -> Steps {
        self.steps.clone()
    }

    fn recorder(&mut self) -> &mut Option<Box<Recorder>> {
        &mut self.record
    }

    fn now(&self) -> Picoseconds {
        self.now
    }
}
