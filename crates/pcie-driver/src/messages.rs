//! Messages to the FPGA core by write-combining stores, and back through the rings that it writes in host memory: the
//! paper's loopback.
//!
//! A message is a frame that states its length in its first four bytes; the signatures that end it are put behind it here.

use crate::core::DriverError;
use crate::registers as r;
use crate::transport::Transport;

/// The word that ends a message.
const SIGNATURE: [u8; 8] = 0xdead_beef_cafe_beef_u64.to_le_bytes();
const BUFFER_BYTES: usize = 64;
const RECORD_BYTES: u64 = 32;
/// Records in their ring: they fill a page, and the rings of the queues lie behind it.
const RECORDS_LOG2: u32 = 7;
const RINGS_OFFSET: u64 = 1 << 12;
/// Parts of 64 bytes in the ring of a queue: more than a queue holds.
const PARTS_LOG2: u32 = 8;
/// In which the core has forgotten what was in its queues.
const ENABLE_NS: u64 = 10_000;

/// A message that has left the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The queue that it was in.
    pub queue: u32,
    /// The core's clock when it left.
    pub clock: u64,
    /// Whether its first signature is where it should be: none of its words is one.
    pub intact: bool,
    /// What it held.
    pub bytes: Vec<u8>,
}

/// What software knows of a queue, in buffers or parts since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// Buffers written.
    tail: u32,
    /// Buffers that the core has given out.
    head: u32,
    /// Parts that were read from its ring.
    taken: u32,
}

/// A core that takes messages, behind a transport.
#[derive(Debug)]
pub struct Messages<T> {
    transport: T,
    queues: Vec<Queue>,
    buffers: u32,
    records_taken: u32,
}

impl<T: Transport> Messages<T> {
    /// Has a core take messages, and write what they hold to the start of the host buffer. It must be one that
    /// [`Core::open`](crate::Core::open) knows.
    ///
    /// # Errors
    /// See [`DriverError`].
    pub fn open(mut transport: T) -> Result<Self, DriverError> {
        let said = transport.read(r::MESSAGE_QUEUES)?;
        let count = said >> r::MESSAGE_QUEUES_COUNT_SHIFT & r::MESSAGE_QUEUES_COUNT_MASK;
        let bytes_log2 = said >> r::MESSAGE_QUEUES_BYTES_LOG2_SHIFT & r::MESSAGE_QUEUES_BYTES_LOG2_MASK;
        if count == 0 || !(6..=16).contains(&bytes_log2) {
            return Err(DriverError::NotOurs("the core says that it has no queues for messages".into()));
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

    /// The longest message that a queue takes, bytes.
    #[must_use]
    pub fn message_bytes_most(&self) -> usize {
        self.buffers as usize * BUFFER_BYTES - SIGNATURE.len()
    }

    /// Stores a message in a queue, if there is room for all of it; says whether there was. Where there was none,
    /// [`Messages::take`] makes some.
    ///
    /// # Errors
    /// The queue is none, the message is longer than [`Messages::message_bytes_most`], or the way to the core is gone.
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
            let place = (queue * window + state.tail % window) * BUFFER_BYTES as u32;
            self.transport.store(place, bytes)?;
            state.tail = state.tail.wrapping_add(1);
        }
        Ok(true)
    }

    /// Takes the messages that have left the core since the last time, in the order in which they did.
    ///
    /// # Errors
    /// The way to the core is gone.
    pub fn take(&mut self) -> Result<Vec<Left>, DriverError> {
        // What the core wrote is in memory before its answer to a read of a register is here.
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
        let place = u64::from(self.records_taken % (1 << RECORDS_LOG2)) * RECORD_BYTES;
        self.transport.memory(place, &mut record)?;
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
    use crate::transport::TransportError;

    /// A core that has one queue and takes nothing out of it.
    #[derive(Default)]
    struct Full {
        stores: Vec<(u32, Vec<u8>)>,
    }

    impl Transport for Full {
        fn read(&mut self, address: u32) -> Result<u32, TransportError> {
            Ok(if address == r::MESSAGE_QUEUES { 1 | 7 << r::MESSAGE_QUEUES_BYTES_LOG2_SHIFT } else { 0 })
        }

        fn write(&mut self, _address: u32, _value: u32) -> Result<(), TransportError> {
            Ok(())
        }

        fn relax(&mut self, _time_ns: u64) -> Result<(), TransportError> {
            Ok(())
        }

        fn store(&mut self, place: u32, bytes: &[u8]) -> Result<(), TransportError> {
            self.stores.push((place, bytes.to_vec()));
            Ok(())
        }

        fn memory(&mut self, _place: u64, _bytes: &mut [u8]) -> Result<(), TransportError> {
            Ok(())
        }

        fn buffer(&self) -> (&[u64], u64) {
            (&[1 << 32], 1 << 20)
        }
    }

    #[test]
    fn messages_are_stored_buffer_by_buffer_with_signatures_behind_them_while_there_is_room() {
        let mut messages = Messages::open(Full::default()).unwrap();
        assert_eq!(messages.message_bytes_most(), 120);
        assert_eq!(messages.send(0, &[3; 60]), Ok(true));
        assert_eq!(messages.send(0, &[4; 1]), Ok(false));
        let stores = &messages.transport.stores;
        assert_eq!(
            stores.iter().map(|(place, bytes)| (*place, bytes.len())).collect::<Vec<_>>(),
            [(0, 64), (64, 64)]
        );
        assert_eq!(stores[0].1, [[3; 60].as_slice(), &[0; 4]].concat());
        assert_eq!(stores[1].1, SIGNATURE.repeat(8));
        assert_eq!(messages.take(), Ok(vec![]));
    }

    #[test]
    fn what_no_queue_takes_is_refused_with_the_limit() {
        let mut messages = Messages::open(Full::default()).unwrap();
        for (queue, length) in [(1, 4), (0, 121)] {
            let refused = messages.send(queue, &vec![0; length]).unwrap_err().to_string();
            assert!(refused.contains("120 bytes"), "{refused}");
        }
    }
}
