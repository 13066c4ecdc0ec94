//! Structures of the machine in the C library.

use super::layout::PcielabOutcome;
use crate::endpoint::Units;
use crate::machine::{Discipline, Event, Machine, MachineError, Options};
use crate::port::Completion;
use pcie_refusal::Refusal;

/// Which TLPs have queues and credits of their own at each port of a machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabDiscipline {
    /// Those to each destination, as `pcielab fabric simulate` has it.
    PerDestination = 0,
    /// Those of each sender.
    PerFlow = 1,
    /// None: a TLP that waits blocks those behind it, as in a switch without virtual channels.
    Fifo = 2,
}

/// Options of a machine. Zero all of it, then set what matters.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PcielabMachineOptions {
    /// A PcielabDiscipline.
    pub discipline: u32,
    /// Most bytes of a read request; 0: MPS, as `pcielab fabric simulate` cuts transfers.
    pub mrrs_bytes: u32,
    /// 0.
    pub reserved: u64,
}

/// The options that are given, or the usual ones.
pub(super) fn options(given: Option<&PcielabMachineOptions>) -> Result<Options, Refusal> {
    let given = given.copied().unwrap_or_default();
    let discipline = match given.discipline {
        0 => Discipline::PerDestination,
        1 => Discipline::PerFlow,
        2 => Discipline::Fifo,
        other => return Err(Refusal::of("discipline", other, "give 0 to 2").about("options")),
    };
    let mrrs_bytes = (given.mrrs_bytes > 0).then_some(given.mrrs_bytes);
    Ok(Options { discipline, mrrs_bytes })
}

/// Limits of a host or device of a machine, and its addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabMachineLimits {
    /// First bus address of a host's memory or a device's largest BAR.
    pub address: u64,
    /// Its bytes; 0 of a device without a BAR.
    pub bytes: u64,
    /// Most bytes of a write.
    pub mps_bytes: u32,
    /// Most bytes of a read.
    pub mrrs_bytes: u32,
}

impl PcielabMachineLimits {
    pub(super) fn of(machine: &Machine, node: u32) -> Result<Self, MachineError> {
        machine.credits(node)?;
        let (address, bytes) = machine.region(node).unwrap_or_default();
        let (mps_bytes, mrrs_bytes) = (machine.topology().mps_bytes(), machine.mrrs_bytes());
        Ok(Self { address, bytes, mps_bytes, mrrs_bytes })
    }
}

/// How much a host or device of a machine has in use.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabMachineRoom {
    /// Transfers that are not done.
    pub transfers: u64,
    /// Reads in flight, those of transfers included.
    pub reads: u32,
    /// Header credits for writes and messages that it has left.
    pub posted_headers: u32,
    /// Data credits for writes that it has left, 16 bytes each.
    pub posted_data: u32,
    /// Header credits for reads that it has left.
    pub non_posted_headers: u32,
}

impl PcielabMachineRoom {
    pub(super) fn of(machine: &Machine, node: u32) -> Result<Self, MachineError> {
        let Units { posted_headers, posted_data, non_posted_headers } = machine.credits(node)?;
        let (transfers, reads) = (machine.transfers(node) as u64, machine.reads_in_flight(node)?);
        Ok(Self { transfers, reads, posted_headers, posted_data, non_posted_headers })
    }
}

/// Kinds of event of a machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabMachineEventKind {
    /// A completion is at the node that reads.
    Completion = 0,
    /// TLPs have left the node's port: credits are back.
    Credits = 1,
    /// An interrupt or message has arrived, behind the writes of its sender to there before it.
    Message = 2,
    /// A read is at a device that the caller stands for: answer it with pcielab_machine_complete.
    Read = 3,
    /// A write is in memory; at a device that the caller stands for, it has arrived.
    Write = 4,
    /// A transfer is done: its last byte is where it belongs.
    Done = 5,
}

/// An event of a machine. Fields that its kind does not have are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcielabMachineEvent {
    /// When it happens.
    pub at_ps: u64,
    /// Bus address of its first byte.
    pub address: u64,
    /// Number of a read that waits for its answer, or of a transfer that is done.
    pub number: u64,
    /// A PcielabMachineEventKind.
    pub kind: u32,
    /// The host or device to which it happens.
    pub node: u32,
    /// Who has sent the TLP.
    pub from: u32,
    /// Bytes of its data, or that a read asks for.
    pub length: u32,
    /// Byte Count of a completion: the bytes of its request from here on.
    pub byte_count: u32,
    /// A PcielabOutcome: what a completion brings.
    pub outcome: u32,
    /// Header credits for writes and messages.
    pub posted_headers: u32,
    /// Data credits for writes, 16 bytes each.
    pub posted_data: u32,
    /// Header credits for reads.
    pub non_posted_headers: u32,
    /// Tag of the TLP.
    pub tag: u16,
    /// Lower Address of a completion.
    pub lower_address: u8,
    /// Whether a completion is the last one of its request, whose tag is free again.
    pub last: u8,
    /// Whether a write belongs to a transfer, so that it has no tag.
    pub of_transfer: u32,
}

impl From<Event> for PcielabMachineEvent {
    fn from(event: Event) -> Self {
        use PcielabMachineEventKind as Kind;
        let at_ps = event.at().0;
        let of = |kind: Kind, node: u32| Self { at_ps, node, kind: kind as u32, ..Self::default() };
        match event {
            Event::Completion { node, from, completion } => {
                let Completion { tag, address, length, byte_count, last, outcome, .. } = completion;
                let outcome = PcielabOutcome::from(outcome) as u32;
                let (lower_address, last) = (completion.lower_address(), last.into());
                Self {
                    from,
                    tag,
                    address,
                    length,
                    byte_count,
                    last,
                    outcome,
                    lower_address,
                    ..of(Kind::Completion, node)
                }
            }
            Event::Credits {
                node, units: Units { posted_headers, posted_data, non_posted_headers }, ..
            } => Self { posted_headers, posted_data, non_posted_headers, ..of(Kind::Credits, node) },
            Event::Read { node, from, request, address, length, .. } => {
                Self { from, number: request, address, length, ..of(Kind::Read, node) }
            }
            Event::Write { node, from, address, length, tag, transfer, .. } => {
                let (number, of_transfer) = (transfer.unwrap_or(0), transfer.is_some().into());
                Self { from, number, address, length, tag, of_transfer, ..of(Kind::Write, node) }
            }
            Event::Message { node, from, address, tag, .. } => {
                Self { from, address, tag, ..of(Kind::Message, node) }
            }
            Event::Done { node, transfer, .. } => Self { number: transfer, ..of(Kind::Done, node) },
        }
    }
}
