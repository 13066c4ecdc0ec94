//! A TLP, as far as the network and those who use it look at it.

/// A TLP on its way, in two words that are put together in registers: fields that are stored one by one and then copied
/// as a whole make the processor wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::simulate) struct Tlp {
    /// The next step of its way, and below it the request that it is about.
    place: u64,
    /// Length above what it is.
    what: u64,
}

impl Tlp {
    /// `hop` is the first step of its way, `length` the bytes that it carries or asks for.
    #[inline]
    pub fn new(hop: u32, request: u32, message: Message, length: u16) -> Self {
        Self {
            place: u64::from(hop) << 32 | u64::from(request),
            what: u64::from(length) << 8 | message as u64,
        }
    }

    #[inline]
    pub fn hop(self) -> u32 {
        (self.place >> 32) as u32
    }

    #[inline]
    pub fn request(self) -> u32 {
        self.place as u32
    }

    #[inline]
    pub fn message(self) -> Message {
        match self.what & 0xff {
            0 => Message::Command,
            1 => Message::Ask,
            2 => Message::Data,
            3 => Message::Status,
            _ => Message::Acknowledgement,
        }
    }

    #[inline]
    pub fn length(self) -> u16 {
        (self.what >> 8) as u16
    }

    /// Its two words; the second one is below 2^24.
    #[inline]
    pub fn words(self) -> (u64, u64) {
        (self.place, self.what)
    }

    #[inline]
    pub fn from_words(place: u64, what: u64) -> Self {
        Self { place, what }
    }

    /// On the next step of its way.
    pub(super) fn onward(self) -> Self {
        Self { place: self.place + (1 << 32), ..self }
    }

    /// What it takes of the links' capacity, bytes.
    #[inline]
    pub(super) fn payload(self) -> u64 {
        match self.message() {
            Message::Data | Message::Status => self.length().into(),
            Message::Command | Message::Ask | Message::Acknowledgement => 0,
        }
    }
}

/// What a TLP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulate) enum Message {
    /// A command for an engine.
    Command = 0,
    /// A read request.
    Ask = 1,
    /// Data: posted, or the answer to a read request.
    Data = 2,
    /// The note that a command is done.
    Status = 3,
    /// The note of another device that it has the last of the data.
    Acknowledgement = 4,
}
