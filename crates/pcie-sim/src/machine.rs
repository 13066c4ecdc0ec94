//! A system made ready for simulation: checked, with its link arithmetic and its times in picoseconds at hand.

mod check;
mod crossing;
pub(crate) mod root_port;
mod shape;

use crate::cache::history::{State, TestKey};
use crate::cache::last_level::{Caches, Found, KNOWN};
use crate::cache::lines::{Line, Lines};
use crate::link::asked_for::AskedFor;
use crate::profile::{BrokenRule, CompletionSplit, IommuMode, System};
use crate::root_complex::cuts::Cuts;
use pcie_time::{Picoseconds, TickLength};
use pcie_wire::{ConfigurationError, LinkConfiguration, LinkParameters, Piece, SplitAt, TlpKind};
use pcie_workload::{AddressList, LINE_BYTES, Operation, PAGE_BYTES, Path, Test};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Why a system cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SystemError {
    /// The link is none.
    #[error("system {system}: link.{error}")]
    Link {
        /// Name of the system.
        system: String,
        /// What is wrong with its link.
        error: ConfigurationError,
    },
    /// A value is out of range.
    #[error("system {system}: {broken}")]
    Value {
        /// Name of the system.
        system: String,
        /// Dotted key, value and remedy.
        broken: BrokenRule,
    },
}

/// Why a test does not run on a system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsupported {
    /// The card has no command path.
    #[error("{0} has no command path")]
    NoCommandPath(String),
    /// The transfer is too long for the path.
    #[error("the {path} path of {card} transfers at most {most} bytes")]
    TooLong {
        /// Name of the card.
        card: String,
        /// `command` or `DMA`.
        path: &'static str,
        /// Its limit.
        most: u32,
    },
    /// The card transfers whole multiples of some bytes.
    #[error("{card} transfers multiples of {multiple} bytes")]
    NoMultiple {
        /// Name of the card.
        card: String,
        /// Bytes.
        multiple: u32,
    },
    /// A test that reads and writes needs one of each.
    #[error("{0} makes a single transaction, and a test that reads and writes needs one of each")]
    NoPair(String),
    /// The window is larger than the host buffer.
    #[error("the host buffer has {0} bytes")]
    WindowOverBuffer(u64),
    /// Only DMA has bandwidth tests.
    #[error("bandwidth tests use the DMA path")]
    CommandBandwidth,
}

/// What reading a line costs on top of one that the card wrote and that is still in the cache, by what is known of it and
/// by whether it is in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCosts {
    costs: [[ReadCost; KNOWN]; 2],
    buffer_lines: Line,
}

#[derive(Clone, Copy, Debug, Default)]
struct ReadCost {
    time: Picoseconds,
    /// Whether it comes from memory, where it can meet a refresh.
    memory: bool,
}

impl ReadCosts {
    /// What the slowest of some lines, one after the other, costs, and whether any comes from memory.
    #[inline(always)]
    pub(crate) fn of_lines(&self, caches: &Caches, lines: Range<Line>) -> (Picoseconds, bool) {
        let costs = &self.costs[usize::from(lines.start < self.buffer_lines)];
        let cost = match caches.all_known(lines.clone()) {
            Some(known) => costs[usize::from(known)],
            None => lines.fold(ReadCost::default(), |slowest, line| {
                let cost = costs[usize::from(caches.known(line))];
                ReadCost { time: slowest.time.max(cost.time), memory: slowest.memory | cost.memory }
            }),
        };
        (cost.time, cost.memory)
    }
}

/// What the lines of a write cost before a read behind it may go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The largest cost among them.
    pub(crate) cost: Picoseconds,
    /// Whether part of a line had to be merged with the rest of it from memory.
    pub(crate) from_memory: bool,
}

/// A system, ready to be simulated.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) system: System,
    /// Numbered when first asked for: who only asks what bounds a test never needs them.
    lines: Arc<OnceLock<Lines>>,
    narrow: LinkConfiguration,
    wide: LinkConfiguration,
    asked_for: AskedFor,
    pub(crate) tick: TickLength,
}

impl Machine {
    /// Checks a system and makes it ready.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn new(system: System) -> Result<Self, SystemError> {
        Self::with_lines(system, Arc::default())
    }

    /// With lines of the same shape, which another machine may have numbered already.
    fn with_lines(system: System, lines: Arc<OnceLock<Lines>>) -> Result<Self, SystemError> {
        let (narrow, wide) = checked_links(&system)?;
        let timer = system.device.timer;
        let tick = TickLength { numerator_ns: timer.numerator_ns, denominator: timer.denominator };
        let asked_for = AskedFor::of(&wide, &system.device, &system.host.root_complex);
        Ok(Self { lines, narrow, wide, asked_for, tick, system })
    }

    /// Checks a system as [`Machine::new`] does, without making it ready.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn check(system: &System) -> Result<(), SystemError> {
        checked_links(system).map(drop)
    }

    /// The system it was made from.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The cache lines that its tests can touch.
    #[inline]
    pub(crate) fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.system))
    }

    /// What the machine's state takes, bytes.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        Caches::size_bytes(&self.system, self.lines())
    }

    /// The machine after boot.
    #[must_use]
    pub fn boot(&self) -> State {
        State::boot(&self.system, self.lines())
    }

    /// The card writes random lines over the whole buffer.
    pub fn thrash_from_device(&self, state: &mut State, key: TestKey) {
        state.thrash_from_device(&self.system, self.lines(), key);
    }

    /// The card writes the window, twice.
    pub fn warm_from_device(&self, state: &mut State, window_bytes: u64) {
        state.warm_from_device(&self.system, self.lines(), window_bytes);
    }

    /// The CPU writes the window, four times.
    pub fn warm_from_host(&self, state: &mut State, window_bytes: u64, key: TestKey) {
        state.warm_from_host(&self.system, self.lines(), window_bytes, key);
    }

    /// Brings a state from after the first `done.start` transactions of a test to after the first `done.end`.
    pub fn advance(&self, state: &mut State, test: &Test, list: &AddressList, done: std::ops::Range<u64>) {
        state.advance(self.lines(), test, list, done);
    }

    /// Whether the transactions of a test leave anything behind.
    #[must_use]
    pub fn leaves_traces(&self, test: &Test) -> bool {
        test.operation.writes() || self.system.iommu != IommuMode::Off
    }

    /// Length of a tick of the card's timer.
    #[must_use]
    pub fn tick(&self) -> TickLength {
        self.tick
    }

    /// Refuses a test that the system cannot carry out.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn supports(&self, test: &Test) -> Result<(), Unsupported> {
        let card = &self.system.device;
        let buffer = self.system.chunk_bytes * self.system.chunk_addresses.len() as u64;
        let (path, most) = match (test.path, &card.command) {
            (Path::Dma, _) => ("DMA", card.dma.transfer_bytes_most),
            (Path::Command, Some(command)) => ("command", command.transfer_bytes_most),
            (Path::Command, None) => return Err(Unsupported::NoCommandPath(card.name.clone())),
        };
        // The machine is made for transfers that stay within a page.
        let most = most.min(PAGE_BYTES as u32);
        if test.size_bytes > u64::from(most) {
            return Err(Unsupported::TooLong { card: card.name.clone(), path, most });
        }
        let multiple = card.dma.transfer_multiple_bytes;
        if test.path == Path::Dma && !test.size_bytes.is_multiple_of(u64::from(multiple)) {
            return Err(Unsupported::NoMultiple { card: card.name.clone(), multiple });
        }
        if test.path == Path::Command && !test.operation.is_latency() {
            return Err(Unsupported::CommandBandwidth);
        }
        if test.operation == Operation::BwRdwr && self.transactions(test) < 2 {
            return Err(Unsupported::NoPair(card.name.clone()));
        }
        if test.window_bytes > buffer {
            return Err(Unsupported::WindowOverBuffer(buffer));
        }
        Ok(())
    }

    /// Transactions that the card really makes for a test: its journal or counter may hold fewer than asked for.
    #[must_use]
    pub fn transactions(&self, test: &Test) -> u64 {
        let card = &self.system.device;
        let most =
            if test.operation.is_latency() { card.latency_samples_most } else { card.transactions_most };
        most.map_or(test.transactions, |most| most.min(test.transactions))
    }

    /// Read requests that the card can have in flight.
    pub(crate) fn tags(&self) -> u32 {
        let tags = self.system.link.tags;
        self.system.device.dma.tags.map_or(tags, |own| own.min(tags))
    }

    /// The link, with headers as long as the address at an offset of the buffer needs.
    #[inline]
    pub(crate) fn link_at(&self, offset: u64) -> &LinkConfiguration {
        if self.has_low_address(offset) { &self.narrow } else { &self.wide }
    }

    /// Whether the address at an offset of the buffer is one of 32 bits.
    #[inline]
    pub(crate) fn has_low_address(&self, offset: u64) -> bool {
        let chunk = (offset >> self.system.chunk_bytes.trailing_zeros()) as usize;
        self.system.chunk_addresses.get(chunk).is_some_and(|address| *address < 1 << 32)
    }

    /// Any of the two links: they differ in the headers of requests only.
    pub(crate) fn link(&self) -> &LinkConfiguration {
        &self.wide
    }

    /// The completions for one read request, first to last.
    ///
    /// Where it cuts is the root complex's own affair, within the rules of the specification.
    pub(crate) fn completions(&self, request: Piece) -> Cuts {
        let complex = &self.system.host.root_complex;
        let boundary = match complex.completion_split {
            CompletionSplit::AlignedMps => u64::from(self.system.link.mps_bytes),
            CompletionSplit::EveryRcb => u64::from(self.system.link.rcb_bytes),
        };
        Cuts::new(request.address, u64::from(request.length), boundary, complex.merge_partial_lines)
    }

    /// The requests of a DMA read.
    pub(crate) fn read_requests(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Piece> + use<> {
        self.wide.read_requests(offset, bytes, SplitAt::AlignedAddress)
    }

    /// The write TLPs of a DMA write.
    pub(crate) fn write_tlps(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Piece> + use<> {
        self.wide.writes_in_parts(offset, bytes, self.system.device.dma.engine.write_part_bytes)
    }

    /// Bytes of a TLP for data at an offset of the buffer, padding included.
    #[inline]
    pub(crate) fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        // Only the card appends an ECRC: what the root port sends has none.
        let link = self.link_at(piece.address);
        match kind {
            TlpKind::CompletionWithData => link.tlp_bytes(kind, piece) - link.ecrc_bytes(),
            TlpKind::MemoryRead => link.tlp_bytes(kind, piece),
            TlpKind::MemoryWrite => {
                let data = piece.padded_bytes();
                let units = data.next_multiple_of(self.system.device.uplink_data_quantum_bytes);
                link.tlp_bytes(kind, piece) + units - data
            }
        }
    }

    /// What reading a line costs on top of a line that the card wrote and that is still in the cache.
    #[inline]
    pub(crate) fn read_cost(&self, found: Found, busy: bool) -> Picoseconds {
        let memory = &self.system.host.memory;
        let (miss, remote, remote_dirty) = if busy { memory.busy_times() } else { memory.idle_times() };
        Picoseconds::from_ns(match found {
            Found::DeviceLine => 0.0,
            Found::HostLine => memory.host_line_ns,
            Found::RemoteHostLine => miss + remote_dirty,
            Found::Memory { remote: elsewhere, untouched } => {
                let far = if elsewhere { remote } else { 0.0 };
                let first = if untouched { memory.untouched_ns } else { 0.0 };
                miss + far + first
            }
        })
    }

    /// What reading a line costs, for each place where it may be.
    pub(crate) fn read_costs(&self, caches: &Caches, busy: bool) -> ReadCosts {
        let mut costs = [[ReadCost::default(); KNOWN]; 2];
        for (in_buffer, costs) in [false, true].into_iter().zip(&mut costs) {
            for (known, cost) in (0..).zip(costs) {
                let found = caches.found(known, in_buffer);
                let memory = matches!(found, Found::Memory { .. });
                *cost = ReadCost { time: self.read_cost(found, busy), memory };
            }
        }
        ReadCosts { costs, buffer_lines: self.lines().buffer_lines() }
    }

    /// What writing a line costs before a read behind it may go on.
    #[inline]
    pub(crate) fn write_cost(&self, found: Found, whole_line: bool) -> Picoseconds {
        let memory = &self.system.host.memory;
        Picoseconds::from_ns(match (found, whole_line) {
            (Found::DeviceLine | Found::HostLine, _) => 0.0,
            (Found::Memory { remote: false, .. }, true) => memory.ownership_ns,
            (Found::Memory { remote: true, .. } | Found::RemoteHostLine, true) => memory.remote_ownership_ns,
            (Found::Memory { remote, .. }, false) => {
                memory.miss_ns + if remote { memory.remote_ns } else { 0.0 }
            }
            (Found::RemoteHostLine, false) => memory.miss_ns + memory.remote_dirty_ns,
        })
    }

    /// Writes the lines of a transfer.
    pub(crate) fn write_lines(&self, caches: &mut Caches, first: Line, start: u64, bytes: u64) -> Written {
        let lead = start % LINE_BYTES;
        let count = (lead + bytes).div_ceil(LINE_BYTES);
        let mut written = Written { cost: Picoseconds::ZERO, from_memory: false };
        for nth in 0..count {
            let from = (nth * LINE_BYTES).max(lead);
            let to = ((nth + 1) * LINE_BYTES).min(lead + bytes);
            let found = caches.write(self.lines(), first + nth as Line);
            let whole_line = to - from == LINE_BYTES;
            written.cost = written.cost.max(self.write_cost(found, whole_line));
            written.from_memory |= matches!(found, Found::Memory { .. }) && !whole_line;
        }
        written
    }
}

/// The link of a system that can be simulated, with addresses of 32 bits and of 64.
fn checked_links(system: &System) -> Result<(LinkConfiguration, LinkConfiguration), SystemError> {
    check::check_values(system)?;
    let link = |address_bits| {
        LinkConfiguration::try_from(LinkParameters {
            generation: system.link.generation,
            lanes: system.link.lanes,
            mps_bytes: system.link.mps_bytes,
            mrrs_bytes: system.link.mrrs_bytes,
            rcb_bytes: system.link.rcb_bytes,
            address_bits,
            ecrc: system.link.ecrc,
            flit_mode: Some(system.link.flit),
        })
        .map_err(|error| SystemError::Link { system: system.name.clone(), error })
    };
    Ok((link(32)?, link(64)?))
}
