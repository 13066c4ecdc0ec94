//! Errors of stores. Every message names the file and the remedy.

use std::path::PathBuf;

use pcie_refusal::{Kind as RefusalKind, Refusal};

use crate::damage::Damage;
use crate::metrics::Kind;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store could not be created, opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path of a new store was refused, or could not be written.
    #[error(transparent)]
    Output(#[from] pcie_output::Error),
    /// The path is not a regular file.
    #[error("{}: is not a regular file: a store is one ordinary file", .0.display())]
    NotAFile(PathBuf),
    /// SQLite's name for a database in memory, which would be lost.
    #[error("{}: names no file: give the path of one", .0.display())]
    InMemory(PathBuf),
    /// There is no file at the path.
    #[error("{}: no such file: give the path of a store, as `pcielab run` or `import` writes it", .0.display())]
    Missing(PathBuf),
    /// The process may not read or write the store.
    #[error("{}: cannot be opened ({cause}): make it readable, and writable to resume its run", path.display())]
    NotAllowed {
        /// The path given.
        path: PathBuf,
        /// Error of the operating system or SQLite.
        cause: String,
    },
    /// The file is not SQLite's, or is another program's.
    #[error("{}: is not a pcielab store", .0.display())]
    NotAStore(PathBuf),
    /// A store was about to replace a file that is no store.
    #[error("{}: is not a pcielab store, so it is not overwritten by one: choose another name", .0.display())]
    NotOverwritten(PathBuf),
    /// A later pcielab wrote the file.
    #[error("{}: has store schema {found}, newer than {known}, the newest that this version of pcielab reads: \
             use the version that wrote it, or a later one", path.display())]
    NewerSchema {
        /// The path given.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Schema version of this crate.
        known: i64,
    },
    /// An earlier pcielab wrote the file, and this one cannot append to it.
    #[error("{}: has store schema {found}: this version of pcielab reads it, but resumes only schema {known}: \
             run again into another store, or with --overwrite", path.display())]
    OlderSchema {
        /// The path given.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Schema version of this crate.
        known: i64,
    },
    /// Another process has the store open, so it can be neither replaced, resumed nor folded into one file.
    #[error("{}: is open in another process: wait for it, or stop it", .0.display())]
    InUse(PathBuf),
    /// A killed command left part of the store in a file beside it, and this process may not merge the two.
    #[error("{}: was left by a killed command, with {beside} beside it, which cannot be read from here: copy both into \
             a folder that you may write to", path.display())]
    Unrecovered {
        /// The path of the store.
        path: PathBuf,
        /// Name of the file beside it.
        beside: String,
    },
    /// The file claims to be a store, but has views, triggers or other tables.
    #[error("{}: is not a pcielab store of schema {schema}: {found}: take the store as pcielab wrote it, or make it again", path.display())]
    ForeignTables {
        /// The path of the store.
        path: PathBuf,
        /// Schema that it claims.
        schema: i64,
        /// First difference.
        found: String,
    },
    /// Reading takes more work than any store of its size, or the caller stopped it.
    #[error("{}: cannot be read: it takes more steps, or more memory, than any store: take another copy of it, or make it again", .0.display())]
    Endless(PathBuf),
    /// The store may not be on the disk.
    #[error("{}: could not be synced to the disk ({cause}): check the disk, then repeat the command; a run resumes \
             with --resume", path.display())]
    NotOnDisk {
        /// The path of the store.
        path: PathBuf,
        /// The failure.
        cause: String,
    },
    /// Part of the store is not as it was written.
    #[error("{}: is damaged: {}", path.display(), listed(damage))]
    Damaged {
        /// The path of the store.
        path: PathBuf,
        /// The damaged parts.
        damage: Vec<Damage>,
    },
    /// A manifest lacks a key, or has an invalid value.
    #[error("manifest: `{key}` is {}: give {expected}", shown(found))]
    Manifest {
        /// The key.
        key: String,
        /// The value found.
        found: String,
        /// The remedy.
        expected: String,
    },
    /// The record of a test cannot be stored.
    #[error("test {id}: {} is {}: give {expected}", shown(part), shown(found))]
    Record {
        /// The id of the test.
        id: u64,
        /// The invalid part of the record.
        part: String,
        /// The value found.
        found: String,
        /// The remedy.
        expected: String,
    },
    /// A test has a number that no test of its kind has.
    #[error("{}: test {}: {} is {}: a store has {expected}: take the store as pcielab wrote it, or make it again",
            path.display(), shown(test), shown(part), shown(found))]
    Number {
        /// The path of the store.
        path: PathBuf,
        /// Number and name of the test.
        test: String,
        /// The metric, and its subject.
        part: String,
        /// The value found.
        found: String,
        /// What a store has there.
        expected: String,
    },
    /// The tests of a store are of several kinds.
    #[error("{}: test {id} is one of {}, but the first one of {}: a store has tests of one kind: take the store as \
             pcielab wrote it, or make it again", path.display(), kind.as_str(), first.as_str())]
    Mixed {
        /// The path of the store.
        path: PathBuf,
        /// The first test of another kind.
        id: u64,
        /// Its kind.
        kind: Kind,
        /// The kind of the first test.
        first: Kind,
    },
    /// The store has an attachment of that name.
    #[error("attachment `{0}`: exists already: choose another name")]
    AttachmentExists(String),
    /// An attachment is too long.
    #[error(
        "attachment `{name}`: has {bytes} bytes: a store keeps texts of {most} bytes at most: leave it out, or cut it"
    )]
    AttachmentTooLong {
        /// The name of the attachment.
        name: String,
        /// Its bytes.
        bytes: usize,
        /// Most bytes.
        most: i32,
    },
    /// SQLite failed, for example because the disk is full.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The path of the store.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl Error {
    /// What is wrong with the user's input; None if reading or writing failed.
    pub fn kind(&self) -> Option<RefusalKind> {
        Some(match self {
            Self::Sqlite { .. } | Self::NotOnDisk { .. } => return None,
            Self::Output(error) => return error.kind(),
            Self::NotAFile(_) | Self::InMemory(_) | Self::Manifest { .. } | Self::Record { .. } => {
                RefusalKind::WrongValue
            }
            Self::Missing(_) => RefusalKind::NotFound,
            Self::NotAllowed { .. } | Self::Unrecovered { .. } => RefusalKind::NotAllowed,
            Self::NotAStore(_) | Self::ForeignTables { .. } | Self::Mixed { .. } => RefusalKind::Malformed,
            Self::NotOverwritten(_) | Self::AttachmentExists(_) => RefusalKind::Exists,
            Self::NewerSchema { .. } | Self::OlderSchema { .. } => RefusalKind::Unsupported,
            Self::InUse(_) => RefusalKind::InUse,
            Self::Endless(_) | Self::AttachmentTooLong { .. } => RefusalKind::TooLarge,
            Self::Damaged { .. } => RefusalKind::Damaged,
            Self::Number { .. } => RefusalKind::OutOfRange,
        })
    }

    /// The refusal of wrong input; the error itself if reading or writing failed.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub fn refusal(self) -> std::result::Result<Refusal, Self> {
        self.kind().map(|kind| Refusal::new(&self).kind(kind)).ok_or(self)
    }
}

/// Damaged parts that a message names.
const NAMED: usize = 8;

fn listed(damage: &[Damage]) -> String {
    let tests = damage.iter().filter(|part| matches!(part, Damage::Test { .. })).count();
    let mut named: Vec<_> = damage.iter().take(NAMED).map(ToString::to_string).collect();
    if damage.len() > NAMED {
        named.push(format!("and {} more", damage.len() - NAMED));
    }
    let remedy = if tests == damage.len() {
        "take another copy of it, or run these tests again with `pcielab run ... --resume --repeat-damaged`"
    } else {
        "take another copy of it, or make it again"
    };
    format!("{}: {remedy}", named.join(", "))
}

/// Characters of a value in a message.
const SHOWN_CHARACTERS: usize = 80;

/// A value from a foreign file for a message: on one short line, without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(SHOWN_CHARACTERS) {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    if text.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_values_are_shown_on_one_short_line() {
        assert_eq!(shown(r#""a\u0000é""#), r#""a\u0000é""#);
        assert_eq!(shown("\u{feff}\u{1b}[2J\n\u{202e}"), "\\u{feff}\\u{1b}[2J\\n\\u{202e}");
        assert_eq!(shown(&"x".repeat(5000)), format!("{}...", "x".repeat(80)));
    }
}
