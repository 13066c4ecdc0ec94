//! Errors of outputs. Every message names the path and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use pcie_refusal::Kind as RefusalKind;

/// The result of an attempt to write an output.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an output was refused or could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output exists and overwriting was not asked for.
    #[error("{}: exists already: choose another name, or give --overwrite", .0.display())]
    Exists(PathBuf),
    /// The path is neither a regular file nor free.
    #[error("{}: {found}, not a regular file: choose another name", path.display())]
    NotAFile {
        /// The output.
        path: PathBuf,
        /// The obstacle, for example `is a folder`.
        found: &'static str,
    },
    /// The path is a dangling link.
    #[error("{}: is a dangling link: name the file itself, or remove the link", .0.display())]
    DanglingLink(PathBuf),
    /// The path is a folder that pcielab did not write.
    #[error(
        "{}: is not a folder that pcielab wrote (it holds no {mark}), so it is not overwritten: choose another name",
        path.display()
    )]
    ForeignFolder {
        /// The output.
        path: PathBuf,
        /// The file that marks folders of pcielab.
        mark: String,
    },
    /// No file can be created there.
    #[error("{}: cannot be written ({cause}): choose a path in an existing folder that you may write to", path.display())]
    Unwritable {
        /// The output.
        path: PathBuf,
        /// Error of the operating system.
        cause: String,
    },
    /// Writing failed: the disk is full, or broken.
    #[error("{}: could not be written: {cause}", path.display())]
    Failed {
        /// The output.
        path: PathBuf,
        /// Error of the operating system.
        cause: String,
    },
    /// A name for a file in a folder is no plain file name.
    #[error("{name:?}: {why}: give a plain file name")]
    Name {
        /// The name.
        name: String,
        /// Problem of the name.
        why: &'static str,
    },
}

impl Error {
    /// The error for an output after an error of the operating system.
    pub fn of_io(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        let kind = error.kind();
        match kind {
            Kind::NotFound => Self::Unwritable { path, cause: "there is no such folder".to_owned() },
            Kind::AlreadyExists | Kind::DirectoryNotEmpty => Self::Exists(path),
            Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem
            | Kind::NotADirectory
            | Kind::InvalidFilename
            | Kind::InvalidInput => Self::Unwritable { path, cause: kind.to_string() },
            _ => Self::Failed { path, cause: error.to_string() },
        }
    }

    /// What is wrong with the user's input; None if writing failed.
    pub fn kind(&self) -> Option<RefusalKind> {
        match self {
            Self::Exists(_) | Self::ForeignFolder { .. } => Some(RefusalKind::Exists),
            Self::NotAFile { .. } | Self::DanglingLink(_) => Some(RefusalKind::WrongValue),
            Self::Name { .. } => Some(RefusalKind::Malformed),
            Self::Unwritable { .. } => Some(RefusalKind::NotAllowed),
            Self::Failed { .. } => None,
        }
    }
}
