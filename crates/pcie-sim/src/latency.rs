//! Latency tests: one transaction at a time, so there is nothing to interleave and each is walked from end to end.
//!
//! A read leaves the card, crosses the link, finds its lines wherever they are, and comes back as completions, which the
//! card's data engine moves on once all of them are there. A write-then-read pair sends the write first; the read cannot
//! pass it.

mod card;
mod chance;
mod host;
mod plan;

use crate::history::{Footprint, State, TestKey};
use crate::machine::Machine;
use crate::port::Port;
use crate::profile::IdleStates;
use chance::Chance;
use host::{Host, Passage};
use pcie_time::{Draws, Picoseconds, Stream};
use pcie_workload::{AddressList, Offsets, Path, Test};
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
    idle: Draws,
    plans: Plans<'a>,
    host: Host<'a>,
    window: Option<WindowRegister>,
    /// From the end of one transaction to the start of the next.
    loop_time: Picoseconds,
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
        let root = &machine.system.host.root_complex;
        let downlink = Port::new(machine.link(), root.downlink_quantum_bytes, root.downlink_stretch);
        let command = machine.system.device.command.as_ref().filter(|_| test.path == Path::Command);
        let loop_ns = command.map_or(machine.system.device.dma.loop_ns, |command| command.loop_ns);
        let window = command.and_then(|command| command.bar_window.as_ref()).map(|window| {
            let window_bytes = window.window_bytes.max(1);
            let at = first.checked_sub(1).map(|before| list.offset(before) / window_bytes);
            WindowRegister { window_bytes, at, loop_time: Picoseconds::from_ns(loop_ns + window.move_ns) }
        });
        Self {
            machine,
            test,
            offsets: Offsets::new(list, first),
            footprint: Footprint::new(&machine.lines, test, list),
            next: first,
            draws: key.draws(Stream::Transaction),
            idle: key.draws(Stream::Idle),
            plans: Plans::new(machine, test, downlink.clone()),
            host: Host::new(machine, state, downlink),
            window,
            loop_time: Picoseconds::from_ns(loop_ns),
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
        let written = match plan.written {
            Some(entered) => self.host.write(passage, entered, self.test.size_bytes),
            None => Picoseconds::ZERO,
        };
        let arrived = self.host.read(passage, &plan.requests, times, written);
        let on_card = if moved_in.is_some() { plan.on_card_moved } else { plan.on_card };
        let loop_time = moved_in.unwrap_or(self.loop_time);
        let fast = arrived + on_card;
        let latency = match &self.machine.system.host.idle {
            Some(idle) => self.after_idling(idle, number, fast, loop_time),
            None => fast,
        };
        let ticks = self.machine.tick.ticks(latency, chance.timer_phase());
        Sample { latency, ticks, period: latency + loop_time }
    }

    /// Stretches a transaction on a machine that goes to sleep between them.
    fn after_idling(
        &self,
        idle: &IdleStates,
        number: u64,
        fast: Picoseconds,
        gap: Picoseconds,
    ) -> Picoseconds {
        // A DMA waits on the card before its first TLP: the link is idle for that long too.
        let on_card_ns = match self.test.path {
            Path::Dma => self.machine.system.device.dma.read_overhead_ns / 2.0,
            Path::Command => 0.0,
        };
        let long = gap.as_ns() + on_card_ns > idle.gap_ns;
        let fast_share = if long { idle.fast_share_long_gap } else { idle.fast_share_short_gap };
        if self.idle.fraction(3 * number) < fast_share {
            return fast;
        }
        let mut place = self.idle.fraction(3 * number + 1);
        for cluster in &idle.clusters {
            if place < cluster.share {
                let within = self.idle.fraction(3 * number + 2);
                return Picoseconds::from_ns(cluster.low_ns + within * (cluster.high_ns - cluster.low_ns));
            }
            place -= cluster.share;
        }
        (fast + Picoseconds::from_ns(idle.wake_ns)).max(Picoseconds::from_ns(idle.wake_floor_ns))
    }
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
