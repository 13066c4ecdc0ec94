//! The paper's message loopback: write-combining stores to the FPGA core, and back through rings in memory.
//!
//! A message is a frame with its length in its first four bytes; this module appends the final signatures.

use crate::core::{Core, DriverError};
use crate::registers as r;
use crate::transport::Transport;

/// Word that ends a message.
const SIGNATURE: [u8; 8] = 0xdead_beef_cafe_beef_u64.to_le_bytes();
const BUFFER_BYTES: usize = 64;
const RECORD_BYTES: u64 = 32;
/// Entries of the record ring: they fill a page; the rings of the queues follow it.
const RECORDS_LOG2: u32 = 7;
const RINGS_OFFSET: u64 = 1 << 12;
/// Entries of 64 bytes in the ring of a queue: more than a queue holds.
const PARTS_LOG2: u32 = 8;
/// Time in which the core clears its queues.
const ENABLE_NS: u64 = 10_000;

/// A message that has left the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its queue.
    pub queue: u32,
    /// The core's clock when it left.
    pub clock: u64,
    /// False if one of its words is the signature, so that it seems to end too early.
    pub intact: bool,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Driver state of a queue, counted from the start.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// Buffers written.
    tail: u32,
    /// Buffers that the core has passed on.
    head: u32,
    /// Entries read from its ring.
    taken: u32,
}

/// Messages to and from a core behind a transport.
#[derive(Debug)]
pub struct Messages<T> {
    transport: T,
    queues: Vec<Queue>,
    buffers: u32,
    records_taken: u32,
}

impl<T: Transport> Messages<T> {
    /// Enables messages on a core. Their records and contents go to the start of the host buffer.
    pub fn open(core: Core<T>) -> Result<Self, DriverError> {
        let mut transport = core.transport;
        let queues = transport.read(r::MESSAGE_QUEUES)?;
        let count = queues >> r::MESSAGE_QUEUES_COUNT_SHIFT & r::MESSAGE_QUEUES_COUNT_MASK;
        let bytes_log2 = queues >> r::MESSAGE_QUEUES_BYTES_LOG2_SHIFT & r::MESSAGE_QUEUES_BYTES_LOG2_MASK;
        if count == 0 || !(6..=16).contains(&bytes_log2) {
            return Err(DriverError::NotOurs("the core reports no queues for messages".into()));
        }
        let (pieces, _) = transport.buffer();
        let records = pieces.first().copied().unwrap_or_default();
        let rings = records + RINGS_OFFSET;
        let mut writes = vec![
            (r::MESSAGES, 0),
            (r::MESSAGE_RECORDS_LO, records as u32),
            (r::MESSAGE_RECORDS_HI, (records >> 32) as u32),
            (r::MESSAGE_DATA_LO, rings as u32),
            (r::MESSAGE_DATA_HI, (rings >> 32) as u32),
            (r::MESSAGE_RINGS, PARTS_LOG2 | RECORDS_LOG2 << r::MESSAGE_RINGS_RECORDS_LOG2_SHIFT),
            (r::MESSAGE_RECORDS_TAKEN, 0),
        ];
        writes.extend((0..count).map(|queue| (r::MESSAGE_DATA_TAKEN + 4 * queue, 0)));
        let enabled = 1 << r::MESSAGES_ENABLE_SHIFT | 1 << r::MESSAGES_STUFFED_SHIFT;
        writes.push((r::MESSAGES, enabled));
        transport.write_all(&writes)?;
        transport.relax(ENABLE_NS)?;
        let queues = vec![Queue::default(); count as usize];
        Ok(Self { transport, queues, buffers: 1 << (bytes_log2 - 6), records_taken: 0 })
    }

    /// Longest message, bytes.
    #[must_use]
    pub fn message_bytes_most(&self) -> usize {
        self.buffers as usize * BUFFER_BYTES - SIGNATURE.len()
    }

    /// Stores a message in a queue; false if the queue has no room, which [`Messages::take`] makes. Fails if
    /// there is no queue of that number, or the message is longer than [`Messages::message_bytes_most`].
    pub fn send(&mut self, queue: u32, message: &[u8]) -> Result<bool, DriverError> {
        let most = self.message_bytes_most();
        let Some(state) = self.queues.get_mut(queue as usize).filter(|_| message.len() <= most) else {
            return Err(DriverError::NoMessage(format!(
                "{} bytes to queue {queue}: the core has {} queues for messages of up to {most} bytes",
                message.len(),
                self.queues.len()
            )));
        };
        let mut words = message.to_vec();
        words.resize(message.len().next_multiple_of(SIGNATURE.len()), 0);
        words.extend(SIGNATURE);
        while !words.len().is_multiple_of(BUFFER_BYTES) {
            words.extend(SIGNATURE);
        }
        let needed = (words.len() / BUFFER_BYTES) as u32;
        if state.tail.wrapping_sub(state.head) + needed > self.buffers {
            return Ok(false);
        }
        // A queue's window is twice as long as the queue.
        let window = 2 * self.buffers;
        for bytes in words.chunks(BUFFER_BYTES) {
            let offset = (queue * window + state.tail % window) * BUFFER_BYTES as u32;
            self.transport.store(offset, bytes)?;
            state.tail = state.tail.wrapping_add(1);
        }
        Ok(true)
    }

    /// Takes the messages that have left the core since the last call, in order.
    pub fn take(&mut self) -> Result<Vec<Left>, DriverError> {
        // The completion of a register read arrives after all earlier writes of the core.
        let left = self.transport.read(r::MESSAGES_LEFT)?;
        let mut taken = Vec::new();
        while self.records_taken != left {
            taken.push(self.next_record()?);
        }
        let mut writes = vec![(r::MESSAGE_RECORDS_TAKEN, self.records_taken)];
        writes.extend((r::MESSAGE_DATA_TAKEN..).step_by(4).zip(self.queues.iter().map(|queue| queue.taken)));
        if !taken.is_empty() {
            self.transport.write_all(&writes)?;
        }
        Ok(taken)
    }

    fn next_record(&mut self) -> Result<Left, DriverError> {
        let mut record = [0; RECORD_BYTES as usize];
        let offset = u64::from(self.records_taken % (1 << RECORDS_LOG2)) * RECORD_BYTES;
        self.transport.memory(offset, &mut record)?;
        let word =
            |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let (length, first, queue) = (word(8), word(12), word(20) & 0xffff);
        let intact = record[22] != 0;
        let Some(state) = self.queues.get_mut(queue as usize) else {
            return Err(DriverError::NotOurs(format!("a record of the core names queue {queue}")));
        };
        let parts = length.div_ceil(BUFFER_BYTES as u32).min(1 << PARTS_LOG2);
        state.head = word(24);
        state.taken = first.wrapping_add(parts);
        let mut bytes = vec![0; parts as usize * BUFFER_BYTES];
        for (part, chunk) in (0..parts).zip(bytes.chunks_mut(BUFFER_BYTES)) {
            let in_ring = u64::from(first.wrapping_add(part) % (1 << PARTS_LOG2));
            let ring = RINGS_OFFSET + (u64::from(queue) << PARTS_LOG2) * BUFFER_BYTES as u64;
            self.transport.memory(ring + in_ring * BUFFER_BYTES as u64, chunk)?;
        }
        bytes.truncate(length as usize);
        self.records_taken = self.records_taken.wrapping_add(1);
        Ok(Left { queue, clock: u64::from(word(4)) << 32 | u64::from(word(0)), intact, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::Fake;

    /// A core with one queue, which it never empties.
    fn full() -> Messages<Fake> {
        let mut fake = Fake::new(None);
        fake.registers.insert(r::MESSAGE_QUEUES, 1 | 7 << r::MESSAGE_QUEUES_BYTES_LOG2_SHIFT);
        Messages::open(Core::open(fake).unwrap()).unwrap()
    }

    #[test]
    fn messages_are_stored_with_signatures_while_there_is_room() {
        let mut messages = full();
        assert_eq!(messages.message_bytes_most(), 120);
        assert_eq!(messages.send(0, &[3; 60]), Ok(true));
        assert_eq!(messages.send(0, &[4; 1]), Ok(false));
        let stores = &messages.transport.stores;
        let padded = [[3; 60].as_slice(), &[0; 4]].concat();
        assert_eq!(stores[..], [(0, padded), (64, SIGNATURE.repeat(8))]);
        assert_eq!(messages.take(), Ok(vec![]));
    }

    #[test]
    fn refuses_unknown_queues_and_long_messages() {
        let mut messages = full();
        for (queue, length) in [(1, 4), (0, 121)] {
            let refused = messages.send(queue, &vec![0; length]).unwrap_err().to_string();
            assert!(refused.contains("120 bytes"), "{refused}");
        }
    }
}
