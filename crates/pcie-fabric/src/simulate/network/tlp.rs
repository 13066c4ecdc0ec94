//! A TLP of the simulation.

/// A TLP in two words that are built in registers: storing fields one by one and then copying the whole
/// stalls the processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::simulate) struct Tlp {
    /// Next hop (high half) and request (low half).
    target: u64,
    /// Length (bits 8 and up) and message.
    content: u64,
}

impl Tlp {
    /// `hop` is the first hop of its path, `length` the bytes that it carries or asks for.
    #[inline]
    pub fn new(hop: u32, request: u32, message: Message, length: u16) -> Self {
        Self {
            target: u64::from(hop) << 32 | u64::from(request),
            content: u64::from(length) << 8 | message as u64,
        }
    }

    #[inline]
    pub fn hop(self) -> u32 {
        (self.target >> 32) as u32
    }

    #[inline]
    pub fn request(self) -> u32 {
        self.target as u32
    }

    #[inline]
    pub fn message(self) -> Message {
        match self.content & 0xff {
            0 => Message::Command,
            1 => Message::Ask,
            2 => Message::Data,
            3 => Message::Status,
            _ => Message::Acknowledgement,
        }
    }

    #[inline]
    pub fn length(self) -> u16 {
        (self.content >> 8) as u16
    }

    /// Its two words; the second one is below 2^24.
    #[inline]
    pub fn words(self) -> (u64, u64) {
        (self.target, self.content)
    }

    #[inline]
    pub fn from_words(target: u64, content: u64) -> Self {
        Self { target, content }
    }

    /// The TLP at the next hop of its path.
    pub(super) fn onward(self) -> Self {
        Self { target: self.target + (1 << 32), ..self }
    }

    /// Bytes on links, whose capacity is of payload.
    #[inline]
    pub(super) fn payload(self) -> u64 {
        match self.message() {
            Message::Data | Message::Status => self.length().into(),
            Message::Command | Message::Ask | Message::Acknowledgement => 0,
        }
    }
}

/// The kind of a TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulate) enum Message {
    /// A command for an engine.
    Command = 0,
    /// A read request.
    Ask = 1,
    /// Data: posted, or a completion.
    Data = 2,
    /// Status: a command is done.
    Status = 3,
    /// Another device has received the last data.
    Acknowledgement = 4,
}
