//! Events of a capture: what every reader yields, whatever wrote the file, and every writer and analysis takes.
//!
//! A field that the source does not give is None, never a default.

/// The way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From a device towards the root complex.
    Upstream,
    /// From the root complex towards a device.
    Downstream,
}

impl Direction {
    /// Its word in lists.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Downstream => "downstream",
        }
    }
}

/// A packet on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Start of the packet in ps after the first record of the file; None: the format has no times.
    pub time_ps: Option<u64>,
    /// None: the format does not say.
    pub direction: Option<Direction>,
    /// Index in [`Facts::ports`].
    pub port: u16,
    /// Number of the packet as the source gives it; else of the packet, sample or line in the file, from 1.
    pub record: u64,
    /// What was sent.
    pub packet: Packet,
    /// What the analyser or the link marked as wrong.
    pub error: Option<LinkError>,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A transaction layer packet.
    Tlp(Tlp),
    /// A data link layer packet.
    Dllp(Dllp),
    /// An ordered set, or anything else that the source lists.
    Other,
}

/// What is wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkError {
    /// A wrong LCRC, ECRC or CRC of a DLLP.
    BadCrc,
    /// A symbol that no code word stands for, or a wrong disparity.
    BadSymbol,
    /// Ended by EDB: the receiver ignores it.
    Nullified,
    /// Header and size do not fit each other, or the header is reserved.
    Malformed,
    /// Marked as poisoned by a source that shows no header.
    Poisoned,
}

impl LinkError {
    /// Every error.
    pub const ALL: [Self; 5] =
        [Self::BadCrc, Self::BadSymbol, Self::Nullified, Self::Malformed, Self::Poisoned];

    /// Its word in lists.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::BadCrc => "bad-crc",
            Self::BadSymbol => "bad-symbol",
            Self::Nullified => "nullified",
            Self::Malformed => "malformed",
            Self::Poisoned => "poisoned",
        }
    }
}

/// Request or completion by its meaning. [`Tlp::wide`] says whether the address has 64 bits, [`Tlp::data_bytes`]
/// whether a completion or message carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `MRd`.
    MemoryRead,
    /// `MRdLk`.
    MemoryReadLocked,
    /// `MWr`.
    MemoryWrite,
    /// `DMWr`: a write with a completion.
    DeferrableWrite,
    /// `IORd`.
    IoRead,
    /// `IOWr`.
    IoWrite,
    /// `CfgRd0`, `CfgRd1`.
    ConfigurationRead {
        /// 0: for the device on the link; 1: for one behind it.
        r#type: u8,
    },
    /// `CfgWr0`, `CfgWr1`.
    ConfigurationWrite {
        /// 0: for the device on the link; 1: for one behind it.
        r#type: u8,
    },
    /// `FetchAdd`.
    FetchAdd,
    /// `Swap`.
    Swap,
    /// `CAS`.
    CompareAndSwap,
    /// `Msg`, `MsgD`.
    Message {
        /// 0 to the root complex, 1 by address, 2 by ID, 3 from the root complex, 4 local, 5 gathered.
        routing: u8,
    },
    /// `Cpl`, `CplD`, `CplLk`, `CplDLk`.
    Completion {
        /// Of a locked read.
        locked: bool,
    },
    /// A prefix that the source lists as a packet of its own.
    Prefix,
}

/// The header of a TLP and the start of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlp {
    /// What it is.
    pub kind: Kind,
    /// Whether the header has 4 double words.
    pub wide: Option<bool>,
    /// Double words of the Length field, 1 to 1024, more where the source has messages instead of TLPs; 0 where it
    /// has no meaning.
    pub length_dw: u16,
    /// Bytes of data that the packet carries, with their padding to double words.
    pub data_bytes: u32,
    /// Requester ID: bus 8 bits, device 5, function 3.
    pub requester: Option<u16>,
    /// Completer ID of a completion; target of a configuration request.
    pub completer: Option<u16>,
    /// Up to 10 bits; 14 in flit mode.
    pub tag: Option<u16>,
    /// First DW BE.
    pub first_enables: Option<u8>,
    /// Last DW BE.
    pub last_enables: Option<u8>,
    /// Address of the first double word; of a configuration request the byte offset of its register.
    pub address: Option<u64>,
    /// Status of a completion: 0 SC, 1 UR, 2 RRS, 4 CA.
    pub status: Option<u8>,
    /// Byte Count, 1 to 4096.
    pub byte_count: Option<u16>,
    /// Lower Address of a completion.
    pub lower_address: Option<u8>,
    /// Code of a message.
    pub message_code: Option<u8>,
    /// Traffic class.
    pub traffic_class: Option<u8>,
    /// Bit 0 no snoop, 1 relaxed ordering, 2 ID-based ordering.
    pub attributes: Option<u8>,
    /// Whether a digest (ECRC) follows the data.
    pub digest: Option<bool>,
    /// The EP bit.
    pub poisoned: Option<bool>,
    /// Sequence number of the link, 12 bits.
    pub sequence: Option<u16>,
    /// The first bytes of the data, at most [`DATA_MOST`], for descriptors and doorbells; empty where the source has none.
    pub data: Vec<u8>,
}

/// Bytes of data that an event keeps.
pub const DATA_MOST: usize = 64;

impl Tlp {
    /// A TLP of which only the kind is known.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            wide: None,
            length_dw: 0,
            data_bytes: 0,
            requester: None,
            completer: None,
            tag: None,
            first_enables: None,
            last_enables: None,
            address: None,
            status: None,
            byte_count: None,
            lower_address: None,
            message_code: None,
            traffic_class: None,
            attributes: None,
            digest: None,
            poisoned: None,
            sequence: None,
            data: Vec::new(),
        }
    }
}

/// A data link layer packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dllp {
    /// Acknowledges all TLPs up to a sequence number.
    Ack {
        /// 12 bits.
        sequence: u16,
    },
    /// Asks for all TLPs after a sequence number again.
    Nak {
        /// 12 bits.
        sequence: u16,
    },
    /// `InitFC1`, `InitFC2`, `UpdateFC`.
    Credits {
        /// `InitFC1` or `InitFC2`.
        initial: bool,
        /// 0 posted, 1 non-posted, 2 completions.
        class: u8,
        /// Virtual channel.
        channel: u8,
        /// `HdrFC`, 8 bits.
        header: u16,
        /// `DataFC`, 12 bits.
        data: u16,
        /// Scale of `HdrFC`: 0 none, 1 x1, 2 x4, 3 x16.
        header_scale: u8,
        /// Scale of `DataFC`.
        data_scale: u8,
    },
    /// Power management, vendor's, or reserved.
    Other {
        /// The first byte.
        r#type: u8,
    },
}

/// What is skipped of a packet that the source shows more than once.
pub(crate) const COPY: &str = "packet that another logger shows as well";

/// What a file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Word of the format, and the product that wrote it, if the file says so.
    pub format: String,
    /// Ports, interfaces or probes, by [`Event::port`].
    pub ports: Vec<String>,
    /// Transfer rate in GT/s times 10.
    pub rate_tenths: Option<u16>,
    /// Lanes.
    pub lanes: Option<u8>,
    /// Least step of its times in ps.
    pub resolution_ps: Option<u64>,
    /// Whether times and bytes come from a simulator.
    pub simulated: Option<bool>,
    /// What could not be read, by kind, with its count and the first record.
    pub skipped: Vec<(String, u64, u64)>,
}

impl Facts {
    /// Counts something that cannot be read.
    pub fn skip(&mut self, what: &str, record: u64) {
        match self.skipped.iter_mut().find(|(known, _, _)| known == what) {
            Some((_, count, _)) => *count += 1,
            None => self.skipped.push((what.to_owned(), 1, record)),
        }
    }

    /// Packets that could not be read: what was skipped, without copies of packets that were read.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.skipped.iter().filter(|(what, _, _)| what != COPY).map(|(_, count, _)| count).sum()
    }

    /// The index of a port by name, of at most 65,536.
    pub fn port(&mut self, name: &str) -> u16 {
        let known = self.ports.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            if self.ports.len() <= usize::from(u16::MAX) {
                self.ports.push(name.to_owned());
            }
            self.ports.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }
}
