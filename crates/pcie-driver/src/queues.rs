//! Host memory that a driver shares with its device, beside the buffer that tests go to.

use crate::transport::{Transport, TransportError};

/// The way to a device that works on queues in host memory.
///
/// A driver has this memory to itself. Whole words of 32 bits are read and written, each at once, and in program order
/// before a register is written: a device never sees a doorbell before what it rings for.
pub trait Queues: Transport {
    /// Bus address of the first byte, and how many there are. The address is a multiple of 4096.
    fn queue_memory(&self) -> (u64, u64);

    /// Writes words, from a place on that is a multiple of 4.
    ///
    /// # Errors
    /// It is not within the memory.
    fn put(&mut self, place: u64, words: &[u32]) -> Result<(), TransportError>;

    /// Reads the word at a place that is a multiple of 4.
    ///
    /// # Errors
    /// It is not within the memory.
    fn get(&mut self, place: u64) -> Result<u32, TransportError>;
}
