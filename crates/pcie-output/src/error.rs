//! Why an output was refused or could not be written. Every message names the path and says what would be right.

use std::io;
use std::path::{Path, PathBuf};

/// The result of an attempt to write an output.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an output was refused or could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place is taken and overwriting was not asked for.
    #[error("{}: exists already: choose another name, or give --overwrite", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The place holds something that no output replaces, or names no file at all.
    #[error("{}: {found}, and is not a regular file that could be replaced: choose another name", path.display())]
    NotAFile {
        /// The output.
        path: PathBuf,
        /// What is there, such as `is a folder`.
        found: &'static str,
    },
    /// The place is a link that leads nowhere.
    #[error("{}: is a link to something that is not there: name the file itself, or remove the link", path.display())]
    DanglingLink {
        /// The output.
        path: PathBuf,
    },
    /// The place holds a folder that pcielab did not write.
    #[error(
        "{}: is not a folder that pcielab wrote (it holds no {mark}), so it is not overwritten: choose another name",
        path.display()
    )]
    ForeignFolder {
        /// The output.
        path: PathBuf,
        /// The file by which folders that pcielab wrote are told from others.
        mark: String,
    },
    /// A file cannot be created there.
    #[error("{}: cannot be written ({cause}): choose a path in an existing folder that you may write to", path.display())]
    Unwritable {
        /// The output.
        path: PathBuf,
        /// What the operating system said.
        cause: String,
    },
    /// Writing failed although the place was right: the disk is full, or broken.
    #[error("{}: could not be written: {cause}", path.display())]
    Failed {
        /// The output.
        path: PathBuf,
        /// What the operating system said.
        cause: String,
    },
    /// A name that is to become a file in a folder is no plain file name.
    #[error("{name:?}: {why}: it must be a plain file name")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Error {
    /// What an error of the operating system means for the output `path`.
    pub fn of_io(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        let kind = error.kind();
        match kind {
            Kind::NotFound => Self::Unwritable { path, cause: "there is no such folder".to_owned() },
            Kind::AlreadyExists | Kind::DirectoryNotEmpty => Self::Exists { path },
            Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem
            | Kind::NotADirectory
            | Kind::InvalidFilename
            | Kind::InvalidInput => Self::Unwritable { path, cause: kind.to_string() },
            _ => Self::Failed { path, cause: error.to_string() },
        }
    }

    /// True if what the user gave is at fault, false if writing failed although the input was fine.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Failed { .. })
    }
}
