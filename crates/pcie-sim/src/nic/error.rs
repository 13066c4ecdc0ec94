//! Why a NIC cannot be simulated.

use crate::machine::SystemError;
use pcie_model::ModelError;
use thiserror::Error;

/// Why a NIC cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NicError {
    /// The NIC, or the line, cannot be.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The system is wrong.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The NIC lacks a direction.
    #[error("the NIC has no steps for {0}: choose the direction that it has")]
    OneWay(&'static str),
    /// Packets are larger than buffers.
    #[error("queues.buffer_bytes is {buffer}: frames of {frame} B need {needed} or more")]
    Packet {
        /// Bytes of a buffer.
        buffer: u32,
        /// Bytes of a frame.
        frame: u64,
        /// Bytes of it that cross PCIe.
        needed: u64,
    },
    /// A ring holds less than two batches.
    #[error(
        "queues.ring_descriptors is {ring}: step {step} needs a ring of {needed} or more, two of its batches"
    )]
    Ring {
        /// Descriptors of the ring.
        ring: u32,
        /// The step, for people.
        step: String,
        /// Two batches.
        needed: u64,
    },
    /// The NIC cannot hold what it fetches at once.
    #[error("queues.descriptors_held is {held}: step {step} fetches {needed} at once")]
    Held {
        /// Descriptors that it holds.
        held: u32,
        /// The step, for people.
        step: String,
        /// Descriptors of a batch.
        needed: u64,
    },
    /// Rings and buffers do not fit the host buffer.
    #[error(
        "queues: rings and buffers take {needed} B, and the system's host buffer has {bytes}: give fewer buffers"
    )]
    Buffer {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are there.
        bytes: u64,
    },
    /// Everything waits.
    #[error("nothing can go on: the steps wait for each other")]
    Stuck,
    /// It was asked to stop.
    #[error("stopped before it was complete")]
    Stopped,
}
