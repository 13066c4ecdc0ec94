//! The location of lines: in the last-level cache of the device's socket, in another socket's, or in memory.
//!
//! A device read changes nothing. A device write updates in place a line that the CPU left in the same
//! socket's cache, and allocates any other line in the DDIO ways of its set, evicting the least recently
//! written. (Measured: see `docs/concepts/simulated-machine.md`.)

use crate::cache::lines::{Line, Lines};
use crate::profile::System;
use pcie_time::Draws;
use std::ops::{ControlFlow, Range};

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

#[derive(Debug)]
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

impl Clone for Caches {
    fn clone(&self) -> Self {
        Self { flags: self.flags.clone(), device_lines: self.device_lines.clone(), ..*self }
    }

    /// Uses the memory of `self`.
    fn clone_from(&mut self, source: &Self) {
        let (mut flags, mut device_lines) =
            (std::mem::take(&mut self.flags), std::mem::take(&mut self.device_lines));
        flags.clone_from(&source.flags);
        device_lines.clone_from(&source.device_lines);
        *self = Self { flags, device_lines, ..*source };
    }
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
        for sets in lines.sets(0..window_lines) {
            sets.iter().for_each(|set| wanted[*set as usize] += 1);
        }
        self.host_lines = true;
        let mut first = 0;
        for sets in lines.sets(0..window_lines) {
            for ((line, set), flags) in (first..).zip(sets).zip(&mut self.flags[first as usize..]) {
                if *flags & HELD != 0 {
                    drop_held(&mut self.device_lines[*set as usize * self.ways..][..self.ways], line);
                }
                let kept = capacity / f64::from(wanted[*set as usize]);
                let stays = kept >= 1.0 || draws.fraction(u64::from(line)) < kept;
                *flags = TOUCHED | if stays { HOST } else { 0 };
            }
            first += sets.len() as Line;
        }
    }

    /// The CPU writes a line into its cache.
    pub(crate) fn write_from_host(&mut self, lines: &Lines, line: Line) {
        self.host_lines = true;
        let flags = &mut self.flags[line as usize];
        if *flags & HELD != 0 {
            let start = lines.set(line) as usize * self.ways;
            drop_held(&mut self.device_lines[start..start + self.ways], line);
        }
        *flags = HOST | TOUCHED;
    }

    /// Whether the device's writes update lines of the CPU in place.
    fn updates_host_lines(&self) -> bool {
        self.shared.program_with_device && self.host_lines
    }

    /// The device writes `reachable` lines: all of them count as written, even if a sequence of writes that
    /// follows leaves some out.
    pub fn cover(&mut self, reachable: impl Iterator<Item = Range<Line>>) {
        let updates_host_lines = self.updates_host_lines();
        // Internal iteration of chained ranges is faster.
        reachable.for_each(|range| {
            let flags = &mut self.flags[range.start as usize..range.end as usize];
            if updates_host_lines {
                flags.iter_mut().for_each(|flags| *flags |= TOUCHED | ((*flags & HOST) * OVERWRITTEN));
            } else {
                flags.iter_mut().for_each(|flags| *flags = (*flags | TOUCHED) & !HOST);
            }
        });
    }

    /// What settles sequences of device writes to `reachable` lines, which are covered.
    pub fn settling(&self, lines: &Lines, reachable: impl Iterator<Item = Range<Line>>) -> Settling {
        let mut settling = Settling::new(lines.set_count(), self.ways, self.updates_host_lines());
        reachable.for_each(|range| {
            let flags = &self.flags[range.start as usize..range.end as usize];
            settling.expect_all(lines.sets(range).flatten().zip(flags));
        });
        settling
    }

    /// Applies a sequence of device writes to covered lines for which `settling` was made. `for_each_part` gives
    /// its parts and their lines, the last first. Stops reading once no set can change.
    ///
    /// The contents of the DDIO ways are exact for any number of writes.
    pub fn settle(
        &mut self,
        lines: &Lines,
        settling: &mut Settling,
        for_each_part: impl FnOnce(&mut dyn FnMut(&[Line]) -> ControlFlow<()>),
    ) {
        settling.start();
        if !settling.is_complete() {
            for_each_part(&mut |part| settling.note_part(lines, &self.flags, part));
        }
        let mut merged = Vec::with_capacity(2 * self.ways);
        for set in settling.noted_sets.iter().map(|set| *set as usize) {
            let noted = &settling.lines[set * self.ways..][..usize::from(settling.counts[set])];
            let held = &mut self.device_lines[set * self.ways..][..self.ways];
            // The noted lines come before those that the set held, of which the last give way.
            merged.clear();
            merged.extend_from_slice(noted);
            merged.extend(held.iter().filter(|old| **old != NO_LINE && !noted.contains(old)));
            merged.resize(self.ways, NO_LINE);
            held.iter().for_each(|line| mark(&mut self.flags, *line, |flags| flags & !HELD));
            held.copy_from_slice(&merged);
            held.iter().for_each(|line| mark(&mut self.flags, *line, |flags| flags | HELD));
        }
    }

    #[inline]
    fn let_go(&mut self, line: Line) {
        mark(&mut self.flags, line, |flags| flags & !HELD);
    }
}

/// Frees the way of a set that holds a line.
fn drop_held(set: &mut [Line], line: Line) {
    if let Some(way) = set.iter_mut().find(|one| **one == line) {
        *way = NO_LINE;
    }
}

/// Changes the flags of a line, if it is one of those that are seen.
#[inline]
fn mark(flags: &mut [u8], line: Line, change: impl Fn(u8) -> u8) {
    if let Some(flags) = flags.get_mut(line as usize) {
        *flags = change(*flags);
    }
}

/// The last distinct lines that a sequence of device writes leaves in each set, for sequences over the same lines.
#[derive(Debug)]
pub struct Settling {
    /// Whether writes update lines of the CPU in place, which then take no way.
    updates_host_lines: bool,
    ways: usize,
    /// By set, the ways that a sequence can fill.
    expected: Vec<u8>,
    expected_in_all: u64,
    /// By set, the noted lines, the last first.
    lines: Vec<Line>,
    counts: Vec<u8>,
    /// The sets with noted lines.
    noted_sets: Vec<u32>,
    missing: u64,
}

impl Settling {
    /// Lines whose sets are looked up together: the look-ups do not wait for each other.
    const TOGETHER: usize = 64;

    fn new(sets: u32, ways: usize, updates_host_lines: bool) -> Self {
        Self {
            updates_host_lines,
            ways,
            expected: vec![0; sets as usize],
            expected_in_all: 0,
            lines: vec![0; sets as usize * ways],
            counts: vec![0; sets as usize],
            noted_sets: Vec::new(),
            missing: 0,
        }
    }

    #[inline]
    fn expect(&mut self, set: u32) {
        let expected = &mut self.expected[set as usize];
        let more = usize::from(*expected) < self.ways;
        *expected += u8::from(more);
        self.expected_in_all += u64::from(more);
    }

    /// Expects a line in each of the sets, unless its flags say that the CPU's is updated.
    fn expect_all<'a>(&mut self, mut sets: impl Iterator<Item = (&'a u32, &'a u8)>) {
        let _ = sets.try_for_each(|(set, flags)| {
            if !self.is_updated(*flags) {
                self.expect(*set);
            }
            // Long before the end of a large window, every set can be filled.
            let most = self.lines.len() as u64;
            if self.expected_in_all == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    #[inline]
    fn is_updated(&self, flags: u8) -> bool {
        self.updates_host_lines && flags & HOST != 0
    }

    /// Forgets the sequence before.
    fn start(&mut self) {
        self.noted_sets.drain(..).for_each(|set| self.counts[set as usize] = 0);
        self.missing = self.expected_in_all;
    }

    /// Records writes, the last first; breaks off once earlier ones no longer matter.
    fn note_part(&mut self, lines: &Lines, flags: &[u8], part: &[Line]) -> ControlFlow<()> {
        for part in part.chunks(Self::TOGETHER) {
            let mut sets = [0; Self::TOGETHER];
            sets.iter_mut().zip(part).for_each(|(set, line)| *set = lines.set(*line));
            for (set, line) in sets.into_iter().zip(part) {
                if !self.is_updated(flags[*line as usize]) && self.note(set, *line) {
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Records a write; returns whether earlier ones no longer matter.
    #[inline]
    fn note(&mut self, set: u32, line: Line) -> bool {
        let count = usize::from(self.counts[set as usize]);
        let start = set as usize * self.ways;
        if count < self.ways && !self.lines[start..start + count].contains(&line) {
            if count == 0 {
                self.noted_sets.push(set);
            }
            self.lines[start + count] = line;
            self.counts[set as usize] += 1;
            self.missing = self.missing.saturating_sub(1);
        }
        self.is_complete()
    }

    fn is_complete(&self) -> bool {
        self.missing == 0
    }
}
