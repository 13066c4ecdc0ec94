//! What is wrong with an input, as a word for programs.

/// What is wrong with an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// No description here has the key.
    UnknownKey,
    /// A key, or something that the work needs, is absent.
    Missing,
    /// The value is of another type than the key takes.
    WrongType,
    /// The number is below or above those that the key takes.
    OutOfRange,
    /// The key does not take the value for another reason.
    WrongValue,
    /// Values exclude each other, or describe what cannot exist.
    #[default]
    Conflict,
    /// Nothing has the name: no file, profile, node, test or region.
    NotFound,
    /// There is more of it than is taken: bytes, entries, tests.
    TooLarge,
    /// The text does not follow its format.
    Malformed,
    /// The device, the machine or this version cannot do it.
    Unsupported,
    /// It is not as it was written: cut short, or changed since.
    Damaged,
    /// Another process uses it.
    InUse,
    /// An output would replace something that is there already.
    Exists,
    /// The operating system does not let this process read or write it.
    NotAllowed,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::UnknownKey,
        Self::Missing,
        Self::WrongType,
        Self::OutOfRange,
        Self::WrongValue,
        Self::Conflict,
        Self::NotFound,
        Self::TooLarge,
        Self::Malformed,
        Self::Unsupported,
        Self::Damaged,
        Self::InUse,
        Self::Exists,
        Self::NotAllowed,
    ];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown-key",
            Self::Missing => "missing",
            Self::WrongType => "wrong-type",
            Self::OutOfRange => "out-of-range",
            Self::WrongValue => "wrong-value",
            Self::Conflict => "conflict",
            Self::NotFound => "not-found",
            Self::TooLarge => "too-large",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Damaged => "damaged",
            Self::InUse => "in-use",
            Self::Exists => "exists",
            Self::NotAllowed => "not-allowed",
        }
    }
}
