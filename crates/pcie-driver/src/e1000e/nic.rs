//! A NIC in loopback: set up, tried with one frame, then driven.

use crate::e1000e::error::NicError;
use crate::e1000e::registers as r;
use crate::queues::Queues;

/// Frames in flight at most.
pub const DEPTH_MOST: u16 = ENTRIES as u16 - 1;
/// Shortest frame, bytes without checksum: the NIC pads shorter ones.
pub const FRAME_BYTES_LEAST: u32 = 60;
/// Longest frame, bytes without checksum.
pub const FRAME_BYTES_MOST: u32 = 9014;
/// Bytes of the Ethernet header: destination, source, type.
pub const HEADER_BYTES: usize = 14;
/// Bytes of queue memory that a NIC needs.
pub const QUEUE_BYTES: u64 = OWN_TARGET + OWN_TARGET_BYTES;

/// Descriptors of a ring, and the bytes of one.
const ENTRIES: u32 = 256;
const DESCRIPTOR_BYTES: u64 = 16;
/// Offsets in the queue memory: two rings, a frame to send, and a buffer to receive one.
const TRANSMIT_RING: u64 = 0;
const RECEIVE_RING: u64 = 0x1000;
const OWN_SOURCE: u64 = 0x2000;
const OWN_TARGET: u64 = 0x5000;
/// The receive buffer size that RECEIVE_ON sets.
const OWN_TARGET_BYTES: u64 = 16 << 10;
/// EtherType for local experiments (IEEE 802).
const KIND: [u8; 2] = [0x88, 0xb5];
/// Time limit of the reset and of the first frame.
const LIMIT_MS: u64 = 500;
/// Time between two polls.
const POLL_NS: u64 = 20_000;
/// The datasheet asks for no register access for this long after a reset.
const RESET_NS: u64 = 1_000_000;

/// A frame to send from one bus address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bus address that the NIC reads.
    pub from: u64,
    /// Bus address that the NIC writes.
    pub to: u64,
    /// Bytes without checksum.
    pub bytes: u32,
}

/// A NIC that sends to itself.
#[derive(Debug)]
pub struct Nic<T> {
    transport: T,
    station: [u8; 6],
    /// Tail and head of both rings: a frame takes one descriptor of each.
    tail: u32,
    head: u32,
    /// Bytes of the frames in flight, by descriptor.
    sent: [u32; ENTRIES as usize],
}

impl<T: Queues> Nic<T> {
    /// Resets a NIC, sets it up in loopback, and checks that a frame comes back as it was sent.
    pub fn open(mut transport: T) -> Result<Self, NicError> {
        reset(&mut transport)?;
        let (low, high) = (transport.read(r::STATION_LOW)?, transport.read(r::STATION_HIGH)?);
        let [a, b, c, d] = low.to_le_bytes();
        let [e, f, ..] = high.to_le_bytes();
        let station = [a, b, c, d, e, f];
        if high & r::STATION_VALID == 0 || a & 1 != 0 || station == [0; 6] {
            return Err(NicError::NotANic(format!(
                "its Ethernet address registers hold {low:#010x} and {high:#010x}: not an 82574, or no address set"
            )));
        }
        let mut nic = Self { transport, station, tail: 0, head: 0, sent: [0; ENTRIES as usize] };
        nic.set_up()?;
        nic.try_loopback()?;
        Ok(nic)
    }

    /// The header that a frame needs to be received.
    #[must_use]
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..6].copy_from_slice(&self.station);
        header[6..12].copy_from_slice(&self.station);
        header[12..].copy_from_slice(&KIND);
        header
    }

    /// The transport.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Bus address of the frame that [`Nic::put_source`] writes.
    #[must_use]
    pub fn source(&self) -> u64 {
        self.transport.queue_memory().0 + OWN_SOURCE
    }

    /// Bus address of the buffer that [`Nic::target_holds`] checks.
    #[must_use]
    pub fn target(&self) -> u64 {
        self.transport.queue_memory().0 + OWN_TARGET
    }

    /// Writes a frame to [`Nic::source`]; none may be in flight from there. Fails if it is too long.
    pub fn put_source(&mut self, frame: &[u8]) -> Result<(), NicError> {
        Ok(self.transport.put(OWN_SOURCE, &words(frame))?)
    }

    /// Whether the frame received last into [`Nic::target`] begins with these bytes.
    pub fn target_holds(&mut self, frame: &[u8]) -> Result<bool, NicError> {
        for (offset, expected) in (OWN_TARGET..).step_by(4).zip(frame.chunks(4)) {
            if self.transport.get(offset)?.to_le_bytes()[..expected.len()] != *expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the descriptors of a frame; false if the rings are full. The NIC sends it after [`Nic::ring`].
    #[inline]
    pub fn submit(&mut self, frame: Frame) -> Result<bool, NicError> {
        let next = (self.tail + 1) % ENTRIES;
        if next == self.head {
            return Ok(false);
        }
        let offset = DESCRIPTOR_BYTES * u64::from(self.tail);
        self.transport.put(RECEIVE_RING + offset, &[frame.to as u32, (frame.to >> 32) as u32, 0, 0])?;
        let command = frame.bytes | r::TRANSMIT_WHOLE_FRAME;
        let transmit = [frame.from as u32, (frame.from >> 32) as u32, command, 0];
        self.transport.put(TRANSMIT_RING + offset, &transmit)?;
        self.sent[self.tail as usize] = frame.bytes;
        self.tail = next;
        Ok(true)
    }

    /// Rings both doorbells: the receive ring's first, so that every frame sent finds a buffer.
    #[inline]
    pub fn ring(&mut self) -> Result<(), NicError> {
        self.transport.write(r::RECEIVE_RING + r::RING_TAIL, self.tail)?;
        Ok(self.transport.write(r::TRANSMIT_RING + r::RING_TAIL, self.tail)?)
    }

    /// Number of frames back since the last call. Fails if one came back with another length or an error.
    #[inline]
    pub fn completions(&mut self) -> Result<u64, NicError> {
        let mut count = 0;
        while self.head != self.tail {
            let offset = RECEIVE_RING + DESCRIPTOR_BYTES * u64::from(self.head);
            let status = self.transport.get(offset + 12)?;
            if status & r::RECEIVED == 0 {
                break;
            }
            let received = self.transport.get(offset + 8)? & 0xffff;
            let sent = self.sent[self.head as usize];
            self.head = (self.head + 1) % ENTRIES;
            let errors = status >> 8 & 0xff;
            if received != sent || status & r::RECEIVED_END == 0 || errors != 0 {
                let received =
                    format!("{received} bytes with status {:#04x} and errors {errors:#04x}", status & 0xff);
                return Err(NicError::Mangled { sent, received });
            }
            count += 1;
        }
        Ok(count)
    }

    fn set_up(&mut self) -> Result<(), NicError> {
        let (queues, _) = self.transport.queue_memory();
        for (ring, offset) in [(r::RECEIVE_RING, RECEIVE_RING), (r::TRANSMIT_RING, TRANSMIT_RING)] {
            self.transport.put(offset, &[0; (ENTRIES as u64 * DESCRIPTOR_BYTES / 4) as usize])?;
            let address = queues + offset;
            self.transport.write_all(&[
                (ring, address as u32),
                (ring + r::RING_HIGH, (address >> 32) as u32),
                (ring + r::RING_BYTES, ENTRIES * DESCRIPTOR_BYTES as u32),
                (ring + r::RING_HEAD, 0),
                (ring + r::RING_TAIL, 0),
            ])?;
        }
        Ok(self.transport.write_all(&[
            (r::CONTROL, r::CONTROL_FORCED),
            (r::TRANSMIT_GAP, r::TRANSMIT_GAP_COPPER),
            (r::TRANSMIT_FETCH, r::TRANSMIT_FETCH_EACH),
            (r::RECEIVE_CHECKSUMS, 0),
            (r::RECEIVE, r::RECEIVE_ON),
            (r::TRANSMIT, r::TRANSMIT_ON),
        ])?)
    }

    /// Sends one frame and waits for it.
    fn try_loopback(&mut self) -> Result<(), NicError> {
        let mut frame: [u8; FRAME_BYTES_LEAST as usize] = std::array::from_fn(|index| index as u8 ^ 0xa5);
        frame[..HEADER_BYTES].copy_from_slice(&self.header());
        self.put_source(&frame)?;
        let (from, to) = (self.source(), self.target());
        self.submit(Frame { from, to, bytes: FRAME_BYTES_LEAST })?;
        self.ring()?;
        for _ in 0..LIMIT_MS * 1_000_000 / POLL_NS {
            if self.completions()? > 0 {
                let other = || NicError::Mangled { sent: FRAME_BYTES_LEAST, received: "other bytes".into() };
                return if self.target_holds(&frame)? { Ok(()) } else { Err(other()) };
            }
            self.transport.relax(POLL_NS)?;
        }
        Err(NicError::NoLoopback(LIMIT_MS))
    }
}

fn reset<T: Queues>(transport: &mut T) -> Result<(), NicError> {
    transport.write(r::INTERRUPT_MASK_CLEAR, u32::MAX)?;
    transport.write_all(&[(r::RECEIVE, 0), (r::TRANSMIT, 0), (r::CONTROL, r::CONTROL_RESET)])?;
    transport.relax(RESET_NS)?;
    if transport.read(r::STATUS)? == u32::MAX {
        return Err(NicError::NotANic(
            "its registers read as ones: the NIC is gone, or the device is no NIC".into(),
        ));
    }
    for _ in 0..LIMIT_MS * 1_000_000 / POLL_NS {
        if transport.read(r::CONTROL)? & r::CONTROL_RESET == 0 {
            // The reset has enabled interrupts again; reading the causes clears those of before.
            transport.write(r::INTERRUPT_MASK_CLEAR, u32::MAX)?;
            transport.read(r::INTERRUPT_CAUSES)?;
            return Ok(());
        }
        transport.relax(POLL_NS)?;
    }
    Err(NicError::Silent(LIMIT_MS))
}

/// A frame as words; the last is padded with zeros.
fn words(frame: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let mut whole = [0; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(whole)
    };
    frame.chunks(4).map(word).collect()
}
