//! A TLP of the device, and why a port refuses one.

use pcie_time::Picoseconds;
use std::ops::Range;
use thiserror::Error;

/// Values that a tag can have: tags of up to 14 bits.
pub const TAGS: u16 = 1 << 14;
/// Addresses at which a write is an interrupt (Intel SDM volume 3, section 11.11.1).
pub const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;
/// The latest time at which a TLP can be ready: 13 days of simulated time.
pub const TIME_MOST: Picoseconds = Picoseconds(1 << 60);

/// What a TLP asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A memory read request.
    Read,
    /// A memory write; at [`INTERRUPTS`], an interrupt.
    Write,
    /// A message to the root complex, without data.
    Message,
}

/// What becomes of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Its completions bring data.
    #[default]
    Data,
    /// Its completions bring data and are poisoned: nobody may use them.
    Poisoned,
    /// One completion without data, with the status *Unsupported Request*.
    Unsupported,
    /// One completion without data, with the status *Completer Abort*.
    Aborted,
    /// Nothing: the device has to notice.
    Lost,
}

/// A TLP of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlp {
    /// What it asks for.
    pub kind: Kind,
    /// Tag of a read, below [`TAGS`].
    pub tag: u16,
    /// Bus address of its first enabled byte.
    pub address: u64,
    /// Bytes from its first enabled byte to its last; 0 for a message.
    pub length: u32,
    /// Whether it has the relaxed-ordering attribute, which only matters for a write to memory: it may pass earlier
    /// writes in a root complex that has a pool for them (`host.root_complex.write_pool_lines`).
    pub relaxed: bool,
}

impl Tlp {
    /// Whether it passes no memory: a message, or a write that is an interrupt.
    #[must_use]
    pub fn is_signal(&self) -> bool {
        match self.kind {
            Kind::Read => false,
            Kind::Write => INTERRUPTS.contains(&self.address),
            Kind::Message => true,
        }
    }

    /// Refuses an interrupt that is not a double word, and a message with data.
    pub(crate) fn check_signal(&self) -> Result<(), TlpError> {
        let Self { kind, address, length, .. } = *self;
        let bytes = if kind == Kind::Message { 0 } else { 4 };
        let fits = length == bytes && address.is_multiple_of(4);
        if fits { Ok(()) } else { Err(TlpError::Signal { length, address }) }
    }
}

/// Why a port refuses a TLP. The port is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TlpError {
    /// No bytes, or more than the link allows.
    #[error("length is {length}: give 1 to {most} bytes, the link's {limit}")]
    Length {
        /// Its length.
        length: u32,
        /// The most that the link allows.
        most: u32,
        /// Name of that limit.
        limit: &'static str,
    },
    /// An interrupt that is not one aligned double word, or a message with data.
    #[error(
        "interrupt or message of {length} bytes at {address:#x}: an interrupt has 4 bytes, a message none"
    )]
    Signal {
        /// Its length.
        length: u32,
        /// Its address.
        address: u64,
    },
    /// Bytes in two pages.
    #[error("{length} bytes at {address:#x} cross a multiple of 4096: cut the transfer there")]
    CrossesPage {
        /// Its address.
        address: u64,
        /// Its length.
        length: u32,
    },
    /// Bytes outside the host buffer.
    #[error("address {address:#x} is outside the host buffer: give an address of one of its pieces")]
    OutsideBuffer {
        /// Its address.
        address: u64,
    },
    /// A transfer without bytes, or beyond the host buffer.
    #[error("{bytes} bytes at offset {offset}: give 1 or more within the {buffer_bytes} of the host buffer")]
    Transfer {
        /// Its offset.
        offset: u64,
        /// Its bytes.
        bytes: u64,
        /// Bytes of the buffer.
        buffer_bytes: u64,
    },
    /// A tag that no request can have.
    #[error("tag is {0}: give one below {TAGS}")]
    Tag(u16),
    /// A tag of a request in flight.
    #[error("tag {0} is in use: wait for the last completion of its request")]
    TagInUse(u16),
    /// A tag that no read in flight has.
    #[error("tag {0} belongs to no read in flight: give that of one")]
    NoRead(u16),
    /// Another outcome than data for a TLP that gets no answer.
    #[error("only reads can fail: give the outcome of a write or message as data")]
    NoAnswer,
    /// Fewer credits than the TLP needs.
    #[error("no {0} credits are left: wait until some come back")]
    NoCredits(&'static str),
    /// A time that has passed.
    #[error("ready at {} ps, but time has advanced to {} ps: submit TLPs in the order of time", .ready.0, .passed.0)]
    Past {
        /// When the TLP is ready.
        ready: Picoseconds,
        /// The earliest possible time.
        passed: Picoseconds,
    },
    /// A time beyond [`TIME_MOST`].
    #[error("time is {} ps: give at most {} ps", .0.0, TIME_MOST.0)]
    Late(Picoseconds),
}
