//! What can go wrong with a store. Every message names the file and says what would be right.

use std::path::PathBuf;

use crate::damage::Damage;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store could not be created, opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place of a new store was refused, or could not be written.
    #[error(transparent)]
    Output(#[from] pcie_output::Error),
    /// The path names something that is not a regular file.
    #[error("{}: is not a regular file: a store is one ordinary file", path.display())]
    NotAFile {
        /// The path given.
        path: PathBuf,
    },
    /// The name by which SQLite knows a store in memory, which would be gone at the end.
    #[error("{}: names no file: give the path of one", path.display())]
    InMemory {
        /// The path given.
        path: PathBuf,
    },
    /// There is no file of that name.
    #[error("{}: no such file: give the path of a store, as `pcielab run` or `import` writes it", path.display())]
    Missing {
        /// The path given.
        path: PathBuf,
    },
    /// The store may not be written, or not even be read.
    #[error("{}: cannot be opened ({cause}): it must be a file that you may read, and to go on with it, write", path.display())]
    NotAllowed {
        /// The path given.
        path: PathBuf,
        /// What the operating system or SQLite said.
        cause: String,
    },
    /// The file is something else: not SQLite, or an SQLite file of another program.
    #[error("{}: is not a pcielab store", path.display())]
    NotAStore {
        /// The path given.
        path: PathBuf,
    },
    /// A store was to replace a file that is none.
    #[error("{}: is not a pcielab store, so it is not overwritten by one: choose another name", path.display())]
    NotOverwritten {
        /// The path given.
        path: PathBuf,
    },
    /// The file was written by a later pcielab.
    #[error("{}: has store schema {found}, newer than {known}, the newest that this version of pcielab knows: \
             use the version that wrote it, or a later one", path.display())]
    NewerSchema {
        /// The path given.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The schema version of this crate.
        known: i64,
    },
    /// The file was written by an earlier pcielab, and was to be written on.
    #[error("{}: has store schema {found}: this version of pcielab reads it, but goes on only with stores of schema \
             {known}: run it anew, into another store or with --overwrite", path.display())]
    OlderSchema {
        /// The path given.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The schema version of this crate.
        known: i64,
    },
    /// Another process has the store open, so that it can be neither replaced nor continued nor folded into one file.
    #[error("{}: is open in another process: wait for it, or stop it", path.display())]
    InUse {
        /// The path of the store.
        path: PathBuf,
    },
    /// A killed command left part of the store in a file beside it, and this process may not bring the two together.
    #[error("{}: was left by a killed command, with {beside} beside it, which cannot be read from here: copy both into \
             a folder that you may write to", path.display())]
    Unrecovered {
        /// The path of the store.
        path: PathBuf,
        /// The name of the file beside it.
        beside: String,
    },
    /// The file says that it is a store, and has other tables: views, triggers, or tables of its own.
    #[error("{}: is not a pcielab store of schema {schema}: {found}: take the store as pcielab wrote it, or make it again", path.display())]
    ForeignTables {
        /// The path of the store.
        path: PathBuf,
        /// The schema that it says it has.
        schema: i64,
        /// The first thing that is wrong.
        found: String,
    },
    /// Reading takes more work than a store of its size can, or whoever waited for it does so no longer.
    #[error("{}: cannot be read: it takes more steps, or more memory, than any store: take another copy of it, or make it again", path.display())]
    Endless {
        /// The path of the store.
        path: PathBuf,
    },
    /// What is stored may not be on the disk.
    #[error("{}: could not be brought to the disk when it was closed ({cause}): check the disk, then give the command \
             again; a run goes on with --resume", path.display())]
    NotOnDisk {
        /// The path of the store.
        path: PathBuf,
        /// What failed.
        cause: String,
    },
    /// Part of the store is not what was written.
    #[error("{}: is damaged: {}", path.display(), listed(damage))]
    Damaged {
        /// The path of the store.
        path: PathBuf,
        /// The parts.
        damage: Vec<Damage>,
    },
    /// A manifest lacks a key, or has a value that cannot be right.
    #[error("manifest: `{key}` is {}: it must be {expected}", shown(found))]
    Manifest {
        /// The key.
        key: String,
        /// What was there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The record of a test cannot be stored as it is.
    #[error("test {id}: {what} is {}: it must be {expected}", shown(found))]
    Record {
        /// The id of the test.
        id: u64,
        /// Which part of the record.
        what: String,
        /// What was there.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// An attachment of that name is there already.
    #[error("attachment `{name}`: the store has one of that name already: names must differ")]
    AttachmentExists {
        /// The name of the attachment.
        name: String,
    },
    /// An attachment is longer than what is read of one.
    #[error(
        "attachment `{name}`: has {bytes} bytes: a store keeps texts of {most} bytes at most: leave it out, or cut it"
    )]
    AttachmentTooLong {
        /// The name of the attachment.
        name: String,
        /// Its bytes.
        bytes: usize,
        /// The most.
        most: i32,
    },
    /// SQLite failed, for example because the disk is full.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The path of the store.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl Error {
    /// True if what the user gave is at fault, false if writing failed although the input was fine.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Sqlite { .. } | Self::NotOnDisk { .. } => false,
            Self::Output(error) => error.is_input(),
            _ => true,
        }
    }
}

/// How many damaged parts a message names.
const NAMED: usize = 8;

fn listed(damage: &[Damage]) -> String {
    let tests = damage.iter().filter(|part| matches!(part, Damage::Test { .. })).count();
    let mut named: Vec<_> = damage.iter().take(NAMED).map(ToString::to_string).collect();
    if damage.len() > NAMED {
        named.push(format!("and {} more", damage.len() - NAMED));
    }
    let remedy = if tests == damage.len() {
        "take another copy of it, or do these tests again with `pcielab run ... --resume --repeat-damaged`"
    } else {
        "take another copy of it, or make it again"
    };
    format!("{}: {remedy}", named.join(", "))
}

/// Characters of a value that a message shows.
const SHOWN_CHARACTERS: usize = 80;

/// A value from a foreign file as messages show it: on one line, not too long, and with nothing that a terminal obeys.
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
    fn a_foreign_value_is_shown_on_one_short_line() {
        assert_eq!(shown(r#""a\u0000é""#), r#""a\u0000é""#);
        assert_eq!(shown("\u{feff}\u{1b}[2J\n\u{202e}"), "\\u{feff}\\u{1b}[2J\\n\\u{202e}");
        assert_eq!(shown(&"x".repeat(5000)), format!("{}...", "x".repeat(80)));
    }
}
