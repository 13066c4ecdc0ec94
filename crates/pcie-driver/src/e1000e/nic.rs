//! A NIC in loopback: brought up, tried with one frame, and given frames.

use crate::e1000e::error::NicError;
use crate::e1000e::registers as r;
use crate::queues::Queues;

/// Frames in flight at most.
pub const DEPTH_MOST: u16 = ENTRIES as u16 - 1;
/// Shortest frame, bytes, its checksum not counted: the NIC pads what is shorter.
pub const FRAME_BYTES_LEAST: u32 = 60;
/// Longest frame, bytes, its checksum not counted.
pub const FRAME_BYTES_MOST: u32 = 9014;
/// Bytes that a frame begins with: to whom, from whom, of what kind.
pub const HEADER_BYTES: usize = 14;
/// Bytes of queue memory that a NIC takes.
pub const QUEUE_BYTES: u64 = OWN_TARGET + OWN_TARGET_BYTES;

/// Descriptors of a ring, and the bytes of one.
const ENTRIES: u32 = 256;
const DESCRIPTOR_BYTES: u64 = 16;
/// Places in the memory of queues: two rings, a frame that can be sent again and again, and room for one that is received.
const TRANSMIT_RING: u64 = 0;
const RECEIVE_RING: u64 = 0x1000;
const OWN_SOURCE: u64 = 0x2000;
const OWN_TARGET: u64 = 0x5000;
/// As much as a receive descriptor stands for.
const OWN_TARGET_BYTES: u64 = 16 << 10;
/// The kind of frame that is for experiments (IEEE 802).
const KIND: [u8; 2] = [0x88, 0xb5];
/// A NIC is out of reset, and the first frame is back, in so much time.
const LIMIT_MS: u64 = 500;
/// How often it is looked at while it is waited for.
const LOOK_NS: u64 = 20_000;
/// The datasheet wants registers left alone for so long after a reset.
const RESET_NS: u64 = 1_000_000;

/// A frame on its way from one bus address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it is read.
    pub from: u64,
    /// Where it is written.
    pub to: u64,
    /// Its bytes, its checksum not counted.
    pub bytes: u32,
}

/// A NIC that sends to itself.
#[derive(Debug)]
pub struct Nic<T> {
    transport: T,
    station: [u8; 6],
    /// Both rings move alike: a frame takes one descriptor of each.
    tail: u32,
    head: u32,
    /// Bytes of the frames that are in flight, by descriptor.
    sent: [u32; ENTRIES as usize],
}

impl<T: Queues> Nic<T> {
    /// Resets a NIC, brings it up in loopback, and sees whether a frame comes back as it was sent.
    ///
    /// # Errors
    /// It is none, does not answer, or its loopback does not work.
    pub fn open(mut transport: T) -> Result<Self, NicError> {
        reset(&mut transport)?;
        let (low, high) = (transport.read(r::STATION_LOW)?, transport.read(r::STATION_HIGH)?);
        let [a, b, c, d] = low.to_le_bytes();
        let [e, f, ..] = high.to_le_bytes();
        let station = [a, b, c, d, e, f];
        if high & r::STATION_HOLDS == 0 || a & 1 != 0 || station == [0; 6] {
            return Err(NicError::NotANic(format!(
                "the registers of its Ethernet address hold {low:#010x} and {high:#010x}: this is no 82574, or has none"
            )));
        }
        let mut nic = Self { transport, station, tail: 0, head: 0, sent: [0; ENTRIES as usize] };
        nic.set_up()?;
        nic.try_loopback()?;
        Ok(nic)
    }

    /// What a frame has to begin with to be received.
    #[must_use]
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..6].copy_from_slice(&self.station);
        header[6..12].copy_from_slice(&self.station);
        header[12..].copy_from_slice(&KIND);
        header
    }

    /// The way to it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Bus address of the frame that [`Nic::put_source`] writes.
    #[must_use]
    pub fn source(&self) -> u64 {
        self.transport.queue_memory().0 + OWN_SOURCE
    }

    /// Bus address of the room that [`Nic::target_holds`] looks at.
    #[must_use]
    pub fn target(&self) -> u64 {
        self.transport.queue_memory().0 + OWN_TARGET
    }

    /// Writes a frame to where it can be sent from, again and again. Nothing may be on its way from there.
    ///
    /// # Errors
    /// It is longer than a frame may be.
    pub fn put_source(&mut self, frame: &[u8]) -> Result<(), NicError> {
        Ok(self.transport.put(OWN_SOURCE, &words(frame))?)
    }

    /// Whether what was received last into [`Nic::target`] begins with these bytes.
    ///
    /// # Errors
    /// They are more than a frame may be.
    pub fn target_holds(&mut self, frame: &[u8]) -> Result<bool, NicError> {
        for (place, expected) in (OWN_TARGET..).step_by(4).zip(frame.chunks(4)) {
            if self.transport.get(place)?.to_le_bytes()[..expected.len()] != *expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the descriptors of a frame; false where as many are in flight as can be. The NIC does not know of it before
    /// [`Nic::ring`].
    ///
    /// # Errors
    /// The way to it is gone.
    #[inline]
    pub fn submit(&mut self, frame: Frame) -> Result<bool, NicError> {
        let next = (self.tail + 1) % ENTRIES;
        if next == self.head {
            return Ok(false);
        }
        let place = DESCRIPTOR_BYTES * u64::from(self.tail);
        self.transport.put(RECEIVE_RING + place, &[frame.to as u32, (frame.to >> 32) as u32, 0, 0])?;
        let command = frame.bytes | r::TRANSMIT_WHOLE_FRAME;
        let transmit = [frame.from as u32, (frame.from >> 32) as u32, command, 0];
        self.transport.put(TRANSMIT_RING + place, &transmit)?;
        self.sent[self.tail as usize] = frame.bytes;
        self.tail = next;
        Ok(true)
    }

    /// Rings both doorbells: first there is room for what comes back, then it is sent.
    ///
    /// # Errors
    /// The way to it is gone.
    #[inline]
    pub fn ring(&mut self) -> Result<(), NicError> {
        self.transport.write(r::RECEIVE_RING + r::RING_TAIL, self.tail)?;
        Ok(self.transport.write(r::TRANSMIT_RING + r::RING_TAIL, self.tail)?)
    }

    /// How many frames have come back since the last time, in the order in which they were sent.
    ///
    /// # Errors
    /// The way to it is gone, or one came back as another than was sent.
    #[inline]
    pub fn completions(&mut self) -> Result<u64, NicError> {
        let mut count = 0;
        while self.head != self.tail {
            let place = RECEIVE_RING + DESCRIPTOR_BYTES * u64::from(self.head);
            let status = self.transport.get(place + 12)?;
            if status & r::RECEIVED == 0 {
                break;
            }
            let received = self.transport.get(place + 8)? & 0xffff;
            let sent = self.sent[self.head as usize];
            self.head = (self.head + 1) % ENTRIES;
            let errors = status >> 8 & 0xff;
            if received != sent || status & r::RECEIVED_END == 0 || errors != 0 {
                let told =
                    format!("{received} bytes with status {:#04x} and errors {errors:#04x}", status & 0xff);
                return Err(NicError::Mangled { sent, told });
            }
            count += 1;
        }
        Ok(count)
    }

    fn set_up(&mut self) -> Result<(), NicError> {
        let (queues, _) = self.transport.queue_memory();
        for (ring, place) in [(r::RECEIVE_RING, RECEIVE_RING), (r::TRANSMIT_RING, TRANSMIT_RING)] {
            self.transport.put(place, &[0; (ENTRIES as u64 * DESCRIPTOR_BYTES / 4) as usize])?;
            let address = queues + place;
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

    /// Sends one frame, and waits for it.
    fn try_loopback(&mut self) -> Result<(), NicError> {
        let mut frame: [u8; FRAME_BYTES_LEAST as usize] = std::array::from_fn(|place| place as u8 ^ 0xa5);
        frame[..HEADER_BYTES].copy_from_slice(&self.header());
        self.put_source(&frame)?;
        let (from, to) = (self.source(), self.target());
        self.submit(Frame { from, to, bytes: FRAME_BYTES_LEAST })?;
        self.ring()?;
        for _ in 0..LIMIT_MS * 1_000_000 / LOOK_NS {
            if self.completions()? > 0 {
                let other = || NicError::Mangled { sent: FRAME_BYTES_LEAST, told: "other bytes".into() };
                return if self.target_holds(&frame)? { Ok(()) } else { Err(other()) };
            }
            self.transport.relax(LOOK_NS)?;
        }
        Err(NicError::NoLoopback { limit_ms: LIMIT_MS })
    }
}

fn reset<T: Queues>(transport: &mut T) -> Result<(), NicError> {
    transport.write(r::INTERRUPT_MASK_CLEAR, u32::MAX)?;
    transport.write_all(&[(r::RECEIVE, 0), (r::TRANSMIT, 0), (r::CONTROL, r::CONTROL_RESET)])?;
    transport.relax(RESET_NS)?;
    if transport.read(r::STATUS)? == u32::MAX {
        return Err(NicError::NotANic("its registers read as ones: this is no NIC, or it is gone".into()));
    }
    for _ in 0..LIMIT_MS * 1_000_000 / LOOK_NS {
        if transport.read(r::CONTROL)? & r::CONTROL_RESET == 0 {
            // A reset switches them on again, and what came before it counts as told.
            transport.write(r::INTERRUPT_MASK_CLEAR, u32::MAX)?;
            transport.read(r::INTERRUPT_CAUSES)?;
            return Ok(());
        }
        transport.relax(LOOK_NS)?;
    }
    Err(NicError::Silent { limit_ms: LIMIT_MS })
}

/// A frame as words; what is behind it in the last is zero.
fn words(frame: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let mut whole = [0; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(whole)
    };
    frame.chunks(4).map(word).collect()
}
