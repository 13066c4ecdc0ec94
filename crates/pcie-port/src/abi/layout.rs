//! Structures of the C library.

use super::code::Code;
use crate::endpoint::{Event, Occupancy, Units};
use crate::port::Port;
use crate::tlp::{Kind, Outcome, Tlp};
use pcie_sim::Sent;

/// Kinds of TLP.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabKind {
    /// A memory read request.
    Read = 0,
    /// A memory write; four bytes at 0xfee00000 to 0xfeefffff are an interrupt.
    Write = 1,
    /// A message without data.
    Message = 2,
    /// A memory write with the relaxed-ordering attribute.
    RelaxedWrite = 3,
}

/// What becomes of a read.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabOutcome {
    /// Its completions bring data.
    Data = 0,
    /// Its completions bring data and are poisoned: nobody may use them.
    Poisoned = 1,
    /// One completion without data, with the status Unsupported Request.
    Unsupported = 2,
    /// One completion without data, with the status Completer Abort.
    Aborted = 3,
    /// Nothing: the device notices by its completion timeout, see pcielab_port_give_up.
    Lost = 4,
}

/// The outcome with a number.
pub(super) fn outcome(number: u32) -> Result<Outcome, Code> {
    Ok(match number {
        0 => Outcome::Data,
        1 => Outcome::Poisoned,
        2 => Outcome::Unsupported,
        3 => Outcome::Aborted,
        4 => Outcome::Lost,
        _ => return Err(Code::Outcome),
    })
}

impl From<Outcome> for PcielabOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Data => Self::Data,
            Outcome::Poisoned => Self::Poisoned,
            Outcome::Unsupported => Self::Unsupported,
            Outcome::Aborted => Self::Aborted,
            Outcome::Lost => Self::Lost,
        }
    }
}

/// A TLP of the device. Its data are the caller's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabTlp {
    /// Bus address of its first enabled byte.
    pub address: u64,
    /// Bytes from its first enabled byte to its last; 0 for a message.
    pub length: u32,
    /// Tag of a read: one that no read in flight has, below 16384.
    pub tag: u16,
    /// A PcielabKind.
    pub kind: u16,
}

impl PcielabTlp {
    pub(super) fn checked(&self) -> Result<Tlp, Code> {
        let kind = match self.kind {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Message,
            3 => Kind::Write,
            _ => return Err(Code::Kind),
        };
        let relaxed = self.kind == PcielabKind::RelaxedWrite as u16;
        Ok(Tlp { kind, tag: self.tag, address: self.address, length: self.length, relaxed })
    }
}

impl From<Tlp> for PcielabTlp {
    fn from(tlp: Tlp) -> Self {
        let kind = match tlp.kind {
            Kind::Read => PcielabKind::Read,
            Kind::Write if tlp.relaxed => PcielabKind::RelaxedWrite,
            Kind::Write => PcielabKind::Write,
            Kind::Message => PcielabKind::Message,
        };
        Self { address: tlp.address, length: tlp.length, tag: tlp.tag, kind: kind as u16 }
    }
}

/// What becomes of a TLP.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabSent {
    /// When its last byte has left the device.
    pub left_ps: u64,
    /// When the host has received a read, or is done with a write or message.
    pub arrived_ps: u64,
    /// When its credits are back at the device; an event tells it, too.
    pub credited_ps: u64,
}

impl From<Sent> for PcielabSent {
    fn from(sent: Sent) -> Self {
        Self { left_ps: sent.left.0, arrived_ps: sent.arrived.0, credited_ps: sent.credited.0 }
    }
}

/// Kinds of event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabEventKind {
    /// A completion with data has arrived at the device.
    Completion = 0,
    /// Credits are back at the device, which can be used from now on.
    Credits = 1,
    /// An interrupt or message has arrived at the host, behind all writes before it.
    Message = 2,
}

/// An event. Fields that its kind does not have are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabEvent {
    /// When it happens.
    pub at_ps: u64,
    /// Bus address of a completion's first byte, or of an interrupt.
    pub address: u64,
    /// A PcielabEventKind.
    pub kind: u32,
    /// Bytes of a completion's data.
    pub length: u32,
    /// Byte Count of a completion: the bytes of its request from here on.
    pub byte_count: u32,
    /// Header credits for writes and messages.
    pub posted_headers: u32,
    /// Data credits for writes, 16 bytes each.
    pub posted_data: u32,
    /// Header credits for reads.
    pub non_posted_headers: u32,
    /// Tag of the TLP that caused it.
    pub tag: u16,
    /// Lower Address of a completion.
    pub lower_address: u8,
    /// Whether a completion is the last one of its request, whose tag is free again.
    pub last: u8,
    /// A PcielabOutcome: what a completion brings. 0, data, unless pcielab_port_submit_with asked for another.
    pub outcome: u32,
}

impl From<Event> for PcielabEvent {
    fn from(event: Event) -> Self {
        let at_ps = event.at().0;
        match event {
            Event::Completion(completion) => Self {
                at_ps,
                address: completion.address,
                kind: PcielabEventKind::Completion as u32,
                length: completion.length,
                byte_count: completion.byte_count,
                tag: completion.tag,
                lower_address: completion.lower_address(),
                last: completion.last.into(),
                outcome: PcielabOutcome::from(completion.outcome) as u32,
                ..Self::default()
            },
            Event::Credits { units: Units { posted_headers, posted_data, non_posted_headers }, .. } => Self {
                at_ps,
                kind: PcielabEventKind::Credits as u32,
                posted_headers,
                posted_data,
                non_posted_headers,
                ..Self::default()
            },
            Event::Message { address, tag, .. } => {
                Self { at_ps, address, tag, kind: PcielabEventKind::Message as u32, ..Self::default() }
            }
        }
    }
}

/// Limits of the link, and the host buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabLimits {
    /// Bytes of the host buffer.
    pub buffer_bytes: u64,
    /// Time from one end of the link to the other.
    pub flight_ps: u64,
    /// Least time from when a TLP is ready until anything that it causes reaches the device.
    pub reaction_ps: u64,
    /// Most bytes of a write.
    pub mps_bytes: u32,
    /// Most bytes of a read.
    pub mrrs_bytes: u32,
    /// Read completion boundary.
    pub rcb_bytes: u32,
    /// Tags of the system's link: 32 without extended tags, 256 with, 768 with 10-bit tags.
    pub tags: u32,
}

impl PcielabLimits {
    pub(super) fn of(port: &Port) -> Self {
        let link = &port.system().link;
        Self {
            buffer_bytes: port.buffer().bytes(),
            flight_ps: port.flight().0,
            reaction_ps: port.reaction().0,
            mps_bytes: link.mps_bytes,
            mrrs_bytes: link.mrrs_bytes,
            rcb_bytes: link.rcb_bytes,
            tags: link.tags,
        }
    }
}

/// How much is in use.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabOccupancy {
    /// When the device's port can send the next TLP.
    pub uplink_free_ps: u64,
    /// Reads in flight.
    pub reads: u32,
    /// Header credits for writes and messages that the device has left.
    pub posted_headers: u32,
    /// Data credits for writes that it has left, 16 bytes each.
    pub posted_data: u32,
    /// Header credits for reads that it has left.
    pub non_posted_headers: u32,
}

impl From<Occupancy> for PcielabOccupancy {
    fn from(occupancy: Occupancy) -> Self {
        let Units { posted_headers, posted_data, non_posted_headers } = occupancy.credits;
        let (uplink_free_ps, reads) = (occupancy.uplink_free.0, occupancy.reads);
        Self { uplink_free_ps, reads, posted_headers, posted_data, non_posted_headers }
    }
}
