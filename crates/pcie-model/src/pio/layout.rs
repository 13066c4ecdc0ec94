//! Layout of a message in buffers: padded to words, then filled with signatures to the end of the last
//! buffer.

use pcie_refusal::{Refusal, in_range};

/// A write-combining buffer.
pub const BUFFER_BYTES: u64 = 64;
/// The widest single store, and the length of an end-of-packet signature.
pub const WORD_BYTES: u64 = 8;
/// The longest payload that the model takes: 64 KiB.
pub const MAX_PAYLOAD_BYTES: u64 = 1 << 16;

/// A message in buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Headers and payload.
    pub frame_bytes: u64,
    /// Headers and payload, rounded up to a whole word.
    pub message_bytes: u64,
    /// Buffers of the message with at least one signature behind it.
    pub buffers: u64,
}

impl Layout {
    /// Lay out a message of `payload_bytes` behind headers of `header_bytes`.
    ///
    /// # Errors
    /// A payload that is empty or above [`MAX_PAYLOAD_BYTES`].
    pub fn new(payload_bytes: u64, header_bytes: u32) -> Result<Self, Refusal> {
        in_range("payload_bytes", payload_bytes, 1..=MAX_PAYLOAD_BYTES, "give 1 byte to 64 KiB")?;
        let frame_bytes = payload_bytes + u64::from(header_bytes);
        let message_bytes = frame_bytes.next_multiple_of(WORD_BYTES);
        Ok(Self { frame_bytes, message_bytes, buffers: (message_bytes + WORD_BYTES).div_ceil(BUFFER_BYTES) })
    }

    /// Signatures behind the message, up to the end of the last buffer: at least one.
    pub fn signatures(&self) -> u64 {
        (self.buffers * BUFFER_BYTES - self.message_bytes) / WORD_BYTES
    }

    /// Word stores that write the message and one signature.
    pub fn stores(&self) -> u64 {
        self.message_bytes / WORD_BYTES + 1
    }

    /// Bytes of each write when `flushes` more cuts are spread evenly over the buffers.
    ///
    /// # Errors
    /// More flushes than there are words to cut between.
    pub fn pieces(&self, flushes: u64) -> Result<impl Iterator<Item = u32> + use<>, Refusal> {
        let words = BUFFER_BYTES / WORD_BYTES;
        let remedy = "give at most 7 for each buffer of the message";
        in_range("flushes", flushes, 0..=self.buffers * (words - 1), remedy)?;
        let buffers = self.buffers;
        Ok((0..buffers).flat_map(move |buffer| {
            let pieces = 1 + flushes / buffers + u64::from(buffer < flushes % buffers);
            (0..pieces).map(move |piece| {
                let words = (piece + 1) * words / pieces - piece * words / pieces;
                (words * WORD_BYTES) as u32
            })
        }))
    }
}
