//! Latency tests: one transaction at a time, so there is nothing to interleave and each is walked from end to end.
//!
//! A read leaves the card, crosses the link, finds its lines wherever they are, and comes back as completions, which the
//! card's data engine moves on once all of them are there. A write-then-read pair sends the write first; the read cannot
//! pass it.

mod card;
mod chance;
mod host;
mod plan;

use crate::cache::history::{Footprint, State, TestKey};
use crate::machine::Machine;
use crate::profile::CommandPath;
use crate::root_complex::idle::{Alone, Sleeper};
use chance::Chance;
use host::{Host, Passage};
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_workload::{AddressList, Offsets, Operation, Path, Test};
use plan::Plans;

/// What one transaction took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From issue to completion.
    pub latency: Picoseconds,
    /// The same as the card's timer shows it.
    pub ticks: u64,
    /// From one issue to the next, the loop included.
    pub period: Picoseconds,
}

/// A latency test going on.
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
    /// What the card takes for each whatever it moves.
    overhead: Picoseconds,
}

/// The movable window of the command path.
#[derive(Clone, Copy, Debug)]
struct WindowRegister {
    window_bytes: u64,
    /// Which part of memory it is on; none before the first transaction.
    at: Option<u64>,
    /// The loop time when it has to be moved.
    loop_time: Picoseconds,
}

impl<'a> LatencyRun<'a> {
    /// Starts at transaction `first`, with the machine in the state in which the transactions before it left it.
    #[must_use]
    pub fn new(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> Self {
        debug_assert!(test.operation.is_latency(), "a bandwidth test is no run of latencies");
        debug_assert!(first < test.transactions, "transaction {first} is not one of the test");
        let system = &machine.system;
        let (uplink, downlink) = machine.ports();
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
            plans: Plans::new(machine, test, (uplink, downlink.clone())),
            host: Host::new(machine, state, downlink),
            window,
            loop_time: Picoseconds::from_ns(loop_ns),
            overhead: Picoseconds::from_ns(overhead_ns),
        }
    }

    /// Makes the next transaction.
    #[inline(always)]
    pub fn step(&mut self) -> Sample {
        let number = self.next;
        self.next += 1;
        let offset = match self.test.path {
            Path::Dma => self.offsets.next_offset(),
            // The command path drives double-word addresses.
            Path::Command => self.offsets.next_offset() & !3,
        };
        let chance = Chance::new(self.draws.bits(number));
        let passage = Passage { offset, first_line: self.footprint.lines_at(offset).start, chance };
        let moved_in = self.window.as_mut().and_then(|window| window.move_to(offset));
        let (plan, times) = self.plans.at(offset);
        let written = match &plan.written {
            Some(write) => self.host.write(passage, write, self.test.size_bytes),
            None => Picoseconds::ZERO,
        };
        let arrived = self.host.read(passage, plan, times, written);
        let on_card = if moved_in.is_some() { plan.on_card_moved } else { plan.on_card };
        let loop_time = moved_in.unwrap_or(self.loop_time);
        let fast = arrived + on_card;
        let latency = match &self.sleeper {
            Some(sleeper) => {
                // The read of a DMA's pair is enqueued when the write is long done with.
                let behind_write = match (&plan.written, self.test.path) {
                    (Some(write), Path::Command) => written.since(write.arrived),
                    _ => Picoseconds::ZERO,
                };
                sleeper
                    .latency(number, Alone { latency: fast, on_card: self.overhead, behind_write, loop_time })
            }
            None => fast,
        };
        debug_assert!(latency >= fast, "sleeping saves no time");
        debug_assert!(fast > on_card, "no answer comes before it was asked for");
        let ticks = self.machine.tick.ticks(latency, chance.timer_phase());
        Sample { latency, ticks, period: latency + loop_time }
    }
}

/// The loop of the command path: longer where a write goes before the read.
fn command_loop_ns(command: &CommandPath, test: &Test) -> f64 {
    let write_ns = command.write_loop_ns + command.write_loop_byte_ns * test.size_bytes as f64;
    command.loop_ns + if test.operation == Operation::LatWrrd { write_ns } else { 0.0 }
}

impl WindowRegister {
    /// Makes the window cover an offset of the buffer; returns the loop time if it has to be moved for that.
    #[inline]
    fn move_to(&mut self, offset: u64) -> Option<Picoseconds> {
        let place = offset / self.window_bytes;
        let before = self.at.replace(place);
        (before != Some(place)).then_some(self.loop_time)
    }
}
