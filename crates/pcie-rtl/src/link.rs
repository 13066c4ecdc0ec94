//! The core on the simulated host for the duration of a test: a transport, and the passing of time.

use crate::credits::Ledger;
use crate::memory::Memory;
use crate::process::{Exchanged, Process};
use crate::wire::{Access, Completion, Credit, Items, Store, Surroundings};
use pcie_driver::{Transport, TransportError};
use pcie_port::{Completion as Answer, Kind, Port, Tlp, Units};
use pcie_sim::profile::Credits;
use pcie_time::Picoseconds;
use pcie_wire::{Piece, TlpKind};

/// Transmit buffer of the hard block in link time, fs: about two full TLPs, as in the simulated devices.
const BACKLOG_FS: u32 = 80_000_000;
/// Time limit of register accesses, clocks.
const ACCESS_CLOCKS_MAX: u64 = 1 << 20;

/// A running core and its clock, which outlive a test.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) clock: u64,
    /// Whether the initial credits were sent.
    pub(crate) has_credits: bool,
    pub(crate) ledger: Ledger,
}

/// The core, the link and the host.
pub(crate) struct Link<'a> {
    running: &'a mut Running,
    port: Port,
    memory: &'a mut Memory,
    surroundings: Surroundings,
    clock_ps: u64,
    items: Items,
    exchanged: Exchanged,
    answers: Vec<Answer>,
    /// Whether a test has ended since the last `relax`.
    ended: bool,
}

impl<'a> Link<'a> {
    pub(crate) fn new(running: &'a mut Running, port: Port, memory: &'a mut Memory) -> Self {
        let clock_ps = u64::from(running.process.hello().clock_ps);
        let react = (port.reaction().0 / clock_ps) as u32;
        let mut items = Items::default();
        if !std::mem::replace(&mut running.has_credits, true) {
            let complex = &port.system().host.root_complex;
            let advertised = Credit {
                clock: 0,
                posted_headers: credits(complex.posted_header_credits),
                posted_data: credits(complex.posted_data_credits),
                non_posted_headers: credits(complex.non_posted_header_credits),
            };
            running.ledger.give(&advertised);
            items.credits.push(advertised);
        }
        Self {
            surroundings: surroundings(&port, react.max(1)),
            running,
            port,
            memory,
            clock_ps,
            items,
            exchanged: Exchanged::default(),
            answers: Vec::new(),
            ended: false,
        }
    }

    fn now(&self) -> Picoseconds {
        Picoseconds(self.running.clock * self.clock_ps)
    }

    /// The first clock that starts at a time or later.
    fn clock_at(&self, time: Picoseconds) -> u64 {
        time.0.div_ceil(self.clock_ps)
    }

    /// Runs until a clock, until all register accesses are done or, without any, a test ends. Appends values
    /// read.
    fn run(&mut self, until: u64, values: &mut Vec<u32>) -> Result<(), TransportError> {
        let accesses = !self.items.accesses.is_empty();
        while self.running.clock < until {
            self.port.settle(self.now(), &mut self.answers);
            self.answer();
            let silent = self.port.silent_until().map_or(u64::MAX, |time| time.0 / self.clock_ps);
            let next = until.min(silent.max(self.running.clock + 1));
            let ran = self
                .running
                .process
                .exchange(next, &self.surroundings, &self.items, &mut self.exchanged)
                .map_err(|error| TransportError(error.to_string()))?;
            self.running.clock = ran.clock;
            self.items = Items::default();
            self.take_requests()?;
            values.extend(&self.exchanged.responses);
            self.ended |= ran.ended_tests > 0;
            if if accesses { ran.accesses_left == 0 } else { self.ended } {
                break;
            }
        }
        Ok(())
    }

    /// Turns the host's answers into completions for the core.
    fn answer(&mut self) {
        for answer in std::mem::take(&mut self.answers) {
            let first = answer.offset & !3;
            let end = (answer.offset + u64::from(answer.length)).next_multiple_of(4);
            let mut data = vec![0; (end - first) as usize];
            self.memory.read(first, &mut data);
            self.items.completions.push(Completion {
                clock: self.clock_at(answer.at),
                tag: answer.tag,
                byte_count: answer.byte_count as u16,
                lower_address: (answer.offset & 127) as u8,
                data,
            });
        }
    }

    /// Carries out the core's requests.
    fn take_requests(&mut self) -> Result<(), TransportError> {
        let requests = std::mem::take(&mut self.exchanged.requests);
        for (request, data) in &requests {
            let (lead, trail) = request.left_out();
            let tlp = Tlp {
                kind: if request.write { Kind::Write } else { Kind::Read },
                tag: request.tag & 255,
                address: request.address.saturating_add(lead.into()),
                length: u32::from(request.dwords) * 4 - lead - trail,
                relaxed: false,
            };
            let ready = Picoseconds((request.last_clock + 1) * self.clock_ps);
            let refused = |error| TransportError(format!("the core sent a wrong request: {error}"));
            self.running.ledger.take(&tlp, request.last_clock).map_err(TransportError)?;
            let sent = self.port.submit(&tlp, ready).map_err(refused)?;
            if let (Kind::Write, Some(offset)) = (tlp.kind, self.port.buffer().offset(tlp.address)) {
                let start = data.start + lead as usize;
                self.memory.write(offset, &self.exchanged.data[start..start + tlp.length as usize]);
            }
            let Units { posted_headers, posted_data, non_posted_headers } = Units::of(&tlp);
            let clock = self.clock_at(sent.credited);
            let credit = Credit { clock, posted_headers, posted_data, non_posted_headers };
            self.running.ledger.give(&credit);
            self.items.credits.push(credit);
        }
        self.exchanged.requests = requests;
        Ok(())
    }

    fn access(
        &mut self,
        accesses: impl Iterator<Item = (u32, Option<u32>)>,
        reads: usize,
    ) -> Result<Vec<u32>, TransportError> {
        let clock = self.running.clock;
        self.items.accesses.extend(accesses.map(|(address, value)| Access { clock, address, value }));
        let mut values = Vec::with_capacity(reads);
        self.run(clock + ACCESS_CLOCKS_MAX, &mut values)?;
        if values.len() < reads {
            return Err(TransportError("the core does not answer register reads".into()));
        }
        Ok(values)
    }
}

/// Credits as a number; infinite ones as more than can be in use.
fn credits(credits: Credits) -> u32 {
    credits.count().unwrap_or(1 << 30)
}

fn surroundings(port: &Port, react: u32) -> Surroundings {
    let system = port.system();
    let code = |bytes: u32| (bytes.ilog2() - 7) as u8;
    let word = Piece { address: 0, length: 4 };
    Surroundings {
        react,
        max_payload: code(system.link.mps_bytes),
        max_read_request: code(system.link.mrrs_bytes),
        byte_fs: port.uplink_byte_fs() as u32,
        read_bytes: port.tlp_bytes(TlpKind::MemoryRead, word),
        write_bytes: port.tlp_bytes(TlpKind::MemoryWrite, word) - word.length,
        unit_bytes: system.device.uplink_quantum_bytes.max(1),
        backlog_fs: BACKLOG_FS,
    }
}

impl Transport for Link<'_> {
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        let mut value = [0];
        self.read_block(address, &mut value)?;
        Ok(value[0])
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        self.write_all(&[(address, value)])
    }

    fn read_block(&mut self, address: u32, values: &mut [u32]) -> Result<(), TransportError> {
        let addresses = (address..).step_by(4).take(values.len());
        let read = self.access(addresses.map(|address| (address, None)), values.len())?;
        values.copy_from_slice(&read);
        Ok(())
    }

    fn write_all(&mut self, writes: &[(u32, u32)]) -> Result<(), TransportError> {
        self.access(writes.iter().map(|&(address, value)| (address, Some(value))), 0).map(drop)
    }

    fn relax(&mut self, time_ns: u64) -> Result<(), TransportError> {
        if !self.ended {
            let clocks = (time_ns * 1000).div_ceil(self.clock_ps);
            self.run(self.running.clock + clocks, &mut Vec::new())?;
        }
        self.ended = false;
        Ok(())
    }

    /// Takes effect with the next register access, or as time passes.
    fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError> {
        self.items.stores.push(Store {
            clock: self.running.clock,
            bar: 2,
            first_be: 15,
            last_be: 15,
            offset,
            data: bytes.to_vec(),
        });
        Ok(())
    }

    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        self.memory.read(offset, bytes);
        Ok(())
    }

    fn buffer(&self) -> (&[u64], u64) {
        (&self.port.system().chunk_addresses, self.port.system().chunk_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_driver::{Core, Messages};
    use pcie_sim::{Machine, TestKey};
    use pcie_workload::Operation;
    use std::path::Path;
    use std::sync::Arc;

    /// The core on the host of `snb`, if it is built.
    fn with_link(check: impl FnOnce(Link<'_>)) {
        let program = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/pcielab-rtl"));
        if !program.exists() {
            eprintln!("skipped: {} is not there: make rtl", program.display());
            return;
        }
        let system = serde_json::from_str(include_str!("../tests/fixtures/snb.json")).unwrap();
        let machine = Arc::new(Machine::new(system).unwrap());
        let process = Process::start(program).unwrap();
        let mut running = Running { process, clock: 0, has_credits: false, ledger: Ledger::default() };
        let mut memory = Memory::default();
        let state = machine.boot();
        let port = Port::new(machine, TestKey { seed: 1, test: 0 }, state, Operation::BwRdwr);
        check(Link::new(&mut running, port, &mut memory));
    }

    /// A frame with its length.
    fn message(length: usize, fill: u8) -> Vec<u8> {
        let mut message = vec![fill; length];
        message[..4].copy_from_slice(&(length as u32).to_le_bytes());
        message
    }

    #[test]
    fn messages_return_as_stored() {
        with_link(|link| {
            let mut messages = Messages::open(Core::open(link).unwrap()).unwrap();
            let mut spoilt = message(200, 7);
            spoilt[64..72].copy_from_slice(&0xdead_beef_cafe_beef_u64.to_le_bytes());
            let mut sent = vec![(0, true, message(4, 1)), (1, true, message(56, 2)), (0, false, spoilt)];
            // More than the queues, their rings and the record ring hold at once.
            sent.extend((0..200).map(|n| (n % 4, true, message(100 + 7 * n as usize, n as u8))));
            let mut left = Vec::new();
            for (queue, _, message) in &sent {
                for attempt in 0.. {
                    assert!(attempt < 10_000, "queue {queue} stays full");
                    let stored = messages.send(*queue, message).unwrap();
                    left.extend(messages.take().unwrap());
                    if stored {
                        break;
                    }
                }
            }
            for _ in 0..10_000 {
                if left.len() < sent.len() {
                    left.extend(messages.take().unwrap());
                }
            }
            assert!(left.is_sorted_by_key(|left| left.clock));
            for queue in 0..4 {
                let of = |all: &[(u32, bool, Vec<u8>)]| {
                    all.iter().filter(|(of, ..)| *of == queue).cloned().collect::<Vec<_>>()
                };
                let found: Vec<_> =
                    left.iter().map(|left| (left.queue, left.intact, left.bytes.clone())).collect();
                assert_eq!(of(&found), of(&sent), "queue {queue}");
            }
        });
    }
}
