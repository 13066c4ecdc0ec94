//! Registers and descriptors of the 82574, as far as they are used (datasheet, chapters 7 and 10).

/// Device control.
pub(super) const CONTROL: u32 = 0x0000;
/// Full duplex at 1 Gb/s, both forced, and the link taken for up: no cable has a say in loopback.
pub(super) const CONTROL_FORCED: u32 = 1 | 1 << 6 | 0b10 << 8 | 1 << 11 | 1 << 12;
pub(super) const CONTROL_RESET: u32 = 1 << 26;

pub(super) const STATUS: u32 = 0x0008;
pub(super) const INTERRUPT_CAUSES: u32 = 0x00c0;
/// Interrupts that are switched off by ones.
pub(super) const INTERRUPT_MASK_CLEAR: u32 = 0x00d8;

/// Receive control.
pub(super) const RECEIVE: u32 = 0x0100;
/// On; long frames; loopback in the MAC; buffers of 16 KiB; the checksum at the end of a frame is not stored. What is not for its
/// own address is not received.
pub(super) const RECEIVE_ON: u32 = 1 << 1 | 1 << 5 | 0b01 << 6 | 0b01 << 16 | 1 << 25 | 1 << 26;
/// Checksums that are looked for in what is received: none, because descriptors have no room to say so.
pub(super) const RECEIVE_CHECKSUMS: u32 = 0x5000;

/// Transmit control.
pub(super) const TRANSMIT: u32 = 0x0400;
/// On; short frames are padded; the collision distances that full duplex wants.
pub(super) const TRANSMIT_ON: u32 = 1 << 1 | 1 << 3 | 0x0f << 4 | 0x3f << 12;
pub(super) const TRANSMIT_GAP: u32 = 0x0410;
/// The gap between frames that the datasheet asks for on copper.
pub(super) const TRANSMIT_GAP_COPPER: u32 = 8 | 8 << 10 | 6 << 20;
/// How transmit descriptors are fetched.
pub(super) const TRANSMIT_FETCH: u32 = 0x3828;
/// The bit that the datasheet wants set, and nothing else: each descriptor is fetched when it is there.
pub(super) const TRANSMIT_FETCH_EACH: u32 = 1 << 22;

/// A ring's address (low, high), bytes, head and tail, from its first register on.
pub(super) const RECEIVE_RING: u32 = 0x2800;
pub(super) const TRANSMIT_RING: u32 = 0x3800;
pub(super) const RING_HIGH: u32 = 0x04;
pub(super) const RING_BYTES: u32 = 0x08;
pub(super) const RING_HEAD: u32 = 0x10;
pub(super) const RING_TAIL: u32 = 0x18;

/// Its Ethernet address: four bytes, and two more with a bit that says that they hold.
pub(super) const STATION_LOW: u32 = 0x5400;
pub(super) const STATION_HIGH: u32 = 0x5404;
pub(super) const STATION_HOLDS: u32 = 1 << 31;

/// Commands of a transmit descriptor: the end of a frame, whose checksum the NIC appends.
pub(super) const TRANSMIT_WHOLE_FRAME: u32 = (1 | 1 << 1) << 24;
/// Status of a receive descriptor: it is done, and ends a frame.
pub(super) const RECEIVED: u32 = 1;
pub(super) const RECEIVED_END: u32 = 1 << 1;
