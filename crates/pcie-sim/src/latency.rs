//! Latency tests: one transaction in flight, so each is computed from end to end.
//!
//! A read crosses the link, finds its lines in cache or memory, and returns as completions; then the device's
//! engine moves its data. A write-then-read pair sends the write first; the read cannot pass it.

mod card;
mod chance;
mod host;
mod plan;
mod watch;

use crate::cache::history::{Footprint, State, TestKey};
use crate::machine::Machine;
use crate::profile::CommandPath;
use crate::root_complex::idle::{Alone, Sleeper};
use chance::Chance;
use host::{Host, Passage};
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_workload::{AddressList, Offsets, Operation, Path, Test};
use plan::Plans;
use watch::{Unwatched, Watch};

/// The times of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From issue to completion.
    pub latency: Picoseconds,
    /// The latency in ticks of the device's timer.
    pub ticks: u64,
    /// From one issue to the next, loop time included.
    pub period: Picoseconds,
}

/// Flits and TLPs of a transaction whose damage is drawn: 256, and their draws are those of later transactions beyond.
const ITEMS_BITS: u32 = 8;

/// A running latency test.
#[derive(Debug)]
pub struct LatencyRun<'a> {
    machine: &'a Machine,
    test: &'a Test,
    offsets: Offsets<'a>,
    footprint: Footprint<'a>,
    next: u64,
    draws: Draws,
    sleeper: Option<Sleeper<'a>>,
    plans: Plans<'a>,
    host: Host<'a>,
    window: Option<WindowRegister>,
    /// From the end of one transaction to the start of the next.
    loop_time: Picoseconds,
    /// In flit mode, or where TLPs can be sent again, how far the flits of both directions are when a transaction
    /// starts.
    flit_phases: Option<Draws>,
    /// The device's time for a transaction of any size.
    overhead: Picoseconds,
}

/// The movable window of the command path.
#[derive(Clone, Copy, Debug)]
struct WindowRegister {
    window_bytes: u64,
    /// Index of the part of memory that it covers; `None` before the first transaction.
    at: Option<u64>,
    /// Loop time of a transaction that moves it.
    loop_time: Picoseconds,
}

impl<'a> LatencyRun<'a> {
    /// Starts at transaction `first`; `state` is the machine's state after the transactions before.
    #[must_use]
    pub fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> Self {
        debug_assert!(test.operation.is_latency(), "{:?} is not a latency operation", test.operation);
        debug_assert!(first < test.transactions, "transaction {first} is beyond the end of the test");
        let system = &machine.system;
        let (uplink, downlink) = machine.ports_in(key, first);
        let command = system.device.command.as_ref().filter(|_| test.path == Path::Command);
        let (loop_ns, overhead_ns) = match command {
            Some(command) => (command_loop_ns(command, test), command.read_overhead_ns),
            None => (system.device.dma.loop_ns, system.device.dma.read_overhead_ns),
        };
        let window = command.and_then(|command| command.bar_window.as_ref()).map(|window| {
            let window_bytes = window.window_bytes.max(1);
            let at = first.checked_sub(1).map(|before| list.offset(before) / window_bytes);
            WindowRegister { window_bytes, at, loop_time: Picoseconds::from_ns(loop_ns + window.move_ns) }
        });
        Self {
            machine,
            test,
            offsets: Offsets::new(list, first),
            footprint: Footprint::new(machine.lines(), test, list),
            next: first,
            draws: key.draws(Stream::Transaction),
            sleeper: system.host.idle.as_ref().map(|states| Sleeper::new(states, key)),
            flit_phases: (!uplink.is_plain()).then(|| key.draws(Stream::Flits)),
            plans: Plans::new(machine, test, (uplink.clone(), downlink.clone())),
            host: Host::new(machine, state, (uplink, downlink)),
            window,
            loop_time: Picoseconds::from_ns(loop_ns),
            overhead: Picoseconds::from_ns(overhead_ns),
        }
    }

    /// Simulates the next transaction.
    #[inline(always)]
    pub fn step(&mut self) -> Sample {
        self.step_watched(&mut Unwatched)
    }

    #[inline(always)]
    fn step_watched(&mut self, watch: &mut impl Watch) -> Sample {
        let number = self.next;
        self.next += 1;
        let offset = match self.test.path {
            Path::Dma => self.offsets.next_offset(),
            // The command path uses double-word addresses.
            Path::Command => self.offsets.next_offset() & !3,
        };
        let chance = Chance::new(self.draws.bits(number));
        let passage = Passage { offset, first_line: self.footprint.lines_at(offset).start, chance };
        let moved_in = self.window.as_mut().and_then(|window| window.move_to(offset));
        if let Some(draws) = self.flit_phases {
            let bits = draws.bits(number);
            let phases = ((bits >> 32) as u32, bits as u32);
            self.plans.start_flits(phases, number << ITEMS_BITS);
            self.host.start_flits(phases, number << ITEMS_BITS);
        }
        let (plan, times) = self.plans.at(offset);
        let written = match &plan.written {
            Some(write) => self.host.write(passage, write, self.test.size_bytes, watch),
            None => Picoseconds::ZERO,
        };
        let arrived = self.host.read(passage, plan, times, written, watch);
        let on_card = if moved_in.is_some() { plan.on_card_moved } else { plan.on_card };
        let loop_time = moved_in.unwrap_or(self.loop_time);
        let fast = arrived + on_card;
        let latency = match &self.sleeper {
            Some(sleeper) => {
                // With DMA, the read of a pair is enqueued long after the write is done.
                let behind_write = match (&plan.written, self.test.path) {
                    (Some(write), Path::Command) => written.since(write.arrived),
                    _ => Picoseconds::ZERO,
                };
                sleeper
                    .latency(number, Alone { latency: fast, on_card: self.overhead, behind_write, loop_time })
            }
            None => fast,
        };
        debug_assert!(latency >= fast, "a wake-up shortens the latency");
        debug_assert!(fast > on_card, "an answer arrives before its request");
        watch.transaction(offset, plan, (arrived, fast, latency));
        let ticks = self.machine.tick.ticks(latency, chance.timer_phase());
        Sample { latency, ticks, period: latency + loop_time }
    }
}

impl LatencyRun<'_> {
    /// The state after the transactions simulated so far.
    #[must_use]
    pub fn into_state(self) -> State {
        self.host.into_state()
    }
}

/// Loop time of the command path: longer with a write before the read.
fn command_loop_ns(command: &CommandPath, test: &Test) -> f64 {
    let write_ns = command.write_loop_ns + command.write_loop_byte_ns * test.size_bytes as f64;
    command.loop_ns + if test.operation == Operation::LatWrrd { write_ns } else { 0.0 }
}

impl WindowRegister {
    /// Makes the window cover an offset of the buffer; returns the loop time if the window moves.
    #[inline]
    fn move_to(&mut self, offset: u64) -> Option<Picoseconds> {
        let index = offset / self.window_bytes;
        let before = self.at.replace(index);
        (before != Some(index)).then_some(self.loop_time)
    }
}
