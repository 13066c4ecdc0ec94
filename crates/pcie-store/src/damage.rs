//! Damaged parts of a store.

use std::fmt;

/// A part of a store that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file as a whole, with SQLite's error.
    File(String),
    /// The manifest.
    Manifest,
    /// The attachments.
    Attachments,
    /// Rows without a test, in this table.
    Strays(&'static str),
    /// A test: its row, or one of its results.
    Test {
        /// Position in suite order.
        id: i64,
        /// Family and name, if readable.
        name: String,
    },
}

impl Damage {
    /// Whether running tests again repairs it.
    #[must_use]
    pub fn is_of_tests(&self) -> bool {
        matches!(self, Self::Test { .. } | Self::Strays(_))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(cause) => write!(formatter, "the file as a whole ({cause})"),
            Self::Manifest => write!(formatter, "the manifest"),
            Self::Attachments => write!(formatter, "the attachments"),
            Self::Strays(table) => write!(formatter, "rows without a test in `{table}`"),
            Self::Test { id, name } => write!(formatter, "test {id}{name}"),
        }
    }
}
