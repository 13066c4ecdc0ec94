//! The registers and descriptors of the 82574 in use (datasheet, chapters 7 and 10).

/// Device control.
pub(super) const CONTROL: u32 = 0x0000;
/// Force full duplex at 1 Gb/s and link up: loopback needs no cable.
pub(super) const CONTROL_FORCED: u32 = 1 | 1 << 6 | 0b10 << 8 | 1 << 11 | 1 << 12;
pub(super) const CONTROL_RESET: u32 = 1 << 26;

pub(super) const STATUS: u32 = 0x0008;
pub(super) const INTERRUPT_CAUSES: u32 = 0x00c0;
/// Ones disable interrupts.
pub(super) const INTERRUPT_MASK_CLEAR: u32 = 0x00d8;

/// Receive control.
pub(super) const RECEIVE: u32 = 0x0100;
/// On; long frames; MAC loopback; buffers of 16 KiB; strip checksums. Receives its own address only.
pub(super) const RECEIVE_ON: u32 = 1 << 1 | 1 << 5 | 0b01 << 6 | 0b01 << 16 | 1 << 25 | 1 << 26;
/// Checksums to verify on receive: none, because the descriptors in use cannot report them.
pub(super) const RECEIVE_CHECKSUMS: u32 = 0x5000;

/// Transmit control.
pub(super) const TRANSMIT: u32 = 0x0400;
/// On; pad short frames; collision parameters for full duplex.
pub(super) const TRANSMIT_ON: u32 = 1 << 1 | 1 << 3 | 0x0f << 4 | 0x3f << 12;
pub(super) const TRANSMIT_GAP: u32 = 0x0410;
/// The gap between frames that the datasheet asks for on copper.
pub(super) const TRANSMIT_GAP_COPPER: u32 = 8 | 8 << 10 | 6 << 20;
/// Fetch policy of transmit descriptors.
pub(super) const TRANSMIT_FETCH: u32 = 0x3828;
/// Only the bit that the datasheet requires: each descriptor is fetched as soon as it is there.
pub(super) const TRANSMIT_FETCH_EACH: u32 = 1 << 22;

/// A ring's address (low, high), bytes, head and tail, from its first register on.
pub(super) const RECEIVE_RING: u32 = 0x2800;
pub(super) const TRANSMIT_RING: u32 = 0x3800;
pub(super) const RING_HIGH: u32 = 0x04;
pub(super) const RING_BYTES: u32 = 0x08;
pub(super) const RING_HEAD: u32 = 0x10;
pub(super) const RING_TAIL: u32 = 0x18;

/// Ethernet address: four bytes, then two with a valid bit.
pub(super) const STATION_LOW: u32 = 0x5400;
pub(super) const STATION_HIGH: u32 = 0x5404;
pub(super) const STATION_VALID: u32 = 1 << 31;

/// Commands of a transmit descriptor: end of frame, append checksum.
pub(super) const TRANSMIT_WHOLE_FRAME: u32 = (1 | 1 << 1) << 24;
/// Status of a receive descriptor: done, end of frame.
pub(super) const RECEIVED: u32 = 1;
pub(super) const RECEIVED_END: u32 = 1 << 1;
