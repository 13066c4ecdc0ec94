//! What a program may not do with the runtime. Messages name the item and say what would be right.

use crate::error::FabricError;

/// Why the runtime refuses something.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuntimeError {
    /// The fabric refuses it.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A name that is not there, or is something else.
    #[error("{kind} {name}: {problem}")]
    Unknown {
        /// `host`, `device`, `region` or `queue`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// Something that has to come first.
    #[error("{item}: call {first} first")]
    NotReady {
        /// The device or region.
        item: String,
        /// The call.
        first: &'static str,
    },
    /// Something that can be done once only.
    #[error("{item}: {done} was called before: call it once")]
    Twice {
        /// The device or region.
        item: String,
        /// The call.
        done: &'static str,
    },
    /// Addresses that are taken.
    #[error("{item} at {address:#x}: overlaps {other} at {other_address:#x}: give other addresses")]
    Overlap {
        /// What was to be mapped.
        item: String,
        /// Its first address.
        address: u64,
        /// What is there.
        other: String,
        /// Its first address.
        other_address: u64,
    },
    /// An allocation of no bytes.
    #[error("{region}: size_bytes = 0: give 1 or more")]
    NothingToAllocate {
        /// The region.
        region: String,
    },
    /// No room left.
    #[error(
        "{region}: no {size_bytes} bytes are free in one piece, at most {largest_bytes}: free something, or take less"
    )]
    Exhausted {
        /// The region.
        region: String,
        /// Bytes asked for.
        size_bytes: u64,
        /// The longest free run.
        largest_bytes: u64,
    },
    /// An address of something else.
    #[error("{region}: {address:#x} is not in it: it has {first:#x} to {last:#x}")]
    WrongRegion {
        /// The region.
        region: String,
        /// The address given.
        address: u64,
        /// Its first address.
        first: u64,
        /// Its last address.
        last: u64,
    },
    /// An address that nobody holds.
    #[error("{region}: {address:#x} is not allocated: it was freed before, or never allocated")]
    NotAllocated {
        /// The region.
        region: String,
        /// The address given.
        address: u64,
    },
    /// An address in the middle of what is allocated.
    #[error(
        "{region}: {address:#x} is within the segment at {start:#x}: give the address that was allocated"
    )]
    InsideSegment {
        /// The region.
        region: String,
        /// The address given.
        address: u64,
        /// Where the segment starts.
        start: u64,
    },
    /// A transfer beyond the end of a segment.
    #[error(
        "{region}: {size_bytes} bytes at {address:#x}: the segment ends after {room_bytes}: allocate more"
    )]
    TooSmall {
        /// The region.
        region: String,
        /// Where the transfer starts.
        address: u64,
        /// Its length.
        size_bytes: u64,
        /// What is left of the segment.
        room_bytes: u64,
    },
    /// A queue with more in flight than a device has tags.
    #[error("queue {queue}: {outstanding} outstanding: {device} has {tags} tags: limit the queue to as many")]
    TooManyOutstanding {
        /// The queue.
        queue: u32,
        /// Its limit.
        outstanding: u32,
        /// The device.
        device: String,
        /// Its tags.
        tags: u32,
    },
    /// A DMA transfer of a part of a packet.
    #[error(
        "{device}: size_bytes = {size_bytes}: its DMA engines move packets of {packet_bytes} bytes: give a multiple"
    )]
    PartOfPacket {
        /// The device.
        device: String,
        /// What was to be moved.
        size_bytes: u64,
        /// A packet.
        packet_bytes: u32,
    },
    /// A DMA transfer that starts where memory is not reached.
    #[error(
        "{region}: {address:#x}: DMA reaches it at multiples of {alignment_bytes} bytes: give such an address"
    )]
    Unaligned {
        /// The region.
        region: String,
        /// The address given.
        address: u64,
        /// What it should be a multiple of.
        alignment_bytes: u32,
    },
    /// A request or limit that makes no sense.
    #[error("{item}: {problem}")]
    Request {
        /// The primitive or the limit.
        item: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A scheduling policy that chose what is not there.
    #[error("policy: chose {chosen} of {waiting} waiting requests: choose one of them, counted from 0")]
    Policy {
        /// What it chose.
        chosen: usize,
        /// How many there were.
        waiting: usize,
    },
    /// A scheduling policy that holds requests back for no time.
    #[error(
        "policy: holds requests back for {hold_ns} ns: give more than 0 and at most 1e12, or hold without a time"
    )]
    Hold {
        /// What it said.
        hold_ns: f64,
    },
    /// Nothing will happen any more, and a policy holds requests back until something does.
    #[error(
        "policy: holds {waiting} requests back while nothing is in flight: let one leave, or hold for a time"
    )]
    HeldBack {
        /// Requests that wait.
        waiting: usize,
    },
}
