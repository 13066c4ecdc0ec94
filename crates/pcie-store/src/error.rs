//! What can go wrong with a store. Every message names the file and says what would be right.

use std::path::PathBuf;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store could not be created, opened, or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output path is taken and overwriting was not asked for.
    #[error("{}: exists already: choose another name, or ask to overwrite it (--overwrite)", path.display())]
    Exists {
        /// The output path.
        path: PathBuf,
    },
    /// The path names something that is not a regular file, and will not be replaced by one.
    #[error("{}: is not a regular file: a store is one ordinary file", path.display())]
    NotAFile {
        /// The path given.
        path: PathBuf,
    },
    /// There is no file of that name.
    #[error("{}: no such file: give the path of a store", path.display())]
    Missing {
        /// The path given.
        path: PathBuf,
    },
    /// The file cannot be created or written where it was asked for.
    #[error("{}: cannot be written ({cause}): choose a path in an existing directory that you may write to", path.display())]
    Unwritable {
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
    /// Another process has the store open, so that it can be neither replaced nor continued nor folded into one file.
    #[error("{}: is open in another process: wait for it, or stop it", path.display())]
    InUse {
        /// The path of the store.
        path: PathBuf,
    },
    /// A manifest lacks a key, or has a value that cannot be right.
    #[error("manifest: `{key}` is {found}: it must be {expected}")]
    Manifest {
        /// The key.
        key: String,
        /// What was there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The record of a test cannot be stored as it is.
    #[error("test {id}: {what} is {found}: it must be {expected}")]
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
        !matches!(self, Self::Sqlite { .. })
    }
}
