//! Stores through the root port's queue to a device that takes them.

use std::collections::VecDeque;

use pcie_model::mmio::{Access, Instruction, Mmio, MmioValues};
use pcie_time::{EventQueue, Picoseconds};

use super::{Events, Steps, TlpKind, downlink, ns};
use crate::link::port::Port;
use crate::record::REGISTERS;
use pcie_trace::{Recorder, Tlp as Recorded, lane};

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A core has issued the stores of a TLP.
    Issued(usize),
    /// A write-combining buffer of a core can be filled again.
    Released(usize),
    /// The port may send.
    Port,
    /// The device has room for one more TLP.
    Credit,
}

#[derive(Clone, Debug)]
struct Core {
    /// TLPs whose stores are not issued yet.
    left: u64,
    free_buffers: u64,
    /// Whether it fills a buffer.
    fills: bool,
}

/// A TLP on its way: its core, and whether it is the core's last.
#[derive(Clone, Copy, Debug)]
struct Tlp {
    core: usize,
    last: bool,
}

/// A run of stores.
pub(super) struct Stores<'a> {
    mmio: &'a Mmio,
    access: &'a Access,
    values: MmioValues,
    events: EventQueue<Event>,
    now: Picoseconds,
    cores: Vec<Core>,
    combined: bool,
    /// Issued TLPs that the port's queue has no room for.
    waiting: VecDeque<Tlp>,
    queue: VecDeque<Tlp>,
    queue_most: usize,
    credits: u64,
    port: Port,
    /// When the port is looked at next.
    planned: Option<Picoseconds>,
    device_free: Picoseconds,
    steps: Steps,
    /// The trace, if one is asked for, and TLPs so far.
    record: Option<Box<Recorder>>,
    sent: u64,
}

impl<'a> Stores<'a> {
    pub(super) fn new(mmio: &'a Mmio, access: &'a Access, values: &MmioValues) -> Self {
        let piece = access.piece_bytes(values);
        let held = |bytes: u32| u64::from((bytes / piece).max(1));
        let combined = access.instruction == Instruction::CombinedStore;
        let buffers = if combined { u64::from(values.buffers) } else { 1 };
        let core = Core { left: access.pieces(values), free_buffers: buffers, fills: false };
        let mut run = Self {
            mmio,
            access,
            values: *values,
            events: EventQueue::default(),
            now: Picoseconds::ZERO,
            cores: vec![core; access.cores as usize],
            combined,
            waiting: VecDeque::new(),
            queue: VecDeque::new(),
            queue_most: held(values.queue_bytes) as usize,
            credits: held(values.posted_bytes),
            port: downlink(&mmio.link, values),
            planned: None,
            device_free: Picoseconds::ZERO,
            steps: Steps::of(access.cores, buffers),
            record: None,
            sent: 0,
        };
        for core in 0..run.cores.len() {
            run.issue(core);
        }
        run
    }

    fn bytes(&self, last: bool) -> u32 {
        if last { self.access.last_bytes(&self.values) } else { self.access.piece_bytes(&self.values) }
    }

    /// A core starts the stores of its next TLP, if it has a free buffer.
    fn issue(&mut self, core: usize) {
        let state = &mut self.cores[core];
        if state.left == 0 || state.free_buffers == 0 || state.fills {
            return;
        }
        state.free_buffers -= 1;
        state.fills = true;
        let last = state.left == 1;
        let widest = self.mmio.core.loads.widest_bytes;
        // A doorbell leaves at once; only the next store has to wait.
        let doorbell = self.access.instruction == Instruction::Doorbell;
        let time = self.access.issue_ns(&self.values, widest, self.bytes(last));
        let time = if doorbell { 0.0 } else { time };
        self.events.push(self.now + ns(time), Event::Issued(core));
    }

    fn issued(&mut self, core: usize) {
        let state = &mut self.cores[core];
        state.left -= 1;
        state.fills = false;
        self.waiting.push_back(Tlp { core, last: state.left == 0 });
        self.accept();
        self.issue(core);
    }

    /// Moves issued TLPs into the port's queue, while it has room.
    fn accept(&mut self) {
        while self.queue.len() < self.queue_most {
            let Some(tlp) = self.waiting.pop_front() else { break };
            self.queue.push_back(tlp);
            if self.combined {
                self.events.push(self.now + ns(self.values.release_ns), Event::Released(tlp.core));
            } else {
                // The next store follows once this one has left the core.
                self.cores[tlp.core].free_buffers += 1;
                self.issue(tlp.core);
            }
            if tlp.last {
                let doorbell = self.access.instruction == Instruction::Doorbell;
                let after = if doorbell { ns(self.values.uncached_ns) } else { Picoseconds::ZERO };
                self.steps.core = self.steps.core.max(self.now + after);
            }
            self.send();
        }
    }

    /// Sends the oldest TLP, if the link is free and the device has room.
    fn send(&mut self) {
        if self.queue.is_empty() || self.credits == 0 {
            return;
        }
        if self.port.free_at() > self.now {
            if self.planned != Some(self.port.free_at()) {
                self.planned = Some(self.port.free_at());
                self.events.push(self.port.free_at(), Event::Port);
            }
            return;
        }
        let Some(tlp) = self.queue.pop_front() else { return };
        self.credits -= 1;
        let bytes = self.bytes(tlp.last);
        let left = self.port.send(self.now, self.mmio.tlp_bytes(TlpKind::MemoryWrite, bytes));
        let flight = ns(self.access.flight_ns(&self.values));
        let drain = ns(f64::from(bytes) * self.values.drain_byte_ns);
        let taken = self.device_free.max(left + flight);
        if let Some(record) = &mut self.record {
            record.tlp(Recorded {
                lane: lane::DOWN,
                name: "MWr",
                start: self.now,
                end: left,
                request: self.sent,
                tag: None,
                address: REGISTERS + self.sent * u64::from(self.access.piece_bytes(&self.values)) % (1 << 20),
                bytes,
                byte_count: None,
            });
            record.phase(lane::DEVICE, "take a store", (taken, taken + drain), self.sent, None);
            record.change("posted header credits in use", self.now, 1);
            record.change("posted header credits in use", taken + drain + flight, -1);
        }
        self.sent += 1;
        self.device_free = taken + drain;
        self.steps.moved[tlp.core].push(self.device_free);
        let half = ns(self.access.host_ns(&self.values) / 2.0);
        self.steps.done = self.steps.done.max(self.device_free + half);
        self.events.push(self.device_free + flight, Event::Credit);
        self.send();
    }
}

impl Events for Stores<'_> {
    fn next_event(&mut self) -> bool {
        let Some((time, event)) = self.events.pop() else { return false };
        self.now = time;
        match event {
            Event::Issued(core) => self.issued(core),
            Event::Released(core) => {
                self.cores[core].free_buffers += 1;
                self.issue(core);
            }
            Event::Port => {
                self.send();
                self.accept();
            }
            Event::Credit => {
                self.credits += 1;
                self.send();
                self.accept();
            }
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
