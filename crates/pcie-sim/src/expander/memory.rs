//! The memory of an expander: banks that serve one line after the other, refreshes that stop all banks of a channel,
//! and the bus of each channel.

use std::collections::VecDeque;

use pcie_model::ExpanderMemory;
use pcie_time::Picoseconds;

/// A bank: whether it serves a line, and the lines that wait for it.
#[derive(Clone, Debug, Default)]
struct Bank {
    is_busy: bool,
    waiting: VecDeque<usize>,
}

/// A line that a bank serves from `at` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Served {
    pub(super) line: usize,
    pub(super) at: Picoseconds,
    /// The part of its wait that is a refresh's.
    pub(super) refresh: Picoseconds,
    /// When the bank is free for the next.
    pub(super) free_at: Picoseconds,
}

/// All channels.
#[derive(Debug)]
pub(super) struct Memory {
    banks: Vec<Bank>,
    banks_of_channel: usize,
    bus_free: Vec<Picoseconds>,
    bus_busy: Picoseconds,
    line: Picoseconds,
    read: Picoseconds,
    write: Picoseconds,
    refresh: Picoseconds,
    interval: Picoseconds,
}

impl Memory {
    pub(super) fn new(memory: &ExpanderMemory) -> Self {
        let (channels, banks) = (memory.channels as usize, memory.banks as usize);
        Self {
            banks: vec![Bank::default(); channels * banks],
            banks_of_channel: banks,
            bus_free: vec![Picoseconds::ZERO; channels],
            bus_busy: Picoseconds::ZERO,
            line: Picoseconds::from_ns(memory.line_ns()),
            read: Picoseconds::from_ns(memory.read_bank_ns),
            write: Picoseconds::from_ns(memory.write_bank_ns),
            refresh: Picoseconds::from_ns(memory.refresh_ns),
            interval: Picoseconds::from_ns(memory.refresh_interval_ns),
        }
    }

    pub(super) fn banks(&self) -> u64 {
        self.banks.len() as u64
    }

    pub(super) fn channels(&self) -> u32 {
        self.bus_free.len() as u32
    }

    /// A line comes to its bank; returns it if the bank serves it now.
    pub(super) fn arrive(
        &mut self,
        now: Picoseconds,
        bank: usize,
        line: usize,
        is_read: bool,
    ) -> Option<Served> {
        if self.banks[bank].is_busy {
            self.banks[bank].waiting.push_back(line);
            return None;
        }
        Some(self.serve(now, bank, line, is_read))
    }

    /// A bank is free: the line that it serves next, whose kind `is_read` knows.
    pub(super) fn free(
        &mut self,
        now: Picoseconds,
        bank: usize,
        is_read: impl Fn(usize) -> bool,
    ) -> Option<Served> {
        self.banks[bank].is_busy = false;
        let line = self.banks[bank].waiting.pop_front()?;
        Some(self.serve(now, bank, line, is_read(line)))
    }

    fn serve(&mut self, now: Picoseconds, bank: usize, line: usize, is_read: bool) -> Served {
        self.banks[bank].is_busy = true;
        let at = self.after_refresh(now, bank / self.banks_of_channel);
        let time = if is_read { self.read } else { self.write };
        Served { line, at, refresh: at - now, free_at: at + time }
    }

    /// The earliest time from `now` on at which a channel is not refreshed; channels take turns.
    fn after_refresh(&self, now: Picoseconds, channel: usize) -> Picoseconds {
        let shift = self.interval.0 * channel as u64 / self.bus_free.len() as u64;
        let into = (now.0 + shift) % self.interval.0;
        Picoseconds(now.0 + self.refresh.0.saturating_sub(into))
    }

    /// A line of a bank wants the bus of its channel; returns when it has passed it, and the part of its wait that is a
    /// refresh's.
    pub(super) fn over_bus(&mut self, now: Picoseconds, bank: usize) -> (Picoseconds, Picoseconds) {
        let channel = bank / self.banks_of_channel;
        let free = now.max(self.bus_free[channel]);
        let start = self.after_refresh(free, channel);
        self.bus_free[channel] = start + self.line;
        self.bus_busy += self.line;
        (self.bus_free[channel], start - free)
    }

    /// Time of a line on the bus.
    pub(super) fn line(&self) -> Picoseconds {
        self.line
    }

    /// Times of lines on all buses together.
    pub(super) fn bus_busy(&self) -> Picoseconds {
        self.bus_busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refreshed(refresh_ns: f64) -> Memory {
        Memory::new(&ExpanderMemory {
            channels: 2,
            megatransfers_per_s: 8000,
            data_share: 1.0,
            banks: 4,
            read_bank_ns: 40.0,
            write_bank_ns: 70.0,
            refresh_ns,
            refresh_interval_ns: 1000.0,
        })
    }

    #[test]
    fn a_bank_serves_one_line_after_the_other() {
        let mut memory = refreshed(0.0);
        let first = memory.arrive(Picoseconds(5), 3, 0, true).unwrap();
        assert_eq!((first.at, first.free_at), (Picoseconds(5), Picoseconds(40_005)));
        assert_eq!(memory.arrive(Picoseconds(6), 3, 1, false), None);
        assert!(memory.arrive(Picoseconds(6), 2, 2, false).is_some());
        let next = memory.free(first.free_at, 3, |line| line != 1).unwrap();
        assert_eq!((next.line, next.free_at), (1, Picoseconds(110_005)));
        assert_eq!(memory.free(next.free_at, 3, |_| true), None);
    }

    #[test]
    fn a_refresh_stops_its_channel() {
        let mut memory = refreshed(100.0);
        let stopped = memory.arrive(Picoseconds(30_000), 0, 0, true).unwrap();
        assert_eq!((stopped.at, stopped.refresh), (Picoseconds(100_000), Picoseconds(70_000)));
        // The other channel's is half an interval away.
        assert_eq!(memory.arrive(Picoseconds(30_000), 4, 1, true).unwrap().refresh, Picoseconds::ZERO);
        assert_eq!(memory.arrive(Picoseconds(500_000), 5, 2, true).unwrap().refresh, Picoseconds(100_000));
    }

    #[test]
    fn a_bus_passes_one_line_after_the_other() {
        let mut memory = refreshed(0.0);
        let mut passed = |at, bank| memory.over_bus(Picoseconds(at), bank).0;
        assert_eq!([passed(0, 0), passed(400, 1), passed(400, 4)], [1000, 2000, 1400].map(Picoseconds));
        assert_eq!(memory.bus_busy(), Picoseconds(3000));
        let stopped = refreshed(100.0).over_bus(Picoseconds(30_000), 0);
        assert_eq!(stopped, (Picoseconds(101_000), Picoseconds(70_000)));
    }
}
