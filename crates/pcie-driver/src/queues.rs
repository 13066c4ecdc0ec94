//! Host memory for the queues of a device, separate from the buffer under test.

use crate::transport::{Transport, TransportError};

/// Transport of a device with queues in host memory.
///
/// The driver owns this memory. Accesses are whole 32-bit words, each atomic, and in program order with
/// register writes: a device never sees a doorbell before the entries that it announces.
pub trait Queues: Transport {
    /// Bus address, a multiple of 4096, and size in bytes.
    fn queue_memory(&self) -> (u64, u64);

    /// Writes words at an offset that is a multiple of 4. Fails outside the memory.
    fn put(&mut self, offset: u64, words: &[u32]) -> Result<(), TransportError>;

    /// Reads the word at an offset that is a multiple of 4. Fails outside the memory.
    fn get(&mut self, offset: u64) -> Result<u32, TransportError>;
}
