//! What of a store is not what was written.

use std::fmt;

/// A part of a store that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file as such, so that SQLite cannot make sense of it.
    File {
        /// What SQLite said.
        cause: String,
    },
    /// The manifest.
    Manifest,
    /// The attachments.
    Attachments,
    /// Numbers of tests that are not there.
    Strays {
        /// The table that they are in.
        table: &'static str,
    },
    /// A test: its row, or one of its numbers.
    Test {
        /// Its place in suite order.
        id: i64,
        /// Its family and name, where they can be read.
        name: String,
    },
}

impl Damage {
    /// Whether doing tests again mends it.
    #[must_use]
    pub fn is_of_tests(&self) -> bool {
        matches!(self, Self::Test { .. } | Self::Strays { .. })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { cause } => write!(formatter, "the file as a whole ({cause})"),
            Self::Manifest => write!(formatter, "the manifest"),
            Self::Attachments => write!(formatter, "the attachments"),
            Self::Strays { table } => write!(formatter, "numbers of tests that are not there, in `{table}`"),
            Self::Test { id, name } => write!(formatter, "test {id}{name}"),
        }
    }
}
