//! The simulated host (link, root complex, memory) for a device that is simulated elsewhere.
//!
//! The device passes its requests in the order in which it sends them, and receives completions and credits
//! with their times of arrival. It need not pass all requests at once: nothing that a request causes reaches
//! the device earlier than [`RootPort::reaction`] after it, so that everything up to then is final.

use crate::cache::history::{State, TestKey};
use crate::link::port::Port;
use crate::machine::Machine;
use crate::root_complex::under_load::{Complex, Written};
use pcie_time::{EventQueue, Picoseconds};
use pcie_wire::{Piece, TlpKind};
use pcie_workload::Operation;

/// A completion that reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number that the device gave its request.
    pub request: u32,
    /// Its bytes, by their offset in the host buffer.
    pub piece: Piece,
    /// Whether it is the last one of its request.
    pub last: bool,
    /// When its last byte arrives.
    pub at: Picoseconds,
}

/// What becomes of a TLP of the device, known as soon as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its last byte has left the device.
    pub left: Picoseconds,
    /// When the root complex receives a read, or is done with a posted TLP: from then on reads and
    /// interrupts find the data of a write.
    pub arrived: Picoseconds,
    /// When its credits are back at the device.
    pub credited: Picoseconds,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Data {
        request: u32,
        piece: Piece,
    },
    /// A write is acknowledged.
    Acknowledge,
    /// The root complex looks for a completion to send.
    Downlink,
}

/// A host and its link to a device.
#[derive(Debug)]
pub struct RootPort<'a> {
    machine: &'a Machine,
    complex: Complex<'a>,
    uplink: Port,
    downlink: Port,
    flight: Picoseconds,
    events: EventQueue<Event>,
    answer_planned: bool,
    operation: Operation,
}

impl<'a> RootPort<'a> {
    /// A host with nothing in flight. `first` numbers the draws, like the first transaction of a simulated
    /// device. `operation` is that of the device: where it writes and reads, acknowledgements occupy the
    /// downlink, and the write of a write-then-read pair is alone in flight.
    #[must_use]
    pub fn new(machine: &'a Machine, key: TestKey, state: State, first: u64, operation: Operation) -> Self {
        let (uplink, downlink) = machine.ports_in(key, first << 8);
        let complex = Complex::new(machine.system(), machine.lines(), key, state, first << 8);
        Self {
            machine,
            complex: if operation.is_latency() { complex.one_at_a_time() } else { complex },
            uplink,
            downlink,
            flight: machine.flight(),
            events: EventQueue::default(),
            answer_planned: false,
            operation,
        }
    }

    /// Time of a byte from the device to the host, fs.
    #[must_use]
    pub fn uplink_byte_fs(&self) -> u64 {
        self.uplink.byte_fs()
    }

    /// Bytes of a device's TLP on the link, for data at an offset of the buffer, before rounding to units.
    #[must_use]
    pub fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        self.machine.tlp_bytes(kind, piece)
    }

    /// Time from a port to the other end of the link.
    #[must_use]
    pub fn flight(&self) -> Picoseconds {
        self.flight
    }

    /// When the device's port can send the next TLP.
    #[must_use]
    pub fn uplink_free_at(&self) -> Picoseconds {
        self.uplink.free_at()
    }

    /// The least time from when a request can be sent until anything that it causes reaches the device.
    #[must_use]
    pub fn reaction(&self) -> Picoseconds {
        let complex = &self.machine.system.host.root_complex;
        let both = matches!(self.operation, Operation::LatWrrd | Operation::BwRdwr);
        let acknowledged = both && self.machine.downlink_dllp_bytes() > 0;
        let least = if acknowledged { Picoseconds::ZERO } else { self.complex.least_read() };
        self.flight + (least + self.flight).min(Picoseconds::from_ns(complex.credit_return_ns))
    }

    /// Sends a read request that is complete at `ready`.
    pub fn read(&mut self, request: u32, piece: Piece, ready: Picoseconds) -> Sent {
        // In a stream, with the DLLPs for its completions that the device's own do not cover; those of a request that
        // is alone follow it.
        let units = if self.operation.is_latency() {
            self.uplink.in_units(self.machine.tlp_bytes(TlpKind::MemoryRead, piece))
        } else {
            self.machine.request_units(&self.uplink, piece)
        };
        let left = self.uplink.send_units(ready, units);
        let arrived = left + self.flight;
        let (credited, data) = self.complex.admit(piece, arrived);
        self.events.push(data, Event::Data { request, piece });
        Sent { left, arrived, credited }
    }

    /// Sends a write that is complete at `ready`.
    pub fn write(&mut self, piece: Piece, ready: Picoseconds) -> Sent {
        let left = self.send_posted(piece, ready);
        let written = match self.operation {
            Operation::LatWrrd => self.complex.write_alone(piece, left + self.flight),
            _ => self.complex.write(piece, left + self.flight),
        };
        Self::sent(left, written)
    }

    /// Sends a write with the relaxed-ordering attribute: it may pass earlier writes in a root complex that has a pool
    /// for them. Reads and messages behind it wait for it all the same.
    pub fn write_relaxed(&mut self, piece: Piece, ready: Picoseconds) -> Sent {
        let left = self.send_posted(piece, ready);
        Self::sent(left, self.complex.write_relaxed(piece, left + self.flight))
    }

    fn sent(left: Picoseconds, Written { passed, credits_back }: Written) -> Sent {
        Sent { left, arrived: passed, credited: credits_back }
    }

    /// Sends an interrupt or a message that is complete at `ready`: four bytes that pass behind all writes so
    /// far, and touch no memory.
    pub fn message(&mut self, ready: Picoseconds) -> Sent {
        let left = self.send_posted(Piece { address: 0, length: 4 }, ready);
        Self::sent(left, self.complex.pass_message(left + self.flight))
    }

    /// Sends a posted TLP, which the root port acknowledges; returns when its last byte has left.
    fn send_posted(&mut self, piece: Piece, ready: Picoseconds) -> Picoseconds {
        let left = self.uplink.send(ready, self.machine.tlp_bytes(TlpKind::MemoryWrite, piece));
        self.events.push(left + self.flight, Event::Acknowledge);
        left
    }

    /// Appends, in order, the answers that reach the device up to `reaction` after `given`. The device must
    /// have passed all requests up to `given`. Later answers reach the device after that time.
    pub fn settle(&mut self, given: Picoseconds, answers: &mut Vec<Answer>) {
        let limit = (given + self.reaction()).since(self.flight);
        while let Some(at) = self.events.next_time() {
            if at > limit {
                return;
            }
            if let Some((now, event)) = self.events.pop() {
                self.handle(event, now, answers);
            }
        }
    }

    /// Time before which no further answer arrives without new requests; `None` if nothing is in flight.
    #[must_use]
    pub fn silent_until(&self) -> Option<Picoseconds> {
        self.events.next_time().map(|at| at + self.flight)
    }

    fn handle(&mut self, event: Event, now: Picoseconds, answers: &mut Vec<Answer>) {
        match event {
            Event::Data { request, piece } => {
                self.complex.data_ready(request, piece);
                self.plan_answer(now);
            }
            Event::Acknowledge => {
                self.downlink.send_dllps(now, self.machine.downlink_dllp_bytes());
            }
            Event::Downlink => {
                self.answer_planned = false;
                self.answer(now, answers);
            }
        }
    }

    /// Plans a look of the root complex for a completion, unless one is planned.
    fn plan_answer(&mut self, at: Picoseconds) {
        if !self.answer_planned {
            self.answer_planned = true;
            self.events.push_ranked(at, 1, Event::Downlink);
        }
    }

    fn answer(&mut self, now: Picoseconds, answers: &mut Vec<Answer>) {
        if self.downlink.free_at() > now {
            self.plan_answer(self.downlink.free_at());
            return;
        }
        let Some((request, piece, last)) = self.complex.next_completion(true) else { return };
        let left = self.downlink.send(now, self.machine.tlp_bytes(TlpKind::CompletionWithData, piece));
        answers.push(Answer { request, piece, last, at: left + self.flight });
        self.plan_answer(self.downlink.free_at().max(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;

    fn port(machine: &Machine, operation: Operation) -> RootPort<'_> {
        RootPort::new(machine, TestKey { seed: 1, test: 0 }, machine.boot(), 0, operation)
    }

    fn answers(port: &mut RootPort<'_>) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(until) = port.silent_until() {
            port.settle(until, &mut answers);
        }
        answers
    }

    #[test]
    fn answers_are_complete_ordered_and_not_before_the_reaction_time() {
        let machine = snb();
        for operation in [Operation::BwRd, Operation::BwRdwr, Operation::LatRd] {
            let mut port = port(&machine, operation);
            let ready = Picoseconds::from_ns(1000.0);
            let reaction = port.reaction();
            for request in 0..8 {
                let piece = Piece { address: u64::from(request) * 4096 + 60, length: 300 };
                assert!(port.read(request, piece, ready).credited >= ready + reaction);
            }
            let answers = answers(&mut port);
            assert!(answers.iter().all(|answer| answer.at >= ready + reaction));
            assert!(answers.is_sorted_by_key(|answer| answer.at));
            for request in 0..8 {
                let mine: Vec<_> = answers.iter().filter(|answer| answer.request == request).collect();
                assert_eq!(mine.iter().map(|answer| answer.piece.length).sum::<u32>(), 300);
                assert_eq!(mine.iter().position(|answer| answer.last), Some(mine.len() - 1));
            }
        }
    }

    #[test]
    fn answers_do_not_depend_on_the_number_of_settle_calls() {
        let machine = snb();
        let requests = (0..40).map(|request| {
            (
                request,
                Piece { address: u64::from(request) * 640, length: 512 },
                Picoseconds(u64::from(request) * 7_000),
            )
        });
        let mut at_once = port(&machine, Operation::BwRd);
        requests.clone().for_each(|(request, piece, ready)| {
            at_once.read(request, piece, ready);
        });
        let mut bit_by_bit = port(&machine, Operation::BwRd);
        let mut found = Vec::new();
        for (request, piece, ready) in requests {
            bit_by_bit.settle(ready, &mut found);
            bit_by_bit.read(request, piece, ready);
        }
        found.extend(answers(&mut bit_by_bit));
        assert_eq!(found, answers(&mut at_once));
    }

    #[test]
    fn a_message_does_not_pass_the_writes_before_it() {
        let machine = snb();
        let mut port = port(&machine, Operation::BwRdwr);
        let alone = port.message(Picoseconds::ZERO);
        assert_eq!(alone.arrived, alone.left + port.flight());
        let writes = [0, 4096, 8192].map(|address| port.write(Piece { address, length: 256 }, alone.left));
        let behind = port.message(alone.left);
        assert!(behind.arrived >= writes[2].arrived);
        assert!(behind.credited > behind.arrived);
    }

    #[test]
    fn acknowledgements_take_what_the_link_demands_where_the_profile_states_less() {
        let read_beside_writes = |dllp_bytes| {
            let mut system = snb().system().clone();
            (system.link.generation, system.link.lanes) = (1, 1);
            system.host.root_complex.downlink_dllp_bytes = dllp_bytes;
            let machine = Machine::new(system).unwrap();
            let demanded = machine.downlink_dllp_bytes();
            let mut port = port(&machine, Operation::BwRdwr);
            port.read(0, Piece { address: 0, length: 512 }, Picoseconds::ZERO);
            for number in 1..8 {
                port.write(Piece { address: 256 * number, length: 256 }, Picoseconds::ZERO);
            }
            (demanded, answers(&mut port).last().unwrap().at)
        };
        let (demanded, at) = read_beside_writes(0);
        assert!(demanded > 0);
        assert_eq!(at, read_beside_writes(demanded).1);
        assert!(at < read_beside_writes(demanded + 64).1);
    }

    #[test]
    fn a_relaxed_write_passes_those_that_wait_for_memory_but_no_read_passes_it() {
        let mut system = snb().system().clone();
        system.iommu = crate::profile::IommuMode::FourKibPages;
        system.host.root_complex.write_pool_lines = Some(64);
        let machine = Machine::new(system).unwrap();
        let piece = |page: u64| Piece { address: 4096 * page, length: 64 };
        let mut port = port(&machine, Operation::BwRdwr);
        let known = port.write(piece(0), Picoseconds::ZERO);
        let later = known.arrived + Picoseconds::from_ns(2000.0);
        // The page of the first needs a walk, that of the second is known.
        let walked = port.write(piece(1), later);
        let relaxed = port.write_relaxed(piece(0), later);
        let strict = port.write(piece(0), later);
        assert!(relaxed.arrived < walked.arrived, "{relaxed:?} {walked:?}");
        assert!(strict.arrived >= walked.arrived);
        port.read(0, piece(0), later);
        assert!(answers(&mut port).last().unwrap().at > walked.arrived);
    }

    #[test]
    fn read_waits_for_the_write_of_its_pair() {
        let machine = snb();
        let piece = Piece { address: 0, length: 64 };
        let mut alone = port(&machine, Operation::LatRd);
        alone.read(0, piece, Picoseconds::ZERO);
        let mut pair = port(&machine, Operation::LatWrrd);
        pair.write(piece, Picoseconds::ZERO);
        pair.read(0, piece, Picoseconds::ZERO);
        let arrival = |port: &mut RootPort<'_>| answers(port)[0].at;
        assert!(arrival(&mut pair) > arrival(&mut alone) + Picoseconds::from_ns(20.0));
    }
}
