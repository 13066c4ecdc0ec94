//! Messages of the PCIe interface, and the packed numbers in them.

/// Bytes of an entry before its data.
pub(super) const HEADER_BYTES: usize = 64;
/// Bytes of the header that a message's fields can use: the time follows.
pub(super) const FIELD_BYTES: usize = 48;

pub(super) const SYNC: u8 = 0x00;
pub(super) const END: u8 = 0x01;
/// From the device to the host.
pub(super) const READ: u8 = 0x40;
pub(super) const WRITE: u8 = 0x41;
pub(super) const INTERRUPT: u8 = 0x42;
pub(super) const REGISTER_READ_DONE: u8 = 0x43;
pub(super) const REGISTER_WRITE_DONE: u8 = 0x44;
/// From the host to the device.
pub(super) const REGISTER_READ: u8 = 0x60;
pub(super) const REGISTER_WRITE: u8 = 0x61;
pub(super) const READ_DONE: u8 = 0x62;
pub(super) const WRITE_DONE: u8 = 0x63;
pub(super) const CONTROL: u8 = 0x64;
pub(super) const REGISTER_POST: u8 = 0x65;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type, 7 bits.
    pub kind: u8,
    /// When its receiver may process it, ps.
    pub stamp: u64,
    /// The start of its header, packed.
    pub fields: [u8; FIELD_BYTES],
    /// What follows the header; of a received message all of its entry.
    pub data: Vec<u8>,
}

impl Message {
    /// A message with packed fields, of which there are at most 48 bytes.
    #[must_use]
    pub fn new(kind: u8, stamp: u64, packed: &[u8], data: Vec<u8>) -> Self {
        let mut fields = [0; FIELD_BYTES];
        fields.iter_mut().zip(packed).for_each(|(field, byte)| *field = *byte);
        Self { kind, stamp, fields, data }
    }

    /// The request ID, the first field of every request and completion.
    #[must_use]
    pub fn request(&self) -> u64 {
        self.u64(0)
    }

    /// Address of a read or write of the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.u64(8)
    }

    /// Bytes of a read or write.
    #[must_use]
    pub fn length(&self) -> u16 {
        u16::from_le_bytes([self.fields[16], self.fields[17]])
    }

    fn u64(&self, at: usize) -> u64 {
        self.fields[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Whether its length says how much data it carries.
    pub(super) fn has_data(&self) -> bool {
        matches!(self.kind, WRITE | REGISTER_WRITE | REGISTER_POST)
    }
}
