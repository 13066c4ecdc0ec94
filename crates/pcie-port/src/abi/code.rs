//! Codes of the C library, and their texts.

use crate::header::HeaderError;
use crate::tlp::TlpError;
use std::ffi::{CStr, c_char, c_int};

/// What functions return. Values below 0 are errors, after which nothing has changed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Success.
    Done = 0,
    /// There is no event up to the present time.
    Nothing = 1,
    /// A pointer is null.
    Null = -1,
    /// The system, the machine's description, or an option is wrong.
    System = -2,
    /// The kind of TLP is unknown.
    Kind = -3,
    /// The TLP has no bytes, or more than the link allows.
    Length = -4,
    /// The TLP crosses a multiple of 4096.
    CrossesPage = -5,
    /// An address or offset is outside the host buffer, or the memories and BARs of a machine.
    Outside = -6,
    /// The tag is 16384 or more.
    Tag = -7,
    /// The tag belongs to a read in flight.
    TagInUse = -8,
    /// The device lacks credits for the TLP.
    NoCredits = -9,
    /// The time has passed.
    Past = -10,
    /// The time is beyond 2^60 ps.
    Late = -11,
    /// Bytes of the TLP are missing.
    Short = -12,
    /// The bytes are no memory read, memory write or message.
    Type = -13,
    /// The byte enables leave a hole, or are forbidden.
    Enables = -14,
    /// The TLP is poisoned.
    Poisoned = -15,
    /// The address does not fit the header.
    Address = -16,
    /// A defect of the library. A host that was changed meanwhile refuses all further calls with this code.
    Internal = -17,
    /// No read in flight has the tag.
    NoRead = -18,
    /// The outcome is unknown, or not data for a TLP that is no read.
    Outcome = -19,
    /// No host or device of the machine has the number.
    Node = -20,
    /// No PCIe link leads from the sender to the address.
    Route = -21,
    /// The read is not one that the device has to answer.
    Request = -22,
}

impl Code {
    const ALL: [Self; 24] = [
        Self::Done,
        Self::Nothing,
        Self::Null,
        Self::System,
        Self::Kind,
        Self::Length,
        Self::CrossesPage,
        Self::Outside,
        Self::Tag,
        Self::TagInUse,
        Self::NoCredits,
        Self::Past,
        Self::Late,
        Self::Short,
        Self::Type,
        Self::Enables,
        Self::Poisoned,
        Self::Address,
        Self::Internal,
        Self::NoRead,
        Self::Outcome,
        Self::Node,
        Self::Route,
        Self::Request,
    ];

    fn text(self) -> &'static CStr {
        match self {
            Self::Done => c"success",
            Self::Nothing => c"no event up to the present time: advance to pcielab_port_next",
            Self::Null => c"a pointer is null",
            Self::System => c"the system, the description or an option is wrong: the text tells which",
            Self::Kind => c"the kind of TLP is unknown: give a read, a write or a message",
            Self::Length => {
                c"wrong length: reads have 1 to MRRS bytes, writes 1 to MPS, interrupts 4, messages 0"
            }
            Self::CrossesPage => c"the TLP crosses a multiple of 4096: cut the transfer there",
            Self::Outside => c"outside the host buffer, memories and BARs: use pcielab_port_address or pcielab_machine_limits",
            Self::Tag => c"tag is 16384 or more: give a lower one",
            Self::TagInUse => c"the tag is in use: wait for the last completion of its request",
            Self::NoCredits => c"no credits are left: wait until some come back",
            Self::Past => c"the time has passed: submit TLPs in the order of time",
            Self::Late => c"the time is beyond 2^60 ps",
            Self::Short => c"bytes are missing: give the whole TLP",
            Self::Type => c"no memory read, memory write or message without data",
            Self::Enables => c"byte enables are wrong: give one run of bytes",
            Self::Poisoned => c"the TLP is poisoned: its data must not be used",
            Self::Address => c"the address does not fit: addresses below 4 GiB have headers of 12 bytes",
            Self::NoRead => c"no read in flight has the tag: give that of one",
            Self::Outcome => c"wrong outcome: give a PcielabOutcome, and data for all but reads",
            Self::Node => c"no host or device has the number: use pcielab_machine_node",
            Self::Route => c"no PCIe link leads there: give an address of another host or device",
            Self::Request => c"nothing to answer: give the number of a read event of an attached device",
            Self::Internal => {
                c"internal error, a defect of the library: free the host, and report what was called"
            }
        }
    }
}

impl From<TlpError> for Code {
    fn from(error: TlpError) -> Self {
        match error {
            TlpError::Length { .. } | TlpError::Signal { .. } => Self::Length,
            TlpError::CrossesPage { .. } => Self::CrossesPage,
            TlpError::OutsideBuffer { .. } | TlpError::Transfer { .. } => Self::Outside,
            TlpError::Tag(_) => Self::Tag,
            TlpError::TagInUse(_) => Self::TagInUse,
            TlpError::NoRead(_) => Self::NoRead,
            TlpError::NoAnswer => Self::Outcome,
            TlpError::NoCredits(_) => Self::NoCredits,
            TlpError::Past { .. } => Self::Past,
            TlpError::Late(_) => Self::Late,
        }
    }
}

impl From<HeaderError> for Code {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Short { .. } => Self::Short,
            HeaderError::Type(_) => Self::Type,
            HeaderError::Enables { .. } => Self::Enables,
            HeaderError::Poisoned => Self::Poisoned,
            HeaderError::Address(_) => Self::Address,
        }
    }
}

/// The code of a refused TLP.
pub(super) fn fail(error: TlpError) -> c_int {
    Code::from(error) as c_int
}

/// Copies a text with a final zero, cut to the room there is; returns the code.
///
/// # Safety
/// `text` is null or has room for `room` bytes.
pub(super) unsafe fn reported(code: Code, message: &str, text: *mut c_char, room: usize) -> c_int {
    if !text.is_null() && room > 0 {
        let length = message.len().min(room - 1);
        // SAFETY: `text` has room for `length` bytes and the zero, and cannot overlap a Rust string.
        unsafe {
            std::ptr::copy_nonoverlapping(message.as_ptr(), text.cast(), length);
            text.add(length).write(0);
        }
    }
    code as c_int
}

/// What a code means, and what to do. The text is static; unknown codes have one, too.
#[unsafe(no_mangle)]
pub extern "C" fn pcielab_code_text(code: c_int) -> *const c_char {
    let known = Code::ALL.iter().find(|known| **known as c_int == code);
    known.map_or(c"unknown code", |known| known.text()).as_ptr()
}
