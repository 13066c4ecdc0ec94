//! A checked system with its precomputed link arithmetic.

mod crossing;
mod error;
mod replays;
pub(crate) mod root_port;
mod shape;

pub use error::Unsupported;

use crate::cache::advances::Advances;
use crate::cache::history::{State, TestKey};
use crate::cache::last_level::Caches;
use crate::cache::lines::Lines;
use crate::cache::traces::Trace;
use crate::link::overhead::LinkOverhead;
use crate::profile::{IommuMode, Ruled as _, System};
use crate::root_complex::cuts::Cuts;
use pcie_refusal::Refusal;
use pcie_time::TickLength;
use pcie_wire::{LinkConfiguration, Piece, SplitAt, TlpKind};
use pcie_workload::{AddressList, Operation, Path, Test};
use std::sync::{Arc, OnceLock};

/// The longest simulated transfer: every TLP of it is simulated.
const TRANSFER_BYTES_SIMULATED: u64 = 16 << 20;

/// A system, ready to be simulated.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) system: System,
    /// Numbered at first use: bounds do not need them.
    lines: Arc<OnceLock<Lines>>,
    narrow: LinkConfiguration,
    wide: LinkConfiguration,
    overhead: LinkOverhead,
    pub(crate) tick: TickLength,
}

impl Machine {
    /// Checks and prepares a system.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn new(system: System) -> Result<Self, Refusal> {
        Self::with_lines(system, Arc::default())
    }

    /// The host and the link of a system, for a device that is simulated elsewhere.
    ///
    /// # Errors
    /// Those of [`Machine::new`].
    pub fn without_device(system: System) -> Result<Self, Refusal> {
        Self::new(system.without_device())
    }

    /// Shares the lines of a machine of the same shape.
    fn with_lines(system: System, lines: Arc<OnceLock<Lines>>) -> Result<Self, Refusal> {
        let (narrow, wide) = checked_links(&system)?;
        let timer = system.device.timer;
        let tick = TickLength { numerator_ns: timer.numerator_ns, denominator: timer.denominator };
        let overhead = LinkOverhead::of(&wide, &system.device, &system.host.root_complex);
        Ok(Self { lines, narrow, wide, overhead, tick, system })
    }

    /// Checks a system as [`Machine::new`] does.
    ///
    /// # Errors
    /// Names the first key whose value cannot be simulated.
    pub fn check(system: &System) -> Result<(), Refusal> {
        checked_links(system).map(drop)
    }

    /// The simulated system.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    #[inline]
    pub(crate) fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.system))
    }

    /// Size of the machine's state in bytes.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        Caches::size_bytes(&self.system, self.lines())
    }

    /// The machine after boot.
    #[must_use]
    pub fn boot(&self) -> State {
        State::boot(&self.system, self.lines())
    }

    /// The device writes random lines over the whole buffer.
    pub fn thrash_from_device(&self, state: &mut State, key: TestKey) {
        self.leave(state, &Trace::DeviceThrash { key });
    }

    /// The device writes the window, twice.
    pub fn warm_from_device(&self, state: &mut State, window_bytes: u64) {
        self.leave(state, &Trace::DeviceWarm { window_bytes });
    }

    /// The CPU writes the window, four times.
    pub fn warm_from_host(&self, state: &mut State, window_bytes: u64, key: TestKey) {
        self.leave(state, &Trace::HostWarm { window_bytes, key });
    }

    /// Advances states of a test from one of its transactions to a later one.
    #[must_use]
    pub fn advances<'a>(&'a self, test: &'a Test, list: &'a AddressList) -> Advances<'a> {
        Advances::new(self.lines(), test, list)
    }

    /// The part of a state that the transactions of a test can see or change. Only runs of that test may
    /// continue from it.
    #[must_use]
    pub fn visible_state(&self, state: &State, test: &Test, list: &AddressList) -> State {
        if self.sees_state(test) { state.visible_to(self.lines(), test, list) } else { state.without_lines() }
    }

    /// Whether the results of a test depend on the state: a posted write passes the root complex in the same
    /// time wherever its lines are, and only its translation can miss.
    #[must_use]
    pub fn sees_state(&self, test: &Test) -> bool {
        test.operation != Operation::BwWr || self.system.iommu != IommuMode::Off
    }

    /// Whether the transactions of a test change the state.
    #[must_use]
    pub fn leaves_traces(&self, test: &Test) -> bool {
        test.operation.writes() || self.system.iommu != IommuMode::Off
    }

    /// Length of a tick of the device's timer.
    #[must_use]
    pub fn tick(&self) -> TickLength {
        self.tick
    }

    /// Refuses a test that the system cannot carry out.
    ///
    /// # Errors
    /// Names the missing capability.
    pub fn supports(&self, test: &Test) -> Result<(), Unsupported> {
        let card = &self.system.device;
        let buffer = self.system.buffer_bytes();
        let (path, most) = match (test.path, &card.command) {
            (Path::Dma, _) => ("DMA", card.dma.transfer_bytes_most),
            (Path::Command, Some(command)) => ("command", command.transfer_bytes_most),
            (Path::Command, None) => return Err(Unsupported::NoCommandPath(card.name.clone())),
        };
        if test.size_bytes > u64::from(most) {
            return Err(Unsupported::TooLong { card: card.name.clone(), path, most });
        }
        if test.size_bytes > TRANSFER_BYTES_SIMULATED {
            return Err(Unsupported::NotSimulated(test.size_bytes));
        }
        let multiple = card.dma.transfer_multiple_bytes;
        if test.path == Path::Dma && !test.size_bytes.is_multiple_of(u64::from(multiple)) {
            return Err(Unsupported::NoMultiple { card: card.name.clone(), multiple });
        }
        if test.operation == Operation::LatChase {
            return Err(Unsupported::Chase);
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

    /// Transactions that the device makes for a test: no more than its journal or counter holds.
    #[must_use]
    pub fn transactions(&self, test: &Test) -> u64 {
        let card = &self.system.device;
        let most =
            if test.operation.is_latency() { card.latency_samples_most } else { card.transactions_most };
        most.map_or(test.transactions, |most| most.min(test.transactions))
    }

    /// Read requests that the device can have in flight.
    pub(crate) fn tags(&self) -> u32 {
        let tags = self.system.link.tags;
        self.system.device.dma.tags.map_or(tags, |own| own.min(tags))
    }

    /// The link with the header length of the address at `offset` of the buffer.
    #[inline]
    pub(crate) fn link_at(&self, offset: u64) -> &LinkConfiguration {
        if self.has_low_address(offset) { &self.narrow } else { &self.wide }
    }

    /// Whether the address at `offset` of the buffer has 32 bits.
    #[inline]
    pub(crate) fn has_low_address(&self, offset: u64) -> bool {
        let chunk = (offset >> self.system.chunk_bytes.trailing_zeros()) as usize;
        self.system.chunk_addresses.get(chunk).is_some_and(|address| *address < 1 << 32)
    }

    /// Either of the two links, which differ only in the headers of requests.
    pub(crate) fn link(&self) -> &LinkConfiguration {
        &self.wide
    }

    /// The completions for one read request, first to last.
    pub(crate) fn completions(&self, request: Piece) -> Cuts {
        Cuts::of(&self.system, request)
    }

    pub(crate) fn read_requests(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Piece> + use<> {
        self.wide.read_requests(offset, bytes, SplitAt::AlignedAddress)
    }

    pub(crate) fn write_tlps(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Piece> + use<> {
        self.wide.writes_in_parts(offset, bytes, self.system.device.dma.engine.write_part_bytes)
    }

    /// Bytes of a TLP for data at an offset of the buffer, padding included.
    #[inline]
    pub(crate) fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        let link = self.link_at(piece.address);
        match kind {
            TlpKind::CompletionWithData | TlpKind::MemoryRead => link.tlp_bytes(kind, piece),
            TlpKind::MemoryWrite => {
                let data = piece.padded_bytes();
                let units = data.next_multiple_of(self.system.device.uplink_data_quantum_bytes);
                link.tlp_bytes(kind, piece) + units - data
            }
        }
    }
}

/// The links of a valid system with addresses of 32 bits and of 64.
fn checked_links(system: &System) -> Result<(LinkConfiguration, LinkConfiguration), Refusal> {
    let of_system = |wrong: Refusal| wrong.about(format!("system {}", system.name));
    system.check().map_err(of_system)?;
    let link = |address_bits| {
        LinkConfiguration::try_from(system.link.with_addresses(address_bits))
            .map_err(|wrong| of_system(wrong.below("link")))
    };
    Ok((link(32)?, link(64)?))
}
