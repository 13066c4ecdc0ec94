//! The location of lines: in the last-level cache of the device's socket, in another socket's, or in memory.
//!
//! A device read changes nothing. A device write updates in place a line that the CPU left in the same
//! socket's cache, and allocates any other line in the DDIO ways of its set, evicting the least recently
//! written. (Measured: see `docs/concepts/simulated-machine.md`.)

use crate::cache::lines::{Line, Lines};
use crate::profile::System;
use pcie_time::Draws;
use std::ops::Range;

const HOST: u8 = 1;
const OVERWRITTEN: u8 = 2;
const TOUCHED: u8 = 4;
/// In the DDIO ways of its set.
const HELD: u8 = 8;
/// Number of combinations of these flags.
pub(crate) const KNOWN: usize = 16;
const NO_LINE: Line = Line::MAX;

/// Where a read or write of the device finds a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the cache of the device's socket, written by the device.
    DeviceLine,
    /// In the cache of the device's socket, written by the CPU.
    HostLine,
    /// In another socket's cache, written by the CPU.
    RemoteHostLine,
    Memory {
        /// On another socket than the device's.
        remote: bool,
        /// Never written since it was allocated.
        untouched: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Caches {
    flags: Vec<u8>,
    /// Per set, the lines in its DDIO ways, most recently written first.
    device_lines: Vec<Line>,
    ways: usize,
    shared: Sockets,
    host_lines: bool,
}

/// Relative locations of device, program and memory.
#[derive(Clone, Copy, Debug)]
struct Sockets {
    several: bool,
    program_with_device: bool,
    buffer_remote: bool,
    elsewhere_remote: bool,
}

impl Caches {
    /// Size of the state of all lines in bytes.
    pub(crate) fn size_bytes(system: &System, lines: &Lines) -> u64 {
        let ways = u64::from(system.host.llc.ddio_ways.max(1));
        u64::from(lines.count()) + u64::from(lines.set_count()) * ways * size_of::<Line>() as u64
    }

    /// The state after boot: empty caches, and memory never written.
    pub fn new(system: &System, lines: &Lines) -> Self {
        let ways = system.host.llc.ddio_ways.max(1) as usize;
        Self {
            flags: vec![0; lines.count() as usize],
            device_lines: vec![NO_LINE; lines.set_count() as usize * ways],
            ways,
            shared: Sockets {
                several: system.host.sockets > 1,
                program_with_device: system.program_socket == system.device_socket,
                buffer_remote: system.memory_socket != system.device_socket,
                // Outside the buffer, the command path reaches low memory, which belongs to socket 0.
                elsewhere_remote: system.device_socket != 0,
            },
            host_lines: false,
        }
    }

    /// Bytes of the state, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.flags.len() as u64 + size_of_val(&*self.device_lines) as u64
    }

    /// The state of all sets, and of the lines before `end`.
    pub(crate) fn up_to(&self, end: Line) -> Self {
        Self { flags: self.flags[..end as usize].to_vec(), device_lines: self.device_lines.clone(), ..*self }
    }

    /// The state of no set and no line.
    pub(crate) fn without_lines(&self) -> Self {
        Self { flags: Vec::new(), device_lines: Vec::new(), ..*self }
    }

    /// Whether it has lines that somebody may see.
    pub(crate) fn has_lines(&self) -> bool {
        !self.flags.is_empty()
    }

    /// The flags of a line: less than [`KNOWN`].
    #[inline(always)]
    pub(crate) fn known(&self, line: Line) -> u8 {
        self.flags[line as usize] % KNOWN as u8
    }

    /// The flags of all `lines`, if they are equal, as they mostly are. Compares eight at a time.
    #[inline(always)]
    pub(crate) fn all_known(&self, lines: Range<Line>) -> Option<u8> {
        let flags = &self.flags[lines.start as usize..lines.end as usize];
        let known = *flags.first()? % KNOWN as u8;
        if flags.len() == 1 {
            return Some(known);
        }
        let (eights, rest) = flags.as_chunks();
        let differing = eights
            .iter()
            .fold(0, |bits, eight| bits | (u64::from_ne_bytes(*eight) ^ u64::from_ne_bytes([known; 8])));
        let same = differing == 0 && rest.iter().all(|flags| *flags == known);
        same.then_some(known)
    }

    #[inline]
    pub fn find(&self, lines: &Lines, line: Line) -> Found {
        self.found(self.known(line), lines.in_buffer(line))
    }

    /// Where a line with these flags is, in the buffer or outside.
    #[inline]
    pub(crate) fn found(&self, flags: u8, in_buffer: bool) -> Found {
        if flags & HOST != 0 {
            return match (self.shared.program_with_device, flags & OVERWRITTEN != 0) {
                (true, true) => Found::DeviceLine,
                (true, false) => Found::HostLine,
                (false, _) => Found::RemoteHostLine,
            };
        }
        if flags & HELD != 0 {
            return Found::DeviceLine;
        }
        Found::Memory {
            remote: if in_buffer { self.shared.buffer_remote } else { self.shared.elsewhere_remote },
            untouched: self.shared.several && flags & TOUCHED == 0,
        }
    }

    /// The device writes a line; returns where it was before.
    #[inline(always)]
    pub fn write(&mut self, lines: &Lines, line: Line) -> Found {
        if self.ways == 1 && self.flags[line as usize] & (HELD | HOST | TOUCHED) == HELD | TOUCHED {
            // Already in the only way of its set: nothing changes.
            return Found::DeviceLine;
        }
        self.write_elsewhere(lines, line)
    }

    fn write_elsewhere(&mut self, lines: &Lines, line: Line) -> Found {
        let found = self.find(lines, line);
        self.flags[line as usize] |= TOUCHED;
        match found {
            Found::HostLine => self.flags[line as usize] |= OVERWRITTEN,
            Found::DeviceLine if self.flags[line as usize] & HOST != 0 => {}
            _ => {
                self.flags[line as usize] &= !HOST;
                self.allocate(lines, line);
            }
        }
        found
    }

    fn allocate(&mut self, lines: &Lines, line: Line) {
        let start = lines.set(line) as usize * self.ways;
        let set = &mut self.device_lines[start..start + self.ways];
        if set[0] == line {
            return;
        }
        let way = set.iter().position(|held| *held == line).unwrap_or(set.len() - 1);
        let last = set[way];
        set[..=way].rotate_right(1);
        set[0] = line;
        self.let_go(last);
        self.flags[line as usize] |= HELD;
    }

    /// The control program reads a large list, which evicts everything from the caches of its socket.
    pub fn thrash_from_host(&mut self) {
        if self.host_lines {
            self.flags.iter_mut().for_each(|flags| *flags &= !(HOST | OVERWRITTEN));
            self.host_lines = false;
        }
        if self.shared.program_with_device {
            let nothing = vec![NO_LINE; self.device_lines.len()];
            let held = std::mem::replace(&mut self.device_lines, nothing);
            held.into_iter().for_each(|line| self.let_go(line));
        }
    }

    /// Lines are written, and no other part of the state is known until the host's next thrash.
    pub fn touch(&mut self, reachable: impl Iterator<Item = Range<Line>>) {
        reachable.for_each(|range| {
            let flags = &mut self.flags[range.start as usize..range.end as usize];
            flags.iter_mut().for_each(|flags| *flags |= TOUCHED);
        });
    }

    /// The CPU writes the first `window_lines` of the buffer, several times. Lines that fit stay cached.
    ///
    /// A set to which `n` lines map keeps a share of `host_share * ways / n` of them, drawn line by line.
    pub fn warm_from_host(&mut self, lines: &Lines, system: &System, window_lines: Line, draws: Draws) {
        let capacity = f64::from(system.host.llc.ways) * system.host.llc.host_share;
        let mut wanted = vec![0u32; lines.set_count() as usize];
        for line in 0..window_lines {
            wanted[lines.set(line) as usize] += 1;
        }
        self.host_lines = true;
        for line in 0..window_lines {
            let set = lines.set(line);
            let kept = capacity / f64::from(wanted[set as usize]);
            let flags = &mut self.flags[line as usize];
            *flags = TOUCHED | *flags & HELD;
            if kept >= 1.0 || draws.fraction(u64::from(line)) < kept {
                *flags |= HOST;
            }
            let start = set as usize * self.ways;
            for held in &mut self.device_lines[start..start + self.ways] {
                if *held == line {
                    *held = NO_LINE;
                    *flags &= !HELD;
                }
            }
        }
    }

    /// The CPU writes a line into its cache.
    pub(crate) fn write_from_host(&mut self, lines: &Lines, line: Line) {
        self.host_lines = true;
        let flags = &mut self.flags[line as usize];
        let held = *flags & HELD != 0;
        *flags = HOST | TOUCHED;
        if held {
            let start = lines.set(line) as usize * self.ways;
            if let Some(way) =
                self.device_lines[start..start + self.ways].iter_mut().find(|one| **one == line)
            {
                *way = NO_LINE;
            }
        }
    }

    /// Applies a sequence of device writes, given from the last to the first, with ranges of all lines that the
    /// sequence may contain. Stops reading once no set can change.
    ///
    /// The contents of the DDIO ways are exact for any number of writes. All of `reachable` counts as
    /// written, even if a short sequence left some lines out.
    pub fn settle(
        &mut self,
        lines: &Lines,
        last_first: impl Iterator<Item = Line>,
        reachable: impl Iterator<Item = Range<Line>>,
    ) {
        let updates_host_lines = self.shared.program_with_device && self.host_lines;
        let mut settled = SettledSets::new(lines.set_count(), self.ways);
        // Internal iteration of chained ranges is faster.
        reachable.for_each(|range| {
            let flags = &mut self.flags[range.start as usize..range.end as usize];
            if updates_host_lines {
                for (line, flags) in range.zip(flags) {
                    if *flags & HOST != 0 {
                        *flags |= TOUCHED | OVERWRITTEN;
                    } else {
                        *flags |= TOUCHED;
                        settled.expect(lines.set(line));
                    }
                }
            } else {
                flags.iter_mut().for_each(|flags| *flags = (*flags | TOUCHED) & !HOST);
                lines.sets(range).for_each(|sets| settled.expect_all(sets));
            }
        });
        if !settled.is_complete() {
            for line in last_first {
                let updated = updates_host_lines && self.flags[line as usize] & HOST != 0;
                if !updated && settled.note(lines.set(line), line) {
                    break;
                }
            }
        }
        let before = self.device_lines.clone();
        settled.merge_into(&mut self.device_lines, self.ways);
        before.into_iter().for_each(|line| self.let_go(line));
        for line in &self.device_lines {
            if let Some(flags) = self.flags.get_mut(*line as usize) {
                *flags |= HELD;
            }
        }
    }

    #[inline]
    fn let_go(&mut self, line: Line) {
        if let Some(flags) = self.flags.get_mut(line as usize) {
            *flags &= !HELD;
        }
    }
}

/// The last distinct lines written in each set.
struct SettledSets {
    lines: Vec<Line>,
    counts: Vec<u8>,
    /// By set, the ways that the sequence can fill.
    expected: Vec<u8>,
    ways: usize,
    missing: u64,
}

impl SettledSets {
    fn new(sets: u32, ways: usize) -> Self {
        Self {
            lines: vec![NO_LINE; sets as usize * ways],
            counts: vec![0; sets as usize],
            expected: vec![0; sets as usize],
            ways,
            missing: 0,
        }
    }

    fn expect(&mut self, set: u32) {
        let expected = &mut self.expected[set as usize];
        if usize::from(*expected) < self.ways {
            *expected += 1;
            self.missing += 1;
        }
    }

    /// Expects a line in each of the sets.
    fn expect_all(&mut self, sets: &[u32]) {
        let most = self.expected.len() as u64 * self.ways as u64;
        for set in sets {
            // Long before the end of a large window, every set can be filled.
            if self.missing == most {
                return;
            }
            self.expect(*set);
        }
    }

    /// Records a write; returns whether earlier ones no longer matter.
    #[inline]
    fn note(&mut self, set: u32, line: Line) -> bool {
        let count = self.counts[set as usize] as usize;
        let start = set as usize * self.ways;
        if count < self.ways && !self.lines[start..start + count].contains(&line) {
            self.lines[start + count] = line;
            self.counts[set as usize] += 1;
            self.missing = self.missing.saturating_sub(1);
        }
        self.is_complete()
    }

    fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Puts the noted lines of each set before those that it held, of which the last give way.
    fn merge_into(&self, held: &mut [Line], ways: usize) {
        let mut merged = Vec::with_capacity(2 * ways);
        let sets = self.lines.chunks_exact(ways).zip(held.chunks_exact_mut(ways));
        for ((noted, held), count) in sets.zip(&self.counts).filter(|(_, count)| **count > 0) {
            let noted = &noted[..usize::from(*count)];
            merged.clear();
            merged.extend_from_slice(noted);
            merged.extend(held.iter().filter(|old| **old != NO_LINE && !noted.contains(old)));
            merged.resize(ways, NO_LINE);
            held.copy_from_slice(&merged);
        }
    }
}
